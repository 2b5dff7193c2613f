"""How busy the machine is: of the host, and of each run's process tree."""

from pydantic import Field

from mosaic_contracts.models import PeerModel

RESOURCE_METRICS = "system/"
"""Prefix of the metric names under which a run's own use is kept in its stream (source `supervisor`):
`system/cpu_percent`, `system/rss_bytes`, `system/gpu_percent`, `system/gpu_memory_bytes`."""


class GpuSample(PeerModel):
    """One GPU."""

    uuid: str
    index: int
    name: str
    utilization_percent: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    temperature_c: float | None = None
    power_w: float | None = None


class RunUse(PeerModel):
    """What a run's processes use together."""

    run_id: str
    cpu_percent: float
    """100 is one core."""
    rss_bytes: int
    processes: int
    gpu_memory_bytes: int | None = None


class MachineSample(PeerModel):
    """One look at the machine."""

    t: float
    """Wall clock, seconds since the epoch."""
    cpu_percent: float
    """Of all cores: 100 is all of them."""
    cores: int
    load1: float
    memory_used_bytes: int
    memory_total_bytes: int
    disk_free_bytes: int
    """On the file system of MOSAIC_HOME."""
    disk_total_bytes: int
    gpus: list[GpuSample] = Field(default_factory=list)
    runs: list[RunUse] = Field(default_factory=list)


class MachineHistory(PeerModel):
    """`GET /machine`: the newest sample last."""

    interval_s: float
    samples: list[MachineSample]
    gpu_note: str = ""
    """Why there is no GPU in it, when that is worth knowing (driver missing, library missing)."""
