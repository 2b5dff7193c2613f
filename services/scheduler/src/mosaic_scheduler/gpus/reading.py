"""One look at all GPUs, made from an answer of the helper process."""

from dataclasses import dataclass, field, replace
from typing import Literal

from mosaic_contracts.machine import GpuSample, GpuState
from mosaic_scheduler.gpus.answer import DeviceEntry, read_answer


@dataclass(frozen=True)
class DeviceProcess:
    """A process on a device."""

    pid: int
    kind: Literal["compute", "graphics"]
    memory_bytes: int | None


@dataclass(frozen=True)
class DeviceReading:
    """One GPU that is not divided, or one MIG slice."""

    sample: GpuSample
    card: str | None = None
    """GPU of a slice; None: it is no slice."""
    processes: tuple[DeviceProcess, ...] = ()

    @property
    def label(self) -> str:
        """As people call it: the slices of a GPU have its number."""
        if self.card is None:
            return f"GPU {self.sample.index}"
        return f"GPU {self.sample.index} slice {self.sample.uuid[-4:]}"


@dataclass(frozen=True)
class GpuReading:
    """One look at all."""

    state: GpuState = GpuState.UNKNOWN
    note: str = "The GPUs were not read yet."
    devices: tuple[DeviceReading, ...] = ()
    lost: dict[int, str] = field(default_factory=dict)
    """By index: why it cannot be read."""
    missing: tuple[DeviceReading, ...] = ()
    """What those were when they last could be."""

    @property
    def is_current(self) -> bool:
        """Whether it says how the devices are now."""
        return self.state in (GpuState.OK, GpuState.PARTIAL)

    def after(self, earlier: "GpuReading") -> "GpuReading":
        """The same with what only an earlier one knows: what the devices were that cannot be read."""
        if self.state is GpuState.SILENT:
            return replace(
                self, devices=earlier.devices, lost=earlier.lost, missing=earlier.missing
            )
        known = (*earlier.devices, *earlier.missing)
        missing = tuple(device for device in known if device.sample.index in self.lost)
        return replace(self, missing=missing)

    @property
    def samples(self) -> list[GpuSample]:
        """What the devices say of themselves, while they can be seen."""
        return [device.sample for device in self.devices] if self.is_current else []

    @property
    def memory_of(self) -> dict[int, dict[str, int | None]]:
        """By process id, while the devices can be seen: bytes by the device's uuid, None where it does not tell."""
        found: dict[int, dict[str, int | None]] = {}
        for device in self.devices if self.is_current else ():
            for process in device.processes:
                found.setdefault(process.pid, {})[device.sample.uuid] = process.memory_bytes
        return found


def parse(line: bytes) -> GpuReading:
    """A line of the helper process.

    Raises:
        HelperAnswerInvalid: it is no such line.
    """
    answer = read_answer(line)
    if answer.absent is not None:
        note = f"No NVIDIA GPU here ({answer.absent}): runs use the CPU."
        return GpuReading(GpuState.ABSENT, note)
    if answer.failed is not None:
        note = f"The NVIDIA driver answers with an error: {answer.failed}. See `nvidia-smi` and `dmesg`."
        return GpuReading(GpuState.SILENT, note)
    devices = tuple(_device(entry) for entry in answer.devices or ())
    lost = {entry.index: entry.why for entry in answer.lost or ()}
    if lost:
        words = " ".join(f"GPU {index} cannot be read: {why}." for index, why in lost.items())
        note = f"{words} See `dmesg`; a reset or restart of the machine may bring it back."
        return GpuReading(GpuState.PARTIAL, note, devices, lost)
    if not devices:
        return GpuReading(GpuState.ABSENT, "The NVIDIA driver is installed and lists no GPU.")
    return GpuReading(GpuState.OK, "", devices)


def _device(entry: DeviceEntry) -> DeviceReading:
    processes = tuple(DeviceProcess(p.pid, p.kind, p.memory_bytes) for p in entry.processes)
    fields = entry.model_dump(exclude={"processes", "card"})
    return DeviceReading(GpuSample.model_validate(fields), entry.card, processes)
