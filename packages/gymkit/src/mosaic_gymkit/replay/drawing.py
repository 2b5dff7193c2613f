"""Draws rebuilt steps on request, until nobody asks any more."""

import time
from collections import OrderedDict

from mosaic_contracts.frames import (
    MAX_PAGE_BYTES,
    MAX_PAGE_FRAMES,
    EnvironmentFrame,
    encode_frame,
)
from mosaic_contracts.replays import REPLAY_IDLE_S
from mosaic_gymkit.drawing import Drawer, NotDrawable
from mosaic_gymkit.live import add_picture, plain_value, show_state, show_values
from mosaic_gymkit.pictures import PictureEncoder, plain_picture
from mosaic_gymkit.replay.rebuilding import RebuiltEpisode, RebuiltMoment
from mosaic_gymkit.values import action_of
from mosaic_workerkit.control import StopFlag
from mosaic_workerkit.frame_channel import FrameChannel, ShowRequest

KEPT_BYTES = 128 * 2**20
"""Encoded frames that are kept, so that a step is not rebuilt and drawn twice."""
_PAGE_S = 1.5
"""Seconds after which a page is sent as far as it goes: some environments draw ten frames a second."""
_LOOK_S = 0.25
"""Seconds between two looks at the stop flag."""


class FrameDrawer:
    """Draws the steps of one rebuilt episode.

    Args:
        rebuilt: the episode.
        run_id: the run that replays.
        first_difference: first step that is not as recorded; None: all are.
    """

    def __init__(self, rebuilt: RebuiltEpisode, run_id: str) -> None:
        self._rebuilt = rebuilt
        self._run_id = run_id
        self._encoder = PictureEncoder()
        self._drawer = Drawer(rebuilt.env)
        self._drawn_env = rebuilt.env
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._kept_bytes = 0
        self.first_difference: int | None = None
        """First step that is not as recorded; None: all are."""

    @property
    def fps(self) -> float:
        """Frames per second at which the environment is meant to be seen."""
        return self._drawer.fps

    def find_problem(self) -> str:
        """Return why the environment cannot be drawn where it is now, in words; empty: it can."""
        try:
            plain_picture(self._drawer.draw())
        except NotDrawable as error:
            return str(error)
        return ""

    def frame(self, step: int) -> bytes:
        """Return the encoded frame of a step.

        Args:
            step: number of the step; 0: the reset.
        """
        kept = self._kept.get(step)
        if kept is not None:
            self._kept.move_to_end(step)
            return kept
        return self.keep(self._rebuilt.go_to(step))

    def keep(self, moment: RebuiltMoment) -> bytes:
        """Draw the moment at which the episode is, and keep its frame.

        Args:
            moment: the episode's moment of now.

        Returns:
            The encoded frame.
        """
        data = encode_frame(self._draw(moment))
        self._kept[moment.step] = data
        self._kept_bytes += len(data)
        while self._kept_bytes > KEPT_BYTES:
            _, oldest = self._kept.popitem(last=False)
            self._kept_bytes -= len(oldest)
        return data

    def answer(self, channel: FrameChannel, request: ShowRequest) -> None:
        """Send the frames of a request, as many as one page takes."""
        last = self._rebuilt.last_step
        until = time.monotonic() + _PAGE_S
        step, size, count = request.first, 0, 0
        end = min(request.last, last)
        while step <= end and count < MAX_PAGE_FRAMES and size < MAX_PAGE_BYTES:
            data = self.frame(step)
            if not channel.send(data, wait=True):
                return  # the shipper has gone, and nobody waits for the answer
            size, count, step = size + len(data), count + 1, step + max(1, request.every)
            if time.monotonic() > until:
                break
        channel.answer(request, step if step <= end else None, last)

    def _draw(self, moment: RebuiltMoment) -> EnvironmentFrame:
        episode, rebuilt = self._rebuilt.episode, self._rebuilt
        if rebuilt.env is not self._drawn_env:
            self._drawer, self._drawn_env = Drawer(rebuilt.env), rebuilt.env
        frame = EnvironmentFrame(
            run_id=self._run_id,
            env=episode.env,
            number=moment.step,
            episode=episode.episode,
            step=moment.step,
            t_us=time.time_ns() // 1000,
            reward=moment.reward,
            episode_return=moment.episode_return,
            flags=moment.flags,
            is_exact=self.first_difference is None or moment.step < self.first_difference,
        )
        if moment.step:
            recorded = episode.steps[moment.step - 1]
            frame.actor = recorded.actor
            frame.action = plain_value(action_of(rebuilt.env.action_space, recorded.action))
        show_state(frame, moment.observation)
        try:
            add_picture(frame, self._encoder, plain_picture(self._drawer.draw()))
        except NotDrawable as error:
            frame.problem = str(error)
            show_values(frame, moment.observation)
        return frame


def serve_frames(drawer: FrameDrawer, channel: FrameChannel, stop: StopFlag) -> None:
    """Draw what is asked for until nobody has asked for `REPLAY_IDLE_S`, or the run is stopped.

    Args:
        drawer: draws the episode.
        channel: where requests come from and frames go.
        stop: of the run.
    """
    asked_at = time.monotonic()
    while not stop.requested and time.monotonic() - asked_at < REPLAY_IDLE_S:
        request = channel.next_request(_LOOK_S)
        if request is not None:
            drawer.answer(channel, request)
            asked_at = time.monotonic()
