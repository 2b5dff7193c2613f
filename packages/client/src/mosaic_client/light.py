"""What short programs read of a run: the fields that the command line shows, decoded by msgspec.

The contract's own models (`mosaic_contracts.runs`) say more and check more, but importing pydantic and building them
costs four times what a verb such as `ps` does besides. A test holds every field here equal to the contract's.
"""

import json
from datetime import datetime
from typing import Any

import msgspec
from msgspec import field

from mosaic_client.answer import HttpAnswer
from mosaic_contracts.checkpoint_words import CheckpointMark, CheckpointState
from mosaic_contracts.choices import RunKind
from mosaic_contracts.compat import Self
from mosaic_contracts.figures import steps_done, steps_in_all
from mosaic_contracts.group_words import FAILED_STATES, GroupKind
from mosaic_contracts.manifest_words import FileState, FileType, LinkKind
from mosaic_contracts.states import EndCause, RunState


class Light(msgspec.Struct, dict=True):
    """A part of an answer, of which only the named fields are read."""

    @classmethod
    def read(cls, raw: bytes | msgspec.Raw) -> Self:
        """Parse JSON and keep it in `raw`.

        Raises:
            ValueError: it is none.
        """
        found = msgspec.json.decode(raw, type=cls, strict=False)  # NaN and infinities are words
        vars(found)["raw"] = bytes(raw)
        return found

    @classmethod
    def read_answer(cls, answer: HttpAnswer) -> Self:
        """Read the value in an answer."""
        return cls.read(answer.content)

    def plain(self) -> Any:
        """Return the complete answer; of a part, the fields that were read."""
        raw = vars(self).get("raw")
        return msgspec.to_builtins(self) if raw is None else json.loads(raw)


class StartFields(Light):
    """As in `mosaic_contracts.branches.BranchPoint`."""

    run_id: str
    episode: int
    step: int
    env: int = 0
    attempt: int | None = None
    actor: str | None = None


class SpecFields(Light):
    """As in `mosaic_contracts.spec.RunSpec`."""

    worker: str
    algorithm: str
    environment: str
    kind: RunKind = RunKind.TRAIN
    seed: int = 1
    steps: int | None = None
    parameters: dict[str, bool | int | float | str | None] = {}
    grace_s: float = 20.0
    cpus: int = 1
    gpus: int = 0
    gpu_memory_mb: int | None = None
    name: str | None = None
    parent: str | None = None
    start_from: StartFields | None = None


class EndFields(Light):
    """As in `mosaic_contracts.runs.RunEnd`."""

    cause: EndCause
    message: str
    last_lines: list[str] = []


class ProgressFields(Light):
    """As in `mosaic_contracts.runs.Progress`."""

    step: int = 0
    total: int | None = None


class SummaryFields(Light):
    """As in `mosaic_contracts.runs.RunSummary`."""

    events: int = 0
    global_step: int = 0
    episodes: int = 0
    episodes_played: int = 0
    best_return: float | None = None
    mean_return: float | None = None
    gaps: int = 0
    dropped: int = 0
    thinned_steps: int = 0
    thinned_by: str = ""
    quarantined: int = 0
    span_s: float | None = None

    @property
    def is_sample(self) -> bool:
        """Whether more episodes were played than the store has."""
        return self.episodes_played > self.episodes


class GroupPlaceFields(Light):
    """As in `mosaic_contracts.runs.GroupPlace`."""

    group_id: str
    name: str
    place: int


class RaisedAlertFields(Light):
    """As in `mosaic_contracts.alerts.RaisedAlert`."""

    alert_id: int
    rule: str
    message: str
    raised_at: datetime


class RunFields(Light):
    """As in `mosaic_contracts.runs.RunView`."""

    run_id: str
    name: str
    spec: SpecFields
    state: RunState
    created_at: datetime
    run_dir: str
    waiting_reason: str | None = None
    position: int | None = None
    expected_start_at: datetime | None = None
    unresponsive: bool = False
    started_at: datetime | None = None
    first_event_at: datetime | None = None
    ended_at: datetime | None = None
    elapsed_s: float | None = None
    end: EndFields | None = None
    progress: ProgressFields | None = None
    telemetry_pending: bool = False
    worker_version: str | None = None
    node: str | None = None
    image: str | None = None
    notes: list[str] = []
    alerts: list[RaisedAlertFields] = []
    tags: list[str] = []
    note: str = ""
    pinned: bool = False
    pinned_files: list[str] = []
    storage_profile: str | None = None
    priority: int = 0
    held: bool = False
    group: GroupPlaceFields | None = None
    trial: str | None = None
    defaults: dict[str, bool | int | float | str | None] = {}
    deleted_at: datetime | None = None
    summary: SummaryFields | None = None
    sps: float | None = None
    stale: bool = False

    @property
    def step(self) -> int:
        """Environment steps done."""
        return steps_done(self.progress, self.summary)

    @property
    def total_steps(self) -> int | None:
        """Environment steps in all; None if unknown."""
        return steps_in_all(self.progress, self.spec.steps)


