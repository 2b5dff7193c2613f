"""Files through which the scheduler and a run's runner speak. The runner is standard library only and reads
plain JSON; a test in workerkit holds its keys equal to these models."""

from typing import Annotated

from pydantic import Field

from mosaic_contracts.clock import ClockReading
from mosaic_contracts.compat import StrEnum
from mosaic_contracts.models import PeerModel

SPEC_FILE = "spec.json"
"""File with `{"run_id", "attempt", "spec": RunSpec}`, which the worker's `train` reads."""
LAUNCH_FILE = "control/launch.json"
RUNNER_LOCK = "control/runner.lock"
"""File that the runner locks (flock) while it lives. If the lock is free, the runner is dead, whatever a pid
suggests."""
RUNNER_FILE = "control/runner.json"
EXIT_FILE = "control/exit.json"
PROGRESS_FILE = "control/progress"
TRAINER_SOCKET = "control/trainer.sock"
FRAMES_SOCKET = "control/frames.sock"
"""Socket of the worker (Unix, SOCK_SEQPACKET), to which the run's shipper connects while somebody watches."""
CREDS_FILE = "control/broker.creds"
SHIPPER_STATE_FILE = "control/shipper_state.json"
"""File that exists while the broker refuses the run's credentials, because the shipper cannot report this over the
broker."""
UNTRUSTED = "not trusted: "
"""Beginning of `ShipperState.refused` where it is the run that does not trust the broker."""
LAST_WORDS_FILE = "control/last_words"
"""Made by the runner with its blocks, so that a worker that a full disk ends can say so: its text, then zeros."""
NOTES_FILE = "control/notes.json"
"""The worker's current notes for the user, by name: `{"xmpp": "degraded: ..."}`."""
KEPT_NOTES_FILE = "control/kept_notes.json"
"""The worker's notes that stay with the run after its end. The runner copies them into its exit report."""
RUNNER_NOTES_FILE = "control/runner_notes.json"
"""The runner's own notes, in the same form. They stay with the run too."""
OUTBOX_DIR = "outbox"
INPUTS_DIR = "inputs"
"""Folder with read-only copies of checkpoints that a run starts from, one folder for each parameter."""
MANIFEST_FILE = "manifest.json"
WORKER_LOG = "logs/worker.log"
RUNNER_LOG = "logs/runner.log"
SHIPPER_LOG = "logs/shipper.log"

ENV_RUN_ID = "MOSAIC_RUN_ID"
"""Variable in the environment of every process of a run, by which stray processes are found."""
ENV_RUN_DIR = "MOSAIC_RUN_DIR"
ENV_ATTEMPT = "MOSAIC_ATTEMPT"
ENV_GPU_GRANT = "MOSAIC_GPU_GRANT"
"""Variable of a runner whose run has GPUs: its GpuGrant as JSON, from which leases are rebuilt."""


WallTime = Annotated[float, Field(ge=0, lt=2**36, allow_inf_nan=False)]
"""Seconds since the epoch, within the range of dates."""


class RunFile(PeerModel):
    """Content of `spec.json`."""

    run_id: str
    attempt: int
    spec: dict[str, object]


DOORS_DIR = "doors"
"""Folder below MOSAIC_HOME with the sockets through which containers without a network reach the stack."""
BROKER_DOOR = "broker.sock"
XMPP_DOOR = "xmpp.sock"


class Door(PeerModel):
    """A port on the run's own loopback, and the socket that it is connected to."""

    port: int
    socket: str


