"""Operations of the gateway's HTTP API: method, path, and the models of body and answer.

Every client (`mosaic_client`, the command line, the window) builds its requests from this table, and a test holds it
equal to the gateway's OpenAPI document. Importing it imports no pydantic: models are named here and imported when an
answer is read.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar
from urllib.parse import quote

if TYPE_CHECKING:
    from mosaic_contracts.access import SecretEntries, SecretEntry, Ticket
    from mosaic_contracts.alerts import (
        AlertReport,
        AlertRuleView,
        AlertTargetView,
        AlertTestReport,
        DeliveryView,
    )
    from mosaic_contracts.checkpoints import CheckpointPage, CheckpointRow
    from mosaic_contracts.curve_set import CurveSet
    from mosaic_contracts.deletion import DeletionReport
    from mosaic_contracts.frames import EpisodeFrames
    from mosaic_contracts.gpus import GpuReport
    from mosaic_contracts.groups import GroupPlan, GroupView
    from mosaic_contracts.machine import MachineHistory
    from mosaic_contracts.manifest import RunManifest
    from mosaic_contracts.media import MediaName, MediaValues
    from mosaic_contracts.metric_figures import MetricColumns, MetricNames
    from mosaic_contracts.preflight import PreflightReport
    from mosaic_contracts.run_archives import ArchiveImport, FreedRun
    from mosaic_contracts.runs import (
        ArtifactRow,
        Curve,
        DashboardEntry,
        EpisodePage,
        EventPage,
        MetricName,
        ReplayEntry,
        RunPage,
        RunView,
    )
    from mosaic_contracts.services import GroupViews, WorkerEntries, WorkerEntry
    from mosaic_contracts.spec import RunSpec
    from mosaic_contracts.stack import StackStatus
    from mosaic_contracts.storage_reports import (
        PrunePlan,
        PruneResult,
        StorageProfileList,
        StorageReport,
        UndoResult,
    )
    from mosaic_contracts.stored import BatchPage
    from mosaic_contracts.sweeps import SweepView, TrialPage
    from mosaic_contracts.syncs import SyncPlan, SyncStatus
    from mosaic_contracts.worker import CheckReport

T = TypeVar("T")
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Form = Literal["model", "list", "msgpack", "text", "objects", "file", "nothing"]
"""Form of an answer: JSON of a model, of a list of a model or of other objects, msgpack of a model, text, a file's
bytes, or an empty body."""

PREFIX = "/api/v1"
LIVE_PATH = f"{PREFIX}/live"
"""Path of the WebSocket (`mosaic_contracts.live`)."""
FRAMES_PATH = f"{PREFIX}/frames"
"""Path of the WebSocket for pictures of environments (`mosaic_contracts.frames`)."""


class Operation(Generic[T]):
    """One operation of the API; `T` is the type of its answer.

    Attributes:
        method: HTTP method.
        path: path with `{parameters}`.
        answer: model of the answer as `module.Class` of this package; empty where the answer is no model.
        form: form of the answer.
        body: model of the request's body as `module.Class`; empty: no body.
        repeats: whether sending the request twice is the same as once, although it is no GET.
        takes_file: whether the request's body is a file's bytes (`application/octet-stream`).
        takes_key: whether an `Idempotency-Key` makes it repeatable.
        is_slow: whether it may start a worker's interpreter, which can take two minutes.
    """

    # no dataclass: these import inspect, half of what a press of the Tab key may cost
    def __init__(
        self,
        method: Method,
        path: str,
        answer: str = "",
        form: Form = "model",
        *,
        body: str = "",
        takes_file: bool = False,
        repeats: bool = False,
        takes_key: bool = False,
        is_slow: bool = False,
    ) -> None:
        self.method: Method = method
        self.path = path
        self.answer = answer
        self.form: Form = form
        self.body = body
        self.takes_file = takes_file
        self.repeats = repeats
        self.takes_key = takes_key
        self.is_slow = is_slow

    def at(self, *values: object) -> str:
        """Return the path with the values of its parameters, percent-encoded.

        Args:
            *values: one for each parameter, in order. A `path` keeps its slashes.

        Returns:
            The encoded path.

        Raises:
            ValueError: more or fewer values than parameters.
        """
        first, *rest = self.path.split("{")
        if len(rest) != len(values):
            raise ValueError(f"{self.path} takes {len(rest)} values, not {len(values)}")
        path = first
        for piece, value in zip(rest, values):  # noqa: B905 - checked above, for a better message
            name, _, following = piece.partition("}")
            path += quote(str(value), safe="/" if name == "path" else "") + following
        return path

    def answer_model(self) -> Any:
        """Import the model of the answer.

        Returns:
            A class of this package.
        """
        return _model(self.answer)

    def body_model(self) -> Any:
        """Import the model of the request's body.

        Returns:
            A class of this package.
        """
        return _model(self.body)


def _model(name: str) -> Any:
    module, _, cls = name.partition(".")
    return getattr(import_module(f"mosaic_contracts.{module}"), cls)


_RUN = PREFIX + "/runs/{run_id}"
_SWEEP = PREFIX + "/sweeps/{run_id}"
_GROUP = PREFIX + "/groups/{group_id}"

READY: Operation[Any] = Operation("GET", "/readyz", form="objects")
HEALTH: Operation[Any] = Operation("GET", "/healthz", form="objects")
PROMETHEUS: Operation[str] = Operation("GET", "/metrics", form="text")
STACK: Operation[StackStatus] = Operation("GET", f"{PREFIX}/stack", "stack.StackStatus")
WORKERS: Operation[WorkerEntries] = Operation(
    "GET", f"{PREFIX}/workers", "services.WorkerEntries", is_slow=True
)
WORKER: Operation[WorkerEntry] = Operation(
    "GET", PREFIX + "/workers/{worker_id}", "services.WorkerEntry", is_slow=True
)
MACHINE: Operation[MachineHistory] = Operation("GET", f"{PREFIX}/machine", "machine.MachineHistory")
GPUS: Operation[GpuReport] = Operation("GET", f"{PREFIX}/gpus", "gpus.GpuReport")
SECRETS: Operation[SecretEntries] = Operation("GET", f"{PREFIX}/secrets", "access.SecretEntries")
SET_SECRET: Operation[SecretEntry] = Operation(
    "PUT",
    PREFIX + "/secrets/{name}",
    "access.SecretEntry",
    body="access.SecretValue",
    repeats=True,
)
DELETE_SECRET: Operation[None] = Operation("DELETE", PREFIX + "/secrets/{name}", form="nothing")
TICKET: Operation[Ticket] = Operation(
    "POST", f"{PREFIX}/tickets", "access.Ticket", body="access.TicketRequest", repeats=True
)

SUBMIT: Operation[RunView] = Operation(
    "POST", f"{PREFIX}/runs", "runs.RunView", body="spec.RunSpec", takes_key=True, is_slow=True
)
CHECK: Operation[CheckReport] = Operation(
    "POST",
    f"{PREFIX}/runs/check",
    "worker.CheckReport",
    body="spec.RunSpec",
    repeats=True,
    is_slow=True,
)
PREFLIGHT: Operation[PreflightReport] = Operation(
    "POST",
    f"{PREFIX}/preflight",
    "preflight.PreflightReport",
    body="spec.RunSpec",
    repeats=True,
    is_slow=True,
)
RUNS: Operation[RunPage] = Operation("GET", f"{PREFIX}/runs", "runs.RunPage")
QUEUE: Operation[RunPage] = Operation("GET", f"{PREFIX}/queue", "runs.RunPage")
RUN: Operation[RunView] = Operation("GET", _RUN, "runs.RunView")
PATCH: Operation[RunView] = Operation(
    "PATCH", _RUN, "runs.RunView", body="changes.RunPatch", repeats=True
)
MOVE: Operation[RunView] = Operation(
    "PATCH", f"{_RUN}/queue", "runs.RunView", body="changes.QueuePatch", repeats=True
)
STOP: Operation[RunView] = Operation("POST", f"{_RUN}/stop", "runs.RunView")
RETRY: Operation[RunView] = Operation("POST", f"{_RUN}/retry", "runs.RunView", is_slow=True)
RESUME: Operation[RunView] = Operation("POST", f"{_RUN}/resume", "runs.RunView", is_slow=True)
CLONE: Operation[RunView] = Operation(
    "POST",
    f"{_RUN}/clone",
    "runs.RunView",
    body="changes.CloneRequest",
    takes_key=True,
    is_slow=True,
)
PLAY: Operation[RunView] = Operation(
    "POST",
    f"{_RUN}/play",
    "runs.RunView",
    body="changes.PlayRequest",
    takes_key=True,
    is_slow=True,
)
FORK: Operation[RunView] = Operation(
    "POST",
    f"{_RUN}/fork",
    "runs.RunView",
    body="branches.ForkRequest",
    takes_key=True,
    is_slow=True,
)
REPLAY: Operation[RunView] = Operation(
    "POST",
    f"{_RUN}/replays",
    "runs.RunView",
    body="replays.ReplayRequest",
    takes_key=True,
    is_slow=True,
)
REPLAYS: Operation[list[ReplayEntry]] = Operation(
    "GET", f"{_RUN}/replays", "runs.ReplayEntry", "list"
)
OPEN_DASHBOARD: Operation[DashboardEntry] = Operation(
    "POST",
    f"{PREFIX}/tensorboards",
    "runs.DashboardEntry",
    body="dashboards.DashboardRequest",
    repeats=True,
    is_slow=True,
)
DASHBOARDS: Operation[list[DashboardEntry]] = Operation(
    "GET", f"{PREFIX}/tensorboards", "runs.DashboardEntry", "list"
)
DASHBOARD: Operation[DashboardEntry] = Operation(
    "GET", PREFIX + "/tensorboards/{run_id}", "runs.DashboardEntry"
)
START_GROUP: Operation[GroupView] = Operation(
    "POST",
    f"{PREFIX}/groups",
    "groups.GroupView",
    body="groups.GroupSpec",
    takes_key=True,
    is_slow=True,
)
CHECK_GROUP: Operation[GroupPlan] = Operation(
    "POST",
    f"{PREFIX}/groups/check",
    "groups.GroupPlan",
    body="groups.GroupSpec",
    repeats=True,
    is_slow=True,
)
GROUPS: Operation[GroupViews] = Operation("GET", f"{PREFIX}/groups", "services.GroupViews")
GROUP: Operation[GroupView] = Operation("GET", _GROUP, "groups.GroupView")
STOP_GROUP: Operation[GroupView] = Operation(
    "POST", f"{_GROUP}/stop", "groups.GroupView", is_slow=True
)
RETRY_GROUP: Operation[GroupView] = Operation(
    "POST", f"{_GROUP}/retry", "groups.GroupView", body="groups.GroupRetry", is_slow=True
)
DELETE_GROUP: Operation[GroupView] = Operation("DELETE", _GROUP, "groups.GroupView", is_slow=True)
RESTORE_GROUP: Operation[GroupView] = Operation(
    "POST", f"{_GROUP}/restore", "groups.GroupView", is_slow=True
)
START_SWEEP: Operation[RunView] = Operation(
    "POST",
    f"{PREFIX}/sweeps",
    "runs.RunView",
    body="sweeps.SweepSpec",
    takes_key=True,
    is_slow=True,
)
CHECK_SWEEP: Operation[CheckReport] = Operation(
    "POST",
    f"{PREFIX}/sweeps/check",
    "worker.CheckReport",
    body="sweeps.SweepSpec",
    repeats=True,
    is_slow=True,
)
SWEEPS: Operation[RunPage] = Operation("GET", f"{PREFIX}/sweeps", "runs.RunPage")
SWEEP: Operation[SweepView] = Operation("GET", _SWEEP, "sweeps.SweepView")
TRIALS: Operation[TrialPage] = Operation("GET", f"{_SWEEP}/trials", "sweeps.TrialPage")
BEST_OF_SWEEP: Operation[RunSpec] = Operation("GET", f"{_SWEEP}/best", "spec.RunSpec")
STUDY: Operation[bytes] = Operation("GET", f"{_SWEEP}/study", form="file")
STOP_SWEEP: Operation[RunView] = Operation(
    "POST", f"{_SWEEP}/stop", "runs.RunView", body="sweeps.SweepStop", repeats=True
)
RESUME_SWEEP: Operation[RunView] = Operation(
    "POST", f"{_SWEEP}/resume", "runs.RunView", body="sweeps.SweepResume", is_slow=True
)
SYNC: Operation[RunView] = Operation(
    "POST",
    f"{_RUN}/syncs",
    "runs.RunView",
    body="syncs.SyncRequest",
    repeats=True,
    is_slow=True,
)
PLAN_SYNC: Operation[SyncPlan] = Operation(
    "POST",
    f"{_RUN}/syncs/check",
    "syncs.SyncPlan",
    body="syncs.SyncRequest",
    repeats=True,
    is_slow=True,
)
SYNCS: Operation[SyncStatus] = Operation("GET", f"{_RUN}/syncs", "syncs.SyncStatus")
DELETE: Operation[RunView] = Operation("DELETE", _RUN, "runs.RunView")
DELETION: Operation[DeletionReport] = Operation(
    "GET", f"{_RUN}/deletion", "deletion.DeletionReport"
)
RESTORE: Operation[RunView] = Operation("POST", f"{_RUN}/restore", "runs.RunView")

STORAGE: Operation[StorageReport] = Operation(
    "GET", f"{PREFIX}/storage", "storage_reports.StorageReport", is_slow=True
)
PLAN_PRUNE: Operation[PrunePlan] = Operation(
    "POST",
    f"{PREFIX}/storage/plan",
    "storage_reports.PrunePlan",
    body="storage_reports.PruneRequest",
    repeats=True,
    is_slow=True,
)
PRUNE: Operation[PruneResult] = Operation(
    "POST",
    f"{PREFIX}/storage/prune",
    "storage_reports.PruneResult",
    body="storage_reports.PruneRequest",
    repeats=True,
    is_slow=True,
)
UNDO_PRUNE: Operation[UndoResult] = Operation(
    "POST",
    f"{PREFIX}/storage/undo",
    "storage_reports.UndoResult",
    body="storage_reports.UndoRequest",
    repeats=True,
    is_slow=True,
)
STORAGE_PROFILES: Operation[StorageProfileList] = Operation(
    "GET", f"{PREFIX}/storage/profiles", "storage_reports.StorageProfileList"
)

_ALERT_RULE = PREFIX + "/alerts/rules/{rule_id}"
_ALERT_TARGET = PREFIX + "/alerts/targets/{name}"
ALERTS: Operation[AlertReport] = Operation("GET", f"{PREFIX}/alerts", "alerts.AlertReport")
ADD_ALERT_RULE: Operation[AlertRuleView] = Operation(
    "POST",
    f"{PREFIX}/alerts/rules",
    "alerts.AlertRuleView",
    body="alerts.AlertRuleRequest",
    repeats=True,
)
REMOVE_ALERT_RULE: Operation[AlertRuleView] = Operation(
    "DELETE", _ALERT_RULE, "alerts.AlertRuleView"
)
RESTORE_ALERT_RULE: Operation[AlertRuleView] = Operation(
    "POST", f"{_ALERT_RULE}/restore", "alerts.AlertRuleView", repeats=True
)
TEST_ALERT: Operation[AlertTestReport] = Operation(
    "POST",
    f"{PREFIX}/alerts/test",
    "alerts.AlertTestReport",
    body="alerts.AlertTestRequest",
    repeats=True,
    is_slow=True,
)
SET_ALERT_TARGET: Operation[AlertTargetView] = Operation(
    "PUT",
    _ALERT_TARGET,
    "alerts.AlertTargetView",
    body="alerts.AlertTargetRequest",
    repeats=True,
)
DELETE_ALERT_TARGET: Operation[None] = Operation("DELETE", _ALERT_TARGET, form="nothing")
TEST_ALERT_TARGET: Operation[DeliveryView] = Operation(
    "POST", f"{_ALERT_TARGET}/test", "alerts.DeliveryView", is_slow=True
)

METRICS: Operation[list[MetricName]] = Operation(
    "GET", f"{_RUN}/metrics", "runs.MetricName", "list"
)
KNOWN_METRICS: Operation[MetricNames] = Operation(
    "GET", f"{PREFIX}/metrics", "metric_figures.MetricNames"
)
METRIC_FIGURES: Operation[MetricColumns] = Operation(
    "POST",
    f"{PREFIX}/metrics/figures",
    "metric_figures.MetricColumns",
    body="metric_figures.MetricFigureQuery",
    repeats=True,
)
MEDIA: Operation[list[MediaName]] = Operation("GET", f"{_RUN}/media", "media.MediaName", "list")
MEDIA_VALUES: Operation[MediaValues] = Operation("GET", f"{_RUN}/media/values", "media.MediaValues")
CURVE: Operation[Curve] = Operation("GET", f"{_RUN}/curve", "runs.Curve")
CURVES: Operation[CurveSet] = Operation("GET", f"{_RUN}/curves", "curve_set.CurveSet", "msgpack")
EPISODES: Operation[EpisodePage] = Operation("GET", f"{_RUN}/episodes", "runs.EpisodePage")
STEPS: Operation[EventPage] = Operation(
    "GET", _RUN + "/episodes/{attempt}/{env}/{episode}/steps", "runs.EventPage"
)
FRAMES: Operation[EpisodeFrames] = Operation(
    "GET", f"{_RUN}/frames", "frames.EpisodeFrames", "msgpack"
)
EVENTS: Operation[EventPage] = Operation("GET", f"{_RUN}/events", "runs.EventPage")
BATCHES: Operation[BatchPage] = Operation("GET", f"{_RUN}/batches", "stored.BatchPage", "msgpack")
QUARANTINE: Operation[list[dict[str, Any]]] = Operation("GET", f"{_RUN}/quarantine", form="objects")
LOG: Operation[str] = Operation("GET", f"{_RUN}/log", form="text")
ARTIFACTS: Operation[list[ArtifactRow]] = Operation(
    "GET", f"{_RUN}/artifacts", "runs.ArtifactRow", "list"
)
MANIFEST: Operation[RunManifest] = Operation("GET", f"{_RUN}/manifest", "manifest.RunManifest")
CHECKPOINTS: Operation[CheckpointPage] = Operation(
    "GET", f"{PREFIX}/checkpoints", "checkpoints.CheckpointPage"
)
VERIFY_CHECKPOINTS: Operation[list[CheckpointRow]] = Operation(
    "POST",
    f"{_RUN}/checkpoints/verify",
    "checkpoints.CheckpointRow",
    "list",
    repeats=True,
    is_slow=True,
)
IMPORT_CHECKPOINT: Operation[RunView] = Operation(
    "POST",
    f"{PREFIX}/checkpoints",
    "runs.RunView",
    takes_file=True,
    takes_key=True,
    is_slow=True,
)
EXPORT_CHECKPOINT: Operation[bytes] = Operation(
    "GET", f"{_RUN}/checkpoints/export", form="file", is_slow=True
)
IMPORT_ARCHIVE: Operation[ArchiveImport] = Operation(
    "POST",
    f"{PREFIX}/archives",
    "run_archives.ArchiveImport",
    takes_file=True,
    repeats=True,
    is_slow=True,
)
FREE: Operation[FreedRun] = Operation(
    "POST",
    f"{_RUN}/free",
    "run_archives.FreedRun",
    body="run_archives.FreeRequest",
    repeats=True,
    is_slow=True,
)
ARTIFACT: Operation[bytes] = Operation("GET", _RUN + "/artifacts/{path}", form="file")

OPERATIONS = {name: found for name, found in globals().items() if isinstance(found, Operation)}
"""All operations by their names here."""
