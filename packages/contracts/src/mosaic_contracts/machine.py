"""How busy the machine is: of the host, and of each run's process tree."""

from pydantic import Field

from mosaic_contracts.compat import StrEnum
from mosaic_contracts.models import PeerModel

RESOURCE_METRICS = "system/"
"""Prefix of the metric names under which a run's own use is kept in its stream (source `supervisor`):
`system/cpu_percent`, `system/rss_bytes`, `system/gpu_percent`, `system/gpu_memory_bytes`."""


class GpuState(StrEnum):
    """Whether the GPUs can be read. Every value is a normal state of a machine, none an error."""

    UNKNOWN = "unknown"
    """The GPUs were not read yet."""
    OK = "ok"
    PARTIAL = "partial"
    """Some devices cannot be read; `note` says which."""
    ABSENT = "absent"
    """No NVIDIA driver, or no device."""
    SILENT = "silent"
    """The driver does not answer, or answers only with errors. No lease is given or ended meanwhile."""


class GpuSample(PeerModel):
    """Use of one GPU at one moment."""

    uuid: str
    index: int
    name: str
    utilization_percent: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    temperature_c: float | None = None
    power_w: float | None = None


class RunGpu(PeerModel):
    """A run's use of one GPU or slice."""

    uuid: str
    memory_bytes: int | None = None
    """Memory that the run's own processes hold there; None: the driver does not report it."""


class RunUse(PeerModel):
    """Resources used by all processes of a run."""

    run_id: str
    cpu_percent: float
    """CPU use in percent of one core."""
    rss_bytes: int
    processes: int
    """Number of processes counted; in a container only the trainer's main process."""
    gpu_memory_bytes: int | None = None
    """Memory used by the run's own processes on all of `gpus`; None: none, or the driver does not report it."""
    gpu_percent: float | None = None
    """Mean use of `gpus`, by other processes too."""
    gpus: list[RunGpu] = Field(default_factory=list)
    """GPUs that the run has leased, and any other that its processes use."""


class MachineSample(PeerModel):
    """Use of the machine at one moment."""

    t: float
    """Wall clock, seconds since the epoch."""
    cpu_percent: float
    """CPU use in percent of all cores."""
    cores: int
    load1: float
    memory_used_bytes: int
    memory_total_bytes: int
    disk_free_bytes: int
    """Free space on the file system of MOSAIC_HOME."""
    disk_total_bytes: int
    gpus: list[GpuSample] = Field(default_factory=list)
    runs: list[RunUse] = Field(default_factory=list)


class MachineHistory(PeerModel):
    """Answer of `GET /machine`, the newest sample last."""

    interval_s: float
    samples: list[MachineSample]
    age_s: float | None = None
    """Age of the newest sample in seconds, by the clock of the process that took it; None: no sample."""
    gpu_state: GpuState = GpuState.UNKNOWN
    gpu_note: str = ""
    """Why GPUs are missing from the samples, and what to do."""
