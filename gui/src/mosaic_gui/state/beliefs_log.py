"""Mental states and value tables that the agents of one run emitted, in order, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mosaic_contracts.decisions import DecisionStep, MentalState, decision_steps

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Event = Mapping[str, Any]

NAMESPACES = frozenset({"bdi", "policy"})
"""Namespaces of event types that describe a mental state or a policy."""
MOST_EVENTS = 60_000
"""Events kept of one environment; beyond, the older half is reduced to the mental state after it."""
MOST_TABLES = 400
"""Tables of values kept; beyond, every second one goes."""
MOST_CHOICES = 4_000
_MARK_EVERY = 500


@dataclass(frozen=True)
class ValueTable:
    """A table of action values as the run emitted it."""

    seq: int
    step: int
    """Step of the run."""
    epsilon: float | None
    q: NDArray[np.float32]
    """By state and action."""


@dataclass
class _AgentRecord:
    """Events of one environment of one attempt."""

    events: list[Event] = field(default_factory=list)
    marks: list[MentalState] = field(default_factory=lambda: [MentalState()])
    """The mental state before every `_MARK_EVERY`-th event."""
    mental_state: MentalState = field(default_factory=MentalState)
    tables: list[ValueTable] = field(default_factory=list)
    choices: dict[int, Event] = field(default_factory=dict)
    """Events `policy.choices`, by episode."""
    folded_to: int = 0
    """Seq of the last event that was reduced to a mental state."""


class BeliefsLog:
    """Takes events in the order of their seq; returns the mental state at each step of an episode."""

    def __init__(self) -> None:
        self._records: dict[tuple[int, int], _AgentRecord] = {}
        self.cursor = ""
        """Cursor of the next request."""
        self.namespaces: frozenset[str] = frozenset()
        """Members of `NAMESPACES` of which events came."""

    def take(self, events: Iterable[Event], cursor: str) -> None:
        """Take the next events; events of other namespaces and malformed ones are skipped."""
        for event in events:
            namespace = str(event["type"]).partition(".")[0]
            data = event.get("data")
            if namespace not in NAMESPACES or not isinstance(data, Mapping):
                continue
            self.namespaces |= {namespace}
            key = (int(event["attempt"]), int(data.get("env") or 0))
            self._take(self._records.setdefault(key, _AgentRecord()), event, data)
        self.cursor = cursor

    def decisions(
        self, config: Mapping[str, Any], attempt: int, env: int, steps: Sequence[Event]
    ) -> list[DecisionStep]:
        """Each step of an episode with its mental state. `steps`: the stored start and steps of the episode."""
        record = self._records.get((attempt, env), _AgentRecord())
        taken = [step for step in steps if step["type"] == "step"]
        if not taken:
            return []
        begin = _count_until(record.events, taken[0]["seq"]) // _MARK_EVERY
        end = _count_until(record.events, taken[-1]["seq"])
        extras = record.events[begin * _MARK_EVERY : end]
        if (choices := record.choices.get(int(taken[0]["episode"]))) is not None:
            extras = [*extras, choices]
        return decision_steps(config, extras, steps, env, record.marks[begin])[0]

    def values(self, attempt: int, env: int, seq: int) -> ValueTable | None:
        """The newest table of values before an event; None: there is none."""
        tables = self._records.get((attempt, env), _AgentRecord()).tables
        return next((table for table in reversed(tables) if table.seq < seq), None)

    def newest_values(self, attempt: int, env: int) -> ValueTable | None:
        """The newest table of values."""
        tables = self._records.get((attempt, env), _AgentRecord()).tables
        return tables[-1] if tables else None

    def is_kept(self, attempt: int, env: int, seq: int) -> bool:
        """Whether the events before this one are kept one by one."""
        return seq > self._records.get((attempt, env), _AgentRecord()).folded_to

    def _take(self, record: _AgentRecord, event: Event, data: Mapping[str, Any]) -> None:
        kind = event["type"]
        if kind == "policy.values":
            if (table := _table(data.get("q"))) is not None:
                step = int(data.get("step") or 0)
                record.tables.append(ValueTable(event["seq"], step, data.get("epsilon"), table))
                if len(record.tables) > MOST_TABLES:
                    del record.tables[-2::-2]  # the newest stays
            return
        if kind == "policy.choices":
            record.choices[int(data.get("episode") or 0)] = event
            if len(record.choices) > MOST_CHOICES:
                del record.choices[next(iter(record.choices))]
            return
        record.mental_state.take(kind, data)
        record.events.append(event)
        if len(record.events) % _MARK_EVERY == 0:
            record.marks.append(record.mental_state.copy())
        if len(record.events) > MOST_EVENTS:
            _fold(record)


def _fold(record: _AgentRecord) -> None:
    half = len(record.events) // 2 // _MARK_EVERY
    record.folded_to = record.events[half * _MARK_EVERY - 1]["seq"]
    del record.events[: half * _MARK_EVERY]
    del record.marks[:half]


def _count_until(events: Sequence[Event], seq: int) -> int:
    """How many events come before a seq."""
    low, high = 0, len(events)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if events[middle]["seq"] < seq else (low, middle)
    return low


def _table(record: object) -> NDArray[np.float32] | None:
    import numpy as np  # the window opens without it

    try:
        table = np.array(record, dtype=np.float32)
    except (TypeError, ValueError):
        return None
    return table if table.ndim == 2 and table.size else None
