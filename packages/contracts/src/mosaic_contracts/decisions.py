"""Decision steps and mental states of an agent, rebuilt from the stored events of an episode (any worker).

Read are the events of docs/interfaces.md, "Agents that can be read", in the order of their seq: what was said before a
step is what held at it.
"""

import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from pydantic import ValidationError

from mosaic_contracts.grid import Grid

TYPES = ["bdi.belief", "bdi.plan", "bdi.intention", "bdi.option", "policy.choices", "policy.values"]
_outcome = struct.Struct("<qdB").pack
MOST_STATES = 100_000
"""Maximum number of states for a world whose states are found by their hash."""


@dataclass(frozen=True)
class DecisionStep:
    """One environment step, with the beliefs, plan and intentions that the agent held when it took it."""

    step: int
    state: int | None
    """State before the step; None if unknown."""
    cell: tuple[int, int] | None
    kind: str | None
    """Kind of the cell that the state lies on, as the world names it."""
    action: Any
    action_name: str
    reward: float
    agent: str | None
    plan: str | None
    intentions: list[str]
    """The agent's goals, one text for each stack, from the bottom up."""
    confidence: float | None
    explored: bool | None
    added: list[str]
    """Beliefs that are new since the previous step. At the first step: all beliefs."""
    removed: list[str]
    beliefs: list[str]
    """All beliefs held at this step."""


@dataclass
class MentalState:
    """Beliefs, plan, intentions and action values of one agent at one moment (Rao and Georgeff, 1995)."""

    agent: str | None = None
    beliefs: dict[str, None] = field(default_factory=dict)
    plan: str | None = None
    confidence: float | None = None
    stacks: list[list[str]] = field(default_factory=list)
    values: list[list[float]] | None = None

    def take(self, kind: str, data: Mapping[str, Any]) -> None:
        """Update the state from one event.

        Args:
            kind: type of the event, one of `TYPES`; others change nothing.
            data: its data.
        """
        if kind == "bdi.belief":
            for belief in _texts(data.get("removed")):
                self.beliefs.pop(belief, None)
            self.beliefs |= dict.fromkeys(_texts(data.get("added")))
        elif kind == "bdi.plan":
            plan = data.get("plan")
            self.plan = None if plan is None else str(plan)
            self.confidence = _number(data.get("confidence"))
        elif kind == "bdi.intention":
            stacks = data.get("stacks")
            self.stacks = [_texts(stack) for stack in stacks] if isinstance(stacks, list) else []
        elif kind == "policy.values":
            self.values = _table(data.get("q"))
        if data.get("agent") is not None:
            self.agent = str(data["agent"])

    def copy(self) -> "MentalState":
        """Return an independent copy.

        Returns:
            A state that further events of the other do not change.
        """
        return replace(self, beliefs=dict(self.beliefs))


def decision_steps(
    config: Mapping[str, Any],
    extras: Iterable[Mapping[str, Any]],
    steps: Sequence[Mapping[str, Any]],
    env: int,
    before: MentalState | None = None,
) -> tuple[list[DecisionStep], MentalState]:
    """Rebuild the decision steps of an episode, and the mental state at the first of them.

    Args:
        config: data of the run's config event.
        extras: events of `TYPES` in order, up to the episode's end and a little further.
        steps: the episode's events: its start and its steps.
        env: index of the environment.
        before: the mental state before the first of `extras`, where those are not all; it is not changed.

    Returns:
        One entry for each step, and agent and action values at the first step.
    """
    grid = grid_of(config)
    taken = [step for step in steps if step["type"] == "step"]
    states = _states(config, steps)
    choices = _choices(extras := list(extras), env, taken)
    mental, first, decisions = before.copy() if before else MentalState(), MentalState(), []
    waiting = iter(e for e in extras if e["data"].get("env", 0) == env)
    event = next(waiting, None)
    held: dict[str, None] = {}
    for place, step in enumerate(taken):
        while event is not None and event["seq"] < step["seq"]:
            mental.take(event["type"], event["data"])
            event = next(waiting, None)
        if place == 0:
            first = MentalState(values=mental.values, agent=mental.agent)
        decisions.append(_decision_step(step, states[place], grid, mental, held, choices, place))
        held = dict(mental.beliefs)
    return decisions, first


