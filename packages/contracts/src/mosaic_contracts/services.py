"""Requests and results between services on the bus, as JSON; `mosaic_contracts.verbs` names those of each verb.

Every answer is a `Reply`, whose `result` holds the model that the verb names.
"""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field, SecretStr, field_serializer

from mosaic_contracts.groups import GroupView
from mosaic_contracts.models import PeerModel
from mosaic_contracts.recorder_messages import NoRequest as NoRequest
from mosaic_contracts.recorder_messages import Pruned as Pruned
from mosaic_contracts.recorder_messages import RecorderStatus as RecorderStatus
from mosaic_contracts.recorder_messages import RunRequest as RunRequest
from mosaic_contracts.recorder_messages import StoredAnswer as StoredAnswer
from mosaic_contracts.recorder_messages import StoredRequest as StoredRequest
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.shipper_messages import Committed as Committed
from mosaic_contracts.shipper_messages import CommittedRequest as CommittedRequest
from mosaic_contracts.shipper_messages import ControlRequest as ControlRequest
from mosaic_contracts.shipper_messages import Heartbeat as Heartbeat
from mosaic_contracts.shipper_messages import Reply as Reply
from mosaic_contracts.stack import StackProxies
from mosaic_contracts.storage_reports import StorageVolume
from mosaic_contracts.worker import Finding, WorkerDescription, WorkerManifest


class SubmitRequest(PeerModel):
    """A spec as the user sent it; the scheduler validates it, once."""

    spec: dict[str, Any]
    dry_run: bool = False
    """True: the result is a CheckReport and nothing is started."""
    idempotency_key: str | None = None
    """The same key and spec within a day return the same run. Another spec is `idempotency_conflict`."""


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


class ReplayOrder(RunRequest):
    """Rebuild a recorded episode of a run."""

    replay: dict[str, Any]
    """A ReplayRequest, as `PatchRequest.patch`."""
    idempotency_key: str | None = None
    """As `SubmitRequest.idempotency_key`."""


class SyncOrder(RunRequest):
    """Send an ended run to W&B."""

    sync: dict[str, Any]
    """A SyncRequest, as `PatchRequest.patch`."""
    dry_run: bool = False
    """True: the result is a `SyncPlan`, and nothing is sent."""


class DashboardOrder(PeerModel):
    """Open TensorBoard with a selection of runs."""

    dashboard: dict[str, Any]
    """A DashboardRequest, as `PatchRequest.patch`."""
    unused_s: dict[str, float] = Field(default_factory=dict)
    """For each dashboard that was used since the gateway started, the seconds since its last request."""


class PlayOrder(RunRequest):
    """Start a run that acts with a checkpoint of another one."""

    play: dict[str, Any]
    """A PlayRequest, as `PatchRequest.patch`."""
    idempotency_key: str | None = None
    """As `SubmitRequest.idempotency_key`."""


class ForkOrder(RunRequest):
    """Start a run that goes on from a step of a recorded episode."""

    fork: dict[str, Any]
    """A ForkRequest, as `PatchRequest.patch`."""
    idempotency_key: str | None = None
    """As `SubmitRequest.idempotency_key`."""


class ImportOrder(PeerModel):
    """Make a run of kind `import` of an uploaded file. The gateway has written the file and hashed it."""

    upload: str
    """Name of the file in `UPLOADS_DIR`."""
    sha256: str
    bytes: int
    asked: dict[str, Any]
    """An ImportQuery, as `PatchRequest.patch`."""
    idempotency_key: str | None = None
    """As `SubmitRequest.idempotency_key`."""


class SweepOrder(PeerModel):
    """Start a sweep."""

    sweep: dict[str, Any]
    """A SweepSpec, as `PatchRequest.patch`."""
    dry_run: bool = False
    """True: the result is a CheckReport and nothing is started."""
    idempotency_key: str | None = None
    """As `SubmitRequest.idempotency_key`."""


class GroupOrder(PeerModel):
    """Start a group of runs: all of them, or none if one is refused."""

    group: dict[str, Any]
    """A GroupSpec, as `PatchRequest.patch`."""
    dry_run: bool = False
    """True: the result is a GroupPlan and nothing is started."""
    idempotency_key: str | None = None
    """As `SubmitRequest.idempotency_key`."""


class GroupRequest(PeerModel):
    """Names a group, or a sweep by the id of its run."""

    group_id: str


