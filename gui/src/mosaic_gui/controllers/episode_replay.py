"""Requests of one replayed episode: its recorded steps, the run that rebuilds it, and frames ahead of the cursor."""

import time
from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec
from PyQt6.QtCore import QObject, QThreadPool, pyqtSignal

from mosaic_contracts.cursor import format_cursor
from mosaic_contracts.frames import EnvironmentFrame
from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.runs import EventPage, ReplayEntry, RunView
from mosaic_gui.net.api import ApiClient
from mosaic_gui.net.pictures import PictureDecoder
from mosaic_gui.net.reply import ApiProblem, ApiReply
from mosaic_gui.state.episode_steps import RecordedSteps
from mosaic_gui.state.frame_cache import FrameRange, PageSize, next_range
from mosaic_gui.state.language import tr
from mosaic_gui.timers import single_shot_timer
from mosaic_gui.viewmodels.player import PlayerModel
from mosaic_gui.viewmodels.replay import ReplayModel, ReplayPhase

LOOK_MS = 400
"""Interval between requests for the result. The live connection does not carry events of a replay."""
RETRY_MS = 500
BELIEF_TYPES = ("bdi.belief", "bdi.plan", "bdi.intention")
BELIEF_EVENTS = 500
MOST_BELIEF_PAGES = 20
_NOT_YET = (ProblemCode.RUN_NOT_STARTED,)
_GONE = (ProblemCode.RUN_ENDED, ProblemCode.RUN_UNKNOWN)


