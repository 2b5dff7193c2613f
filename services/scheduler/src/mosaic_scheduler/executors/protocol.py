"""What every way of running a run's processes must do. `tests/executor_conformance.py` holds them to it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, Protocol

from pydantic import SecretStr

from mosaic_contracts.gpus import GpuGrant
from mosaic_contracts.launch import Door, ExitReport
from mosaic_contracts.preflight import PlacementPlan
from mosaic_contracts.spec import RunSpec
from mosaic_scheduler.executors.access import XmppLogin
from mosaic_scheduler.executors.inputs import RunInput


class Internet(StrEnum):
    """Whether runs reach beyond the broker."""

    OPEN = "open"
    """Every run does: it cannot be held back here."""
    ON_REQUEST = "on_request"
    NONE = "none"


@dataclass(frozen=True)
class Bounds:
    """What a run can be held to here."""

    memory: bool
    """`memory_mb` is enforced."""
    internet: Internet
    files: bool = False
    """A worker sees this machine's files."""
    queues: bool = False
    """The engine queues attempts, gives them cores and GPUs, and runs them on other machines. So our queue only
    forwards, our leases are off, and the end of this machine's session is no end of a run."""
    shares_folder: bool = True
    """The run's folder is the same one here and where its processes run."""


class AttemptRef(NamedTuple):
    """One attempt of one run, as an executor knows it."""

    run_id: str
    attempt: int


@dataclass(frozen=True)
class Inventory:
    """What there is to give away."""

    cpus: int
    gpu_problem: str = ""
    """Why this engine can hand no GPU to a run, and what to do; empty: it can."""
    memory_mb: int | None = None
    """With an engine that queues: memory of the node that has most."""
    gpus: int = 0
    """With an engine that queues: GPUs of the node that has most."""
    queue_limit: int = 0
    """How many attempts may wait in the engine's own queue at once."""
    elsewhere: str = ""
    """Name of a machine that is not this one, on which a run may be started; empty: none is known."""


@dataclass(frozen=True)
class LaunchSpec:
    """Everything an executor needs to start an attempt."""

    ref: AttemptRef
    spec: RunSpec
    nonce: str
    python: str
    """Interpreter of the worker's environment; it runs the runner and the shipper too."""
    worker_command: list[str]
    """argv before `train` or `play`."""
    broker_url: str
    """The broker as the run reaches it."""
    write_creds: Callable[[Path], None] | None
    """Writes the run's broker credentials; None on a broker without authentication."""
    broker_ca: str = ""
    """Certificate (PEM) of the authority that the run trusts of a broker with TLS; empty: those of its system."""
    shares_folder: bool = True
    """Whether the run's processes work in the folder that this scheduler sees."""
    secrets: Mapping[str, SecretStr] = field(default_factory=dict)
    """By name: each becomes a file that only the run's processes can read."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Further variables of its processes. Never secrets."""
    xmpp: XmppLogin | None = None
    """Where its agents talk, and as whom; None: it does without."""
    inputs: Sequence[RunInput] = ()
    """Checkpoints of other runs: each becomes a file of its own."""
    study: Sequence[RunInput] = ()
    """Files of the study that a sweep goes on with."""
    grant: GpuGrant | None = None
    """The GPUs that it gets; None: it must see none."""
    image: str | None = None
    """The worker's container image, for an executor that starts containers."""
    image_python: str = ""
    """Interpreter in that image."""
    image_command: Sequence[str] = ()
    """argv in that image before `train` or `play`; empty: no program of the image can be named."""
    job_image: str | None = None
    """`FILE@ID` of the Apptainer image in which a job of a cluster runs."""
    drain_python: str = ""
    """Interpreter that ships here what the attempt left; empty: `python`."""
    engine_gives_devices: bool = False
    """The engine sets the variables of its GPUs itself, where the attempt runs."""
    engine_kill_wait_s: float | None = None
    """What a stop that the engine begins by itself leaves between SIGTERM and SIGKILL; None: it begins none."""
    doors: Sequence[Door] = ()
    """How a run without a network reaches broker and XMPP server."""


@dataclass(frozen=True)
class GpuHold:
    """An attempt that lives and its GPUs, as its processes or its container carry them."""

    ref: AttemptRef
    grant: GpuGrant


class AttemptPhase(StrEnum):
    """How an attempt is, as the engine sees it."""

    ABSENT = "absent"
    """It was never started: submitting it is safe."""
    QUEUED = "queued"
    """The engine has it and has not started it; `detail` is its reason, `starts_at` its estimate."""
    ALIVE = "alive"
    UNSEEN = "unseen"
    """The engine reports that its node is gone; nothing is known of its processes."""
    ENDED = "ended"
    """Its runner has ended and left a report."""
    LOST = "lost"
    """Its runner has ended without a report: it was killed."""
    REFUSED = "refused"
    """Its runner could not even begin; `detail` says why."""


class EngineEndKind(StrEnum):
    """Why an engine with a queue ended an attempt by itself."""

    PREEMPTED = "preempted"
    NODE_FAILED = "node_failed"
    TIME_LIMIT = "time_limit"
    RESTARTED = "restarted"
    """It ended the attempt, and started it a second time, which its runner refused; or it forgot the attempt."""
    CANCELLED = "cancelled"
    """Somebody cancelled it with the engine's own command."""