class GroupFields(Light):
    """As in `mosaic_contracts.groups.GroupView`."""

    group_id: str
    kind: GroupKind
    name: str
    created_at: datetime
    algorithm: str
    environments: list[str]
    total: int | None
    counts: dict[RunState, int] = {}
    run_ids: list[str] = []
    deleted: bool = False
    best_return: float | None = None
    mean_return: float | None = None

    @property
    def done(self) -> int:
        """Number of runs that succeeded."""
        return self.counts.get(RunState.SUCCEEDED, 0)

    @property
    def failed(self) -> int:
        """Number of runs that failed, crashed, timed out or were interrupted."""
        return sum(self.counts.get(state, 0) for state in FAILED_STATES)

    @property
    def stopped(self) -> int:
        """Number of runs that a user stopped."""
        return self.counts.get(RunState.CANCELLED, 0)

    @property
    def live(self) -> int:
        """Number of runs that have not ended."""
        return sum(number for state, number in self.counts.items() if not state.is_final)


class EpisodeFields(Light):
    """As in `mosaic_contracts.runs.EpisodeRow`."""

    attempt: int
    env: int
    episode: int
    length: int | None = None
    episode_return: float | None = field(name="return", default=None)
    terminated: bool | None = None
    truncated: bool | None = None
    global_step: int | None = None
    recorded_steps: int = 0
    thinned_steps: int = 0


class MetricFields(Light):
    """As in `mosaic_contracts.runs.MetricName`."""

    name: str
    points: int
    last_step: int | None
    last_value: float


class BucketFields(Light):
    """As in `mosaic_contracts.runs.CurveBucket`."""

    step0: int
    step1: int
    n: int
    min: float | None
    max: float | None
    mean: float | None
    last: float
    nan: int = 0
    inf: int = 0
    pass_number: int = 0


class CurveFields(Light):
    """As in `mosaic_contracts.runs.Curve`."""

    name: str
    points: int
    buckets: list[BucketFields] = []


class ArtifactFields(Light):
    """As in `mosaic_contracts.runs.ArtifactRow`."""

    path: str
    kind: str
    bytes: int
    step: int | None = None
    env: int | None = None
    episode: int | None = None
    exists: bool = True


class ManifestEntryFields(Light):
    """As in `mosaic_contracts.manifest.ManifestEntry`."""

    path: str
    kind: str
    bytes: int
    type: FileType = FileType.FILE
    step: int | None = None
    env: int | None = None
    episode: int | None = None
    reason: str | None = None
    state: FileState = FileState.PRESENT
    announced: bool = False


class ManifestLinkFields(Light):
    """As in `mosaic_contracts.manifest.ManifestLink`."""

    kind: LinkKind
    run_id: str | None = None
    path: str | None = None
    tracked: dict[str, Any] | None = None


class KindTotalFields(Light):
    """As in `mosaic_contracts.manifest.KindTotal`."""

    kind: str
    files: int
    bytes: int
    gone: int = 0


class ManifestFields(Light):
    """As in `mosaic_contracts.manifest.RunManifest`."""

    run_id: str
    entries: list[ManifestEntryFields]
    links: list[ManifestLinkFields] = []
    totals: list[KindTotalFields] = []
    unlisted_files: int = 0
    unlisted_bytes: int = 0


class EvaluationFields(Light):
    """As in `mosaic_contracts.checkpoints.CheckpointEvaluation`."""

    run_id: str
    mean: float | None
    standard_error: float | None = None


class CheckpointFields(Light):
    """As in `mosaic_contracts.checkpoints.CheckpointRow`."""

    run_id: str
    worker: str
    algorithm: str
    environment: str
    path: str
    bytes: int
    step: int | None = None
    t: float | None = None
    mean_return_20: float | None = None
    reason: str | None = None
    evaluation: EvaluationFields | None = None
    marks: list[CheckpointMark] = []
    state: CheckpointState = CheckpointState.PRESENT


class StatusFields(Light):
    """As in `mosaic_contracts.stack.StackStatus`."""

    ready: bool
    scheduler: dict[str, Any] | None = None
    recorder: dict[str, Any] | None = None
    findings: list[str] = []


class DeletionFields(Light):
    """As in `mosaic_contracts.deletion.DeletionReport`."""

    run_id: str
    state: str = "kept"
    freed_bytes: int = 0
    bytes_by_kind: dict[str, int] = {}
    against: list[str] = []
    is_store_known: bool = True


class ServiceFields(Light):
    """As in `mosaic_contracts.stack.ServiceEntry`."""

    name: str
    state: str
    log: str
    pid: int | None = None
    restarts: int = 0
    last_exit: str | None = None


class StackFileFields(Light):
    """As in `mosaic_contracts.stack.StackFile`."""

    supervisor_pid: int
    gateway_url: str
    broker_url: str
    monitor_url: str = ""
    ready: bool = False
    services: list[ServiceFields] = []
