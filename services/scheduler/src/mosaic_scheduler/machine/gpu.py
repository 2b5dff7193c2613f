"""What the GPUs say of themselves. A machine without one is the usual case, and told in words."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import pynvml  # type: ignore[import-untyped] # it ships no types

from mosaic_contracts.machine import GpuSample

RETRY_S = 60.0
"""A driver that is missing is looked for again after this; to ask it each time costs more than all the rest."""

_T = TypeVar("_T")


@dataclass(frozen=True)
class GpuReading:
    """One look at all GPUs."""

    gpus: list[GpuSample] = field(default_factory=list)
    note: str = ""
    """Why there are none, or why some are missing."""
    memory_of: dict[int, dict[str, int]] = field(default_factory=dict)
    """By process id: bytes by the GPU's uuid."""


class GpuReader(Protocol):
    """Reads the GPUs of this machine."""

    def read(self) -> GpuReading:
        """Never raises: what cannot be read is absent, and said in the note."""
        ...


class NvmlReader:
    """NVIDIA's management library. `nvml` is for tests: a module with the functions that are used here."""

    def __init__(self, nvml: Any = pynvml) -> None:
        self._nvml = nvml
        self._is_open = False
        self._note = ""
        self._next_try = 0.0

    def read(self) -> GpuReading:
        """See `GpuReader.read`."""
        if not self._is_open and not self._open():
            return GpuReading(note=self._note)
        try:
            return self._read_all()
        except self._nvml.NVMLError as error:
            # The driver was unloaded or updated below us: from the start, later.
            self._give_up(f"The NVIDIA driver does not answer any more: {error}")
            return GpuReading(note=self._note)

    def close(self) -> None:
        """Let go of the driver."""
        if self._is_open:
            self._is_open = False
            self._try(self._nvml.nvmlShutdown)

    def _open(self) -> bool:
        if time.monotonic() < self._next_try:
            return False
        try:
            self._nvml.nvmlInit()
        except self._nvml.NVMLError as error:
            self._give_up(
                f"No NVIDIA GPU is seen here: {error}. Without one this is as it should be."
            )
            return False
        self._is_open = True
        return True

    def _give_up(self, note: str) -> None:
        self._note = note
        self._next_try = time.monotonic() + RETRY_S
        self.close()

    def _read_all(self) -> GpuReading:
        count = self._nvml.nvmlDeviceGetCount()
        if count == 0:
            return GpuReading(note="The NVIDIA driver is there and knows no GPU.")
        gpus: list[GpuSample] = []
        lost: list[str] = []
        memory_of: dict[int, dict[str, int]] = {}
        for index in range(count):
            try:
                handle = self._nvml.nvmlDeviceGetHandleByIndex(index)
                gpu = self._read(handle, index)
            except self._nvml.NVMLError as error:
                lost.append(f"GPU {index} cannot be read: {error}.")
                continue
            gpus.append(gpu)
            for pid, used in self._processes(handle):
                memory_of.setdefault(pid, {})[gpu.uuid] = used
        return GpuReading(gpus, " ".join(lost), memory_of)

    def _read(self, handle: Any, index: int) -> GpuSample:
        nvml = self._nvml
        memory = self._try(lambda: nvml.nvmlDeviceGetMemoryInfo(handle))
        rates = self._try(lambda: nvml.nvmlDeviceGetUtilizationRates(handle))
        milliwatts = self._try(lambda: nvml.nvmlDeviceGetPowerUsage(handle))
        sensor = nvml.NVML_TEMPERATURE_GPU
        return GpuSample(
            uuid=_text(nvml.nvmlDeviceGetUUID(handle)),
            index=index,
            name=_text(nvml.nvmlDeviceGetName(handle)),
            utilization_percent=float(rates.gpu) if rates is not None else None,
            memory_used_bytes=int(memory.used) if memory is not None else None,
            memory_total_bytes=int(memory.total) if memory is not None else None,
            temperature_c=self._try(lambda: float(nvml.nvmlDeviceGetTemperature(handle, sensor))),
            power_w=milliwatts / 1000 if milliwatts is not None else None,
        )

    def _processes(self, handle: Any) -> list[tuple[int, int]]:
        found = self._try(lambda: self._nvml.nvmlDeviceGetComputeRunningProcesses(handle)) or []
        # In a container or with MIG the driver may know a process and not what it uses.
        return [(p.pid, int(p.usedGpuMemory)) for p in found if p.usedGpuMemory is not None]

    def _try(self, ask: Callable[[], _T]) -> _T | None:
        """None where this GPU or driver does not tell: each field is optional by itself."""
        try:
            return ask()
        except self._nvml.NVMLError:
            return None


def _text(value: str | bytes) -> str:
    """Older versions of the library give bytes."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value
