"""GPUs: what there is, who has leased what, who else uses them. Memory is in bytes unless a name says `_mb` (MiB)."""

from typing import Literal

from pydantic import AwareDatetime, Field

from mosaic_contracts.compat import StrEnum
from mosaic_contracts.machine import GpuSample, GpuState
from mosaic_contracts.models import PeerModel


class GpuGrant(PeerModel):
    """The devices leased to one attempt of a run."""

    token: str
    """Identifies the lease. Every change of the lease must present it."""
    devices: list[str] = Field(min_length=1)
    """UUIDs of GPUs or MIG slices."""
    memory_mb: int | None = None
    """MiB reserved on each device; None: the devices are not shared."""


class DeviceState(StrEnum):
    """Availability of a device for the next run that asks for one."""

    FREE = "free"
    LEASED = "leased"
    """One run has the whole device."""
    SHARED = "shared"
    """Runs with `gpu_memory_mb` share the device."""
    ENDING = "ending"
    """The run has ended, but its memory is not free yet."""
    FOREIGN = "foreign"
    """A process outside MOSAIC uses the device."""
    LOST = "lost"
    """The driver cannot read the device any more."""


class ForeignUser(PeerModel):
    """A user of a device who holds no lease on it."""

    kind: Literal["compute", "graphics", "memory"]
    """`memory`: the driver counts memory as used and names no process."""
    pid: int | None = None
    name: str = ""
    user: str = ""
    memory_bytes: int | None = None
    run_id: str | None = None
    """Id of a run of this stack that uses a device which is not leased to it (any more)."""


class GpuLease(PeerModel):
    """The lease of one run on one device."""

    run_id: str
    attempt: int
    memory_mb: int | None = None
    """MiB reserved on the device; None: the whole device."""
    taken_at: AwareDatetime
    ending: bool = False
    """The run's processes are gone. The lease ends when their memory is free, or after a bounded wait."""


class GpuDevice(GpuSample):
    """One GPU, or one MIG slice of it."""

    card: str | None = None
    """UUID of the GPU that a slice belongs to."""
    state: DeviceState
    detail: str = ""
    """What the driver says about a lost device."""
    leases: list[GpuLease] = Field(default_factory=list)
    foreign: list[ForeignUser] = Field(default_factory=list)


class GpuReport(PeerModel):
    """Answer of `GET /gpus`."""

    state: GpuState
    note: str = ""
    """Why the state is not `ok` and what to do, in words; empty otherwise."""
    age_s: float | None = None
    """Seconds since the driver last answered."""
    share_limit: int
    """Maximum number of runs with `gpu_memory_mb` on one device."""
    devices: list[GpuDevice] = Field(default_factory=list)
