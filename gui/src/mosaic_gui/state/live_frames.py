"""Words and figures about the frames of an environment: what a frame shows, and how fast frames come."""

from collections import deque
from collections.abc import Sequence
from statistics import median
from typing import Any

from mosaic_contracts.frames import EnvironmentFrame
from mosaic_contracts.grid import Grid
from mosaic_contracts.wire import Actor, StepFlag
from mosaic_gui.state import wording
from mosaic_gui.state.language import mark, tr, tr_mark

Fact = tuple[str, str]
"""Name and value."""

RATE_S = 2.0
"""Length of the stretch over which frames are counted."""
KEPT_DELAYS = 120
MOST_ACTION_NUMBERS = 4
_ACTORS = {
    Actor.POLICY: mark("policy"),
    Actor.HUMAN: mark("person"),
    Actor.SCRIPT: mark("script"),
}
_FLAGS = {
    StepFlag.TERMINATED: mark("terminated"),
    StepFlag.TRUNCATED: mark("truncated"),
}


class FrameRate:
    """Counts frames per second over the last `RATE_S` seconds."""

    def __init__(self) -> None:
        self._times: deque[float] = deque()

    def note(self, now_s: float) -> None:
        """Count a frame that came at this time of a monotonic clock."""
        self._times.append(now_s)
        self._forget(now_s)

    def per_second(self, now_s: float) -> float:
        """Frames per second up to now; 0 where none came for `RATE_S` seconds."""
        self._forget(now_s)
        if len(self._times) < 2:
            return 0.0
        # the time since the last frame counts too: a stream that stops slows down at once
        span = max(now_s - self._times[0], 1e-3)
        return min(len(self._times) / span, (len(self._times) - 1) / self._between)

    def clear(self) -> None:
        """Begin again."""
        self._times.clear()

    @property
    def _between(self) -> float:
        return max(self._times[-1] - self._times[0], 1e-3)

    def _forget(self, now_s: float) -> None:
        while self._times and now_s - self._times[0] > RATE_S:
            self._times.popleft()


class PaintDelays:
    """Time from the drawing of a frame in the worker to its painting here, of the newest frames.

    It compares two wall clocks, so it says something of a worker on this machine only.
    """

    def __init__(self) -> None:
        self._delays_ms: deque[float] = deque(maxlen=KEPT_DELAYS)

    def note(self, drawn_us: int, painted_s: float) -> None:
        """Take the time of a drawing (microseconds since the epoch) and of its painting (seconds)."""
        delay_ms = painted_s * 1e3 - drawn_us / 1e3
        if 0 <= delay_ms < 60_000:
            self._delays_ms.append(delay_ms)

    def clear(self) -> None:
        """Begin again."""
        self._delays_ms.clear()

    @property
    def median_ms(self) -> float | None:
        """Median of the newest delays; None: no frame has been painted."""
        return median(self._delays_ms) if self._delays_ms else None


def frame_facts(frame: EnvironmentFrame, actions: Sequence[str] = ()) -> list[Fact]:
    """Name and value of what belongs to a frame. `actions`: names of the actions by number."""
    is_reset = frame.step == 0
    return [
        (tr("Episode"), wording.count(frame.episode)),
        (tr("Step"), wording.count(frame.step)),
        (tr("Action"), wording.NOTHING if is_reset else action_words(frame.action, actions)),
        (tr("Reward"), wording.NOTHING if is_reset else wording.number(frame.reward)),
        (tr("Return"), wording.number(frame.episode_return)),
        (tr("Acted"), wording.NOTHING if is_reset else actor_words(frame.actor)),
    ]


def action_words(action: Any, actions: Sequence[str] = ()) -> str:
    """An action as text: its name where it has one, else its numbers."""
    if action is None:
        return wording.NOTHING
    if isinstance(action, bool) or not isinstance(action, int | float | list | tuple):
        return str(action)
    if isinstance(action, int):
        return actions[action] if 0 <= action < len(actions) else str(action)
    if isinstance(action, float):
        return wording.number(action, 3)
    shown = [action_words(part) for part in action[:MOST_ACTION_NUMBERS]]
    rest = ["…"] if len(action) > MOST_ACTION_NUMBERS else []
    return ", ".join(shown + rest)


def actor_words(actor: int) -> str:
    """The word for an actor."""
    try:
        return tr_mark(_ACTORS[Actor(actor)])
    except (ValueError, KeyError):
        return str(actor)


def flag_words(flags: int) -> str:
    """The flags of a step; empty: none."""
    return ", ".join(tr_mark(word) for flag, word in _FLAGS.items() if flags & flag)


def action_names(grid: Grid | None) -> list[str]:
    """Names of the actions of a grid world, by number."""
    return [action.name for action in grid.actions] if grid is not None else []