def _decision_step(
    step: Mapping[str, Any],
    state: int | None,
    grid: Grid | None,
    mental: MentalState,
    held: dict[str, None],
    choices: Mapping[str, Any],
    place: int,
) -> DecisionStep:
    cell = kind = None
    name = str(step["action"])
    if grid is not None:
        if isinstance(step["action"], int) and 0 <= step["action"] < len(grid.actions):
            name = grid.actions[step["action"]].name
        if state is not None and 0 <= state // grid.states_per_cell < math.prod(grid.shape):
            cell = divmod(state // grid.states_per_cell, grid.shape[1])
            kind = grid.cells[cell[0]][cell[1]]
    explored = _at(choices.get("explored"), place)
    confidence = _number(_at(choices.get("confidence"), place))
    return DecisionStep(
        step=step["step"],
        state=state,
        cell=cell,
        kind=kind,
        action=step["action"],
        action_name=name,
        reward=step["reward"],
        agent=mental.agent,
        plan=mental.plan,
        intentions=[" > ".join(stack) for stack in mental.stacks],
        confidence=mental.confidence if mental.confidence is not None else confidence,
        explored=None if explored is None else bool(explored),
        added=[belief for belief in mental.beliefs if belief not in held],
        removed=[belief for belief in held if belief not in mental.beliefs],
        beliefs=list(mental.beliefs),
    )


def _choices(
    extras: Iterable[Mapping[str, Any]], env: int, steps: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any]:
    """Recorded once for each recorded episode, after its last step."""
    if not steps:
        return {}
    wanted = (env, steps[0]["episode"])
    for event in extras:
        data: Mapping[str, Any] = event["data"]
        if (
            event["type"] == "policy.choices"
            and (data.get("env", 0), data.get("episode")) == wanted
        ):
            return data
    return {}


def _at(values: Any, place: int) -> Any:
    return values[place] if isinstance(values, list) and place < len(values) else None


# Any program may print events of these types, so nothing here relies on the form of their data.


def _texts(value: Any) -> list[str]:
    return [str(text) for text in value] if isinstance(value, list) else []


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) else None


def _table(value: Any) -> list[list[float]] | None:
    """Rows of numbers, none of them empty."""
    rows = value if isinstance(value, list) else []
    is_table = all(isinstance(row, list) and row and None not in map(_number, row) for row in rows)
    return rows if rows and is_table else None


def grid_of(config: Mapping[str, Any]) -> Grid | None:
    """The grid of a `config` event's data; None where it has none that can be read."""
    try:
        return Grid.model_validate(config["grid"]) if config.get("grid") else None
    except ValidationError:
        return None


def _states(config: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> list[int | None]:
    """The state before each step: as recorded, or, where states are numbers, found by each event's hash."""
    seen = [state_of(config, event) for event in events]
    return [
        seen[place - 1] if place else None
        for place, event in enumerate(events)
        if event["type"] == "step"
    ]


def state_of(config: Mapping[str, Any], event: Mapping[str, Any]) -> int | None:
    """Find the state that a step, or an episode's start, led to.

    Args:
        config: data of the run's config event; its observation space has the number of states.
        event: the step or start; its `hash` is hexadecimal.

    Returns:
        The state as recorded, or found by the event's hash among at most `MOST_STATES`; None if unknown.
    """
    if isinstance(event.get("observation"), int):
        return int(event["observation"])
    spaces = config.get("spaces")
    space = spaces.get("observation") if isinstance(spaces, Mapping) else None
    is_discrete = isinstance(space, Mapping) and space.get("kind") == "discrete"
    value = space.get("n") if isinstance(space, Mapping) and is_discrete else 0
    count = value if isinstance(value, int) and value <= MOST_STATES else 0
    reward, flags = float(event.get("reward", 0.0)), int(event.get("flags", 0))
    return _states_by_hash(count, reward, flags).get(event.get("hash", ""))


@lru_cache(maxsize=32)  # a world has few rewards, and its steps many states
def _states_by_hash(count: int, reward: float, flags: int) -> dict[str, int]:
    made = (blake2b(_outcome(n, reward, flags), digest_size=8) for n in range(count))
    return {digest.hexdigest(): n for n, digest in enumerate(made)}


_ARROWS: dict[tuple[int, ...], str] = {(0, -1): "<", (1, 0): "v", (0, 1): ">", (-1, 0): "^"}


def policy_rows(grid: Grid, values: list[list[float]]) -> list[str]:
    """Draw the best action of every cell.

    Args:
        grid: the world.
        values: action values of each cell, row by row.

    Returns:
        A text for each row: arrows, a dot where no action is better, or the letter of what ends an episode there.
    """
    rows = []
    for row, kinds in enumerate(grid.cells):
        marks = []
        for column, kind in enumerate(kinds):
            value = values[row * grid.shape[1] + column]
            best = max(range(len(value)), key=value.__getitem__)
            move = grid.actions[best].move
            known = max(value) != min(value)
            ends = kind[0].upper() if kind in ("goal", "hole", "cliff") else "."
            marks.append(_ARROWS.get(tuple(move or ()), "*") if known else ends)
        rows.append(" ".join(marks))
    return rows
