"""Typed client of a MOSAIC stack: `with connect() as mosaic: mosaic.submit(spec)`."""

from mosaic_client.async_client import AsyncClient, connect_async
from mosaic_client.calls.runs import RunFilter
from mosaic_client.calls.stack import Readiness
from mosaic_client.calls.telemetry import LogPart
from mosaic_client.client import Client, connect
from mosaic_client.comparison import comparison
from mosaic_client.errors import (
    AccessRefused,
    AnswerInvalid,
    ArtifactUnknown,
    CertificateRefused,
    ClientError,
    ConsentRequired,
    DiskLow,
    EpisodeUnknown,
    GatewayFailed,
    IdempotencyConflict,
    MetricUnknown,
    MosaicProblem,
    NotebookMissing,
    RequestRefused,
    RunEnded,
    RunLive,
    RunNotQueued,
    RunUnknown,
    SecretUnknown,
    SpecRefused,
    StackUnavailable,
    StackUnreachable,
    StateConflict,
    ThingUnknown,
    TokenUnreadable,
    WaitTimedOut,
    WorkerNotReady,
)
from mosaic_client.live import ConnectionLost, LiveItem
from mosaic_client.location import Location, data_root, find_stack, read_stack_file
from mosaic_client.recorded import EpisodeSteps, Series
from mosaic_client.run_view import Run, RunList
from mosaic_client.table import Table

__all__ = [
    "AccessRefused",
    "AnswerInvalid",
    "ArtifactUnknown",
    "AsyncClient",
    "CertificateRefused",
    "Client",
    "ClientError",
    "ConnectionLost",
    "ConsentRequired",
    "DiskLow",
    "EpisodeSteps",
    "EpisodeUnknown",
    "GatewayFailed",
    "IdempotencyConflict",
    "LiveItem",
    "Location",
    "LogPart",
    "MetricUnknown",
    "MosaicProblem",
    "NotebookMissing",
    "Readiness",
    "RequestRefused",
    "Run",
    "RunEnded",
    "RunFilter",
    "RunList",
    "RunLive",
    "RunNotQueued",
    "RunUnknown",
    "SecretUnknown",
    "Series",
    "SpecRefused",
    "StackUnavailable",
    "StackUnreachable",
    "StateConflict",
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
    "read_stack_file",
]
