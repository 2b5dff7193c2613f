"""When an agent should stop and think: its first success, or its success falling far below its best."""

from dataclasses import dataclass

from mosaic_worker_spade.learning.learner import WINDOW, Learner
from mosaic_worker_spade.learning.loop import Until


@dataclass(frozen=True)
class Surprise:
    """What was unexpected."""

    what: str
    """`drop` of the success rate, or `new_hazard`: episodes end where they never did."""
    size: float
    """How far it fell, or the state."""


class SurpriseWatch:
    """Looks at each episode's end; a surprise waits in `surprise` until it is taken."""

    def __init__(self, threshold: float, known_ends: set[int]) -> None:
        self._threshold = threshold
        self._known_ends = known_ends
        """Ends known from a warm start. Empty: every end is new, and none is a surprise."""
        self.until = Until.BUDGET
        self.surprise: Surprise | None = None
        self.best_rate = 0.0
        self._wins = 0
        self._window: list[bool] = []
        self._place = 0

    def episode_ended(self, learner: Learner, state: int, success: bool) -> str | None:
        """Why the option should end now, or None."""
        self._count(success)
        if success and learner.counts.successes == 1 and self.until is Until.GOAL:
            return "goal"
        if len(self._window) == WINDOW:
            rate = self._wins / WINDOW
            if rate > self.best_rate:
                self.best_rate = rate
            elif self.best_rate - rate > self._threshold:
                self.surprise = Surprise("drop", round(self.best_rate - rate, 4))
                self.best_rate = rate
        if self._known_ends and not success and state in learner.ends - self._known_ends:
            self._known_ends.add(state)
            self.surprise = Surprise("new_hazard", float(state))
        return "surprise" if self.surprise and self.until is Until.SURPRISE else None

    def take(self) -> Surprise | None:
        """The surprise, once."""
        taken, self.surprise = self.surprise, None
        return taken

    def _count(self, success: bool) -> None:
        if len(self._window) < WINDOW:
            self._window.append(success)
        else:
            self._wins -= self._window[self._place]
            self._window[self._place] = success
            self._place = (self._place + 1) % WINDOW
        self._wins += success


class NoWatch:
    """Never ends an option."""

    def episode_ended(self, learner: Learner, state: int, success: bool) -> str | None:
        """Nothing is unexpected."""
        return None
