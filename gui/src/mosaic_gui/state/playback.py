"""Playing recorded episodes: position, speed, and the step of each episode that is shown."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Multiples of the environment's frame rate."""
DRAWN_FPS = 30.0
"""Frames per second that are drawn at most; a faster playback leaves out steps."""
DEFAULT_FPS = 30.0
LONG_STEP = 10


class Lock(StrEnum):
    """What is equal in episodes that are played side by side."""

    STEP = "step"
    TIME = "time"


@dataclass(frozen=True)
class Track:
    """One episode that is played."""

    last: int = 0
    """Number of its last step."""
    fps: float = DEFAULT_FPS
    """Steps per second at speed 1."""


@dataclass
class Playback:
    """Position in one to six episodes that are played together; the first one sets the pace."""

    tracks: Sequence[Track] = field(default_factory=lambda: (Track(),))
    position: float = 0.0
    """Steps of the first episode since its reset."""
    speed: float = 1.0
    is_playing: bool = False
    lock: Lock = Lock.STEP

    @property
    def last(self) -> int:
        """The last position: where the longest of the episodes ends."""
        ends = (track.last / self._rate(track) for track in self.tracks)
        return max(0, round(max(ends, default=0.0)))

    @property
    def step(self) -> int:
        """Step of the first episode, which may have ended already."""
        return int(self.position + 1e-9)

    @property
    def is_at_end(self) -> bool:
        """Whether there is nothing left to play."""
        return self.step >= self.last

    @property
    def stride(self) -> int:
        """Every so many steps are drawn at this speed."""
        return max(1, int(self.fps * self.speed / DRAWN_FPS))

    @property
    def fps(self) -> float:
        """Steps per second at speed 1."""
        return self.tracks[0].fps if self.tracks else DEFAULT_FPS

    def step_of(self, n: int, position: float | None = None) -> int:
        """The step of the n-th episode that is shown."""
        track = self.tracks[n]
        at = self.position if position is None else position
        return min(track.last, int(at * self._rate(track) + 1e-9))

    def seconds(self, step: float) -> float:
        """Time of a position at speed 1."""
        return step / self.fps

    def play(self, on: bool) -> None:
        """Play or pause; at the end, play from the beginning."""
        if on and self.is_at_end:
            self.position = 0.0
        self.is_playing = on and self.last > 0

    def seek(self, position: float) -> None:
        """Go to a position, or to the nearest one that there is."""
        self.position = min(max(0.0, position), float(self.last))

    def step_by(self, steps: int) -> None:
        """Pause, and go some steps further or back."""
        self.is_playing = False
        self.seek(self.step + steps)

    def faster(self, places: int) -> None:
        """Take the next speed, or with a negative number the one before."""
        at = SPEEDS.index(self.speed) + places
        self.speed = SPEEDS[min(max(at, 0), len(SPEEDS) - 1)]

    def target(self, elapsed_s: float) -> float:
        """The position after some more time of playing."""
        return min(self.position + elapsed_s * self.fps * self.speed, float(self.last))

    def move_to(self, position: float) -> None:
        """Go on to a position while playing; the end pauses."""
        self.seek(position)
        if self.is_at_end:
            self.is_playing = False

    def _rate(self, track: Track) -> float:
        """Steps of an episode for one step of the first."""
        return track.fps / self.fps if self.lock is Lock.TIME else 1.0


def on_stride(step: int, stride: int, last: int) -> int:
    """The step that is drawn for a position while playing: each stride's first, and the last of all."""
    return last if step >= last else step - step % stride
