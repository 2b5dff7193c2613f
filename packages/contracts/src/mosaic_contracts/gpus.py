"""GPUs: what there is, who has leased what, who else uses them. Memory is in bytes unless a name says `_mb` (MiB)."""

from typing import Literal

from pydantic import AwareDatetime, Field

from mosaic_contracts.compat import StrEnum
from mosaic_contracts.machine import GpuSample, GpuState
from mosaic_contracts.models import PeerModel


class GpuGrant(PeerModel):
    """The devices of one attempt of a run, as its lease says and its processes carry it."""

    token: str
    """Names the lease; every change of it must show this token."""
    devices: list[str] = Field(min_length=1)
    """UUIDs of GPUs or MIG slices."""
    memory_mb: int | None = None
    """Reserved on each of them; None: they are its own."""


class DeviceState(StrEnum):
    """What a device is to the next run that asks for one."""

    FREE = "free"
    LEASED = "leased"
    """A run has it to itself."""
    SHARED = "shared"
    """Runs with `gpu_memory_mb` are on it."""
    ENDING = "ending"
    """Its run has ended, and its memory is not free yet."""
    FOREIGN = "foreign"
    """Somebody outside MOSAIC uses it."""
    LOST = "lost"
    """It cannot be read any more."""


class ForeignUser(PeerModel):
    """Somebody who uses a device without a lease on it."""

    kind: Literal["compute", "graphics", "memory"]
    """`memory`: the driver counts memory as used and names no process."""
    pid: int | None = None
    name: str = ""
    user: str = ""
    memory_bytes: int | None = None
    run_id: str | None = None
    """A run of this stack that uses a device which is not its own (any more)."""


class GpuLease(PeerModel):
    """A run on a device."""

    run_id: str
    attempt: int
    memory_mb: int | None = None
    """None: the whole device."""
    taken_at: AwareDatetime
    ending: bool = False
    """Its processes are gone; it ends when its memory is free, or a bounded wait is over."""


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
    """`GET /gpus`."""

    state: GpuState
    note: str = ""
    """In words, where the state is not `ok`: why, and what to do."""
    age_s: float | None = None
    """Since the driver last answered."""
    share_limit: int
    """Runs with `gpu_memory_mb` that one device takes at most."""
    devices: list[GpuDevice] = Field(default_factory=list)
