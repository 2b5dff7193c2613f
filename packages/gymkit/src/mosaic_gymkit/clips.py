"""Clips: short videos of some episodes of a run, encoded in a process of its own at low priority."""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Any

from numpy.typing import NDArray

from mosaic_contracts.clips import CLIP_KIND, CLIPS_DIR, clip_name
from mosaic_contracts.compat import Self
from mosaic_contracts.interpreter import python_module
from mosaic_gymkit.drawing import Drawer, NotDrawable
from mosaic_gymkit.picture_bytes import FRAME_HEAD
from mosaic_gymkit.pictures import PictureEncoder, plain_picture
from mosaic_gymkit.recording import CountedEnvironment, RecordedEnvironment, StepResult
from mosaic_workerkit.telemetry import Telemetry

MAX_CLIP_FRAMES = 200
PACKAGE = "av"
"""What encodes them."""
_MOST_ENCODERS = 2
"""Encoders that may be at work; an episode that begins meanwhile gets no clip."""
_END_S = 20.0
"""For the encoder's last frames at the end of a run."""


def clips_problem() -> str:
    """Return why no clips can be made here, in words; empty: they can."""
    if find_spec(PACKAGE) is None:
        return "Clips need the package av (PyAV), which is not installed here."
    return ""


def clips_warning(every: int) -> str:
    """Return what clips cost a run, in words, for the `check` of a worker.

    Args:
        every: distance between two episodes with a clip.
    """
    episodes = "each episode" if every == 1 else f"each {every:,}th episode"
    return (
        f"Clips slow the run down: the run itself draws up to {MAX_CLIP_FRAMES} frames of {episodes}, 2 to 4 ms each "
        "for classic control, 100 ms and more for MuJoCo without a GPU. Every episode that is recorded at `replay` "
        "can be exported as a video later without this."
    )


class ClipSeries:
    """The clips of one sub-environment: which episodes have one, their encoders, and their announcement.

    Args:
        telemetry: of the run; a clip is announced as an artifact once it is complete.
        env: number of the sub-environment.
        every: distance between two episodes that have one.
    """

    def __init__(self, telemetry: Telemetry, env: int, every: int) -> None:
        self._telemetry = telemetry
        self._env = env
        self._every = every
        self._encoder = PictureEncoder()
        self._clip: _Clip | None = None
        self._ending: list[_Clip] = []
        """Clips whose encoders still work."""
        self._is_possible = True

    @property
    def is_open(self) -> bool:
        """Whether the episode that is under way has a clip, which takes more frames."""
        return self._clip is not None

    def wants(self, episode: int) -> bool:
        """Whether an episode is to have a clip."""
        return self._is_possible and episode % self._every == 0

    def begin(self, episode: int, step: int, fps: float) -> None:
        """Begin an episode, with a clip if it is to have one and an encoder is free.

        Args:
            episode: its number.
            step: environment steps of the run so far.
            fps: frames a second.
        """
        self.end()
        for clip in [each for each in self._ending if each.has_ended]:
            self._ending.remove(clip)
            self._announce(clip)
        if not self.wants(episode) or len(self._ending) >= _MOST_ENCODERS:
            return
        path = Path(CLIPS_DIR) / clip_name(self._env, episode, step)
        facts = {"env": self._env, "episode": episode, "step": step, "fps": fps}
        try:
            self._clip = _Clip(self._telemetry.run_dir, path, facts)
        except OSError as error:
            self._give_up(f"There are no more clips: {error}")

    def add(self, draw: Callable[[], NDArray[Any]]) -> None:
        """Add a frame to the open clip. `draw` may raise NotDrawable: then there are no more clips."""
        clip = self._clip
        if clip is None:
            return
        try:
            picture = plain_picture(draw())
        except NotDrawable as error:
            self._give_up(f"There are no clips: {error}")
            self.end()
            return
        encoded = self._encoder.encode(picture)
        head = FRAME_HEAD.pack(
            encoded.encoding.encode(),
            encoded.width,
            encoded.height,
            encoded.channels,
            len(encoded.data),
        )
        if not clip.add(head + encoded.data) or clip.frames >= MAX_CLIP_FRAMES:
            self.end()

    def end(self) -> None:
        """End the open clip; its encoder works on."""
        clip, self._clip = self._clip, None
        if clip is not None:
            clip.end()
            self._ending.append(clip)

    def close(self) -> None:
        """Complete and announce all clips."""
        self.end()
        for clip in self._ending:
            self._announce(clip)
        self._ending = []

    def _announce(self, clip: "_Clip") -> None:
        problem = clip.wait()
        if problem:
            self._give_up(f"There are no more clips: {problem}")
        elif clip.frames:
            try:
                self._telemetry.artifact(
                    clip.path, CLIP_KIND, {**clip.facts, "frames": clip.frames}
                )
            except OSError as error:
                self._give_up(f"The clip {clip.path} could not be announced: {error}")

    def _give_up(self, why: str) -> None:
        """Record no more clips: a full disk costs these and not the training."""
        self._is_possible = False
        self._telemetry.log("warning", why)


