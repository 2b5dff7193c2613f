"""Live view: frames of environments while somebody watches.

Nothing is drawn while nobody watches, and an environment that is not watched is stepped by the same function as before.
"""

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from mosaic_contracts.frames import EnvironmentFrame, WatchedEnv, encode_frame
from mosaic_contracts.wire import INTEGER_LIMIT
from mosaic_gymkit.drawing import Drawer, NotDrawable
from mosaic_gymkit.pictures import PictureEncoder, plain_picture
from mosaic_gymkit.recording import (
    CountedEnvironment,
    RecordedEnvironment,
    StepResult,
    is_watchable,
)
from mosaic_workerkit.frame_channel import FrameChannel, TakeInput

DRAWING_SHARE = 1 / 80
"""Largest share of the trainer's time that drawing takes, where the viewer did not ask for more."""
BLACK_FRAMES = 60
"""Black pictures in a row after which a frame says so."""
_MOST_VALUES = 64
"""Longest observation that is shown as numbers where there is no picture."""
_MOST_CHARS = 200
_REPORT_S = 1.0
"""Seconds between two frames of an environment that cannot be drawn."""

LONGEST_PAUSE_S = 4.0
"""Seconds between two frames at the most, of an environment that draws very slowly."""
_NOTHING_SEEN: tuple[Any, StepResult] = (None, (None, 0.0, False, False, {}))


class DrawingBudget:
    """Says when the next frame of one environment is due.

    Drawing is counted by the CPU time of the thread that draws: what other processes take is not the viewer's fault.
    """

    def __init__(self) -> None:
        self._due = 0.0
        self._began = 0.0
        self._cpu_began = 0.0
        self._is_first = True

    def is_due(self) -> bool:
        """Whether to draw now. If so, call `drawn` afterwards."""
        now = time.monotonic()
        if now < self._due:
            return False
        self._began, self._cpu_began = now, time.thread_time()
        return True

    def drawn(self, wanted: WatchedEnv, shortest_s: float = 0.0) -> None:
        """Note that a frame was drawn.

        Args:
            wanted: what the viewers want.
            shortest_s: seconds that the next frame waits at the least.
        """
        spent_s = time.thread_time() - self._cpu_began
        pause_s = spent_s * (1 / DRAWING_SHARE - 1)
        if wanted.smooth or self._is_first:  # the first one imports what draws
            pause_s = 0.0
        self._is_first = False
        pause_s = min(pause_s, LONGEST_PAUSE_S)
        self._due = self._began + max(1 / wanted.fps, shortest_s, pause_s)


Watchable = CountedEnvironment | RecordedEnvironment


class LiveView:
    """Shows the environments of a run to those who watch.

    Args:
        run_dir: the run's folder.
        run_id: the run.
        on_act: takes the inputs of a person, in the channel's thread. None: nobody acts.
    """

    def __init__(self, run_dir: Path, run_id: str, on_act: TakeInput | None = None) -> None:
        self._run_id = run_id
        self._shows_all = False
        self._sources: dict[int, FrameSource] = {}
        self._wanted: dict[int, WatchedEnv] = {}
        self._lock = threading.Lock()
        self.watch_count = 0
        """Grows each time that somebody says what is watched, also when nothing changes."""
        self.channel = FrameChannel(run_dir, self._on_watch, on_act)

    def add(self, env: gymnasium.Env[Any, Any]) -> None:
        """Let an environment be watched.

        Args:
            env: as `mosaic_gymkit.recording.recorded` returned it. One that is not recorded cannot be watched.
        """
        if is_watchable(env):
            with self._lock:
                source = FrameSource(env, self._run_id, self.channel)
                self._sources[env.index] = source
                source.show_all(self._shows_all)
                source.want(self._wanted.get(env.index))

    @property
    def is_watched(self) -> bool:
        """Whether somebody watches."""
        return bool(self._wanted)

    def show_all(self, is_played: bool) -> None:
        """Send a frame of each step, however long drawing takes, while a person plays; False: as drawing permits."""
        with self._lock:
            self._shows_all = is_played
            for source in self._sources.values():
                source.show_all(is_played)

    def hide(self, is_hidden: bool) -> None:
        """Send no frames, while steps are taken that nobody is to see; False: again."""
        with self._lock:
            for source in self._sources.values():
                source.is_hidden = is_hidden

    def show(self, env: int, observation: Any) -> None:
        """Send a frame of an environment as it is after a reset, while a person plays.

        Args:
            env: number of the environment.
            observation: what the reset returned.
        """
        if env in self._sources:
            self._sources[env].show_reset(observation)

    def show_again(self, env: int) -> None:
        """Send a frame of the last step or reset once more, for somebody who has begun to watch."""
        if env in self._sources:
            self._sources[env].show_again()

    def note_step(self, env: int, action: Any, result: StepResult) -> None:
        """Take note of the newest step of an environment that was not looked at, for `show_again`.

        Args:
            env: number of the environment.
            action: of the step.
            result: what the environment returned.
        """
        if env in self._sources:
            self._sources[env].note_step(action, result)

    def note_input(self, env: int, number: int) -> None:
        """Let the frames of an environment say that they know this input.

        Args:
            env: number of the environment.
            number: of the input.
        """
        if env in self._sources:
            self._sources[env].input = number

    def close(self) -> None:
        """Show nothing more."""
        self._on_watch([])
        self.channel.close()

    def __enter__(self) -> "LiveView":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _on_watch(self, wanted: Sequence[WatchedEnv]) -> None:
        """Called in the channel's thread."""
        with self._lock:
            self._wanted = {each.env: each for each in wanted}
            for index, source in self._sources.items():
                source.want(self._wanted.get(index))
        self.watch_count += 1


