"""Clips: short videos of some episodes of a run, encoded in a process of its own at low priority."""

import os
import struct
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

from mosaic_contracts.compat import Self
from mosaic_contracts.interpreter import python_module
from mosaic_gymkit.drawing import Drawer, NotDrawable
from mosaic_gymkit.pictures import PictureEncoder, plain_picture
from mosaic_gymkit.recording import CountedEnvironment, RecordedEnvironment, StepResult
from mosaic_workerkit.telemetry import Telemetry

VIDEOS_DIR = "videos"
KIND = "video"
MAX_CLIP_FRAMES = 200
PACKAGE = "av"
"""What encodes them."""
FRAME_HEAD = struct.Struct("<4sHHBI")
"""Head of each frame on its way to the encoder: encoding, width, height, channels, bytes that follow."""
_MOST_ENCODERS = 2
"""Encoders that may be at work; an episode that begins meanwhile gets no clip."""
_END_S = 20.0
"""For the encoder's last frames at the end of a run."""


def clips_problem() -> str:
    """Return why no clips can be made here, in words; empty: they can."""
    if find_spec(PACKAGE) is None:
        return "Clips need the package av (PyAV), which is not installed here."
    return ""


class ClipRecorder:
    """Records the beginning of every n-th episode of one environment.

    Args:
        env: the recorded environment.
        telemetry: of the run; a clip is announced as an artifact once it is complete.
        every: distance between two episodes that are recorded.
    """

    def __init__(
        self, env: CountedEnvironment | RecordedEnvironment, telemetry: Telemetry, every: int
    ) -> None:
        self._env = env
        self._telemetry = telemetry
        self._every = every
        self._drawer = Drawer(env)
        self._encoder = PictureEncoder()
        self._clip: _Clip | None = None
        self._ending: list[_Clip] = []
        """Clips whose encoders still work."""
        self._is_possible = True
        env.on_reset = self._begin

    def close(self) -> None:
        """Complete the clip that is being recorded."""
        self._env.on_reset = None
        self._end()
        for clip in self._ending:
            self._announce(clip)
        self._ending = []

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
        self._end()
        for clip in [each for each in self._ending if each.has_ended]:
            self._ending.remove(clip)
            self._announce(clip)
        episode = self._env.counter.episode
        if not self._is_possible or episode % self._every or len(self._ending) >= _MOST_ENCODERS:
            return
        name = f"env-{self._env.index}-episode-{episode:08d}.mp4"
        path = Path(VIDEOS_DIR) / name
        try:
            self._clip = _Clip(self._telemetry.run_dir, path, episode, self._drawer.fps)
        except OSError as error:
            self._give_up(f"There are no more clips: {error}")
            return
        self._env.taps.add(self._see)
        self._draw()

    def _see(self, _action: Any, _result: StepResult) -> None:
        self._draw()

    def _draw(self) -> None:
        clip = self._clip
        if clip is None:
            return
        try:
            picture = plain_picture(self._drawer.draw())
        except NotDrawable as error:
            self._give_up(f"There are no clips: {error}")
            self._end()
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
            self._end()

    def _end(self) -> None:
        self._env.taps.remove(self._see)
        clip, self._clip = self._clip, None
        if clip is not None:
            clip.end()
            self._ending.append(clip)

    def _announce(self, clip: "_Clip") -> None:
        problem = clip.wait()
        if problem:
            self._give_up(f"There are no more clips: {problem}")
        elif clip.frames:
            facts = {"env": self._env.index, "episode": clip.episode}
            try:
                self._telemetry.artifact(
                    clip.path, KIND, {**facts, "frames": clip.frames, "fps": clip.fps}
                )
            except OSError as error:
                self._give_up(f"The clip {clip.path} could not be announced: {error}")

    def _give_up(self, why: str) -> None:
        """Record no more clips: a full disk costs these and not the training."""
        self._is_possible = False
        self._telemetry.log("warning", why)


class _Clip:
    """One clip, and the process that encodes it."""

    def __init__(self, run_dir: Path, path: Path, episode: int, fps: float) -> None:
        self.path = path
        self.episode = episode
        self.fps = fps
        self.frames = 0
        target = run_dir / path
        target.parent.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            python_module(sys.executable, "mosaic_gymkit.clip_writer", str(target), str(fps)),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )

    def add(self, frame: bytes) -> bool:
        """Send one frame; False: the encoder has gone."""
        pipe = self._process.stdin
        try:
            if pipe is not None:
                pipe.write(frame)
        except OSError:
            return False
        self.frames += 1
        return True

    @property
    def has_ended(self) -> bool:
        """Whether the encoder has ended."""
        return self._process.poll() is not None

    def end(self) -> None:
        """Send no more frames."""
        if self._process.stdin is not None:
            with suppress(OSError):  # the encoder has gone, which `wait` reports
                self._process.stdin.close()

    def wait(self) -> str:
        """Wait for the encoder's end; return what was wrong, empty: nothing."""
        with self._process.stderr as stream:  # type: ignore[union-attr] # a pipe
            try:
                self._process.wait(_END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
                return f"the encoder had not ended after {_END_S:g} s"
            said = stream.read()
        if self._process.returncode == 0:
            return ""
        lines = said.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"the encoder ended with {self._process.returncode}"
