"""From a message of the stream to a batch that may enter the store, or to what is set aside."""

from collections.abc import Mapping
from typing import NamedTuple

from mosaic_contracts import subjects
from mosaic_contracts.ids import parse_run_id
from mosaic_contracts.wire import (
    BATCH_HEADER,
    ENCODING_HEADER,
    ENCODING_IDENTITY,
    BatchHead,
    BatchInvalid,
    parse_batch_header,
)
from mosaic_store import Quarantined, StoredBatch, read_batch

_PREFIX = subjects.EVENTS_ALL.removesuffix("*")


class Arrival(NamedTuple):
    """One message of the stream."""

    stream_seq: int
    subject: str
    headers: Mapping[str, str]
    payload: bytes


def decode(arrival: Arrival, now_us: int) -> StoredBatch | Quarantined:
    """Validate a message. The subject decides whose it is: a run's credential publishes on that run's only."""
    run_id: str | None = None
    head: BatchHead | None = None
    try:
        run_id = _run_of(arrival.subject)
        head = _head_of(arrival, run_id)
        encoding = arrival.headers.get(ENCODING_HEADER, ENCODING_IDENTITY)
        stored = read_batch(arrival.payload, encoding)
        _check_same(stored, run_id, head)
    except BatchInvalid as error:
        return Quarantined(
            reason=str(error),
            subject=arrival.subject,
            stream_seq=arrival.stream_seq,
            header=arrival.headers.get(BATCH_HEADER, ""),
            payload=arrival.payload,
            at_us=now_us,
            run_id=run_id,
            head=head,
        )
    return stored


def _run_of(subject: str) -> str:
    try:
        return parse_run_id(subject.removeprefix(_PREFIX))
    except ValueError as error:
        raise BatchInvalid(f"subject {subject[:120]!r} names no run: {error}") from error


def _head_of(arrival: Arrival, run_id: str) -> BatchHead | None:
    text = arrival.headers.get(BATCH_HEADER)
    if text is None:
        return None
    head = parse_batch_header(text)
    if head.run_id != run_id:
        raise BatchInvalid(f"a batch of run {head.run_id} came on the subject of run {run_id}")
    return head


def _check_same(stored: StoredBatch, run_id: str, head: BatchHead | None) -> None:
    batch = stored.batch
    own = BatchHead(batch.run_id, batch.attempt, batch.source, batch.seq0, len(batch.records))
    if own.run_id != run_id:
        raise BatchInvalid(f"a batch of run {own.run_id} came on the subject of run {run_id}")
    if head is not None and own != head:
        raise BatchInvalid(f"header says {head.header()!r}, content is {own.header()!r}")
