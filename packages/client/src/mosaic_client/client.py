"""The client for scripts, notebooks and the command line."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import httpx

from mosaic_client import live_sync
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
from mosaic_client.compare import comparison
from mosaic_client.dashboards import DASHBOARD_TIMEOUT_S, DashboardProgress, DashboardWait
from mosaic_client.download import ArtifactDownload, refused
from mosaic_client.faults import Persistence
from mosaic_client.full_http import FullHttp, answer_of, fault_of, timeout, upload_options
from mosaic_client.live import WAITED_TYPES, FollowState, LiveItem
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
from mosaic_client.stack_connection import StackConnection, headers_of
from mosaic_client.table import Table
from mosaic_client.upload import UploadedFile
from mosaic_contracts.archive_words import MAX_ARCHIVE_BYTES
from mosaic_contracts.checkpoints import CheckpointRow
from mosaic_contracts.compat import Unpack
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
    from mosaic_client.play_session import PlaySession

P = ParamSpec("P")
T = TypeVar("T")


def sent(
    describe: Callable[P, Call[T]],
) -> Callable[Concatenate[Client, P], T]:
    """The method that sends the request which `describe` describes, with its signature and docstring."""

    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.send(describe(*args, **kwargs))

    return named_like(method, describe)


class Client(StackConnection):
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
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__(location, patience_s=patience_s, transport=transport)
        self._files: FullHttp | None = None
        """For files, which are sent and read in pieces."""

    def close(self) -> None:
        """Close the connections."""
        super().close()
        if self._files is not None:
            self._files.close()

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

    def import_checkpoint(
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

        The file is a checkpoint of a worker, a zip of `export_checkpoint`, or a file of another program that a worker
        can convert, e.g. a `.cleanrl_model`. No code in it is run.

        Args:
            file: the file, of 2 GiB at most.
            worker: worker that it is for; None: as the file says, else the worker that knows it.
            algorithm: algorithm of the policy, where the file does not say it.
            environment: environment of the policy, where the file does not say it.
            name: display name of the run; None: made of environment, algorithm and date.
            tags: tags of the run.
            idempotency_key: as for `submit`.

        Returns:
            A run of kind `import`, which has the checkpoint and can be played, evaluated and trained on.

        Raises:
            FileUnusable: the file cannot be read, is empty, too large, or no regular file.
            ImportRefused: the stack does not take the file; `.problem.fields` says why.
        """
        with UploadedFile(file) as upload:
            call = checkpoint_calls.import_checkpoint(
                *(upload.name, worker, algorithm, environment),
                name=name,
                tags=tags,
                idempotency_key=idempotency_key,
            )
            return self._send_file(call, upload, lambda _: None)

    def _send_file(self, call: Call[T], upload: UploadedFile, progress: Callable[[int], None]) -> T:
        """Send a request whose body is a file. `progress` is called with the number of bytes on their way."""
        persistence = Persistence(self.location, call, self._patience_s)
        while True:
            options = upload_options(call, upload.headers)
            try:
                response = self._streams.request(**options, content=upload.pieces(progress))
            except httpx.TransportError as error:
                time.sleep(persistence.delay(fault_of(error), self._has_answered))
                continue
            self._has_answered = True
            return call.answer(answer_of(response))

    def archive(
        self,
        run_ids: Sequence[str],
        target: Path,
        *,
        without: Collection[str] = (),
        progress: OnProgress | None = None,
        checkout: GitState | None = None,
    ) -> WrittenArchive:
        """Write ended runs with all that the stack has of them to one file, in bounded memory (docs/archive.md).

        The file appears under its name only when it is complete and every digest in it was compared.

        Args:
            run_ids: ids of the runs.
            target: file to write; an existing one is replaced.
            without: kinds of files to leave out (`video`, `checkpoint`, `tensorboard`, ...), and `jsonl` or `parquet`
                to leave out this form of the events. Without them an archive can still be imported.
            progress: called often with how far it is.
            checkout: state of the checkout that writes it, to be noted in it.

        Returns:
            Size and SHA-256 of the file, and what it has of each run.

        Raises:
            ArchiveRefused: a run has not ended, or changed while it was archived.
            RunUnknown: there is no such run.
            OSError: `target` cannot be written.
        """
        from mosaic_client.archive.writing import write_archive

        return write_archive(
            self, run_ids, target, without, progress or (lambda _: None), checkout=checkout
        )

    def import_archive(
        self, file: Path, progress: Callable[[int], None] | None = None
    ) -> ArchiveImport:
        """Import the runs of an archive, with their ids.

        The stack compares all of it with its digests before it changes anything. A run that is here already is left as
        it is, so that an import may be repeated. Events reach the store afterwards; `telemetry_pending` of a run is
        true until they are there.

        Args:
            file: the archive.
            progress: called with the number of bytes on their way.

        Returns:
            What became of each run.

        Raises:
            FileUnusable: the file cannot be sent.
            ArchiveInvalid: it is no archive, was damaged or altered, or a run is here with other content.
        """
        with UploadedFile(file, "an archive", MAX_ARCHIVE_BYTES) as upload:
            call = archive_calls.import_archive(upload.name)
            return self._send_file(call, upload, progress or (lambda _: None))

    def export_checkpoint(self, run_id: str, path: str | None, target: Path) -> int:
        """Write a checkpoint with its facts to a zip, for `import_checkpoint` on another stack.

        Args:
            run_id: id of the run.
            path: path of one of its checkpoints, `best` or `last`; None: `last`, the newest.
            target: file to write; an existing one is replaced.

        Returns:
            The number of bytes.

        Raises:
            ArtifactUnknown: the run has no such checkpoint.
            ImportRefused: the file is not as the run recorded it.
            OSError: `target` cannot be written.
        """
        return self._download(checkpoint_calls.export_checkpoint(run_id, path), target)

    def download_study(self, sweep_id: str, target: Path) -> int:
        """Write the study of a sweep to a file, as it is at this moment: an SQLite file that Optuna's tools open.

        Args:
            sweep_id: id of the sweep's run.
            target: file to write; an existing one is replaced.

        Returns:
            The number of bytes.

        Raises:
            ArtifactUnknown: the sweep has no study yet.
            OSError: `target` cannot be written.
        """
        return self._download(sweep_calls.study(sweep_id), target)

    def download(self, run_id: str, path: str, target: Path) -> int:
        """Write one artifact to a file.

        A transfer whose connection breaks is resumed where it broke, if the file is still the same. A half-written file
        is never left under the target's name.

        Args:
            run_id: id of the run.
            path: path of the artifact in the run's folder.
            target: file to write; an existing one is replaced.

        Returns:
            The number of bytes.

        Raises:
            ArtifactUnknown: the run has no such file.
            StackUnreachable: the connection broke and did not come back.
            OSError: `target` cannot be written.
        """
        return self._download(telemetry_calls.artifact(run_id, path), target)

    def _download(self, call: Call[None], target: Path) -> int:
        with ArtifactDownload(target) as download:
            while True:
                try:
                    self._fetch(call, download)
                    return download.finish()
                except httpx.TransportError as error:
                    fresh = Persistence(self.location, call, self._patience_s)
                    time.sleep(download.delay(error, fresh, self._has_answered))

    def export(
        self,
        run_id: str,
        target: Path,
        format: Format = "jsonl",
        types: list[str] | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Write the recorded events of a run to `target`, in bounded memory.

        Args:
            run_id: id of the run.
            target: file for `jsonl` (one event a line; replaced when all is written), new or empty folder for `parquet`
                (a file for each event type; needs the extra `parquet`).
            format: `jsonl` or `parquet`.
            types: event types to write; None: all.
            progress: called with the number of events written so far.

        Returns:
            The number of events written.

        Raises:
            ExportRefused: the folder is not empty.
            ParquetMissing: pyarrow is not installed.
            OSError: `target` cannot be written.
        """
        from mosaic_client.export.writing import export_to

        return export_to(
            lambda cursor: self.batches(run_id, cursor, types),
            target,
            format,
            types,
            progress or (lambda _: None),
        )

    @property
    def _streams(self) -> httpx.Client:
        """For what is sent or read in pieces."""
        if self._files is None:
            self._files = FullHttp(self.location, headers_of(self.location), self._transport)
        return self._files.http

    def _fetch(self, call: Call[None], download: ArtifactDownload) -> None:
        http = self._streams
        request = http.build_request(
            call.method,
            call.path,
            params=call.query,
            headers=download.headers,
            timeout=timeout(call),
        )
        response = http.send(request, stream=True)
        try:
            self._has_answered = True
            if response.is_error:
                response.read()
                raise refused(response)
            download.begin(response)
            for chunk in response.iter_raw():
                download.write(chunk)
        finally:
            response.close()

    def artifact_link(self, run_id: str, path: str, ttl_s: float = 300) -> str:
        """Create an address of one artifact that a browser or player opens without the token.

        Args:
            run_id: id of the run.
            path: path of the artifact in the run's folder.
            ttl_s: seconds until the address expires.

        Returns:
            The whole address.
        """
        call = telemetry_calls.artifact(run_id, path)
        ticket = self.ticket(call.path.removeprefix(PREFIX), ttl_s)
        return self.location.url + ticket.url

    def tensorboard(
        self,
        run_ids: Sequence[str],
        timeout_s: float = DASHBOARD_TIMEOUT_S,
        progress: DashboardProgress | None = None,
    ) -> DashboardEntry:
        """Open TensorBoard with a selection of runs, and wait until it answers.

        Args:
            run_ids: ids of the runs, at most 100.
            timeout_s: most seconds to wait.
            progress: called with the run that serves it while it starts.

        Returns:
            The run that serves it, and in `url` the whole address, which opens it in a browser within ten minutes.

        Raises:
            RunUnknown: there is no such run.
            DashboardImpossible: no worker of the stack has TensorBoard.
            RunEnded: TensorBoard has ended; the message has the last lines that it printed.
            WaitTimedOut: it did not answer in time; it may still come up.
        """
        wait = DashboardWait(self.open_tensorboard(run_ids), timeout_s, progress)
        while not wait.is_over():
            wait.take(self.tensorboard_entry(wait.run_id, wait.next_s()))
        return wait.opened(self.location.url)

    def each_run(
        self, state: OneOrMore | None = None, page: int = 200, **filters: Unpack[RunFilter]
    ) -> Iterator[Run]:
        """Iterate over all matching runs, newest first unless sorted otherwise, fetched page by page.

        Args:
            state: states to list.
            page: runs fetched at once, 1 to 500.
            **filters: further filters and the order, see `RunFilter`.

        Yields:
            One run after the other.
        """
        cursor: str | None = None
        while True:
            found = self.runs(cursor, page, state, **filters)
            yield from found.runs
            cursor = found.next_cursor
            if cursor is None:
                return

    def each_checkpoint(
        self, page: int = 200, **filters: Unpack[CheckpointFilter]
    ) -> Iterator[CheckpointRow]:
        """Iterate over all matching checkpoints, newest first unless sorted otherwise, fetched page by page.

        Args:
            page: checkpoints fetched at once, 1 to 500.
            **filters: filters and the order, see `CheckpointFilter`.

        Yields:
            One checkpoint after the other.
        """
        cursor: str | None = None
        while True:
            found = self.checkpoints(cursor, page, **filters)
            yield from found.checkpoints
            cursor = found.next_cursor
            if cursor is None:
                return

    def each_event(
        self, run_id: str, cursor: str = "", types: list[str] | None = None, page: int = 1000
    ) -> Iterator[dict[str, Any]]:
        """Iterate over all stored events in order, in bounded memory.

        Args:
            run_id: id of the run.
            cursor: where to begin; "": the beginning.
            types: event types; None: all.
            page: events fetched at once, 1 to 10,000.

        Yields:
            Events as dictionaries.

        Raises:
            RunUnknown: there is no such run.
        """
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
        """Follow a run until it has ended: first its history, then live.

        No event is left out or given twice, whatever connections are lost; what a slow reader missed is read from the
        store.

        Args:
            run_id: id of the run.
            cursor: where to begin; "": the beginning, None: now.
            types: event types as in `mosaic_contracts.live.Subscribe`; None: `DEFAULT_TYPES` there, without steps.
            patience_s: seconds in which a lost connection must come back.

        Yields:
            Snapshots, events, changes of the run, and losses of the connection.

        Raises:
            RunUnknown: there is no such run.
            StackUnreachable: the connection did not come back in time.
        """
        follower = FollowState(run_id=run_id, cursor=cursor, types=types)
        return live_sync.follow(self.location, follower, self.events, patience_s)

    def each_episode(self, run_id: str, page: int = 1000) -> Iterator[EpisodeRow]:
        """Iterate over all episodes in the order in which they began.

        Args:
            run_id: id of the run.
            page: episodes fetched at once, 1 to 1,000.

        Yields:
            One episode after the other.
        """
        cursor: str | None = None
        while True:
            found = self.episodes(run_id, cursor, page)
            yield from found.episodes
            cursor = found.next_cursor
            if cursor is None:
                return

    def live_events(
        self, run_id: str, types: list[str] | None = None, cursor: str | None = ""
    ) -> Iterator[dict[str, Any]]:
        """Iterate over the events of a run as they happen, until it has ended; `follow` without the other items.

        Args:
            run_id: id of the run.
            types: event types; None: as for `follow`.
            cursor: where to begin; "": the beginning, None: now.

        Yields:
            Events as dictionaries.
        """
        for item in self.follow(run_id, cursor, types):
            if isinstance(item, Events):
                yield from item.events

    def wait(self, run_id: str, timeout_s: float | None = None) -> Run:
        """Wait until a run has ended and all of its events are stored. Sends no requests meanwhile.

        Args:
            run_id: id of the run.
            timeout_s: most seconds to wait; None: for ever.

        Returns:
            The ended run.

        Raises:
            RunUnknown: there is no such run.
            WaitTimedOut: it had not ended in time; it goes on.
        """
        ends_at = None if timeout_s is None else time.monotonic() + timeout_s
        follower = FollowState(run_id=run_id, cursor=None, types=WAITED_TYPES)
        for _ in live_sync.follow(self.location, follower, self.events, LIVE_PATIENCE_S, ends_at):
            pass
        return self.run(run_id)

    def replay_result(
        self,
        replay_id: str,
        timeout_s: float | None = None,
        progress: ReplayProgress | None = None,
    ) -> ReplayResult:
        """Wait for the result of a replay. Sends no requests meanwhile.

        Args:
            replay_id: id of a run that `replay` started.
            timeout_s: most seconds to wait; None: for ever.
            progress: called with the replay at every change of its state.

        Returns:
            How the rebuilt episode compares with the recorded one.

        Raises:
            RunUnknown: there is no such run.
            ReplayFailed: the replay ended without a result.
            WaitTimedOut: there was none in time; the replay goes on.
        """
        ends_at = None if timeout_s is None else time.monotonic() + timeout_s
        wait = ResultWait(replay_id, progress)
        for item in live_sync.follow(
            self.location, wait.follower, self.events, LIVE_PATIENCE_S, ends_at
        ):
            if wait.take(item):
                break
        return wait.found()

    def frames(
        self, replay_id: str, first: int = 0, last: int | None = None, every: int = 1
    ) -> Iterator[EnvironmentFrame]:
        """Iterate over the frames of a replay that draws, fetched page by page. `picture` decodes one.

        Args:
            replay_id: id of a run that `replay` started.
            first: number of the first step; 0: the reset.
            last: number of the last step; None: the last of the episode.
            every: distance of the steps.

        Yields:
            One frame after the other.

        Raises:
            RunEnded: the replay has ended and draws no more.
        """
        pages = FramePages(first, last, every)
        while pages.next is not None:
            yield from pages.take(self.episode_frames(replay_id, pages.next, pages.last, every))

    def watch_frames(
        self,
        run_id: str,
        env: int = 0,
        fps: float = MAX_FPS,
        smooth: bool = False,
        on_problem: OnProblem | None = None,
        patience_s: float = LIVE_PATIENCE_S,
    ) -> Iterator[EnvironmentFrame]:
        """Watch a running run: iterate over live frames of one environment until the run has ended.

        Frames that you do not take in time are left out; the next one is always the newest. While nobody watches, the
        run draws nothing.

        Args:
            run_id: id of the run.
            env: index of the environment among parallel ones, from 0.
            fps: most frames per second, up to 120.
            smooth: whether drawing may slow the run down. False: it takes at most a sixtieth of the run's time, so
                fewer frames come of an environment that draws slowly.
            on_problem: called with a problem while frames do not come, for example because the run waits in the queue.
            patience_s: seconds in which a lost connection must come back.

        Yields:
            One frame after the other.

        Raises:
            RunUnknown: there is no such run.
            StackUnreachable: the connection did not come back in time.
            ValueError: `env` or `fps` is out of range.
        """
        from mosaic_client import frame_stream  # for few programs

        request = WatchFrames(run_id=run_id, env=env, fps=fps, smooth=smooth)
        return frame_stream.watch(self.location, request, patience_s, on_problem)

    def act(self, run_id: str, env: int = 0, fps: float = FASTEST_FPS) -> PlaySession:
        """Act in a run that a person plays: `with client.act(run_id) as session: session.hold("left")`.

        The session sends keys and receives frames. When it ends, all keys are released.

        Args:
            run_id: id of a run whose algorithm is for a person, e.g. of the worker `play`.
            env: index of the environment.
            fps: most frames per second, up to 120.

        Returns:
            The session, which is a context manager.

        Raises:
            ValueError: `env` or `fps` is out of range.
        """
        from mosaic_client import play_session  # for few programs

        request = WatchFrames(run_id=run_id, env=env, fps=fps, smooth=True)
        return play_session.PlaySession(self.location, request)

    def series(self, run_id: str, name: str, last: int = MOST_POINTS) -> Series:
        """Fetch the newest points of a metric as arrays.

        Args:
            run_id: id of the run.
            name: name of the metric.
            last: number of points, up to 100,000.

        Returns:
            `steps` (environment steps), `values` and `times` (seconds since the epoch) as arrays of equal length.

        Raises:
            MetricUnknown: the run has no such metric.
        """
        return Series(self.curve(run_id, name, last=last))

    def metric_table(self, run_id: str) -> Table:
        """Fetch every point of every metric.

        Args:
            run_id: id of the run.

        Returns:
            A table with the columns name, step, value and t (seconds since the epoch), one row a point.
        """
        return metric_table(self.each_event(run_id, types=["metric"], page=EVENT_PAGE))

    def episode_table(self, run_id: str) -> Table:
        """Fetch all episodes.

        Args:
            run_id: id of the run.

        Returns:
            A table with env, episode, return, length (steps) and more, one row an episode.
        """
        return episode_table(list(self.each_episode(run_id)))

    def step_table(self, run_id: str, episode: int, env: int = 0, attempt: int = 1) -> EpisodeSteps:
        """Fetch the steps of one episode.

        Args:
            run_id: id of the run.
            episode: number of the episode in its environment, from 0.
            env: index of the environment among parallel ones, from 0.
            attempt: attempt of the run, from 1.

        Returns:
            A table with action, reward and more, one row a step; with observations at recording level `full`.

        Raises:
            EpisodeUnknown: there is no such episode, or none of its steps were recorded.
        """
        return EpisodeSteps(self.steps(run_id, attempt, env, episode))

    def compare(self, run_ids: Iterable[str]) -> Table:
        """Compare runs.

        Args:
            run_ids: ids of the runs.

        Returns:
            A table with spec, parameters and results, one row a run.
        """
        return comparison([self.run(run_id) for run_id in run_ids])


def connect(
    url: str | None = None,
    *,
    token: str | None = None,
    token_file: Path | str | None = None,
    ca_file: Path | str | None = None,
) -> Client:
    """Connect to a stack. Sends nothing yet.

    Args:
        url: address of the stack, e.g. `https://lab:8443`; None: MOSAIC_URL, else the stack under MOSAIC_HOME.
        token: its token.
        token_file: file with its token; None: MOSAIC_TOKEN_FILE, else that of MOSAIC_HOME for a stack on this machine.
        ca_file: certificate (PEM) of the stack or of its authority, e.g. a copy of its secrets/gateway.crt.

    Returns:
        The client; close it, or use it in a `with` statement.

    Raises:
        StackUnreachable: no stack is known, or the address is not valid.
        TokenUnreadable: its token cannot be read.
        CertificateRefused: `ca_file` cannot be used.
        ValueError: both `token` and `token_file` are given.
    """
    location = find_stack(url=url, token=token, token_file=token_file, ca_file=ca_file)
    return Client(location)
