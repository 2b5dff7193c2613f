"""NVIDIA's management library with GPUs that are not there. It raises the real library's own errors."""

import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pynvml  # type: ignore[import-untyped] # it ships no types

GIB = 2**30


@dataclass(eq=False)
class FakeGpu:
    """One GPU, or one slice of it; it is its own handle."""

    uuid: str
    name: str | bytes = b"Old bytes"
    total: int = 8 * GIB
    reserved: int = GIB // 4
    used: int | None = None
    """Beyond the driver's own; None: what its processes hold."""
    processes: list[tuple[int, int | None]] = field(default_factory=list)
    """Process id and bytes, None where the driver does not tell."""
    desktop: list[tuple[int, int | None]] = field(default_factory=list)
    """The same of processes that draw."""
    slices: list["FakeGpu | None"] = field(default_factory=list)
    """Slices of a GPU with MIG enabled; None is a number that is not in use."""
    unsupported: set[str] = field(default_factory=set)
    """Functions that it does not have."""
    is_lost: bool = False
    """It fell off the bus."""

    @property
    def used_bytes(self) -> int:
        """What programs hold."""
        held = sum(memory or 0 for _, memory in [*self.processes, *self.desktop])
        return held if self.used is None else self.used


@dataclass
class FakeNvml:
    """The functions that are used. Each state of a driver can be set."""

    gpus: list[FakeGpu] = field(default_factory=list)
    init_error: int | None = None
    knows_v2: bool = True
    """Drivers before 510 do not tell their own memory apart."""
    hangs: bool = False
    opened: int = 0

    NVMLError: Any = pynvml.NVMLError
    NVML_TEMPERATURE_GPU: Any = pynvml.NVML_TEMPERATURE_GPU
    NVML_DEVICE_MIG_ENABLE: Any = pynvml.NVML_DEVICE_MIG_ENABLE
    nvmlMemory_v2: Any = pynvml.nvmlMemory_v2  # noqa: N815 - the library's names, here and below

    def nvmlInit(self) -> None:  # noqa: N802
        if self.init_error is not None:
            raise pynvml.NVMLError(self.init_error)
        self.opened += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        if self.opened == 0:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_UNINITIALIZED)
        self.opened -= 1

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        while self.hangs:
            signal.pause()
        if self.opened == 0:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_UNINITIALIZED)
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> FakeGpu:  # noqa: N802
        if self.gpus[index].is_lost:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)
        return self.gpus[index]

    def nvmlDeviceGetMigDeviceHandleByIndex(self, gpu: FakeGpu, number: int) -> FakeGpu:  # noqa: N802
        found = gpu.slices[number]
        if found is None:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return found

    def nvmlDeviceGetMigMode(self, gpu: FakeGpu) -> list[int]:  # noqa: N802
        if not gpu.slices:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return [pynvml.NVML_DEVICE_MIG_ENABLE, pynvml.NVML_DEVICE_MIG_ENABLE]

    def nvmlDeviceGetMemoryInfo(self, gpu: FakeGpu, version: int | None = None) -> Any:  # noqa: N802
        if "nvmlDeviceGetMemoryInfo" in gpu.unsupported:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        if version is None:
            return SimpleNamespace(used=gpu.used_bytes + gpu.reserved, total=gpu.total)
        if not self.knows_v2:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
        return SimpleNamespace(used=gpu.used_bytes, reserved=gpu.reserved, total=gpu.total)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        answers: dict[str, Callable[[FakeGpu], Any]] = {
            "nvmlDeviceGetUUID": lambda gpu: gpu.uuid,
            "nvmlDeviceGetName": lambda gpu: gpu.name,
            "nvmlDeviceGetMaxMigDeviceCount": lambda gpu: len(gpu.slices),
            "nvmlDeviceGetUtilizationRates": lambda _: SimpleNamespace(gpu=40),
            "nvmlDeviceGetPowerUsage": lambda _: 75_500,
            "nvmlDeviceGetTemperature": lambda _: 61,
            "nvmlDeviceGetComputeRunningProcesses": lambda gpu: _listed(gpu.processes),
            "nvmlDeviceGetGraphicsRunningProcesses": lambda gpu: _listed(gpu.desktop),
        }
        if name not in answers:
            raise AttributeError(name)

        def ask(gpu: FakeGpu, *_: Any) -> Any:
            if name in gpu.unsupported:
                raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
            return answers[name](gpu)

        return ask


def _listed(processes: list[tuple[int, int | None]]) -> list[SimpleNamespace]:
    return [SimpleNamespace(pid=pid, usedGpuMemory=memory) for pid, memory in processes]
