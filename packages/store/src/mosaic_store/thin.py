"""Removing the steps of ended episodes from stored blocks, in small transactions between which recording goes on.

What a step of the work changes is in one transaction: blocks, the counts of episodes and run, and how far the job is.
"""

import sqlite3
from collections import Counter
from typing import NamedTuple

import msgspec

from mosaic_contracts.wire import (
    SOURCE_WORKER,
    Batch,
    BatchHead,
    Kind,
    Step,
    decode_batch,
    join_batch,
)
from mosaic_store.batch import pack, unpack
from mosaic_store.batch_summary import bits_of
from mosaic_store.prune import free_bytes

_RECORDS = 4_000
"""Records of one transaction: decoding them takes some milliseconds, which a commit waits for at most."""
_RAW_BYTES = 2 * 2**20
"""The same in bytes, for steps with observations. One block is always done."""
_STEP = 1 << Kind.STEP

_JOB = "SELECT every, events, source, seq0, done FROM thinning WHERE run=?"
_BEGIN = """
INSERT INTO thinning VALUES (?,?,?,?,0,0,0,?)
ON CONFLICT (run) DO UPDATE SET every=excluded.every, rule=excluded.rule, events=excluded.events,
    source=0, seq0=0, done=0, at_us=excluded.at_us
"""
_SOURCES = "SELECT id, attempt FROM source WHERE run=? AND source=? AND id>=? ORDER BY id"
_BLOCKS = f"""
SELECT id, seq0, n, raw_bytes, body FROM block WHERE source=? AND seq0>? AND kinds & {_STEP} ORDER BY seq0
"""  # noqa: S608 - a constant
_HAS_ENDED = """
SELECT 1 FROM episode WHERE run=? AND attempt=? AND env=? AND episode=? AND end_seq IS NOT NULL
"""

EpisodeKey = tuple[int, int]
"""Sub-environment and number."""


class ThinStep(NamedTuple):
    """What one transaction of a thinning did."""

    removed_steps: int
    removed_bytes: int
    """Compressed bytes."""
    freed_bytes: int
    """Whole pages."""
    done: bool

    def plus(self, later: "ThinStep") -> "ThinStep":
        """This and a later one together."""
        removed = self.removed_steps + later.removed_steps
        size = self.removed_bytes + later.removed_bytes
        return ThinStep(removed, size, self.freed_bytes + later.freed_bytes, later.done)


class _Body(msgspec.Struct, array_like=True):
    """A batch whose records stay as they are."""

    v: int
    run_id: str
    attempt: int
    source: str
    seq0: int
    t0_us: int
    records: list[msgspec.Raw]


class _Position(NamedTuple):
    """How far a job is: blocks up to this one are done."""

    source: int
    seq0: int


class _Thinned(NamedTuple):
    """A block without some of its steps."""

    body: bytes
    raw_bytes: int
    kinds: int
    t_min_us: int
    removed: Counter[EpisodeKey]


_decode_body = msgspec.msgpack.Decoder(_Body).decode


def thin_step(db: sqlite3.Connection, run_id: str, every: int, rule: str, now_us: int) -> ThinStep:
    """Remove steps of a few blocks inside the caller's transaction, or find that nothing is left to remove."""
    row = db.execute("SELECT id, events FROM run WHERE run_id=?", (run_id,)).fetchone()
    if row is None or every == 1:
        return ThinStep(0, 0, 0, done=True)
    run, events = row
    position = _open_job(db, run, events, every, rule, now_us)
    if position is None:
        return ThinStep(0, 0, 0, done=True)
    before = free_bytes(db)
    job = _Job(db, run, every)
    end = job.work(position)
    job.save(end)
    freed = max(0, free_bytes(db) - before)
    return ThinStep(job.removed_steps, job.removed_bytes, freed, done=end is None)


def _open_job(
    db: sqlite3.Connection, run: int, events: int, every: int, rule: str, now_us: int
) -> _Position | None:
    """Where to go on; None where an earlier job removed as much."""
    known = db.execute(_JOB, (run,)).fetchone()
    if known is not None:
        known_every, known_events, source, seq0, done = known
        if known_events == events:
            if done and (known_every == 0 or (every and known_every % every == 0)):
                return None
            if not done and known_every == every:
                return _Position(source, seq0)
    db.execute(_BEGIN, (run, every, rule, events, now_us))
    return _Position(0, 0)


