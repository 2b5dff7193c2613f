"""A world made once: its transition table as plain lists, its grid, and how to make it again."""

import hashlib
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import gymnasium
import numpy as np

from mosaic_contracts.grid import Grid
from mosaic_gymkit.grids import grid_of
from mosaic_workerkit.errors import EnvironmentUnusable
from mosaic_workerkit.spaces import Space, space_of
from mosaic_workerkit.stephash import step_hash

StepOutcome = tuple[int, float, bool, bool, bytes]
"""Next state, reward, whether the episode ends there, whether that is a success, hash of the step."""
Transition = tuple[tuple[float, ...], tuple[StepOutcome, ...]]
"""Cumulative probabilities, and the outcomes that go with them."""

_PROBE_STEPS = 200


@dataclass(frozen=True, kw_only=True)
class TableWorld:
    """A world as the learning loop needs it."""

    id: str
    """As it was made, e.g. `Taxi-v4` where `Taxi-v3` was asked for."""
    arguments: dict[str, Any]
    """Arguments of `gymnasium.make` in addition to the id."""
    max_steps: int
    """Steps after which an episode is truncated."""
    rows: list[list[Transition]]
    """By state and action."""
    start: tuple[float, ...]
    """Cumulative probabilities of the first state."""
    grid: Grid | None
    spaces: dict[str, Space]
    digest: str
    """SHA-256 of the table, the first state's distribution and the episode's limit."""

    @property
    def states(self) -> int:
        """How many states there are."""
        return len(self.rows)

    @property
    def actions(self) -> int:
        """How many actions there are."""
        return len(self.rows[0])

    @property
    def map_text(self) -> str:
        """The grid by the first letters of its cells, rows apart by /; what a person knows a map by."""
        if self.grid is None:
            return ""
        return "/".join("".join(kind[0].upper() for kind in row) for row in self.grid.cells)

    def make(self) -> Any:
        """The environment itself, with its time limit."""
        return gymnasium.make(self.id, max_episode_steps=self.max_steps, **self.arguments)


def make_world(name: str, arguments: dict[str, Any], max_steps: int) -> TableWorld:
    """Make an environment once and read its table.

    Raises:
        EnvironmentUnusable: it has no table, or does not do what its table says.
    """
    env = gymnasium.make(name, **arguments)
    try:
        inner: Any = env.unwrapped
        table = getattr(inner, "P", None)
        first = getattr(inner, "initial_state_distrib", None)
        if table is None or first is None:
            raise EnvironmentUnusable(
                f"{name} has no transition table (`P`), and this worker learns on tables. "
                "`./mosaic describe spade` lists worlds that have one."
            )
        rows = _rows(table)
        start = tuple(float(p) for p in np.cumsum(np.asarray(first)))
        world = TableWorld(
            id=name,
            arguments=arguments,
            max_steps=max_steps,
            rows=rows,
            start=start,
            grid=grid_of(inner),
            spaces={
                "observation": space_of(env.observation_space),
                "action": space_of(env.action_space),
            },
            digest=_digest(rows, start, max_steps),
        )
        _compare(inner, world)
        return world
    finally:
        env.close()


def _rows(table: Any) -> list[list[Transition]]:
    best = max(
        (float(r) for row in table.values() for ts in row.values() for _p, _s, r, end in ts if end),
        default=0.0,
    )
    # Outside of its terminal states a table may list them as loops onto themselves (FrozenLake does, reward 0).
    return [
        [_transition(table[state][action], best) for action in sorted(table[state])]
        for state in sorted(table)
    ]


def _transition(listed: Any, best: float) -> Transition:
    """Cumulated as gymnasium's own sampling does, so that the same number draws the same outcome."""
    outcomes = tuple(
        (
            int(state),
            float(reward),
            bool(end),
            bool(end) and float(reward) >= best,
            step_hash(int(state), float(reward), int(end)),
        )
        for _p, state, reward, end in listed
    )
    return tuple(accumulate(float(t[0]) for t in listed)), outcomes


def _digest(rows: list[list[Transition]], start: tuple[float, ...], max_steps: int) -> str:
    plain = [[(cum, [o[:3] for o in outs]) for cum, outs in row] for row in rows]
    return hashlib.sha256(repr((plain, start, max_steps)).encode()).hexdigest()


def _compare(inner: Any, world: TableWorld) -> None:
    """Compare steps of the environment with its table: one with hidden state must not be learned by its table."""
    state = int(inner.reset(seed=0)[0])
    numbers = np.random.Generator(np.random.PCG64(0))
    numbers.bit_generator.state = inner.np_random.bit_generator.state
    for place in range(_PROBE_STEPS):
        action = place % world.actions
        cumulative, outcomes = world.rows[state][action]
        drawn = numbers.random()
        expected = outcomes[next((i for i, p in enumerate(cumulative) if p > drawn), 0)]
        got = inner.step(action)
        if (int(got[0]), float(got[1]), bool(got[2])) != expected[:3]:
            raise EnvironmentUnusable(
                f"{world.id} does not do what its transition table says (step {place + 1} of a trial differs), so "
                "learning on the table would learn another world. It cannot be used here."
            )
        state = expected[0]
        if expected[2]:
            state = int(inner.reset()[0])
            numbers.random()
