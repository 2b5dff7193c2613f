"""The only place that speaks to NVIDIA's management library: `python -m mosaic_scheduler.gpus.nvml`.

A process of its own, for a driver that hangs cannot be interrupted and must not hang the scheduler. For each line on
stdin it writes one look at all devices as a line of JSON (`reading.parse`), and it ends with its stdin. It imports no
more than that takes: it lives as long as the scheduler.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TextIO, TypeVar

import pynvml  # type: ignore[import-untyped] # it ships no types

_ABSENT = (pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, pynvml.NVML_ERROR_DRIVER_NOT_LOADED)
"""There is no driver; with any other error there is one, and it does not work."""
_T = TypeVar("_T")
Fields = dict[str, Any]


class NvmlLooker:
    """Reads all devices. `nvml` is for tests: a module with the functions that are used here."""

    def __init__(self, nvml: Any = pynvml) -> None:
        self._nvml = nvml
        self._is_open = False

    def look(self) -> Fields:
        """One look: `devices`, `lost` (index and why), or `absent` or `failed` with the reason. Never raises."""
        try:
            if not self._is_open:
                self._nvml.nvmlInit()
                self._is_open = True
        except self._nvml.NVMLError as error:
            return {"absent" if error.value in _ABSENT else "failed": str(error)}
        try:
            return self._look_at_all()
        except self._nvml.NVMLError as error:
            # The driver was unloaded or updated below us: from the start, next time.
            self.close()
            return {"failed": str(error)}

    def close(self) -> None:
        """Let go of the driver."""
        if self._is_open:
            self._is_open = False
            self._try(self._nvml.nvmlShutdown)

    def _look_at_all(self) -> Fields:
        devices: list[Fields] = []
        lost: list[Fields] = []
        for index in range(self._nvml.nvmlDeviceGetCount()):
            try:
                devices += self._devices(self._nvml.nvmlDeviceGetHandleByIndex(index), index)
            except self._nvml.NVMLError as error:
                lost.append({"index": index, "why": str(error)})
        return {"devices": devices, "lost": lost}

    def _devices(self, handle: Any, index: int) -> list[Fields]:
        """The GPU itself, or its slices when it is divided into some."""
        nvml = self._nvml
        whole = self._read(handle, index)
        mode = self._try(lambda: nvml.nvmlDeviceGetMigMode(handle))
        if mode is None or mode[0] != nvml.NVML_DEVICE_MIG_ENABLE:
            return [whole]
        slices = [self._read(part, index) for part in self._slices(handle)]
        return [{**part, "card": whole["uuid"]} for part in slices]

    def _slices(self, handle: Any) -> Iterator[Any]:
        nvml = self._nvml
        for number in range(self._try(lambda: nvml.nvmlDeviceGetMaxMigDeviceCount(handle)) or 0):
            part = self._try(partial(nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, number))
            if part is not None:  # numbers of slices have holes
                yield part

    def _read(self, handle: Any, index: int) -> Fields:
        nvml = self._nvml
        used, total = self._memory(handle)
        rates = self._try(lambda: nvml.nvmlDeviceGetUtilizationRates(handle))
        milliwatts = self._try(lambda: nvml.nvmlDeviceGetPowerUsage(handle))
        sensor = nvml.NVML_TEMPERATURE_GPU
        return {
            "uuid": _text(nvml.nvmlDeviceGetUUID(handle)),
            "index": index,
            "name": _text(self._try(lambda: nvml.nvmlDeviceGetName(handle)) or "NVIDIA GPU"),
            "utilization_percent": float(rates.gpu) if rates is not None else None,
            "memory_used_bytes": used,
            "memory_total_bytes": total,
            "temperature_c": self._try(
                lambda: float(nvml.nvmlDeviceGetTemperature(handle, sensor))
            ),
            "power_w": milliwatts / 1000 if milliwatts is not None else None,
            "processes": self._processes(handle),
        }

    def _memory(self, handle: Any) -> tuple[int | None, int | None]:
        """Used and total of what programs can have. Only newer drivers tell apart what they keep for themselves."""
        nvml = self._nvml
        memory = self._try(lambda: nvml.nvmlDeviceGetMemoryInfo(handle, nvml.nvmlMemory_v2))
        if memory is not None:
            return int(memory.used), int(memory.total - memory.reserved)
        memory = self._try(lambda: nvml.nvmlDeviceGetMemoryInfo(handle))
        return (int(memory.used), int(memory.total)) if memory is not None else (None, None)

    def _processes(self, handle: Any) -> list[Fields]:
        """Processes on the device. In a container or on a slice the driver may know a process and not its memory."""
        nvml = self._nvml
        found: dict[int, Fields] = {}
        graphics = self._try(lambda: nvml.nvmlDeviceGetGraphicsRunningProcesses(handle)) or []
        compute = self._try(lambda: nvml.nvmlDeviceGetComputeRunningProcesses(handle)) or []
        for kind, processes in (("graphics", graphics), ("compute", compute)):
            for process in processes:
                used = process.usedGpuMemory
                memory = int(used) if used is not None else None
                found[process.pid] = {"pid": process.pid, "kind": kind, "memory_bytes": memory}
        return list(found.values())

    def _try(self, ask: Callable[[], _T]) -> _T | None:
        """None where this device or driver does not tell: each field is optional by itself."""
        try:
            return ask()
        except self._nvml.NVMLError:
            return None


def serve(looker: NvmlLooker, asked: Iterable[str], answers: TextIO) -> None:
    """One look for each line, until there are no more."""
    for _ in asked:
        answers.write(json.dumps(looker.look()) + "\n")
        answers.flush()
    looker.close()


def _text(value: str | bytes) -> str:
    """Older versions of the library give bytes."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value


if __name__ == "__main__":
    serve(NvmlLooker(), sys.stdin, sys.stdout)
