"""The client for programs that have an event loop. The same as `client`, awaited."""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Sequence,
)
from contextlib import aclosing
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import httpx

from mosaic_client import live_async
from mosaic_client.call import Call
from mosaic_client.calls import alerts as alert_calls
from mosaic_client.calls import archives as archive_calls
from mosaic_client.calls import checkpoints as checkpoint_calls
from mosaic_client.calls import dashboards as dashboard_calls
from mosaic_client.calls import groups as group_calls
from mosaic_client.calls import replays as replay_calls
from mosaic_client.calls import runs as run_calls
from mosaic_client.calls import stack as stack_calls
from mosaic_client.calls import storage as storage_calls
from mosaic_client.calls import sweeps as sweep_calls
from mosaic_client.calls import syncs as sync_calls
from mosaic_client.calls import telemetry as telemetry_calls
from mosaic_client.calls.checkpoints import CheckpointFilter
from mosaic_client.calls.runs import OneOrMore, RunFilter
from mosaic_client.client import Client
from mosaic_client.compare import comparison
from mosaic_client.dashboards import DASHBOARD_TIMEOUT_S, DashboardProgress, DashboardWait
from mosaic_client.deadline import time_limit
from mosaic_client.download import ArtifactDownload, refused
from mosaic_client.faults import Persistence
from mosaic_client.full_http import (
    answer_of,
    fault_of,
    http_options,
    request_options,
    timeout,
    upload_options,
)
from mosaic_client.live import WAITED_TYPES, FollowState, LiveItem, timed_out
from mosaic_client.location import Location, find_stack
from mosaic_client.method import named_like
from mosaic_client.patience import LIVE_PATIENCE_S, REQUEST_PATIENCE_S
from mosaic_client.recorded import (
    EVENT_PAGE,
    MOST_POINTS,
    EpisodeSteps,
    Series,
    episode_table,
    metric_table,
)
from mosaic_client.replays import FramePages, ReplayProgress, ResultWait
from mosaic_client.run_view import Run
from mosaic_client.stack_clock import StackClock
from mosaic_client.stack_connection import headers_of
from mosaic_client.table import Table
from mosaic_client.upload import UploadedFile
from mosaic_contracts.checkpoints import CheckpointRow
from mosaic_contracts.compat import Self, Unpack
from mosaic_contracts.frames import FASTEST_FPS, MAX_FPS, EnvironmentFrame, WatchFrames
from mosaic_contracts.http_api import PREFIX
from mosaic_contracts.live import Events
from mosaic_contracts.replays import ReplayResult
from mosaic_contracts.run_archives import ArchiveImport, GitState
from mosaic_contracts.runs import DashboardEntry, EpisodeRow

if TYPE_CHECKING:
    from mosaic_client.archive.writing import OnProgress, WrittenArchive
    from mosaic_client.export.writing import Format, Progress
    from mosaic_client.frame_stream import OnProblem
    from mosaic_client.play_session import AsyncPlaySession

P = ParamSpec("P")
T = TypeVar("T")