class EpisodeReplay(QObject):
    """Replays one episode until `stop`. A replay that has ended, because nobody asked, is started again when needed."""

    _steps_read = pyqtSignal(object, str)
    """RecordedSteps or None, and why they cannot be read."""

    def __init__(
        self, model: ReplayModel, player: PlayerModel, api: ApiClient, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._model, self._player, self._api = model, player, api
        self._replay_id = ""
        self._is_shown = True
        self._is_ended = False
        """The replay has ended; its frames that are here stay."""
        self._is_stopped = False
        self._awaited: set[ApiReply] = set()
        self._starting: ApiReply | None = None
        self._fetching: ApiReply | None = None
        self._pages = PageSize()
        self._belief_pages = 0
        self._pool = QThreadPool(self)
        self._steps_read.connect(self._on_steps_read)
        self._decoder = PictureDecoder(self)
        self._decoder.decoded.connect(self._on_decoded)
        self._look = single_shot_timer(self, self._read_result, LOOK_MS)
        self._again = single_shot_timer(self, self._fetch, RETRY_MS)
        self._record_again = single_shot_timer(self, self._read_record, 4 * RETRY_MS)
        model.picture_wanted.connect(self._decoder.take)
        model.frame_changed.connect(self._fetch)
        model.retry_wanted.connect(self.start)

    @property
    def replay_id(self) -> str:
        """The run that rebuilds the episode; empty: it was not started."""
        return self._replay_id

    def start(self) -> None:
        """Read the recorded steps, and start a replay."""
        if not self._model.has_steps:
            self._read_record()
        self._start_replay()

    def show(self, shown: bool) -> None:
        """Note whether the page is visible; frames are fetched for nobody else."""
        self._is_shown = shown
        self._fetch()

    def take_replay(self, run: RunView) -> None:
        """Take a newer record of the run that rebuilds the episode."""
        self._is_ended = run.state.is_final
        if run.state.is_final and self._model.result is None:
            # its result may have come with its end
            self._read_result()
        else:
            self._model.take_run(run)

    def stop(self) -> None:
        """End all requests, and the replay itself."""
        for timer in (self._look, self._again, self._record_again):
            timer.stop()
        self._is_stopped = True
        for reply in [*self._awaited, *filter(None, [self._fetching])]:
            # a replay that is being started is stopped as soon as its id is known
            if reply is not self._starting:
                reply.drop()
        self._awaited, self._fetching = set(), None
        self._decoder.stop()
        self._pool.waitForDone()
        self._model.picture_wanted.disconnect(self._decoder.take)
        self._model.frame_changed.disconnect(self._fetch)
        self._model.retry_wanted.disconnect(self.start)
        if self._replay_id and not self._is_ended:
            self._api.stop_run(self._replay_id)
        self._replay_id = ""

    def _ask(
        self, reply: ApiReply, done: Callable[..., None], failed: Callable[[ApiProblem], None]
    ) -> None:
        self._awaited.add(reply)

        def settle(act: Callable[..., None], value: object) -> None:
            self._awaited.discard(reply)
            act(value)

        reply.done.connect(partial(settle, done))
        reply.failed.connect(partial(settle, failed))

    def _read_record(self) -> None:
        """The config comes first: with it the steps of a grid world have cells."""
        address = self._model.address
        config = self._api.events(address.run_id, "", ("config",), 50)
        self._ask(config, self._on_config, self._on_no_record)

    def _on_config(self, page: EventPage) -> None:
        address = self._model.address
        configs = [e["data"] for e in page.events if e["attempt"] == address.attempt]
        if configs:
            self._model.take_config(configs[-1])
        reply = self._api.recorded_steps(*address)
        self._ask(reply, self._on_steps, self._on_no_record)

    def _on_steps(self, data: bytes) -> None:
        config = self._model.config
        self._pool.start(lambda: self._steps_read.emit(*_read_steps(data, config)))

    def _on_steps_read(self, steps: RecordedSteps | None, fault: str) -> None:
        if self._is_stopped:
            return
        if steps is None:
            self._model.fail(tr("The stack's answer cannot be read: {why}", why=fault))
            return
        self._model.take_recorded(steps)
        if self._model.steps.steps:
            self._read_beliefs(self._cursor_before(self._model.steps.steps[0].seq))

    def _on_no_record(self, problem: ApiProblem) -> None:
        if problem.is_passing:
            self._record_again.start()
        else:
            self._model.fail(problem.message)

    def _cursor_before(self, seq: int) -> str:
        return format_cursor({(self._model.address.attempt, "worker"): seq - 1})

    def _read_beliefs(self, cursor: str) -> None:
        self._belief_pages += 1
        run_id = self._model.address.run_id
        reply = self._api.events(run_id, cursor, BELIEF_TYPES, BELIEF_EVENTS)
        self._ask(reply, self._on_beliefs, lambda _problem: None)

    def _on_beliefs(self, page: EventPage) -> None:
        model = self._model
        last = model.steps.steps[-1].seq
        seqs = [
            event["seq"]
            for event in page.events
            if event["attempt"] == model.address.attempt
            and event["data"].get("env", 0) == model.address.env
        ]
        within = seqs[: bisect_right(seqs, last)]
        if within:
            model.take_belief_seqs(within)
        goes_on = len(within) == len(seqs) and page.has_more and page.events
        if goes_on and self._belief_pages < MOST_BELIEF_PAGES:
            self._read_beliefs(page.cursor)

    def _start_replay(self) -> None:
        self._is_ended = False
        self._replay_id = ""
        self._model.begin_again()
        self._starting = self._api.replay_episode(*self._model.address)
        self._ask(self._starting, self._on_started, self._on_refused)

    def _on_started(self, run: RunView) -> None:
        self._starting = None
        if self._is_stopped:
            self._api.stop_run(run.run_id)
            return
        self._replay_id = run.run_id
        self._model.take_run(run)
        if self._model.result is not None:
            # it was compared before, and is equal again
            self._model.take_result(self._model.result)
            self._fetch()
        else:
            self._read_result()

    def _on_refused(self, problem: ApiProblem) -> None:
        self._starting = None
        if not self._is_stopped:
            self._model.fail(problem.message)

    def _read_result(self) -> None:
        if self._replay_id:
            reply = self._api.replays(self._model.address.run_id)
            self._ask(reply, self._on_replays, self._on_no_result)

    def _on_replays(self, entries: list[ReplayEntry]) -> None:
        mine = next((e for e in entries if e.run.run_id == self._replay_id), None)
        if mine is not None and mine.result is not None:
            self._is_ended = mine.run.state.is_final
            self._model.run = mine.run
            self._model.take_result(mine.result)
            self._fetch()
            return
        if mine is not None:
            # events of a run that has ended may still be on their way to the store
            if mine.run.state.is_final and not mine.run.telemetry_pending:
                self._is_ended = True
                self._model.take_run(mine.run)
                return
            if not mine.run.state.is_final:
                self._model.take_run(mine.run)
        self._look.start()

    def _on_no_result(self, problem: ApiProblem) -> None:
        if problem.is_passing:
            self._look.start()
        else:
            self._model.fail(problem.message)

    def _fetch(self) -> None:
        model = self._model
        is_ready = model.draws and model.has_steps and self._is_shown
        if not is_ready or self._fetching is not None or self._again.isActive():
            return
        wanted = self._next_range()
        if wanted is None:
            return
        if self._is_ended:
            self._start_replay()
            return
        began = time.monotonic()
        self._fetching = self._api.frames(self._replay_id, wanted)
        self._fetching.done.connect(partial(self._on_frames, began))
        self._fetching.failed.connect(self._on_no_frames)

    def _next_range(self) -> FrameRange | None:
        player, model = self._player, self._model
        stride = player.playback.stride if player.playback.is_playing else 1
        return next_range(
            model.cache,
            model.step,
            model.last,
            stride,
            is_dragging=player.is_dragging,
            most=self._pages.frames,
        )

    def _on_frames(self, began: float, frames: list[EnvironmentFrame]) -> None:
        self._fetching = None
        self._pages.note(len(frames), time.monotonic() - began)
        self._model.take_frames(frames)
        if frames:
            self._fetch()
        else:
            self._again.start()

    def _on_no_frames(self, problem: ApiProblem) -> None:
        self._fetching = None
        code = problem.problem.code if problem.problem is not None else None
        if code in _GONE:
            self._is_ended = True
            self._again.start()
        elif code in _NOT_YET or problem.is_passing:
            self._again.start()
        else:
            self._model.fail(problem.message)

    def _on_decoded(self, frame: EnvironmentFrame, image: object, fault: str) -> None:
        if self._model.phase is not ReplayPhase.FAILED or image is not None:
            self._model.take_picture(frame, image, fault)  # type: ignore[arg-type]  # QImage or None


def _read_steps(data: bytes, config: Mapping[str, Any]) -> tuple[RecordedSteps | None, str]:
    """Steps of an answer, or why it cannot be read. It runs on a thread of the pool."""
    try:
        return RecordedSteps.from_events(msgspec.json.decode(data)["events"], config), ""
    except (msgspec.DecodeError, KeyError, TypeError) as error:
        return None, f"{type(error).__name__}: {error}"
