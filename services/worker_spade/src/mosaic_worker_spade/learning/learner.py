"""What is learned, and everything that the next step depends on."""

from collections import deque
from dataclasses import dataclass, field

from mosaic_worker_spade.environment.world import TableWorld
from mosaic_worker_spade.learning.draws import Draws
from mosaic_worker_spade.learning.schedule import Rates

WINDOW = 100
"""Episodes over which the success rate is counted."""


@dataclass
class LearnerCounts:
    """What has happened so far in this run and, after a warm start, before it."""

    steps: int = 0
    episodes: int = 0
    successes: int = 0


@dataclass
class Learner:
    """An agent's table of values and the generators of its world and of its choices."""

    world: TableWorld
    rates: Rates
    seed: int
    world_draws: Draws
    choice_draws: Draws
    q: list[list[float]]
    visits: list[list[int]]
    epsilon: float
    counts: LearnerCounts = field(default_factory=LearnerCounts)
    recent: deque[bool] = field(default_factory=lambda: deque(maxlen=WINDOW))
    """Success of the last episodes."""
    ends: set[int] = field(default_factory=set)
    """Terminal states that were met and are no success."""
    goals: set[int] = field(default_factory=set)
    """Terminal states that were met and are a success."""
    is_seeded: bool = True
    """Whether the world's generator is as its seed made it: the episode is rebuilt from that."""
    first_seed: int | None = None
    """Seed of a play's first episode; each next one has the next. None: one generator serves all episodes."""

    @classmethod
    def fresh(
        cls, world: TableWorld, rates: Rates, seed: int, world_seed: int | None = None
    ) -> "Learner":
        """One that has learned nothing."""
        return cls(
            world=world,
            rates=rates,
            seed=seed,
            world_draws=Draws.seeded(seed if world_seed is None else world_seed),
            choice_draws=Draws.seeded(seed, 1),
            q=[[0.0] * world.actions for _ in range(world.states)],
            visits=[[0] * world.actions for _ in range(world.states)],
            epsilon=rates.epsilon_start,
        )

    @property
    def rate(self) -> float:
        """Share of successes among the last episodes; 0 before the first."""
        return sum(self.recent) / len(self.recent) if self.recent else 0.0

    def greedy(self, state: int) -> int:
        """An action of the highest value; among equals one is drawn, or a table of zeros would never leave a wall."""
        row = self.q[state]
        best = max(row)
        if row.count(best) == 1:
            return row.index(best)
        ties = [action for action, value in enumerate(row) if value == best]
        return ties[int(self.choice_draws.next() * len(ties))]

    @property
    def episode_seed(self) -> int | None:
        """Seed of the episode that is next or under way; None: it has none of its own."""
        return None if self.first_seed is None else self.first_seed + self.counts.episodes

    def seed_episode(self) -> None:
        """Where episodes have seeds, make both generators those of the next one: it depends on nothing before it."""
        if self.episode_seed is not None:
            self.world_draws = Draws.seeded(self.episode_seed)
            self.choice_draws = Draws.seeded(self.seed + self.counts.episodes, 1)
            self.is_seeded = True

    def note_end(self, state: int, *, ended: bool, success: bool) -> None:
        """An episode is over, in this state."""
        self.counts.episodes += 1
        self.counts.successes += success
        self.recent.append(success)
        if success:
            self.goals.add(state)
        elif ended:
            self.ends.add(state)
