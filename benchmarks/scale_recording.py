"""The events of one real run, as light publishers send them again under other ids."""

import sqlite3
from pathlib import Path
from typing import NamedTuple

import msgspec

from mosaic_contracts import stack
from mosaic_contracts.wire import (
    MAX_BATCH_EVENTS,
    SOURCE_WORKER,
    BatchHead,
    Record,
    decode_batch,
    encode_record,
    join_batch,
)
from mosaic_store.batch import unpack

_BLOCKS = """
SELECT block.body FROM block JOIN source ON source.id = block.source JOIN run ON run.id = source.run
WHERE run.run_id = ? AND source.source = ? ORDER BY block.seq0
"""
_encode, _decode = msgspec.msgpack.encode, msgspec.msgpack.Decoder(list[bytes])


class Cut(NamedTuple):
    """A batch that was cut out of a recording, not compressed."""

    head: BatchHead
    raw: bytes


class Recording:
    """Encoded records with the seqs 1 to n."""

    def __init__(self, records: list[bytes]) -> None:
        self.records = records

    @classmethod
    def of_run(cls, home: Path, run_id: str) -> "Recording":
        """Read what the worker of a run recorded from the store of its stack."""
        with sqlite3.connect(f"file:{home / stack.TELEMETRY_DB}?mode=ro", uri=True) as db:
            bodies = db.execute(_BLOCKS, (run_id, SOURCE_WORKER)).fetchall()
        records: list[bytes] = []
        base_us: int | None = None
        for (body,) in bodies:
            batch = decode_batch(unpack(body))
            base_us = batch.t0_us if base_us is None else base_us
            records += (_moved(record, batch.t0_us - base_us) for record in batch.records)
        return cls(records)

    @classmethod
    def load(cls, path: Path) -> "Recording":
        """Read a recording that was saved."""
        return cls(_decode.decode(path.read_bytes()))

    def save(self, path: Path) -> None:
        """Write it to a file."""
        path.write_bytes(_encode(self.records))

    def cut(self, run_id: str, attempt: int, seq0: int, wanted: int, t0_us: int) -> Cut:
        """Take a batch from `seq0` on: at most `wanted` events, at most as many as a batch may have."""
        taken = self.records[seq0 - 1 : seq0 - 1 + min(wanted, MAX_BATCH_EVENTS)]
        head = BatchHead(run_id, attempt, SOURCE_WORKER, seq0, len(taken))
        return Cut(head, join_batch(head, t0_us, b"".join(taken)))


def _moved(record: Record, by_us: int) -> bytes:
    """The record with its time counted from the start of the whole recording: it may be cut anywhere then."""
    return encode_record(msgspec.structs.replace(record, dt=record.dt + by_us))
