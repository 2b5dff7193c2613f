"""NVIDIA's management library with two GPUs that are not there. It raises the real library's own errors."""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pynvml  # type: ignore[import-untyped] # it ships no types

GIB = 2**30


@dataclass
class FakeNvml:
    """Each attribute may be set to an error code, which the functions then raise as the library does."""

    init_error: int | None = None
    lost: set[int] = field(default_factory=set)
    """Indexes of GPUs that fell off the bus."""
    unsupported: set[str] = field(default_factory=set)
    """Functions that this GPU does not have."""
    processes: dict[int, list[tuple[int, int | None]]] = field(default_factory=dict)
    """By index: process id and bytes."""
    count: int = 2
    opened: int = 0

    NVMLError: Any = pynvml.NVMLError
    NVML_TEMPERATURE_GPU: Any = pynvml.NVML_TEMPERATURE_GPU

    def nvmlInit(self) -> None:  # noqa: N802 - the library's names, here and below
        if self.init_error is not None:
            raise pynvml.NVMLError(self.init_error)
        self.opened += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.opened -= 1

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        if self.opened == 0:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_UNINITIALIZED)
        return self.count

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        if index in self.lost:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)
        return index

    def __getattr__(self, name: str) -> Callable[..., Any]:
        answers: dict[str, Callable[[int], Any]] = {
            "nvmlDeviceGetUUID": lambda index: f"GPU-{index}",
            "nvmlDeviceGetName": lambda _: b"Old bytes",
            "nvmlDeviceGetMemoryInfo": lambda _: SimpleNamespace(used=3 * GIB, total=8 * GIB),
            "nvmlDeviceGetUtilizationRates": lambda index: SimpleNamespace(gpu=40 + index),
            "nvmlDeviceGetPowerUsage": lambda _: 75_500,
            "nvmlDeviceGetTemperature": lambda _: 61,
            "nvmlDeviceGetComputeRunningProcesses": lambda index: [
                SimpleNamespace(pid=pid, usedGpuMemory=used)
                for pid, used in self.processes.get(index, [])
            ],
        }
        if name not in answers:
            raise AttributeError(name)

        def ask(handle: int, *_: Any) -> Any:
            if name in self.unsupported:
                raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
            return answers[name](handle)

        return ask
