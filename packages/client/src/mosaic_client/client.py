"""The client for scripts, notebooks and the command line."""

import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from mosaic_client import call, live_sync
from mosaic_client.call import Call, LogPart, Readiness
from mosaic_client.connection import Persistence, http_options, timeout, unreachable
from mosaic_client.errors import MosaicProblem
from mosaic_client.live import Follower, LiveItem
from mosaic_client.location import Location, find_stack
from mosaic_client.patience import LIVE_PATIENCE_S, REQUEST_PATIENCE_S
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


class Client:
    """One stack. Every method may raise `MosaicProblem`, `StackUnreachable` and `AnswerInvalid`.

    A stack that has answered once gets `patience_s` seconds to come back before `StackUnreachable` is raised; a
    request that may act twice is not repeated.
    """

    def __init__(
        self,
        location: Location,
        *,
        patience_s: float = REQUEST_PATIENCE_S,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.location = location
        self._patience_s = patience_s
        self._has_answered = False
        self._http = httpx.Client(**http_options(location), transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def ready(self) -> Readiness:
        """Whether every service is there, and what is missing."""
        return self._send(call.ready())

    def stack(self) -> StackStatus:
        """How the services are."""
        return self._send(call.stack())

    def workers(self) -> WorkerEntries:
        """Registered workers."""
        return self._send(call.workers())

    def worker(self, worker_id: str) -> WorkerEntry:
        """One worker with its description."""
        return self._send(call.worker(worker_id))

    def submit(self, spec: RunSpec) -> RunView:
        """Ask for a run; it is queued when this returns."""
        return self._send(call.submit(spec))

    def check(self, spec: RunSpec) -> CheckReport:
        """The plan of a run and what is missing. Starts nothing."""
        return self._send(call.check(spec))

    def runs(
        self, cursor: str | None = None, limit: int | None = None, state: str | None = None
    ) -> RunPage:
        """One page of the run list, newest first."""
        return self._send(call.runs(cursor, limit, state))

    def run(self, run_id: str) -> RunView:
        """One run."""
        return self._send(call.run(run_id))

    def stop(self, run_id: str) -> RunView:
        """Ask a run to stop; it may go on for its grace period."""
        return self._send(call.stop(run_id))

    def metrics(self, run_id: str) -> list[MetricName]:
        """Names and newest points of a run's metrics."""
        return self._send(call.metrics(run_id))

    def curve(
        self,
        run_id: str,
        name: str,
        *,
        buckets: int | None = None,
        from_step: int | None = None,
        to_step: int | None = None,
        last: int | None = None,
    ) -> Curve:
        """A metric in at most `buckets` buckets, or its `last` raw points."""
        return self._send(call.curve(run_id, name, buckets, from_step, to_step, last))

    def episodes(
        self,
        run_id: str,
        cursor: str | None = None,
        limit: int | None = None,
        order: str | None = None,
    ) -> EpisodePage:
        """One page of episodes."""
        return self._send(call.episodes(run_id, cursor, limit, order))

    def steps(self, run_id: str, attempt: int, env: int, episode: int) -> EventPage:
        """Start and steps of one episode."""
        return self._send(call.steps(run_id, attempt, env, episode))

    def events(
        self,
        run_id: str,
        cursor: str | None = None,
        limit: int | None = None,
        types: list[str] | None = None,
    ) -> EventPage:
        """One page of stored events after `cursor`; None and "" are the beginning."""
        return self._send(call.events(run_id, cursor, limit, types))

    def log(self, run_id: str, offset: int = 0, limit_bytes: int | None = None) -> LogPart:
        """A piece of the worker's output from a byte offset."""
        return self._send(call.log(run_id, offset, limit_bytes))

    def log_tail(self, run_id: str, lines: int) -> LogPart:
        """The last lines of the worker's output."""
        return self._send(call.log_tail(run_id, lines))

    def artifacts(self, run_id: str) -> list[ArtifactRow]:
        """Files that the run announced."""
        return self._send(call.artifacts(run_id))

    def quarantine(self, run_id: str) -> list[dict[str, Any]]:
        """Batches of the run that were set aside, with the reason."""
        return self._send(call.quarantine(run_id))

    def download(self, run_id: str, path: str, target: Path) -> int:
        """Write one artifact to `target`; returns its bytes. A half-written file is never left under that name."""
        part = target.with_name(target.name + ".part")
        request = self._http.build_request("GET", call.artifact_path(run_id, path))
        try:
            response = self._http.send(request, stream=True)
            try:
                if response.is_error:
                    response.read()
                    raise MosaicProblem(call.read_problem(response))
                with part.open("wb") as file:
                    for chunk in response.iter_bytes():
                        file.write(chunk)
                    size = file.tell()
            finally:
                response.close()
        except httpx.TransportError as error:
            raise unreachable(self.location, error) from error
        part.replace(target)
        return size

    def each_run(self, state: str | None = None, page: int = 200) -> Iterator[RunView]:
        """All runs, newest first, page by page."""
        cursor: str | None = None
        while True:
            found = self.runs(cursor, page, state)
            yield from found.runs
            cursor = found.next_cursor
            if cursor is None:
                return

    def each_event(
        self, run_id: str, cursor: str = "", types: list[str] | None = None, page: int = 1000
    ) -> Iterator[dict[str, Any]]:
        """All stored events in order, in bounded memory."""
        while True:
            found = self.events(run_id, cursor, page, types)
            yield from found.events
            cursor = found.cursor
            if not found.has_more:
                return

    def follow(
        self,
        run_id: str,
        cursor: str | None = "",
        types: list[str] | None = None,
        patience_s: float = LIVE_PATIENCE_S,
    ) -> Iterator[LiveItem]:
        """Follow a run: history from `cursor` ("": all, None: from now), then live, until it has ended.

        No event is left out or given twice, whatever connections are lost; what a slow reader missed is read from
        the store. `types` as in `mosaic_contracts.live.Subscribe`.
        """
        follower = Follower(run_id=run_id, cursor=cursor, types=types)
        return live_sync.follow(self.location, follower, self.events, patience_s)

    def _send(self, request: Call[T]) -> T:
        persistence = Persistence(self.location, request, self._patience_s)
        while True:
            try:
                response = self._http.request(
                    request.method,
                    request.path,
                    params=request.query,
                    content=request.body,
                    headers={"Content-Type": "application/json"} if request.body else None,
                    timeout=timeout(request),
                )
            except httpx.TransportError as error:
                time.sleep(persistence.delay(error, self._has_answered))
                continue
            self._has_answered = True
            return request.answer(response)


def connect() -> Client:
    """A client of the stack that the environment names (see `find_stack`). Nothing is sent yet.

    Raises:
        StackUnreachable: there is none.
        TokenUnreadable: its token cannot be read.
    """
    return Client(find_stack())
