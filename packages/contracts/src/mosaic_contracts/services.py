"""Requests and results between services on the bus, as JSON; `mosaic_contracts.verbs` names those of each verb.

Every answer is a `Reply`, whose `result` holds the model that the verb names.
"""

from typing import Any, Literal

from pydantic import Field, SecretStr, field_serializer

from mosaic_contracts.models import PeerModel
from mosaic_contracts.problems import Problem
from mosaic_contracts.runs import Progress, RunRecord, SourceMark
from mosaic_contracts.stack import StackProxies
from mosaic_contracts.worker import Finding, WorkerDescription, WorkerManifest


class Reply(PeerModel):
    """Either a result or a problem."""

    result: Any = None
    problem: Problem | None = None


class NoRequest(PeerModel):
    """Payload of a verb that takes no arguments."""


class SubmitRequest(PeerModel):
    """A spec as the user sent it; the scheduler validates it, once."""

    spec: dict[str, Any]
    dry_run: bool = False
    """True: the result is a CheckReport and nothing is started."""
    idempotency_key: str | None = None
    """The same key and spec again within a day give the same run; another spec is `idempotency_conflict`."""


class RunRequest(PeerModel):
    """Names the run that a verb is about."""

    run_id: str


class PatchRequest(RunRequest):
    """Change name, tags or note of a run."""

    patch: dict[str, Any]
    """A RunPatch as the user sent it; the scheduler validates it, once."""


class MoveRequest(RunRequest):
    """Hold, release or move a run in the queue."""

    move: dict[str, Any]
    """A QueuePatch, as `PatchRequest.patch`."""


class CloneOrder(RunRequest):
    """Start a run like another one."""

    clone: dict[str, Any]
    """A CloneRequest, as `PatchRequest.patch`."""
    idempotency_key: str | None = None
    """As `SubmitRequest.idempotency_key`."""


class PlayOrder(RunRequest):
    """Start a run that acts with a checkpoint of another one."""

    play: dict[str, Any]
    """A PlayRequest, as `PatchRequest.patch`."""
    idempotency_key: str | None = None
    """As `SubmitRequest.idempotency_key`."""


class DeleteRequest(RunRequest):
    """Archive or delete an ended run. The record in the result has `deleted_at`."""

    now: bool = False
    """True: files and events are deleted at once; otherwise after a day, and `restore` is possible until then."""


class SetSecretRequest(PeerModel):
    """Store a secret."""

    name: str
    value: SecretStr

    @field_serializer("value", when_used="json")
    def _reveal(self, value: SecretStr) -> str:
        """On the broker's loopback connection it must be readable; nowhere else is it written."""
        return value.get_secret_value()


class SecretRequest(PeerModel):
    """Names a secret."""

    name: str


class MachineRequest(PeerModel):
    """Asks how busy the machine was."""

    last: int = 1
    """Number of samples."""


RunValue = Literal["name", "started_at", "ended_at"]
"""What a record has that a list can be sorted by."""
BRIEF_PAGE = 10_000
"""Ids of one brief reply; with their names about a megabyte, and a message may have eight."""


class ListRequest(PeerModel):
    """Selects runs; the result is ordered newest first."""

    before: str | None = None
    """Run id; only older runs."""
    limit: int = 100
    states: list[str] | None = None
    workers: list[str] | None = None
    algorithms: list[str] | None = None
    environments: list[str] | None = None
    kinds: list[str] | None = None
    tags: list[str] | None = None
    """Runs that carry all of them."""
    text: str | None = None
    """Part of name, id, note or tag, whatever its case."""
    parent: str | None = None
    run_ids: list[str] | None = None
    """Only these."""
    deleted: bool = False
    """True: archived runs instead of the others."""
    brief: bool = False
    """True: the result is RunIds, up to BRIEF_PAGE at once whatever `limit` says (for sorting)."""
    value: RunValue | None = None
    """Sort key that a brief reply has with each id."""


class RunRecords(PeerModel):
    """Records of selected runs."""

    runs: list[RunRecord]
    cut: bool = False
    """Fewer than asked for, for more would not fit one message: ask on after the last one."""


class RunIds(PeerModel):
    """Ids of selected runs, newest first."""

    run_ids: list[str]
    values: list[str | None] | None = None
    """The asked value of each, as its record has it."""
    cut: bool = False
    """There are more: ask on after the last one."""


class WorkerRequest(PeerModel):
    """Names a worker."""

    worker: str


class WorkerEntry(PeerModel):
    """One registered worker and whether it can be used now."""

    manifest: WorkerManifest
    ready: bool
    findings: list[Finding] = Field(default_factory=list)
    description: WorkerDescription | None = None


class WorkerEntries(PeerModel):
    """All registered workers."""

    workers: list[WorkerEntry]


class SchedulerStatus(PeerModel):
    """State of the scheduler."""

    version: str
    cpu_limit: int
    cpu_in_use: int
    queued: int
    live: int
    unpublished: int = 0
    """Supervisor events that are not in the store yet."""
    proxies: StackProxies = Field(default_factory=StackProxies)
    broker_ahead_s: float | None = None
    """How far the broker's clock is ahead of the scheduler's, negative where it is behind; None: not measured yet."""


class CommittedRequest(PeerModel):
    """Asks how far a run's sources are in the store."""

    run_id: str
    from_seq: int = 1
    """`next_seq` of the answer is sought from here on. Above 1 it is the first seq that the asker still has: after a
    loss of the store, what is below it cannot come any more and stays a gap."""


class Committed(PeerModel):
    """Also published on `subjects.committed(run_id)` after commits, at most four times a second a run."""

    run_id: str
    marks: list[SourceMark]


class Pruned(PeerModel):
    """Result of a deletion from the store; the request may be repeated after a time-out."""

    run_id: str
    freed_bytes: int


class RecorderStatus(PeerModel):
    """State of the recorder."""

    version: str
    cursor: int
    """Stream sequence of the last message in the store."""
    stream_last: int
    lag: int
    """Messages in the stream that are not in the store yet."""
    accepting: bool
    """False: disk low or store failing; see `reason`."""
    reason: str | None = None
    quarantined: int = 0
    disk_free_bytes: int = 0
    healed: int = 0
    """How often a deleted or regressed stream was noticed and healed since start."""


class Heartbeat(PeerModel):
    """`subjects.heartbeat(run_id)`: how the trainer is. Sent each second while the run is watched, else every two."""

    run_id: str
    attempt: int
    progress: Progress
    worker_pid: int | None = None
    worker_state: str | None = None
    """Letter of /proc/<pid>/stat (R, S, D, T, Z), or None when there is no such process."""
    cpu_s: float | None = None
    rss_bytes: int | None = None
    last_seq: int = 0
    """Highest seq in the outbox."""
    acked_seq: int = 0
    committed_seq: int = 0
    outbox_bytes: int = 0
    waiting_for_outbox: bool = False
    """The trainer stands still because its outbox is at its quota."""
    note: str = ""
    """Why the broker takes no batch just now."""
    notes: list[str] = Field(default_factory=list)
    """What the worker wants the user to know while it lasts (`Telemetry.note`)."""


class ControlRequest(PeerModel):
    """`subjects.control(run_id)`, answered by the shipper, which asks the trainer where it must."""

    op: str
    """`watch` (ttl_s: publish every 20 ms instead of 100 ms), `stop`, `ping`."""
    ttl_s: float | None = None
    data: dict[str, Any] = Field(default_factory=dict)