class Launch(PeerModel):
    """`launch.json`, written by the placement before the runner starts."""

    v: int = 1
    run_id: str
    attempt: int
    nonce: str
    """Unguessable text in every Msg-Id, so that no other run can shadow a batch."""
    worker_argv: list[str]
    shipper_argv: list[str]
    env: dict[str, str] = Field(default_factory=dict)
    """Variables added to the environment of worker and shipper; never secrets."""
    broker_url: str
    broker_ca: str = ""
    """Certificate (PEM) of the only authority to trust with `tls://`; empty: those that the system trusts."""
    grace_s: float
    """Seconds between SIGTERM and SIGKILL for the worker's tree."""
    engine_kill_wait_s: float | None = None
    """Seconds between SIGTERM and SIGKILL of a stop that the engine begins by itself; None: it begins none, or gives
    `grace_s`. A stop without MOSAIC's mark (`STOP_MARK`) is such a one."""
    drain_s: float = 30.0
    """Seconds that the shipper may take after the worker's end. Remaining events are shipped later."""
    outbox_bytes: int
    when_outbox_full: str = "wait"
    image: str | None = None
    """Digest of the image that the attempt runs in; None: it runs in no container."""
    drain_argv: list[str] = Field(default_factory=list)
    """Command of the shipper on the scheduler's machine, for what is left after the end; empty: `shipper_argv`."""
    job_image: str | None = None
    """`FILE@ID` of the Apptainer image around the runner, in a job of a cluster; None: there is none. Processes are
    not apart from those of the node there, so that this is no container as `image` means it."""
    shares_folder: bool = True
    """Whether the scheduler sees this folder. False: the run asks for its start, and sends its files and its end."""
    begin_s: float = 120.0
    """Seconds that a runner waits for the scheduler to grant the start."""
    clears_folder: bool = False
    """Whether the runner removes its folder once the stack has all of it; of secrets and logins in any case."""
    orphan_s: float | None = None
    """Seconds without the broker after which the run stops itself; None: never."""
    doors: list[Door] = Field(default_factory=list)
    """Ports that the shipper opens when the run has no network to reach broker and XMPP server."""


class RunnerInfo(PeerModel):
    """`runner.json`, written by the runner once worker and shipper are started."""

    runner_pid: int
    worker_pid: int | None = None
    guard_pid: int | None = None
    """Pid of the worker's parent; None in a container, and from an older runner."""
    shipper_pid: int | None = None
    started_at: float
    """Wall clock, seconds since the epoch."""
    stop_asked: bool = False
    """Whether the runner received SIGTERM."""


class ShipperState(PeerModel):
    """Content of `shipper_state.json`: why the shipper cannot use the broker."""

    attempt: int
    refused: str = Field(max_length=300)
    """The broker's answer to the run's credentials."""
    since: float
    """Wall clock, seconds since the epoch."""


class ExitPhase(StrEnum):
    """How far the runner got with the end of a run."""

    WORKER_ENDED = "worker_ended"
    DRAINED = "drained"
    NOT_DRAINED = "not_drained"


class ExitReport(PeerModel):
    """`exit.json`: written (atomically) at the worker's death, rewritten once when the shipper is done."""

    run_id: str
    attempt: int
    phase: ExitPhase
    code: int | None = None
    """Exit code; None when a signal ended the worker or it could not be started."""
    signal: int | None = None
    oom: bool | None = None
    """Whether the kernel killed a process of the run for lack of memory; None: unknown."""
    start_error: str | None = None
    """The worker could not be executed at all."""
    last_words: str | None = None
    """The worker's own reason for its failure; its log may have had no room for it."""
    stop_signal_sent: bool = False
    """The runner was asked to stop (SIGTERM) before the worker ended."""
    killed_after_grace: bool = False
    notes: list[str] = Field(default_factory=list, max_length=100)
    """What the user should know of the run after its end, from the worker and the runner."""
    strays: int = 0
    """Number of processes of the run that outlived the worker and were killed."""
    started_at: float
    """Wall clock, seconds since the epoch; for display, as `ended_at`."""
    ended_at: WallTime
    ended_clock: ClockReading | None = None
    """The monotonic clock at the worker's end; None: cannot be read there, or an older runner."""
    duration_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """From the runner's start to the worker's end, by the monotonic clock."""
    cpu_s: float | None = None
    max_rss_bytes: int | None = None
