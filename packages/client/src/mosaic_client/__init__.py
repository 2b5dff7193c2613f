"""Typed client of a MOSAIC stack: `with connect() as mosaic: mosaic.submit(spec)`.

Names are imported when they are first used (PEP 562): a program that only finds a stack, or sends one request,
imports neither pydantic nor an HTTP library that it does not need.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mosaic_client.async_client import AsyncClient, connect_async
    from mosaic_client.calls.checkpoints import CheckpointFilter
    from mosaic_client.calls.runs import RunFilter
    from mosaic_client.calls.stack import Readiness
    from mosaic_client.calls.telemetry import LogPart
    from mosaic_client.client import Client, connect
    from mosaic_client.compare import comparison
    from mosaic_client.errors import (
        AccessRefused,
        AnswerInvalid,
        ArchiveInvalid,
        ArchiveRefused,
        ArtifactUnknown,
        CertificateRefused,
        ClientError,
        ConsentRequired,
        DashboardImpossible,
        DiskLow,
        EpisodeUnknown,
        ExportRefused,
        FileUnusable,
        FramesUnavailable,
        GatewayFailed,
        IdempotencyConflict,
        ImportRefused,
        MetricUnknown,
        MosaicProblem,
        NotebookMissing,
        ParquetMissing,
        PictureMissing,
        ReplayFailed,
        ReplayImpossible,
        RequestRefused,
        RunEnded,
        RunLive,
        RunNeeded,
        RunNotQueued,
        RunNotStarted,
        RunProtected,
        RunUnknown,
        SecretUnknown,
        SpecRefused,
        StackUnavailable,
        StackUnreachable,
        StateConflict,
        SyncImpossible,
        ThingUnknown,
        TokenUnreadable,
        WaitTimedOut,
        WorkerNotReady,
    )
    from mosaic_client.live import ConnectionLost, LiveItem
    from mosaic_client.location import Location, data_root, find_stack, read_stack_file
    from mosaic_client.pictures import picture
    from mosaic_client.recorded import EpisodeSteps, Series
    from mosaic_client.run_view import Run, RunList, StartedReplay
    from mosaic_client.table import Table

__all__ = [
    "AccessRefused",
    "AnswerInvalid",
    "ArchiveInvalid",
    "ArchiveRefused",
    "ArtifactUnknown",
    "AsyncClient",
    "CertificateRefused",
    "CheckpointFilter",
    "Client",
    "ClientError",
    "ConnectionLost",
    "ConsentRequired",
    "DashboardImpossible",
    "DiskLow",
    "EpisodeSteps",
    "EpisodeUnknown",
    "ExportRefused",
    "FileUnusable",
    "FramesUnavailable",
    "GatewayFailed",
    "IdempotencyConflict",
    "ImportRefused",
    "LiveItem",
    "Location",
    "LogPart",
    "MetricUnknown",
    "MosaicProblem",
    "NotebookMissing",
    "ParquetMissing",
    "PictureMissing",
    "Readiness",
    "ReplayFailed",
    "ReplayImpossible",
    "RequestRefused",
    "Run",
    "RunEnded",
    "RunFilter",
    "RunList",
    "RunLive",
    "RunNeeded",
    "RunNotQueued",
    "RunNotStarted",
    "RunProtected",
    "RunUnknown",
    "SecretUnknown",
    "Series",
    "SpecRefused",
    "StackUnavailable",
    "StackUnreachable",
    "StartedReplay",
    "StateConflict",
    "SyncImpossible",
    "Table",
    "ThingUnknown",
    "TokenUnreadable",
    "WaitTimedOut",
    "WorkerNotReady",
    "comparison",
    "connect",
    "connect_async",
    "data_root",
    "find_stack",
    "picture",
    "read_stack_file",
]

_MODULES = {
    "async_client": "AsyncClient connect_async",
    "calls.checkpoints": "CheckpointFilter",
    "calls.runs": "RunFilter",
    "calls.stack": "Readiness",
    "calls.telemetry": "LogPart",
    "client": "Client connect",
    "compare": "comparison",
    "errors": (
        "AccessRefused AnswerInvalid ArchiveInvalid ArchiveRefused ArtifactUnknown CertificateRefused ClientError "
        "ConsentRequired DashboardImpossible DiskLow EpisodeUnknown ExportRefused FileUnusable "
        "FramesUnavailable "
        "GatewayFailed IdempotencyConflict ImportRefused MetricUnknown MosaicProblem "
        "NotebookMissing ParquetMissing PictureMissing ReplayFailed ReplayImpossible RequestRefused RunEnded RunLive "
        "RunNeeded RunNotQueued RunNotStarted RunProtected RunUnknown SecretUnknown SpecRefused StackUnavailable "
        "StackUnreachable StateConflict SyncImpossible ThingUnknown TokenUnreadable WaitTimedOut WorkerNotReady"
    ),
    "live": "ConnectionLost LiveItem",
    "location": "Location data_root find_stack read_stack_file",
    "pictures": "picture",
    "recorded": "EpisodeSteps Series",
    "run_view": "Run RunList StartedReplay",
    "table": "Table",
}
"""Where each name is defined."""
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = found  # the next use does not come here
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