class _Job:
    """One transaction's worth of a thinning."""

    def __init__(self, db: sqlite3.Connection, run: int, every: int) -> None:
        self._db = db
        self._run = run
        self._every = every
        self.removed_bytes = 0
        """Compressed bytes that were removed so far."""
        self._removed: Counter[tuple[int, int, int]] = Counter()
        """By attempt, sub-environment and number of the episode."""
        self._goes: dict[tuple[int, int, int], bool] = {}

    @property
    def removed_steps(self) -> int:
        """Steps that were removed so far."""
        return self._removed.total()

    def work(self, position: _Position) -> _Position | None:
        """Thin blocks behind `position` until the step is large enough; None: there are no more."""
        records = raw = 0
        sources = self._db.execute(_SOURCES, (self._run, SOURCE_WORKER, position.source)).fetchall()
        for source, attempt in sources:
            after = position.seq0 if source == position.source else 0
            for block, seq0, n, raw_bytes, body in self._db.execute(_BLOCKS, (source, after)):
                if records and (records + n > _RECORDS or raw + raw_bytes > _RAW_BYTES):
                    return position
                self._thin_block(block, attempt, body)
                position = _Position(source, seq0)
                records, raw = records + n, raw + raw_bytes
        return None

    def save(self, end: _Position | None) -> None:
        """Write the counts and how far the job is."""
        self._db.executemany(
            "UPDATE episode SET steps=steps-?1, thinned_steps=thinned_steps+?1"
            " WHERE run=?2 AND attempt=?3 AND env=?4 AND episode=?5",
            ((count, self._run, *key) for key, count in self._removed.items()),
        )
        if self._removed:
            self._db.execute(
                "UPDATE run SET thinned_steps=thinned_steps+?, stored_bytes=stored_bytes-? WHERE id=?",
                (self.removed_steps, self.removed_bytes, self._run),
            )
        if end is None:
            self._db.execute("UPDATE thinning SET done=1 WHERE run=?", (self._run,))
        else:
            self._db.execute("UPDATE thinning SET source=?, seq0=? WHERE run=?", (*end, self._run))

    def _thin_block(self, block: int, attempt: int, body: bytes) -> None:
        raw = unpack(body)
        batch = decode_batch(raw, thinned=True)
        thinned = self._without_steps(batch, raw, attempt)
        if thinned is None:
            return
        self._db.execute(
            "UPDATE block SET body=?, raw_bytes=?, kinds=?, t_min_us=? WHERE id=?",
            (*thinned[:4], block),
        )
        self.removed_bytes += len(body) - len(thinned.body)
        self._removed.update(
            {(attempt, *episode): count for episode, count in thinned.removed.items()}
        )

    def _without_steps(self, batch: Batch, raw: bytes, attempt: int) -> _Thinned | None:
        """The block without the steps that go; None: all of it stays."""
        records = batch.records
        removed: Counter[EpisodeKey] = Counter()
        kept: list[int] = []
        env = episode = -1
        goes = False
        for place, record in enumerate(records):
            if type(record) is Step:
                if record.episode != episode or record.env != env:
                    env, episode = record.env, record.episode
                    goes = self._is_to_go(attempt, env, episode)
                if goes:
                    removed[env, episode] += 1
                    continue
            kept.append(place)
        if not removed:
            return None
        if not kept:
            return _Thinned(b"", 0, 0, batch.t0_us + records[0].dt, removed)
        # the bytes of what stays are those that came
        parts = _decode_body(raw).records
        head = BatchHead(batch.run_id, batch.attempt, batch.source, batch.seq0, len(kept))
        smaller = join_batch(head, batch.t0_us, b"".join(parts[place] for place in kept))
        t_min_us = batch.t0_us + min(records[kept[0]].dt, records[kept[-1]].dt)
        kinds = bits_of([records[place] for place in kept])
        return _Thinned(pack(smaller), len(smaller), kinds, t_min_us, removed)

    def _is_to_go(self, attempt: int, env: int, episode: int) -> bool:
        key = (attempt, env, episode)
        known = self._goes.get(key)
        if known is None:
            stays = self._every > 0 and episode % self._every == 0
            known = not stays and self._has_ended(key)
            self._goes[key] = known
        return known

    def _has_ended(self, key: tuple[int, int, int]) -> bool:
        return self._db.execute(_HAS_ENDED, (self._run, *key)).fetchone() is not None