def sent(
    describe: Callable[P, Call[T]],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    """The method that sends the request which `describe` describes, with its signature and docstring."""

    async def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.send(describe(*args, **kwargs))

    return named_like(method, describe)


class AsyncClient:
    """A client of one stack. Every method may raise `MosaicProblem` (its code's class), `StackUnreachable` and
    `AnswerInvalid`.

    A stack that has answered once gets `patience_s` seconds to come back before `StackUnreachable` is raised; a
    request that may act twice is not repeated, and what the stack refused or cannot do now (503) is raised at once.
    """

    def __init__(
        self,
        location: Location,
        *,
        patience_s: float = REQUEST_PATIENCE_S,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.location = location
        self._patience_s = patience_s
        self._has_answered = False
        self._clock = StackClock()
        self._http = httpx.AsyncClient(
            **http_options(location, headers_of(location)), transport=transport
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    ready = sent(stack_calls.ready)
    stack = sent(stack_calls.stack)
    prometheus = sent(stack_calls.prometheus)
    workers = sent(stack_calls.workers)
    worker = sent(stack_calls.worker)
    machine = sent(stack_calls.machine)
    gpus = sent(stack_calls.gpus)
    secrets = sent(stack_calls.secrets)
    set_secret = sent(stack_calls.set_secret)
    delete_secret = sent(stack_calls.delete_secret)
    ticket = sent(stack_calls.ticket)

    submit = sent(run_calls.submit)
    check = sent(run_calls.check)
    preflight = sent(run_calls.preflight)
    runs = sent(run_calls.runs)
    run = sent(run_calls.run)
    queue = sent(run_calls.queue)
    patch = sent(run_calls.patch)
    move = sent(run_calls.move)
    stop = sent(run_calls.stop)
    retry = sent(run_calls.retry)
    resume = sent(run_calls.resume)
    clone = sent(run_calls.clone)
    play = sent(run_calls.play)
    fork = sent(run_calls.fork)
    delete = sent(run_calls.delete)
    deletion = sent(run_calls.deletion)
    restore = sent(run_calls.restore)
    replay = sent(replay_calls.replay)
    replays = sent(replay_calls.replays)
    episode_frames = sent(replay_calls.episode_frames)
    free = sent(archive_calls.free)

    start_group = sent(group_calls.start_group)
    check_group = sent(group_calls.check_group)
    groups = sent(group_calls.groups)
    group = sent(group_calls.group)
    stop_group = sent(group_calls.stop_group)
    retry_group = sent(group_calls.retry_group)
    delete_group = sent(group_calls.delete_group)
    restore_group = sent(group_calls.restore_group)

    start_sweep = sent(sweep_calls.start_sweep)
    check_sweep = sent(sweep_calls.check_sweep)
    sweep = sent(sweep_calls.sweep)
    trials = sent(sweep_calls.trials)
    best_of_sweep = sent(sweep_calls.best_of_sweep)
    stop_sweep = sent(sweep_calls.stop_sweep)
    resume_sweep = sent(sweep_calls.resume_sweep)

    open_tensorboard = sent(dashboard_calls.open_tensorboard)
    tensorboards = sent(dashboard_calls.tensorboards)
    tensorboard_entry = sent(dashboard_calls.tensorboard_entry)

    plan_sync = sent(sync_calls.plan_sync)
    sync = sent(sync_calls.sync)
    syncs = sent(sync_calls.syncs)

    storage = sent(storage_calls.storage)
    plan_prune = sent(storage_calls.plan_prune)
    prune = sent(storage_calls.prune)
    undo_prune = sent(storage_calls.undo_prune)
    storage_profiles = sent(storage_calls.storage_profiles)

    alerts = sent(alert_calls.alerts)
    add_alert_rule = sent(alert_calls.add_alert_rule)
    remove_alert_rule = sent(alert_calls.remove_alert_rule)
    restore_alert_rule = sent(alert_calls.restore_alert_rule)
    test_alert = sent(alert_calls.test_alert)
    set_alert_target = sent(alert_calls.set_alert_target)
    delete_alert_target = sent(alert_calls.delete_alert_target)
    test_alert_target = sent(alert_calls.test_alert_target)

    checkpoints = sent(checkpoint_calls.checkpoints)
    verify_checkpoints = sent(checkpoint_calls.verify_checkpoints)
    metrics = sent(telemetry_calls.metrics)
    known_metrics = sent(telemetry_calls.known_metrics)
    metric_figures = sent(telemetry_calls.metric_figures)
    media = sent(telemetry_calls.media)
    media_values = sent(telemetry_calls.media_values)
    curve = sent(telemetry_calls.curve)
    episodes = sent(telemetry_calls.episodes)
    steps = sent(telemetry_calls.steps)
    events = sent(telemetry_calls.events)
    batches = sent(telemetry_calls.batches)
    log = sent(telemetry_calls.log)
    log_tail = sent(telemetry_calls.log_tail)
    artifacts = sent(telemetry_calls.artifacts)
    manifest = sent(telemetry_calls.manifest)
    quarantine = sent(telemetry_calls.quarantine)

    async def import_checkpoint(
        self,
        file: Path,
        worker: str | None = None,
        algorithm: str | None = None,
        environment: str | None = None,
        *,
        name: str | None = None,
        tags: Sequence[str] = (),
        idempotency_key: str | None = None,
    ) -> Run:
        """Import a file as a checkpoint.

        Arguments, results and errors as for `Client.import_checkpoint`.
        """
        with UploadedFile(file) as upload:
            call = checkpoint_calls.import_checkpoint(
                *(upload.name, worker, algorithm, environment),
                name=name,
                tags=tags,
                idempotency_key=idempotency_key,
            )
            persistence = Persistence(self.location, call, self._patience_s)
            while True:
                options = upload_options(call, upload.headers)
                try:
                    response = await self._http.request(**options, content=upload.pieces_async())
                except httpx.TransportError as error:
                    await asyncio.sleep(persistence.delay(fault_of(error), self._has_answered))
                    continue
                self._has_answered = True
                return call.answer(answer_of(response))

    async def archive(
        self,
        run_ids: Sequence[str],
        target: Path,
        *,
        without: Collection[str] = (),
        progress: OnProgress | None = None,
        checkout: GitState | None = None,
    ) -> WrittenArchive:
        """Write ended runs to one file, in a thread with a connection of its own.

        Arguments, results and errors as for `Client.archive`; `progress` is called on that thread.
        """

        def write() -> WrittenArchive:
            with Client(self.location, patience_s=self._patience_s) as client:
                return client.archive(
                    run_ids, target, without=without, progress=progress, checkout=checkout
                )

        return await asyncio.to_thread(write)

    async def import_archive(
        self, file: Path, progress: Callable[[int], None] | None = None
    ) -> ArchiveImport:
        """Import the runs of an archive, in a thread with a connection of its own.

        Arguments, results and errors as for `Client.import_archive`; `progress` is called on that thread.
        """

        def send() -> ArchiveImport:
            with Client(self.location, patience_s=self._patience_s) as client:
                return client.import_archive(file, progress)

        return await asyncio.to_thread(send)

    async def export_checkpoint(self, run_id: str, path: str | None, target: Path) -> int:
        """Write a checkpoint with its facts to a zip.

        Arguments, results and errors as for `Client.export_checkpoint`.
        """
        return await self._download(checkpoint_calls.export_checkpoint(run_id, path), target)

    async def download_study(self, sweep_id: str, target: Path) -> int:
        """Write the study of a sweep to a file.

        Arguments, results and errors as for `Client.download_study`.
        """
        return await self._download(sweep_calls.study(sweep_id), target)

    async def download(self, run_id: str, path: str, target: Path) -> int:
        """Write one artifact to a file.

        Arguments, results and errors as for `Client.download`.
        """
        return await self._download(telemetry_calls.artifact(run_id, path), target)

    async def _download(self, call: Call[None], target: Path) -> int:
        with ArtifactDownload(target) as download:
            while True:
                try:
                    await self._fetch(call, download)
                    return download.finish()
                except httpx.TransportError as error:
                    fresh = Persistence(self.location, call, self._patience_s)
                    await asyncio.sleep(download.delay(error, fresh, self._has_answered))

    async def export(
        self,
        run_id: str,
        target: Path,
        format: Format = "jsonl",
        types: list[str] | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Write the recorded events of a run to `target`, in bounded memory, in a thread with a connection of its
        own.

        Arguments, result and errors as of `Client.export`; `progress` is called on that thread.
        """

        def write() -> int:
            with Client(self.location, patience_s=self._patience_s) as client:
                return client.export(run_id, target, format, types, progress)

        return await asyncio.to_thread(write)

    async def _fetch(self, call: Call[None], download: ArtifactDownload) -> None:
        request = self._http.build_request(
            call.method,
            call.path,
            params=call.query,
            headers=download.headers,
            timeout=timeout(call),
        )
        response = await self._http.send(request, stream=True)
        try:
            self._has_answered = True
            if response.is_error:
                await response.aread()
                raise refused(response)
            download.begin(response)
            async for chunk in response.aiter_raw():
                download.write(chunk)
        finally:
            await response.aclose()

    async def artifact_link(self, run_id: str, path: str, ttl_s: float = 300) -> str:
        """Create an address of one artifact that a browser or player opens without the token.

        Arguments, results and errors as for `Client.artifact_link`.
        """
        call = telemetry_calls.artifact(run_id, path)
        ticket = await self.ticket(call.path.removeprefix(PREFIX), ttl_s)
        return self.location.url + ticket.url

    async def tensorboard(
        self,
        run_ids: Sequence[str],
        timeout_s: float = DASHBOARD_TIMEOUT_S,
        progress: DashboardProgress | None = None,
    ) -> DashboardEntry:
        """Open TensorBoard with a selection of runs, and wait until it answers.

        Arguments, results and errors as for `Client.tensorboard`.
        """
        wait = DashboardWait(await self.open_tensorboard(run_ids), timeout_s, progress)
        while not wait.is_over():
            wait.take(await self.tensorboard_entry(wait.run_id, wait.next_s()))
        return wait.opened(self.location.url)

    async def each_run(
        self, state: OneOrMore | None = None, page: int = 200, **filters: Unpack[RunFilter]
    ) -> AsyncIterator[Run]:
        """Iterate over all matching runs, newest first unless sorted otherwise, fetched page by page.

        Arguments, results and errors as for `Client.each_run`.
        """
        cursor: str | None = None
        while True:
            found = await self.runs(cursor, page, state, **filters)
            for run in found.runs:
                yield run
            cursor = found.next_cursor
            if cursor is None:
                return

    async def each_checkpoint(
        self, page: int = 200, **filters: Unpack[CheckpointFilter]
    ) -> AsyncIterator[CheckpointRow]:
        """Iterate over all matching checkpoints, newest first unless sorted otherwise, fetched page by page.

        Arguments, results and errors as for `Client.each_checkpoint`.
        """
        cursor: str | None = None
        while True:
            found = await self.checkpoints(cursor, page, **filters)
            for row in found.checkpoints:
                yield row
            cursor = found.next_cursor
            if cursor is None:
                return

    async def each_event(
        self, run_id: str, cursor: str = "", types: list[str] | None = None, page: int = 1000
    ) -> AsyncIterator[dict[str, Any]]:
        """Iterate over all stored events in order, in bounded memory.

        Arguments, results and errors as for `Client.each_event`.
        """
        while True:
            found = await self.events(run_id, cursor, page, types)
            for event in found.events:
                yield event
            cursor = found.cursor
            if not found.has_more:
                return

    def follow(
        self,
        run_id: str,
        cursor: str | None = "",
        types: list[str] | None = None,
        patience_s: float = LIVE_PATIENCE_S,
    ) -> AsyncGenerator[LiveItem, None]:
        """Follow a run until it has ended: first its history, then live.

        Arguments, results and errors as for `Client.follow`.
        """
        follower = FollowState(run_id=run_id, cursor=cursor, types=types)
        return live_async.follow(self.location, follower, self.events, patience_s)

    async def each_episode(self, run_id: str, page: int = 1000) -> AsyncIterator[EpisodeRow]:
        """Iterate over all episodes in the order in which they began.

        Arguments, results and errors as for `Client.each_episode`.
        """
        cursor: str | None = None
        while True:
            found = await self.episodes(run_id, cursor, page)
            for row in found.episodes:
                yield row
            cursor = found.next_cursor
            if cursor is None:
                return

    async def live_events(
        self, run_id: str, types: list[str] | None = None, cursor: str | None = ""
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Iterate over the events of a run as they happen, until it has ended; `follow` without the other items.

        Arguments, results and errors as for `Client.live_events`.
        """
        async with aclosing(self.follow(run_id, cursor, types)) as items:
            async for item in items:
                if isinstance(item, Events):
                    for event in item.events:
                        yield event

    async def wait(self, run_id: str, timeout_s: float | None = None) -> Run:
        """Wait until a run has ended and all of its events are stored. Sends no requests meanwhile.

        Arguments, results and errors as for `Client.wait`.
        """
        follower = FollowState(run_id=run_id, cursor=None, types=WAITED_TYPES)
        try:
            async with (
                time_limit(timeout_s),
                aclosing(
                    live_async.follow(self.location, follower, self.events, LIVE_PATIENCE_S)
                ) as items,
            ):
                async for _ in items:
                    pass
        except TimeoutError:
            raise timed_out(run_id) from None
        return await self.run(run_id)

    async def replay_result(
        self,
        replay_id: str,
        timeout_s: float | None = None,
        progress: ReplayProgress | None = None,
    ) -> ReplayResult:
        """Wait for the result of a replay. Sends no requests meanwhile.

        Arguments, results and errors as for `Client.replay_result`.
        """
        wait = ResultWait(replay_id, progress)
        try:
            async with (
                time_limit(timeout_s),
                aclosing(
                    live_async.follow(self.location, wait.follower, self.events, LIVE_PATIENCE_S)
                ) as items,
            ):
                async for item in items:
                    if wait.take(item):
                        break
        except TimeoutError:
            raise timed_out(replay_id) from None
        return wait.found()

    async def frames(
        self, replay_id: str, first: int = 0, last: int | None = None, every: int = 1
    ) -> AsyncIterator[EnvironmentFrame]:
        """Iterate over the frames of a replay that draws, fetched page by page. `picture` decodes one.

        Arguments, results and errors as for `Client.frames`.
        """
        pages = FramePages(first, last, every)
        while pages.next is not None:
            page = await self.episode_frames(replay_id, pages.next, pages.last, every)
            for frame in pages.take(page):
                yield frame

    def watch_frames(
        self,
        run_id: str,
        env: int = 0,
        fps: float = MAX_FPS,
        smooth: bool = False,
        on_problem: OnProblem | None = None,
        patience_s: float = LIVE_PATIENCE_S,
    ) -> AsyncGenerator[EnvironmentFrame, None]:
        """Watch a running run: iterate over live frames of one environment until the run has ended.

        Arguments, results and errors as for `Client.watch_frames`.
        """
        from mosaic_client import frame_stream  # for few programs

        request = WatchFrames(run_id=run_id, env=env, fps=fps, smooth=smooth)
        return frame_stream.watch_async(self.location, request, patience_s, on_problem)

    def act(self, run_id: str, env: int = 0, fps: float = FASTEST_FPS) -> AsyncPlaySession:
        """Act in a run that a person plays: `async with client.act(run_id) as session: ...`.

        Arguments, results and errors as for `Client.act`.
        """
        from mosaic_client import play_session  # for few programs

        request = WatchFrames(run_id=run_id, env=env, fps=fps, smooth=True)
        return play_session.AsyncPlaySession(self.location, request)

    async def series(self, run_id: str, name: str, last: int = MOST_POINTS) -> Series:
        """Fetch the newest points of a metric as arrays.

        Arguments, results and errors as for `Client.series`.
        """
        return Series(await self.curve(run_id, name, last=last))

    async def metric_table(self, run_id: str) -> Table:
        """Fetch every point of every metric.

        Arguments, results and errors as for `Client.metric_table`.
        """
        events = self.each_event(run_id, types=["metric"], page=EVENT_PAGE)
        return metric_table([event async for event in events])

    async def episode_table(self, run_id: str) -> Table:
        """Fetch all episodes.

        Arguments, results and errors as for `Client.episode_table`.
        """
        return episode_table([row async for row in self.each_episode(run_id)])

    async def step_table(
        self, run_id: str, episode: int, env: int = 0, attempt: int = 1
    ) -> EpisodeSteps:
        """Fetch the steps of one episode.

        Arguments, results and errors as for `Client.step_table`.
        """
        return EpisodeSteps(await self.steps(run_id, attempt, env, episode))

    async def compare(self, run_ids: Iterable[str]) -> Table:
        """Compare runs.

        Arguments, results and errors as for `Client.compare`.
        """
        return comparison([await self.run(run_id) for run_id in run_ids])

    async def send(self, call: Call[T]) -> T:
        """Send a request and return its answer.

        Args:
            call: the request.

        Returns:
            What the request reads from the answer.

        Raises:
            MosaicProblem: the stack refused or failed.
            StackUnreachable: it does not answer.
            AnswerInvalid: not an answer of a gateway.
        """
        persistence = Persistence(self.location, call, self._patience_s)
        while True:
            try:
                response = await self._http.request(**request_options(call))
            except httpx.TransportError as error:
                await asyncio.sleep(persistence.delay(fault_of(error), self._has_answered))
                continue
            self._has_answered = True
            answer = answer_of(response)
            self._clock.note(answer)
            return call.answer(answer)

    def now(self) -> datetime:
        """Return the time by the stack's clock, by which ages of runs are computed.

        Returns:
            The time that the last answer gave, moved on; before the first answer this machine's time.
        """
        return self._clock.now()


def connect_async(
    url: str | None = None,
    *,
    token: str | None = None,
    token_file: Path | str | None = None,
    ca_file: Path | str | None = None,
) -> AsyncClient:
    """Connect to a stack from a program with an event loop. Sends nothing yet.

    Args:
        url: address of the stack, e.g. `https://lab:8443`; None: MOSAIC_URL, else the stack under MOSAIC_HOME.
        token: its token.
        token_file: file with its token; None: MOSAIC_TOKEN_FILE, else that of MOSAIC_HOME for a stack on this machine.
        ca_file: certificate (PEM) of the stack or of its authority, e.g. a copy of its secrets/gateway.crt.

    Returns:
        The client; close it, or use it in a `async with` statement.

    Raises:
        StackUnreachable: no stack is known, or the address is not valid.
        TokenUnreadable: its token cannot be read.
        CertificateRefused: `ca_file` cannot be used.
        ValueError: both `token` and `token_file` are given.
    """
    location = find_stack(url=url, token=token, token_file=token_file, ca_file=ca_file)
    return AsyncClient(location)
