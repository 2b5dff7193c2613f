"""Runs while they go on: followed, waited for, watched and played."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mosaic_client import live_sync
from mosaic_client.dashboards import DASHBOARD_TIMEOUT_S, DashboardProgress, DashboardWait
from mosaic_client.live import WAITED_TYPES, FollowState, LiveItem
from mosaic_client.patience import LIVE_PATIENCE_S
from mosaic_client.replays import FramePages, ReplayProgress, ResultWait
from mosaic_client.run_view import Run
from mosaic_client.stack_requests import StackRequests
from mosaic_contracts.frames import FASTEST_FPS, MAX_FPS, EnvironmentFrame, WatchFrames
from mosaic_contracts.live import Events
from mosaic_contracts.replays import ReplayResult
from mosaic_contracts.runs import DashboardEntry

if TYPE_CHECKING:
    from mosaic_client.frame_stream import OnProblem
    from mosaic_client.play_session import PlaySession


class LiveRuns(StackRequests):
    """Follows runs, waits for them, watches them and acts in them."""

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
