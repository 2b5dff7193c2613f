"""Every request of the HTTP interface, once, for the sync and the async client: what to send and how to read the
answer. No I/O here."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, NamedTuple, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from mosaic_client.errors import AnswerInvalid, MosaicProblem
from mosaic_contracts.problems import Problem, ProblemCode
from mosaic_contracts.runs import (
    ArtifactRow,
    Curve,
    EpisodePage,
    EventPage,
    MetricName,
    RunPage,
    RunView,
)
from mosaic_contracts.services import WorkerEntries, WorkerEntry
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.stack import StackStatus
from mosaic_contracts.worker import CheckReport

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
Query = dict[str, str | int | float]

PREFIX = "/api/v1"
WORKER_TIMEOUT_S = 120.0
"""What asks a worker's own environment: its first import of torch on a cold disk takes this long at worst."""

_metric_names = TypeAdapter(list[MetricName])
_artifact_rows = TypeAdapter(list[ArtifactRow])
_objects = TypeAdapter(list[dict[str, Any]])


class LogPart(NamedTuple):
    """A piece of a run's output."""

    text: str
    next_offset: int
    """Byte offset to go on from."""


class Readiness(NamedTuple):
    """Answer of `/readyz`."""

    ready: bool
    findings: list[str]


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request and the reader of its answer."""

    method: Literal["GET", "POST"]
    path: str
    read: Callable[[httpx.Response], T]
    query: Query = field(default_factory=dict)
    body: bytes | None = None
    timeout_s: float = 15.0
    expects_problem: bool = False
    """The reader takes error statuses too."""

    @property
    def may_repeat(self) -> bool:
        """Whether sending it twice is the same as once."""
        return self.method == "GET"

    def answer(self, response: httpx.Response) -> T:
        """Read the response.

        Raises:
            MosaicProblem: the stack refused or failed.
            AnswerInvalid: not an answer of a gateway.
        """
        if response.is_error and not self.expects_problem:
            raise MosaicProblem(read_problem(response))
        try:
            return self.read(response)
        except (ValidationError, ValueError) as error:
            raise AnswerInvalid(
                f"{self.method} {response.url} gave an answer that this version cannot read "
                f"({type(error).__name__}). Is MOSAIC there, and of the same version? See `./mosaic doctor`."
            ) from error


def read_problem(response: httpx.Response) -> Problem:
    """The problem that an error response carries, or one made from its status."""
    try:
        return Problem.model_validate_json(response.content)
    except ValidationError:
        pass
    code = {
        401: ProblemCode.UNAUTHORIZED,
        404: ProblemCode.NOT_FOUND,
        422: ProblemCode.REQUEST_INVALID,
        503: ProblemCode.SERVICE_UNAVAILABLE,
    }.get(response.status_code, ProblemCode.INTERNAL)
    return Problem(
        code=code,
        status=response.status_code,
        title=f"{response.request.url} answered {response.status_code}",
        detail="The answer names no reason; the gateway's log may.",
    )


def ready() -> Call[Readiness]:
    """Whether every service is there."""
    return Call("GET", "/readyz", _read_readiness, expects_problem=True)


def stack() -> Call[StackStatus]:
    """How the services are."""
    return Call("GET", f"{PREFIX}/stack", _model(StackStatus))


def workers() -> Call[WorkerEntries]:
    """Registered workers."""
    return Call("GET", f"{PREFIX}/workers", _model(WorkerEntries), timeout_s=WORKER_TIMEOUT_S)


def worker(worker_id: str) -> Call[WorkerEntry]:
    """One worker with its description."""
    path = f"{PREFIX}/workers/{_part(worker_id)}"
    return Call("GET", path, _model(WorkerEntry), timeout_s=WORKER_TIMEOUT_S)


def submit(spec: RunSpec) -> Call[RunView]:
    """Ask for a run."""
    return _post_spec("/runs", RunView, spec)


def check(spec: RunSpec) -> Call[CheckReport]:
    """The plan of a run and what is missing; nothing is started."""
    return _post_spec("/runs/check", CheckReport, spec)


def runs(cursor: str | None, limit: int | None, state: str | None) -> Call[RunPage]:
    """One page of the run list, newest first."""
    query = _query(cursor=cursor, limit=limit, state=state)
    return Call("GET", f"{PREFIX}/runs", _model(RunPage), query)


def run(run_id: str) -> Call[RunView]:
    """One run."""
    return Call("GET", _run(run_id), _model(RunView))


def stop(run_id: str) -> Call[RunView]:
    """Ask a run to stop."""
    return Call("POST", f"{_run(run_id)}/stop", _model(RunView))


def metrics(run_id: str) -> Call[list[MetricName]]:
    """Names and newest points of a run's metrics."""
    return Call("GET", f"{_run(run_id)}/metrics", lambda r: _metric_names.validate_json(r.content))