@dataclass(frozen=True)
class EngineEnd:
    """An end that the engine decided."""

    kind: EngineEndKind
    words: str
    """A sentence of the engine's own reason."""


@dataclass(frozen=True)
class AttemptStatus:
    """Answer of `status`."""

    phase: AttemptPhase
    report: ExitReport | None = None
    """With ALIVE: the worker has ended, and the shipper sends what is left."""
    detail: str = ""
    """With REFUSED, LOST and UNSEEN: what the engine says of it, in sentences; with QUEUED: what it waits for."""
    node: str = ""
    """Where it runs, as the engine names that machine; empty: here, or the engine does not say."""
    starts_at: datetime | None = None
    """With QUEUED: the engine's estimate of its start."""
    engine_end: "EngineEnd | None" = None
    """With ENDED and LOST: the engine itself ended it; None: it did not, or does not say."""
    oom: bool = False
    """With LOST: the engine says that it was ended for memory."""
    stop_noted: bool = False
    """With LOST: its runner had been asked to stop (SIGTERM) before it was killed."""
    asked_here: bool = False
    """With ENDED and LOST: MOSAIC sent that signal, even if the record names no stop."""
    trace_at: float | None = None
    """With LOST: wall time of the last trace that it left, seconds since the epoch."""
    is_cut_off: bool = False
    """With LOST and UNSEEN: its folder is on its node alone, which may have ended the run while nothing reached it."""


ABSENT = AttemptStatus(AttemptPhase.ABSENT)


@dataclass(frozen=True)
class Forecast:
    """What a cluster says of a run that is not submitted yet."""

    words: str
    """In sentences."""
    waits: bool = False
    """It would not start as the cluster is now."""
    never: bool = False
    """It would be refused, or wait for ever."""


class EngineQueue(Protocol):
    """The queue of a cluster, where attempts wait that were passed to it. Each method may raise EngineUnavailable."""

    async def hold(self, ref: AttemptRef, is_held: bool) -> None:
        """Hold an attempt that waits there, or release it.

        Raises:
            LaunchFailed: it does not wait any more.
        """
        ...

    async def order(self, priorities: Mapping[AttemptRef, int]) -> None:
        """Let attempts that wait there start by these priorities, the highest first, as far as the cluster permits."""
        ...

    async def forecast(self, spec: RunSpec) -> Forecast | None:
        """What would become of a run; None: it would be no job of the cluster."""
        ...


class Executor(Protocol):
    """An engine that runs attempts.

    Each of its methods that asks the engine may raise EngineUnavailable: it does not answer, and nothing is known.
    """

    name: str
    bounds: Bounds

    async def inventory(self) -> Inventory:
        """What this engine has."""
        ...

    async def ready(self) -> None:
        """Return when attempts can be started now. Raises EngineUnavailable."""
        ...

    async def plan(self, launch_spec: LaunchSpec) -> PlacementPlan:
        """What `submit` would start; nothing is written or started."""
        ...

    async def submit(self, launch_spec: LaunchSpec) -> None:
        """Start an attempt. Idempotent by (run_id, attempt): one that was started before is left alone.

        Raises:
            LaunchFailed: nothing was started.
        """
        ...

    async def status(self, ref: AttemptRef) -> AttemptStatus:
        """How an attempt is now; also one that an earlier scheduler started."""
        ...

    async def image(self, ref: AttemptRef) -> str | None:
        """Digest of the image that an attempt was started from; None: it was not, or it runs in no container."""
        ...

    async def cancel(self, ref: AttemptRef, kill: bool = False) -> None:
        """Ask an attempt to stop, in whatever state it is; once, however often this is called. `kill`: at once."""
        ...

    async def logs(self, ref: AttemptRef, lines: int) -> list[str]:
        """Last lines of the worker's output."""
        ...

    async def adopt(self) -> list[AttemptRef]:
        """Every attempt that the engine runs now, started by this scheduler or not."""
        ...

    async def gpu_holds(self) -> list[GpuHold]:
        """GPUs that each attempt holds, by what really runs; attempts without any are left out."""
        ...

    async def sweep_orphans(self, may_live: Callable[[str], bool]) -> int:
        """End what belongs to runs of this stack that may not live (any more). Return how many."""
        ...

    async def sweep(self, ref: AttemptRef) -> int:
        """End what is left of an attempt whose runner is gone (but not its shipper). Return how many."""
        ...

    async def drain(self, ref: AttemptRef, timeout_s: float) -> bool:
        """Ship what an ended attempt left in its outbox. Return whether nothing is left.

        Raises:
            LaunchFailed: the shipper cannot be started.
        """
        ...

    def folder(self, ref: AttemptRef) -> Path:
        """The run's folder."""
        ...

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call `callback` when an attempt may have ended."""
        ...


@dataclass(frozen=True)
class RunProcess:
    """A process that belongs to a run, by its environment."""

    pid: int
    start_ticks: int
    """Together with the pid: which process this is, also after the pid was used again."""
    run_id: str
    run_dir: Path
    attempt: int
    argv: list[str] = field(default_factory=list)
    gpu_grant: str = ""
    """As JSON; empty: it has none."""
