"""Requests between services on the bus: for each verb the models of request and result, and the time limit.

A request goes to `mosaic.v1.svc.<service>.<name>` and is answered by a `mosaic_contracts.services.Reply`.
"""

from typing import Any, TypeVar

from pydantic import BaseModel, RootModel

from mosaic_contracts.access import SecretEntries, SecretEntry
from mosaic_contracts.alerts import (
    AlertQuery,
    AlertReport,
    AlertRuleName,
    AlertRuleOrder,
    AlertRuleView,
    AlertTargetName,
    AlertTargetOrder,
    AlertTargetView,
    AlertTestOrder,
    AlertTestReport,
    DeliveryView,
    EvaluateRequest,
    EvaluateResult,
)
from mosaic_contracts.archive_words import ARCHIVE_S
from mosaic_contracts.deletion import DeletionReport
from mosaic_contracts.gpus import GpuReport
from mosaic_contracts.groups import GroupPlan, GroupView
from mosaic_contracts.machine import MachineHistory
from mosaic_contracts.manifest import FileReport
from mosaic_contracts.preflight import PreflightReport
from mosaic_contracts.replays import EpisodeEvents, EpisodeRequest
from mosaic_contracts.run_archives import ArchiveImport, ArchiveOrder, FreedRun, FreeOrder
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.service_verb import QUICK_S as QUICK_S
from mosaic_contracts.service_verb import ServiceVerb as ServiceVerb
from mosaic_contracts.services import (
    CloneOrder,
    Committed,
    CommittedRequest,
    DashboardOrder,
    DeleteRequest,
    ForkOrder,
    GroupDeleteRequest,
    GroupListRequest,
    GroupOrder,
    GroupRequest,
    GroupRetryOrder,
    GroupViews,
    ImportOrder,
    ListRequest,
    MachineRequest,
    MoveRequest,
    NoRequest,
    PatchRequest,
    PlayOrder,
    Pruned,
    RecorderStatus,
    ReplayOrder,
    RunIds,
    RunRecords,
    RunRequest,
    SchedulerStatus,
    SecretRequest,
    SetSecretRequest,
    StoredAnswer,
    StoredRequest,
    SubmitRequest,
    SweepOrder,
    SweepResumption,
    SyncOrder,
    TrialOrder,
    WorkerEntries,
    WorkerRequest,
)
from mosaic_contracts.storage_reports import (
    PruneOrder,
    PrunePlan,
    PruneResult,
    StorageProfileList,
    StorageQuery,
    StorageReport,
    UndoOrder,
    UndoResult,
)
from mosaic_contracts.store_upkeep import (
    KnownThinningRequest,
    KnownThinningResult,
    RunSpaces,
    ThinRequest,
    ThinResult,
)
from mosaic_contracts.stored_files import StoredFiles, StoredFilesRequest
from mosaic_contracts.syncs import SyncPlan
from mosaic_contracts.worker import CheckReport, WorkerDescription

STORED_S = 10.0
"""Time limit in seconds of a question that the recorder answers after a moment where nothing changes."""
SLOW_S = 120.0
"""Time limit in seconds for verbs that may start a worker's interpreter, which imports torch from a cold disk."""
PRUNE_S = 30.0
"""Time limit in seconds for one request to delete a run's events; it is repeated after a time-out."""
THIN_S = 30.0
"""Time limit in seconds for one request to thin steps, which works for `ThinRequest.within_s`."""
SPACE_S = 10.0
"""Time limit in seconds for the room that runs take in the store."""
REPORT_S = 10.0
"""Time limit in seconds for a look at the files of a run."""
GROUP_S = 30.0
"""Time limit in seconds for a change of all runs of a group, of which there may be a thousand."""
EPISODE_S = 30.0
"""Time limit in seconds for one page of an episode's events."""
EVALUATE_S = 10.0
"""Time limit in seconds for one page of points that alert rules look at."""
ALERT_TEST_S = 60.0
"""Time limit in seconds to try a rule on a whole run, or a target."""

RequestT = TypeVar("RequestT", bound=BaseModel)
ResultT = TypeVar("ResultT", bound=BaseModel)


def _scheduler(
    name: str, request: type[RequestT], result: type[ResultT], timeout_s: float = QUICK_S
) -> ServiceVerb[RequestT, ResultT]:
    return ServiceVerb("scheduler", name, request, result, timeout_s)


