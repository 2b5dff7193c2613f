"""A run's summary row, kept up to date in the transaction that adds its events."""

import math
import sqlite3

import msgspec

from mosaic_contracts.checkpoint_words import RECENT_EPISODES
from mosaic_contracts.wire import Checkpoint
from mosaic_store.batch import StoredBatch
from mosaic_store.batch_summary import BatchSummary

Recent = list[tuple[int, int, float]]
"""(attempt, seq of the end, return), in that order."""

_COLUMNS = (
    "events",
    "steps",
    "global_step",
    "episodes",
    "best_return",
    "recent_returns",
    "dropped",
    "quarantined",
    "checkpoints",
    "artifacts",
    "first_us",
    "last_us",
    "episodes_played",
    "stored_bytes",
)
_SELECT = """
SELECT id, events, steps, global_step, episodes, best_return, recent_returns, dropped, quarantined,
    checkpoints, artifacts, first_us, last_us, episodes_played, stored_bytes
FROM run WHERE run_id=?
"""
_UPDATE = """
UPDATE run SET events=?, steps=?, global_step=?, episodes=?, best_return=?, recent_returns=?, dropped=?,
    quarantined=?, checkpoints=?, artifacts=?, first_us=?, last_us=?, episodes_played=?, stored_bytes=?
WHERE id=?
"""
_LAST_EPISODE = "SELECT last_episode FROM played WHERE run=? AND attempt=? AND env=?"
_PLAYED_UPSERT = """
INSERT INTO played VALUES (?,?,?,?)
ON CONFLICT (run, attempt, env) DO UPDATE SET last_episode=excluded.last_episode
"""
_MOST_PLAYED = 2**62
"""SQLite holds no more; no honest worker numbers its episodes that high."""
_recent_decoder = msgspec.msgpack.Decoder(Recent)


class RunRow:
    """One run's row inside one transaction. What it holds does not depend on the order of batches."""

    def __init__(self, db: sqlite3.Connection, run_id: str) -> None:
        self._db = db
        row = db.execute(_SELECT, (run_id,)).fetchone()
        if row is None:
            db.execute("INSERT INTO run (run_id) VALUES (?)", (run_id,))
            row = db.execute(_SELECT, (run_id,)).fetchone()
        self.id: int = row[0]
        self._values = dict(zip(_COLUMNS, row[1:], strict=True))
        self._recent = decode_recent(row[1 + _COLUMNS.index("recent_returns")])
        self._last_episodes: dict[tuple[int, int], int] = {}
        """By attempt and env: the highest number of an episode that ended, of this transaction."""

    def add(self, attempt: int, stored: StoredBatch, summary: BatchSummary) -> None:
        """Add what a batch means."""
        values = self._values
        values["events"] += len(stored.batch.records)
        values["stored_bytes"] += len(stored.body)
        values["steps"] += summary.steps
        values["global_step"] = max(values["global_step"], summary.global_step)
        values["dropped"] += summary.dropped
        checkpoints = sum(isinstance(file.record, Checkpoint) for file in summary.files)
        values["checkpoints"] += checkpoints
        values["artifacts"] += len(summary.files) - checkpoints
        values["first_us"] = min(summary.t_min_us, values["first_us"] or summary.t_min_us)
        values["last_us"] = max(summary.t_max_us, values["last_us"] or summary.t_max_us)
        ended = {key: span.end for key, span in summary.episodes.items() if span.end is not None}
        ends = list(ended.values())
        values["episodes"] += len(ends)
        for env, episode in ended:
            last = self._last_episodes.get((attempt, env), -1)
            self._last_episodes[attempt, env] = max(last, episode)
        for seq, _, record in ends:
            self._recent.append((attempt, seq, record.episode_return))
            self._note_best(record.episode_return)

    def add_quarantined(self) -> None:
        """Count one batch that was set aside."""
        self._values["quarantined"] += 1

    def save(self) -> None:
        """Write the row back."""
        # not by value: NaN has no order
        self._recent.sort(key=lambda end: end[:2])
        self._save_played()
        self._values["recent_returns"] = msgspec.msgpack.encode(self._recent[-RECENT_EPISODES:])
        self._db.execute(_UPDATE, (*self._values.values(), self.id))

    def _save_played(self) -> None:
        for (attempt, env), last in self._last_episodes.items():
            key = (self.id, attempt, env)
            row = self._db.execute(_LAST_EPISODE, key).fetchone()
            before = row[0] if row is not None else -1
            if last > before:
                self._db.execute(_PLAYED_UPSERT, (*key, last))
                played = self._values["episodes_played"] + last - before
                self._values["episodes_played"] = min(played, _MOST_PLAYED)

    def _note_best(self, value: float) -> None:
        best = self._values["best_return"]
        if not math.isnan(value) and (best is None or value > best):
            self._values["best_return"] = value


def decode_recent(blob: bytes | None) -> Recent:
    """The last episodes' returns."""
    return _recent_decoder.decode(blob) if blob else []
