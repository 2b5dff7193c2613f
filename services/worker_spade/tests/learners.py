"""Learners for tests, and recorders and watches that do nothing."""

from typing import Any

from mosaic_worker_spade.environment.catalog import Wish, find_world
from mosaic_worker_spade.learning.choice import RunOption
from mosaic_worker_spade.learning.learner import Learner
from mosaic_worker_spade.learning.loop import Option, run_option
from mosaic_worker_spade.learning.schedule import Rates
from mosaic_worker_spade.learning.surprise import NoWatch


class SilentRecorder:
    """Records nothing, or everything into nowhere."""

    stop_requested = False

    def __init__(self, *, steps: bool = False) -> None:
        self._steps = steps
        self.lengths: list[tuple[int, float]] = []

    def wants_steps(self, episode: int) -> bool:
        """All or none."""
        return self._steps

    def begin(self, *_: Any) -> None:
        """Nothing."""

    def step(self, *_: Any) -> None:
        """Nothing."""

    def end(self, _learner: Learner, length: int, total: float, *_: Any) -> None:
        """Keep length and return."""
        self.lengths.append((length, total))


def fresh(name: str = "FrozenLake-v1", seed: int = 3, **wish: Any) -> Learner:
    """A learner that knows nothing."""
    return Learner.fresh(find_world(name, Wish(**wish)), Rates(), seed)


def learn(
    learner: Learner,
    steps: int,
    recorder: SilentRecorder | None = None,
    budget: int = 2000,
    run: RunOption = run_option,
) -> None:
    """Learn for so many steps, option by option."""
    last = learner.counts.steps + steps
    silence = recorder or SilentRecorder()
    while run(learner, Option(budget, last), silence, NoWatch()).reason != "end":
        pass