GET = _scheduler("get", RunRequest, RunRecord)
LIST = _scheduler("list", ListRequest, RunRecords)
LIST_IDS = _scheduler("list", ListRequest, RunIds)
"""`ListRequest.brief` is set."""
QUEUE = _scheduler("queue", NoRequest, RunRecords)
SUBMIT = _scheduler("submit", SubmitRequest, RunRecord, SLOW_S)
CHECK = _scheduler("submit", SubmitRequest, CheckReport, SLOW_S)
"""`SubmitRequest.dry_run` is set."""
PREFLIGHT = _scheduler("preflight", SubmitRequest, PreflightReport, SLOW_S)
STOP = _scheduler("stop", RunRequest, RunRecord)
PATCH = _scheduler("patch", PatchRequest, RunRecord)
MOVE = _scheduler("move", MoveRequest, RunRecord)
RETRY = _scheduler("retry", RunRequest, RunRecord, SLOW_S)
RESUME = _scheduler("resume", RunRequest, RunRecord, SLOW_S)
CLONE = _scheduler("clone", CloneOrder, RunRecord, SLOW_S)
PLAY = _scheduler("play", PlayOrder, RunRecord, SLOW_S)
FORK = _scheduler("fork", ForkOrder, RunRecord, SLOW_S)
REPLAY = _scheduler("replay", ReplayOrder, RunRecord, SLOW_S)
IMPORT = _scheduler("import", ImportOrder, RunRecord, SLOW_S)
IMPORT_ARCHIVE = _scheduler("import_archive", ArchiveOrder, ArchiveImport, ARCHIVE_S)
FREE = _scheduler("free", FreeOrder, FreedRun, ARCHIVE_S)
DASHBOARD = _scheduler("dashboard", DashboardOrder, RunRecord, SLOW_S)
SWEEP = _scheduler("sweep", SweepOrder, RunRecord, SLOW_S)
CHECK_SWEEP = _scheduler("sweep", SweepOrder, CheckReport, SLOW_S)
"""`SweepOrder.dry_run` is set."""
RESUME_SWEEP = _scheduler("resume_sweep", SweepResumption, RunRecord, SLOW_S)
TRIAL = _scheduler("trial", TrialOrder, RunRecord, SLOW_S)
GROUP = _scheduler("group", GroupOrder, GroupView, SLOW_S)
CHECK_GROUP = _scheduler("group", GroupOrder, GroupPlan, SLOW_S)
"""`GroupOrder.dry_run` is set."""
GROUPS = _scheduler("groups", GroupListRequest, GroupViews)
GET_GROUP = _scheduler("get_group", GroupRequest, GroupView)
STOP_GROUP = _scheduler("stop_group", GroupRequest, GroupView, GROUP_S)
RETRY_GROUP = _scheduler("retry_group", GroupRetryOrder, GroupView, SLOW_S)
DELETE_GROUP = _scheduler("delete_group", GroupDeleteRequest, GroupView, GROUP_S)
RESTORE_GROUP = _scheduler("restore_group", GroupRequest, GroupView, GROUP_S)
SYNC = _scheduler("sync", SyncOrder, RunRecord, SLOW_S)
PLAN_SYNC = _scheduler("sync", SyncOrder, SyncPlan, SLOW_S)
"""`SyncOrder.dry_run` is set."""
DELETE = _scheduler("delete", DeleteRequest, RunRecord)
DELETION = _scheduler("deletion", RunRequest, DeletionReport, REPORT_S)
REPORT_FILES = _scheduler("report_files", RunRequest, FileReport, REPORT_S)
RESTORE = _scheduler("restore", RunRequest, RunRecord)
WORKERS = _scheduler("workers", NoRequest, WorkerEntries, SLOW_S)
DESCRIBE = _scheduler("describe", WorkerRequest, WorkerDescription, SLOW_S)
MACHINE = _scheduler("machine", MachineRequest, MachineHistory)
GPUS = _scheduler("gpus", NoRequest, GpuReport)
SECRETS = _scheduler("secrets", NoRequest, SecretEntries)
SET_SECRET = _scheduler("set_secret", SetSecretRequest, SecretEntry)
DELETE_SECRET = _scheduler("delete_secret", SecretRequest, RootModel[None])
STORAGE = _scheduler("storage", StorageQuery, StorageReport, PRUNE_S)
PLAN_PRUNE = _scheduler("plan_prune", PruneOrder, PrunePlan, PRUNE_S)
PRUNE = _scheduler("prune", PruneOrder, PruneResult, PRUNE_S)
"""Removes files in bounded steps: the request is repeated while `PruneResult.left` is not 0."""
UNDO_PRUNE = _scheduler("undo_prune", UndoOrder, UndoResult, PRUNE_S)
STORAGE_PROFILES = _scheduler("storage_profiles", NoRequest, StorageProfileList)
ALERTS = _scheduler("alerts", AlertQuery, AlertReport)
ADD_ALERT_RULE = _scheduler("add_alert_rule", AlertRuleOrder, AlertRuleView)
REMOVE_ALERT_RULE = _scheduler("remove_alert_rule", AlertRuleName, AlertRuleView)
RESTORE_ALERT_RULE = _scheduler("restore_alert_rule", AlertRuleName, AlertRuleView)
TEST_ALERT = _scheduler("test_alert", AlertTestOrder, AlertTestReport, ALERT_TEST_S)
SET_ALERT_TARGET = _scheduler("set_alert_target", AlertTargetOrder, AlertTargetView)
DELETE_ALERT_TARGET = _scheduler("delete_alert_target", AlertTargetName, RootModel[None])
TEST_ALERT_TARGET = _scheduler("test_alert_target", AlertTargetName, DeliveryView, ALERT_TEST_S)
STATUS = _scheduler("status", NoRequest, SchedulerStatus)