class ClipRecorder:
    """Records the beginning of every n-th episode of one environment.

    Args:
        env: the recorded environment.
        telemetry: of the run; a clip is announced as an artifact once it is complete.
        every: distance between two episodes that are recorded.
        step: returns the environment steps of the run so far.
    """

    def __init__(
        self,
        env: CountedEnvironment | RecordedEnvironment,
        telemetry: Telemetry,
        every: int,
        step: Callable[[], int],
    ) -> None:
        self._env = env
        self._step = step
        self._drawer = Drawer(env)
        self._clips = ClipSeries(telemetry, env.index, every)
        env.on_reset = self._begin

    def close(self) -> None:
        """Complete the clip that is being recorded."""
        self._env.on_reset = None
        self._env.taps.remove(self._see)
        self._clips.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def _begin(self) -> None:
        self._clips.begin(self._env.counter.episode, self._step(), self._drawer.fps)
        if self._clips.is_open:
            self._env.taps.add(self._see)
            self._clips.add(self._drawer.draw)
        else:
            self._env.taps.remove(self._see)

    def _see(self, _action: Any, _result: StepResult) -> None:
        self._clips.add(self._drawer.draw)
        if not self._clips.is_open:
            self._env.taps.remove(self._see)


class _Clip:
    """One clip, and the process that encodes it. A thread sends the frames: the trainer never waits for the encoder."""

    def __init__(self, run_dir: Path, path: Path, facts: dict[str, Any]) -> None:
        """`facts`: what is announced of it, with `fps`."""
        self.path = path
        self.facts = facts
        self.frames = 0
        target = run_dir / path
        target.parent.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            python_module(
                sys.executable, "mosaic_gymkit.clip_writer", str(target), str(facts["fps"])
            ),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        self._unsent: SimpleQueue[bytes | None] = SimpleQueue()
        """Frames on their way, at most `MAX_CLIP_FRAMES`; None: there are no more."""
        self._sender = Thread(target=self._send, name="clip", daemon=True)
        self._sender.start()

    def add(self, frame: bytes) -> bool:
        """Send one frame; False: the encoder has gone."""
        if not self._sender.is_alive():
            return False
        self._unsent.put(frame)
        self.frames += 1
        return True

    @property
    def has_ended(self) -> bool:
        """Whether the encoder has ended."""
        return self._process.poll() is not None

    def end(self) -> None:
        """Send no more frames."""
        self._unsent.put(None)

    def wait(self) -> str:
        """Wait for the encoder's end; return what was wrong, empty: nothing."""
        with self._process.stderr as stream:  # type: ignore[union-attr] # a pipe
            try:
                self._process.wait(_END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
                return f"the encoder had not ended after {_END_S:g} s"
            finally:
                self._sender.join()
            said = stream.read()
        if self._process.returncode == 0:
            return ""
        lines = said.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"the encoder ended with {self._process.returncode}"

    def _send(self) -> None:
        """Write what comes, until there is no more or the encoder has gone, which `wait` reports."""
        with suppress(OSError), self._process.stdin as pipe:  # type: ignore[union-attr] # a pipe
            while (frame := self._unsent.get()) is not None:
                pipe.write(frame)