def curve(
    run_id: str,
    name: str,
    buckets: int | None,
    from_step: int | None,
    to_step: int | None,
    last: int | None,
) -> Call[Curve]:
    """A metric, reduced to buckets, or its last raw points."""
    query = _query(name=name, buckets=buckets, from_step=from_step, to_step=to_step, last=last)
    return Call("GET", f"{_run(run_id)}/curve", _model(Curve), query)


def episodes(
    run_id: str, cursor: str | None, limit: int | None, order: str | None
) -> Call[EpisodePage]:
    """One page of episodes."""
    query = _query(cursor=cursor, limit=limit, order=order)
    return Call("GET", f"{_run(run_id)}/episodes", _model(EpisodePage), query)


def steps(run_id: str, attempt: int, env: int, episode: int) -> Call[EventPage]:
    """All steps of one episode."""
    path = f"{_run(run_id)}/episodes/{attempt}/{env}/{episode}/steps"
    return Call("GET", path, _model(EventPage))


def events(
    run_id: str, cursor: str | None, limit: int | None, types: list[str] | None
) -> Call[EventPage]:
    """One page of stored events."""
    query = _query(cursor=cursor, limit=limit, types=",".join(types) if types else None)
    return Call("GET", f"{_run(run_id)}/events", _model(EventPage), query)


def log(run_id: str, offset: int, limit_bytes: int | None) -> Call[LogPart]:
    """A piece of the worker's output, from a byte offset."""
    query = _query(offset=offset, limit_bytes=limit_bytes)
    return Call("GET", f"{_run(run_id)}/log", _read_log, query)


def log_tail(run_id: str, lines: int) -> Call[LogPart]:
    """The last lines of the worker's output."""
    return Call("GET", f"{_run(run_id)}/log", _read_log, {"tail": lines})


def artifacts(run_id: str) -> Call[list[ArtifactRow]]:
    """Files that the run announced."""
    return Call(
        "GET", f"{_run(run_id)}/artifacts", lambda r: _artifact_rows.validate_json(r.content)
    )


def artifact_path(run_id: str, path: str) -> str:
    """Address path of one artifact's bytes."""
    return f"{_run(run_id)}/artifacts/{quote(path)}"


def quarantine(run_id: str) -> Call[list[dict[str, Any]]]:
    """Batches of the run that were set aside."""
    return Call("GET", f"{_run(run_id)}/quarantine", lambda r: _objects.validate_json(r.content))


def _model(model: type[M]) -> Callable[[httpx.Response], M]:
    return lambda response: model.model_validate_json(response.content)


def _read_log(response: httpx.Response) -> LogPart:
    return LogPart(response.text, int(response.headers.get("X-Next-Offset", "0")))


def _read_readiness(response: httpx.Response) -> Readiness:
    if response.status_code not in (200, 503):
        raise ValueError(f"status {response.status_code}")
    body = response.json()
    found = body.get("findings", []) if isinstance(body, dict) else []
    words = [str(f.get("message", f)) if isinstance(f, dict) else str(f) for f in found]
    return Readiness(response.status_code == 200, words)


def _run(run_id: str) -> str:
    return f"{PREFIX}/runs/{_part(run_id)}"


def _part(text: str) -> str:
    return quote(text, safe="")


def _query(**values: str | int | float | None) -> Query:
    return {name: value for name, value in values.items() if value is not None}


def _post_spec(path: str, model: type[M], spec: RunSpec) -> Call[M]:
    body = spec.model_dump_json(exclude_unset=True).encode()
    return Call("POST", PREFIX + path, _model(model), body=body, timeout_s=WORKER_TIMEOUT_S)