class GroupListRequest(PeerModel):
    """Selects groups and sweeps, newest first."""

    before: str | None = None
    """Id of a run or a group. Only older groups are listed."""
    limit: int = 100


class GroupRetryOrder(GroupRequest):
    """Start again what failed in a group."""

    retry: dict[str, Any] = Field(default_factory=dict)
    """A GroupRetry, as `PatchRequest.patch`."""


class GroupDeleteRequest(GroupRequest):
    """Delete all runs of a group that has ended."""

    now: bool = False
    """As `DeleteRequest.now`."""
    force: bool = False
    """As `DeleteRequest.force`."""


class GroupViews(PeerModel):
    """Groups, newest first."""

    groups: list[GroupView]
    next_cursor: str | None = None
    """`before` of the next page; None: there are no more."""


class SweepResumption(RunRequest):
    """Go on with an ended sweep, as a new run that takes over its study."""

    resume: dict[str, Any] = Field(default_factory=dict)
    """A SweepResume, as `PatchRequest.patch`."""


class TrialOrder(RunRequest):
    """Start one run of a trial of the named sweep. The same key returns the same run, at any time."""

    key: str
    """Unique in the sweep; see `RunRecord.trial`."""
    spec: dict[str, Any]
    """As `TrialRunOrder.spec`."""


class DeleteRequest(RunRequest):
    """Delete an ended run. The record in the result has `deleted_at`."""

    now: bool = False
    """True: files and events are deleted at once; otherwise after a day, and `restore` is possible until then."""
    force: bool = False
    """True: it is deleted whatever speaks against it (`DeletionReport.against`)."""


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


RunValue = Literal["name", "started_at", "ended_at", "origin"]
"""A sort key of the run list that the scheduler's record has; `origin` is a JSON list of worker, algorithm, environment
and kind."""
BRIEF_PAGE = 10_000
"""Ids of one brief reply; with their names about a megabyte, and a message may have eight."""


class ListRequest(PeerModel):
    """Selects runs; the result is ordered newest first."""

    before: str | None = None
    """Run id. Only older runs are listed."""
    limit: int = 100
    states: list[str] | None = None
    workers: list[str] | None = None
    algorithms: list[str] | None = None
    environments: list[str] | None = None
    kinds: list[str] | None = None
    tags: list[str] | None = None
    """Tags that a run must all have."""
    text: str | None = None
    """Text to find in name, id, note or tag, in any case."""
    search: str = ""
    """Terms of `mosaic_contracts.run_search`; those that need the store are left out."""
    parent: str | None = None
    group: str | None = None
    """Id of a group whose runs to list."""
    trials: bool = True
    """Whether to list runs of trials, too."""
    members: bool = True
    """Whether to list runs of groups, too."""
    run_ids: list[str] | None = None
    """Ids of the runs to list."""
    deleted: bool = False
    """Whether to list deleted runs instead of the others."""
    brief: bool = False
    """True: the result is RunIds, up to BRIEF_PAGE at once whatever `limit` says (for sorting)."""
    value: RunValue | None = None
    """Sort key whose value a brief answer has with each id."""


class RunRecords(PeerModel):
    """Records of selected runs."""

    runs: list[RunRecord]
    cut: bool = False
    """Whether there are more runs than fit one message. Ask again from the last one on."""


class RunIds(PeerModel):
    """Ids of selected runs, newest first."""

    run_ids: list[str]
    values: list[str | None] | None = None
    """The requested value for each id."""
    cut: bool = False
    """Whether there are more runs. Ask again from the last one on."""


class WorkerRequest(PeerModel):
    """Names a worker."""

    worker: str


class WorkerEntry(PeerModel):
    """A registered worker and whether it can be used now."""

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
    """Number of supervisor events that are not in the store yet."""
    proxies: StackProxies = Field(default_factory=StackProxies)
    broker_ahead_s: float | None = None
    """Seconds that the broker's clock is ahead of the scheduler's; negative if behind; None: not measured yet."""
    started_at: datetime | None = None
    """Time at which this scheduler's process started, by which a restart is noticed; None: an older scheduler."""
    volumes: list[StorageVolume] = Field(default_factory=list)
    """Volumes that the stack uses, the one of MOSAIC_HOME first."""
    findings: list[str] = Field(default_factory=list)
    """What else is wrong and what to do, e.g. that the file of storage profiles is not valid."""