RECORDER_COMMITTED = ServiceVerb("recorder", "committed", CommittedRequest, Committed)
RECORDER_STATUS = ServiceVerb("recorder", "status", NoRequest, RecorderStatus)
RECORDER_STORED = ServiceVerb("recorder", "stored", StoredRequest, StoredAnswer, STORED_S)
RECORDER_PRUNE = ServiceVerb("recorder", "prune", RunRequest, Pruned, PRUNE_S)
RECORDER_THIN = ServiceVerb("recorder", "thin", ThinRequest, ThinResult, THIN_S)
RECORDER_KNOW_THINNED = ServiceVerb(
    "recorder", "know_thinned", KnownThinningRequest, KnownThinningResult, PRUNE_S
)
RECORDER_SPACE = ServiceVerb("recorder", "space", NoRequest, RunSpaces, SPACE_S)
RECORDER_EPISODE = ServiceVerb("recorder", "episode", EpisodeRequest, EpisodeEvents, EPISODE_S)
RECORDER_EVALUATE = ServiceVerb("recorder", "evaluate", EvaluateRequest, EvaluateResult, EVALUATE_S)
RECORDER_FILES = ServiceVerb("recorder", "files", StoredFilesRequest, StoredFiles, REPORT_S)

VERBS: tuple[ServiceVerb[Any, Any], ...] = (
    *(
        GET,
        LIST,
        LIST_IDS,
        QUEUE,
        SUBMIT,
        CHECK,
        PREFLIGHT,
        STOP,
        PATCH,
        MOVE,
        RETRY,
        RESUME,
        CLONE,
    ),
    *(
        PLAY,
        FORK,
        REPLAY,
        IMPORT,
        IMPORT_ARCHIVE,
        FREE,
        DASHBOARD,
        DELETE,
        DELETION,
        RESTORE,
        WORKERS,
        DESCRIBE,
        MACHINE,
        GPUS,
    ),
    *(GROUP, CHECK_GROUP, GROUPS, GET_GROUP, STOP_GROUP, RETRY_GROUP, DELETE_GROUP, RESTORE_GROUP),
    *(SWEEP, CHECK_SWEEP, RESUME_SWEEP, TRIAL, SYNC, PLAN_SYNC),
    REPORT_FILES,
    *(STORAGE, PLAN_PRUNE, PRUNE, UNDO_PRUNE, STORAGE_PROFILES),
    *(SECRETS, SET_SECRET, DELETE_SECRET, STATUS),
    *(RECORDER_COMMITTED, RECORDER_STATUS, RECORDER_PRUNE, RECORDER_EPISODE, RECORDER_FILES),
    *(RECORDER_STORED, RECORDER_THIN, RECORDER_KNOW_THINNED, RECORDER_SPACE),
    RECORDER_EVALUATE,
    *(ALERTS, ADD_ALERT_RULE, REMOVE_ALERT_RULE, RESTORE_ALERT_RULE, TEST_ALERT),
    *(SET_ALERT_TARGET, DELETE_ALERT_TARGET, TEST_ALERT_TARGET),
)
"""All verbs."""
