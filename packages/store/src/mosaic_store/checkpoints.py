"""Checkpoints of all runs."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from mosaic_contracts.checkpoints import CheckpointEvaluation
from mosaic_store.batch_summary import finite

_ENTRIES = """
SELECT run, path, step, t_us, mean_return, sha256,
    gone_reason IS x'' OR (attempt, seq) > (gone_attempt, gone_seq)
FROM artifact WHERE kind = 'checkpoint'
"""
_MEANS = "SELECT sha256, mean FROM evaluation ORDER BY t_us"
_ROW = """
SELECT sha256, bytes, step, reason, t_us, facts,
    gone_reason IS x'' OR (attempt, seq) > (gone_attempt, gone_seq),
    (SELECT data FROM config WHERE config.run = artifact.run AND config.attempt = artifact.attempt)
FROM artifact WHERE kind = 'checkpoint' AND run = (SELECT id FROM run WHERE run_id = ?) AND path = ?
"""
_EVALUATION = """
SELECT run.run_id, evaluation.t_us, result FROM evaluation JOIN run ON run.id = evaluation.run
WHERE sha256 = ? ORDER BY evaluation.t_us DESC LIMIT 1
"""


class CheckpointKey(NamedTuple):
    """Names a checkpoint."""

    run_id: str
    path: str
    """Path in the run's folder."""


class CheckpointEntry(NamedTuple):
    """What a list of checkpoints is sorted by."""

    key: CheckpointKey
    step: int | None
    t: float | None
    """Wall clock at which it was announced, seconds since the epoch."""
    mean_return: float | None
    evaluation_mean: float | None
    is_kept: bool
    """Whether its run does not say that it deleted the file."""

    @property
    def value(self) -> float | None:
        """Return by which checkpoints are compared."""
        return self.evaluation_mean if self.mean_return is None else self.mean_return


class StoredCheckpoint(NamedTuple):
    """All that the events say of a checkpoint."""

    sha256: str | None
    bytes: int
    step: int | None
    reason: str | None
    t: float | None
    facts: Mapping[str, Any]
    """Data of its event; empty where an older store did not keep it."""
    config: Mapping[str, Any]
    """Config of the attempt that wrote it; empty: none is stored."""
    evaluation: CheckpointEvaluation | None
    is_kept: bool


def read_checkpoint_entries(db: sqlite3.Connection) -> list[CheckpointEntry]:
    """All checkpoints that runs announced."""
    runs = dict(db.execute("SELECT id, run_id FROM run").fetchall())
    means = dict(db.execute(_MEANS).fetchall())  # of several evaluations of one file the newest
    return [
        CheckpointEntry(
            CheckpointKey(runs[run], path),
            step,
            _seconds(t_us),
            mean,
            means.get(sha256),
            bool(is_kept),
        )
        for run, path, step, t_us, mean, sha256, is_kept in db.execute(_ENTRIES)
    ]


def read_checkpoints(
    db: sqlite3.Connection, keys: Iterable[CheckpointKey]
) -> dict[CheckpointKey, StoredCheckpoint]:
    """Those of the named checkpoints that are stored."""
    found: dict[CheckpointKey, StoredCheckpoint] = {}
    for key in keys:
        row = db.execute(_ROW, key).fetchone()
        if row is not None:
            found[key] = _checkpoint(db, row)
    return found


def _checkpoint(db: sqlite3.Connection, row: Sequence[Any]) -> StoredCheckpoint:
    sha256, size, step, reason, t_us, facts, is_kept, config = row
    return StoredCheckpoint(
        sha256=sha256,
        bytes=size,
        step=step,
        reason=reason,
        t=_seconds(t_us),
        facts=_mapping(facts),
        config=_mapping(config),
        evaluation=None if sha256 is None else _evaluation(db, sha256),
        is_kept=bool(is_kept),
    )


def _evaluation(db: sqlite3.Connection, sha256: str) -> CheckpointEvaluation | None:
    row = db.execute(_EVALUATION, (sha256,)).fetchone()
    if row is None:
        return None
    run_id, t_us, result = row
    data = _mapping(result)  # a worker's own words: each value may be anything
    returns, greedy = data.get("returns"), data.get("greedy")
    episodes = len(returns) if isinstance(returns, list) else 0
    if not episodes and isinstance(data.get("episodes"), int):
        episodes = data["episodes"]  # of an evaluation on another stack only the summary is known
    return CheckpointEvaluation(
        run_id=run_id,
        mean=finite(data.get("mean")),
        standard_error=finite(data.get("standard_error")),
        episodes=episodes,
        greedy=greedy if isinstance(greedy, bool) else None,
        t=t_us / 1e6,
    )


def _mapping(blob: bytes | None) -> Mapping[str, Any]:
    value = {} if blob is None else msgspec.msgpack.decode(blob)
    return value if isinstance(value, dict) else {}


def _seconds(t_us: int | None) -> float | None:
    return None if t_us is None else t_us / 1e6
