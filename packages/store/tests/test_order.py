"""Whatever order, overlap, repetition or cut: what was sent is what is stored."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from mosaic_contracts.builtin_values import event_to_builtin
from mosaic_contracts.wire import Batch, to_event
from mosaic_store import Reader, StreamCursor, open_reader, open_writer, read_batch
from mosaic_store.testing import METRIC, RUN_ID, SPACES, T0_US, message, record_at, strict_json

LAST = 130
Range = tuple[int, int]

ranges = st.tuples(st.integers(1, LAST), st.integers(0, 40)).map(
    lambda pair: (pair[0], min(LAST, pair[0] + pair[1]))
)
deliveries = st.lists(st.lists(ranges, min_size=1, max_size=6), min_size=1, max_size=6)


def expected(seqs: set[int]) -> list[bytes]:
    """The events of these seqs as the reader must give them."""
    batch = Batch(1, RUN_ID, 1, "worker", 1, T0_US, [])
    events = (to_event(batch, record_at(seq)) for seq in sorted(seqs))
    return [strict_json(event_to_builtin(event, SPACES)) for event in events]


def store(folder: str, transactions: list[list[Range]]) -> Reader:
    """Apply batches, one transaction a list, and open a reader."""
    path = Path(folder) / "db" / "telemetry.sqlite3"
    with open_writer(path) as writer:
        for number, batches in enumerate(transactions, 1):
            stored = [read_batch(m.payload, m.encoding) for m in (message(*r) for r in batches)]
            writer.apply(stored, StreamCursor("one", number))
    return open_reader(path)


@settings(max_examples=150, deadline=None)
@given(deliveries)
def test_any_delivery_gives_exactly_the_events_sent(transactions: list[list[Range]]) -> None:
    """Each event sent is in the store once, with its values, and marks name exactly what is missing."""
    sent = {seq for batches in transactions for a, b in batches for seq in range(a, b + 1)}
    missing = set(range(1, max(sent) + 1)) - sent
    with tempfile.TemporaryDirectory() as folder, store(folder, transactions) as reader:
        page = reader.events(RUN_ID, limit=10_000)
        # a run whose config was lost has no spaces; the synthetic actions need none
        assert [strict_json(event) for event in page.events] == expected(sent)
        assert not page.has_more
        (mark,) = reader.marks(RUN_ID)
        assert (mark.last_seq, mark.missing) == (max(sent), len(missing))
        assert mark.next_seq == (min(missing) if missing else max(sent) + 1)
        before = reader.events(RUN_ID, limit=10_000, contiguous=True).events
        assert [event["seq"] for event in before] == list(range(1, mark.next_seq))


@settings(max_examples=60, deadline=None)
@given(deliveries)
def test_order_of_arrival_leaves_no_trace(transactions: list[list[Range]]) -> None:
    """Summary, episodes, steps and curves depend on what was sent, not on how it came."""
    sent = {seq for batches in transactions for a, b in batches for seq in range(a, b + 1)}
    in_order = [in_a_row(sent)]
    with (
        tempfile.TemporaryDirectory() as one,
        tempfile.TemporaryDirectory() as two,
        store(one, transactions) as arrived,
        store(two, in_order) as ordered,
    ):
        assert everything(arrived) == everything(ordered)


def in_a_row(seqs: set[int]) -> list[Range]:
    """The ranges of numbers that follow each other."""
    first = sorted(seq for seq in seqs if seq - 1 not in seqs)
    last = sorted(seq for seq in seqs if seq + 1 not in seqs)
    return list(zip(first, last, strict=True))


def everything(reader: Reader) -> list[str]:
    """All that a reader says of the run except its events."""
    names = reader.metric_names(RUN_ID)
    episodes = reader.episodes(RUN_ID, limit=1000)
    steps = [reader.steps(RUN_ID, e.attempt, e.env, e.episode) for e in episodes.episodes]
    said = [reader.summary(RUN_ID), episodes, *names]
    if names:
        said += [reader.curve(RUN_ID, METRIC, last=1000), reader.curve(RUN_ID, METRIC, buckets=3)]
    return [model.model_dump_json() for model in said] + [strict_json(s).decode() for s in steps]
