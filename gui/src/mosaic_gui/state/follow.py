"""The client's position in a run's events: skips duplicates, and resumes after a lost connection."""

from dataclasses import dataclass, field
from typing import Any

from mosaic_contracts.cursor import Cursor, format_cursor, parse_cursor

Event = dict[str, Any]
Columns = dict[str, Any]


@dataclass(frozen=True)
class EventBatch:
    """An `events` frame: single events, and metrics as columns."""

    run_id: str
    events: list[Event]
    columns: dict[str, Columns]
    cursor: str


@dataclass
class Follower:
    """Position in the events of one run, over any number of connections."""

    run_id: str
    cursor: str | None = ""
    """Where to go on: `""` is the start, None from now."""
    _seen: Cursor = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._seen = parse_cursor(self.cursor or "")

    @property
    def seen(self) -> Cursor:
        """Position of each source; skipped events count as seen."""
        return self._seen

    def joined(self, cursor: str) -> None:
        """Take the cursor of the snapshot, from which new events follow."""
        if self.cursor is None:
            self._advance(cursor)

    def take(self, batch: EventBatch) -> EventBatch | None:
        """The new events of a batch; None when there are none."""
        events = [event for event in batch.events if self._is_new(event)]
        columns = {name: self._new_rows(table) for name, table in batch.columns.items()}
        columns = {name: table for name, table in columns.items() if table["seq"]}
        self._advance(batch.cursor)
        if not events and not columns:
            return None
        return EventBatch(batch.run_id, events, columns, self.cursor or "")

    def skip(self, to_cursor: str) -> None:
        """Move past events that the gateway did not send."""
        self._advance(to_cursor)

    def is_behind(self, cursor: str) -> bool:
        """Whether events up to `cursor` are still missing."""
        return any(seq > self._seen.get(key, 0) for key, seq in parse_cursor(cursor).items())

    def _is_new(self, event: Event) -> bool:
        return int(event["seq"]) > self._seen.get((event["attempt"], event["source"]), 0)

    def _new_rows(self, table: Columns) -> Columns:
        seen = self._seen.get((table["attempt"], table["source"]), 0)
        seqs: list[int] = table["seq"]
        if not seqs or seqs[0] > seen:
            return table
        begin = next((i for i, seq in enumerate(seqs) if seq > seen), len(seqs))
        return {k: v[begin:] if isinstance(v, list) else v for k, v in table.items()}

    def _advance(self, cursor: str) -> None:
        for key, seq in parse_cursor(cursor).items():
            self._seen[key] = max(seq, self._seen.get(key, 0))
        self.cursor = format_cursor(self._seen)


STEP_TYPES = ("step", "episode_start")
"""Event types that a subscription adds to know the position of an agent."""


def newest_step(batch: EventBatch) -> dict[str, Any] | None:
    """The last step or episode's start of the first environment; its `hash` is hexadecimal."""
    found = [e for e in batch.events if e["type"] in STEP_TYPES and e["env"] == 0]
    if (table := batch.columns.get("step")) is not None:
        found += _last_row(table)
    return max(found, key=lambda event: (event["attempt"], event["seq"]), default=None)


def _last_row(table: Columns) -> list[dict[str, Any]]:
    row = next((n for n in reversed(range(len(table["seq"]))) if table["env"][n] == 0), None)
    if row is None:
        return []
    step = {name: v[row] if isinstance(v, list) else v for name, v in table.items()}
    return [step | {"type": "step", "hash": bytes(step["hash"]).hex()}]