class FrameSource:
    """Frames of one environment.

    Args:
        env: the recorded environment.
        run_id: the run.
        channel: where frames go.
    """

    def __init__(self, env: Watchable, run_id: str, channel: FrameChannel) -> None:
        self._env = env
        self._counter = env.counter
        self._run_id = run_id
        self._channel = channel
        self._drawer: Drawer | None = None
        self._encoder = PictureEncoder()
        self._wanted: WatchedEnv | None = None
        self._budget = DrawingBudget()
        self._number = 0
        self._black = 0
        self._shows_all = False
        self.is_hidden = False
        """Whether no frame is sent."""
        self._last = _NOTHING_SEEN
        self._last_at = (-1, 0)
        """Episode and step of it."""
        self.input = 0
        """Number of the newest input that the environment's next step knows."""

    def show_all(self, is_played: bool) -> None:
        """Let each step have its frame from now on; False: as drawing permits."""
        self._shows_all = is_played
        self._look()

    def want(self, wanted: WatchedEnv | None) -> None:
        """Begin or end to watch. May be called in any thread: the next step takes the other way."""
        if wanted is not None and self._drawer is None:
            self._drawer = Drawer(self._env)  # here, for finding an OpenGL takes seconds
        self._wanted = wanted
        self._look()

    def _look(self) -> None:
        """Look at steps only while somebody sees, or plays."""
        if self._shows_all or self._wanted is not None:
            self._env.taps.add(self._see)
        else:
            self._env.taps.remove(self._see)

    def show_reset(self, observation: Any) -> None:
        """Take note of the moment after a reset, and send a frame of it while a person plays."""
        self.note_step(None, (observation, 0.0, False, False, {}))
        if self._shows_all and not self.is_hidden:
            self.show_again()

    def note_step(self, action: Any, result: StepResult) -> None:
        """Take note of the newest step."""
        self._last = action, result
        self._last_at = self._counter.episode, self._counter.length

    def show_again(self) -> None:
        """Send a frame of the newest step or reset once more; where it was not seen, of the picture as it is."""
        counter = self._counter
        if self._wanted is not None and counter.episode >= 0:
            is_known = self._last_at == (counter.episode, counter.length)
            self._show(*(self._last if is_known else _NOTHING_SEEN))

    def _see(self, action: Any, result: StepResult) -> None:
        wanted = self._wanted
        self.note_step(action, result)
        if self.is_hidden:
            return
        if self._shows_all:
            self.show_again()
        elif wanted is not None and self._budget.is_due():
            has_picture = self._show(action, result)
            self._budget.drawn(wanted, 0.0 if has_picture else _REPORT_S)

    def _show(self, action: Any, result: StepResult) -> bool:
        """Send a frame of this step. Returns whether it has a picture."""
        observation, reward, terminated, truncated, _ = result
        counter = self._counter
        self._number += 1
        frame = EnvironmentFrame(
            run_id=self._run_id,
            env=self._env.index,
            number=self._number,
            episode=counter.episode,
            step=counter.length,
            t_us=time.time_ns() // 1000,
            action=plain_value(action),
            reward=float(reward),
            episode_return=counter.total,
            flags=(1 if terminated else 0) | (2 if truncated else 0),
            actor=counter.actor,
            input=self.input,
        )
        has_picture = self._draw(frame, observation)
        self._channel.send(encode_frame(frame))
        return has_picture

    def _draw(self, frame: EnvironmentFrame, observation: Any) -> bool:
        show_state(frame, observation)
        if self._drawer is None:
            return False
        try:
            picture = plain_picture(self._drawer.draw())
        except NotDrawable as error:
            frame.problem = str(error)
            show_values(frame, observation)
            return False
        self._black = 0 if picture.any() else self._black + 1
        if self._black >= BLACK_FRAMES:
            frame.problem = f"The last {self._black} pictures are black. The environment may need another renderer."
        add_picture(frame, self._encoder, picture)
        return True


def add_picture(
    frame: EnvironmentFrame, encoder: PictureEncoder, picture: "np.ndarray[Any, np.dtype[np.uint8]]"
) -> None:
    """Put a picture into a frame."""
    encoded = encoder.encode(picture)
    frame.encoding, frame.data = encoded.encoding, encoded.data
    frame.width, frame.height, frame.channels = encoded.width, encoded.height, encoded.channels
    if (encoded.full_width, encoded.full_height) != (encoded.width, encoded.height):
        frame.full_width, frame.full_height = encoded.full_width, encoded.full_height


def show_state(frame: EnvironmentFrame, observation: Any) -> None:
    """Put the state's number into a frame, where the observation is one."""
    if isinstance(observation, int | np.integer) and not isinstance(observation, bool):
        frame.state = int(observation)


def show_values(frame: EnvironmentFrame, observation: Any) -> None:
    """Put the observation into a frame, where it is a short vector."""
    if isinstance(observation, np.ndarray) and 0 < observation.size <= _MOST_VALUES:
        frame.values = [float(value) for value in observation.ravel()]


def plain_value(value: Any) -> Any:
    """Return an action in plain values: numbers, texts, lists, maps.

    What is neither becomes its text, and of a long array only its shape is shown: a frame of any action can be sent.
    """
    if isinstance(value, np.ndarray) and value.size > _MOST_VALUES:
        return f"array of shape {value.shape}"
    if isinstance(value, np.ndarray | np.generic):
        return plain_value(value.tolist())
    if isinstance(value, dict):
        return {str(key): plain_value(item) for key, item in list(value.items())[:_MOST_VALUES]}
    if isinstance(value, tuple | list):
        return [plain_value(item) for item in value[:_MOST_VALUES]]
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int) and abs(value) < INTEGER_LIMIT:
        return value
    return str(value)[:_MOST_CHARS]
