"""Request/reply between services (`mosaic.v1.svc.<service>.<verb>`), JSON payloads.

scheduler: submit (with `dry_run`: check), get, list, stop, workers, describe, status, preflight (SubmitRequest;
PreflightReport), patch, move, clone, retry, resume, play, delete, restore, queue (RunRecords in the queue's order),
machine (MachineHistory), gpus (GpuReport), set_secret, delete_secret, secrets (SecretEntries).
recorder: committed, status, prune (RunRequest; `{"run_id", "freed_bytes"}`, idempotent: ask again after a time-out).
Every reply is a `Reply`; `result` holds the model that the verb names.
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


class SubmitRequest(PeerModel):
    """`scheduler.submit`: spec as the user sent it (validated there once). Reply: RunRecord."""

    spec: dict[str, Any]
    dry_run: bool = False
    """True: reply with a CheckReport and start nothing."""
    idempotency_key: str | None = None
    """The same key and spec again within a day give the same run; another spec is `idempotency_conflict`."""


class RunRequest(PeerModel):
    """`scheduler.get`, `stop`, `retry`, `resume`, `restore`. Reply: RunRecord."""

    run_id: str


class PatchRequest(PeerModel):
    """`scheduler.patch`. Reply: RunRecord."""

    run_id: str
    patch: dict[str, Any]
    """A RunPatch, validated by the scheduler once."""


class MoveRequest(PeerModel):
    """`scheduler.move`. Reply: RunRecord."""

    run_id: str
    move: dict[str, Any]
    """A QueuePatch."""


class CloneOrder(PeerModel):
    """`scheduler.clone`. Reply: RunRecord of the new run."""

    run_id: str
    clone: dict[str, Any]
    """A CloneRequest."""
    idempotency_key: str | None = None


class PlayOrder(PeerModel):
    """`scheduler.play`. Reply: RunRecord of the new run."""

    run_id: str
    play: dict[str, Any]
    """A PlayRequest."""
    idempotency_key: str | None = None


class DeleteRequest(PeerModel):
    """`scheduler.delete`: of an ended run. Reply: RunRecord with `deleted_at`, for the last time when `now`."""

    run_id: str
    now: bool = False
    """True: files and events go at once; otherwise after a day, and `restore` brings the run back until then."""


class SetSecretRequest(PeerModel):
    """`scheduler.set_secret`. Reply: SecretEntry."""

    name: str
    value: SecretStr

    @field_serializer("value", when_used="json")
    def _reveal(self, value: SecretStr) -> str:
        """On the broker's loopback connection it must be readable; nowhere else is it written."""
        return value.get_secret_value()


class SecretRequest(PeerModel):
    """`scheduler.delete_secret`."""

    name: str


class MachineRequest(PeerModel):
    """`scheduler.machine`. Reply: MachineHistory."""

    last: int = 1
    """Number of samples."""


RunValue = Literal["name", "started_at", "ended_at"]
"""What a record has that a list can be sorted by."""
BRIEF_PAGE = 10_000
"""Ids of one brief reply; with their names about a megabyte, and a message may have eight."""


class ListRequest(PeerModel):
    """`scheduler.list`: newest first. Reply: RunRecords."""

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
    """True: reply with RunIds, up to BRIEF_PAGE at once whatever `limit` says (for sorting)."""
    value: RunValue | None = None
    """Sort key that a brief reply has with each id."""


class RunRecords(PeerModel):
    """Reply of `scheduler.list`."""

    runs: list[RunRecord]
    cut: bool = False
    """Fewer than asked for, for more would not fit one message: ask on after the last one."""


class RunIds(PeerModel):
    """Reply of a brief `scheduler.list`, newest first."""

    run_ids: list[str]
    values: list[str | None] | None = None
    """The asked value of each, as its record has it."""
    cut: bool = False
    """There are more: ask on after the last one."""


class WorkerRequest(PeerModel):
    """`scheduler.describe`. Reply: WorkerDescription."""

    worker: str


class WorkerEntry(PeerModel):
    """One registered worker and whether it can be used now."""

    manifest: WorkerManifest
    ready: bool
    findings: list[Finding] = Field(default_factory=list)
    description: WorkerDescription | None = None


class WorkerEntries(PeerModel):
    """Reply of `scheduler.workers`."""

    workers: list[WorkerEntry]


class SchedulerStatus(PeerModel):
    """Reply of `scheduler.status`."""

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
    """`recorder.committed`: how far a run's sources are in the store. Reply: Committed."""

    run_id: str
    from_seq: int = 1
    """`next_seq` of the answer is sought from here on. Above 1 it is the first seq that the asker still has: after a
    loss of the store, what is below it cannot come any more and stays a gap."""


class Committed(PeerModel):
    """Also published on `subjects.committed(run_id)` after commits, at most four times a second a run."""

    run_id: str
    marks: list[SourceMark]


class RecorderStatus(PeerModel):
    """Reply of `recorder.status`."""

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
