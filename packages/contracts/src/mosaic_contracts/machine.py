"""How busy the machine is: of the host, and of each run's process tree."""

from pydantic import Field

from mosaic_contracts.compat import StrEnum
from mosaic_contracts.models import PeerModel

RESOURCE_METRICS = "system/"
"""Prefix of the metric names under which a run's own use is kept in its stream (source `supervisor`):
`system/cpu_percent`, `system/rss_bytes`, `system/gpu_percent`, `system/gpu_memory_bytes`."""


class GpuState(StrEnum):
    """Whether the GPUs can be seen. Each of them is a state of the machine, and none an error."""

    UNKNOWN = "unknown"
    """Not looked at yet."""
    OK = "ok"
    PARTIAL = "partial"
    """Some devices cannot be read; `note` says which."""
    ABSENT = "absent"
    """No NVIDIA driver, or no device."""
    SILENT = "silent"
    """The driver is there and does not answer, or only with errors: no lease is given, and none is taken away."""


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


class RunGpu(PeerModel):
    """A run on one GPU or slice."""

    uuid: str
    memory_bytes: int | None = None
    """What its own processes hold there; None: the driver does not tell."""


class RunUse(PeerModel):
    """What a run's processes use together."""

    run_id: str
    cpu_percent: float
    """100 is one core."""
    rss_bytes: int
    processes: int
    """How many were counted; of a run in a container it is the trainer's main process alone."""
    gpu_memory_bytes: int | None = None
    """Use by its own processes on all of `gpus`; None: on none of them, or the driver does not report it."""
    gpu_percent: float | None = None
    """Mean over `gpus`: use of the whole GPU, by other processes too."""
    gpus: list[RunGpu] = Field(default_factory=list)
    """Those that it has leased, and any other that its processes are on."""


class MachineSample(PeerModel):
    """One look at the machine."""

    t: float
    """Wall clock, seconds since the epoch."""
    cpu_percent: float
    """Use of all cores: 100 is all of them."""
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
    age_s: float | None = None
    """Since the newest sample was taken, by the clock of who took it; None: there is none."""
    gpu_state: GpuState = GpuState.UNKNOWN
    gpu_note: str = ""
    """Why there is no GPU in it, or not all of them, and what to do."""
