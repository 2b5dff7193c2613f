"""Order out of disorder: what the joint rests on."""

import random

from mosaic_contracts.wire import Batch, Metric
from mosaic_gateway.live.sequence import RECENT_EVENTS, Piece, Sequence, covers, distance

RUN_ID = "01JGXSYNTHET1CRVN000000000"
WORKER = (1, "worker")


def batch(first: int, last: int, source: str = "worker", attempt: int = 1) -> Batch:
    """Events `first..last`."""
    records = [Metric(seq, 0, "m", seq, 0.0) for seq in range(first, last + 1)]
    return Batch(1, RUN_ID, attempt, source, first, 0, list(records))


def seqs(pieces: list[Piece]) -> list[int]:
    """All seqs in order."""
    return [record.seq for piece in pieces for record in piece.records]


def test_any_order_with_doubles_comes_out_in_order_once() -> None:
    """However batches overlap, repeat and overtake each other, each event comes out once and in order."""
    chance = random.Random(3)
    for _ in range(200):
        cuts = sorted({1, *chance.sample(range(2, 100), 8)})
        batches = [
            batch(a, chance.randint(b - 1, min(100, b + 20)))
            for a, b in zip(cuts, [*cuts[1:], 101], strict=True)
        ]
        batches += chance.sample(batches, 4)
        chance.shuffle(batches)
        sequence = Sequence()
        out = [seq for b in batches for seq in seqs(sequence.add(b, 1))]
        assert out == list(range(1, 101))
        assert sequence.holes == []


def test_what_the_store_has_is_left_out() -> None:
    """A feed that starts at a position gives nothing at or below it, and cuts a batch that spans it."""
    sequence = Sequence()
    sequence.start({WORKER: 50})
    assert sequence.add(batch(1, 50), 1) == []
    assert seqs(sequence.add(batch(41, 60), 1)) == list(range(51, 61))


def test_sources_and_attempts_do_not_wait_for_each_other() -> None:
    """A hole in one source holds back only that source."""
    sequence = Sequence()
    assert sequence.add(batch(5, 9), 1) == []
    assert seqs(sequence.add(batch(1, 2, "supervisor"), 1)) == [1, 2]
    assert seqs(sequence.add(batch(1, 3, attempt=2), 1)) == [1, 2, 3]
    assert sequence.holes == [WORKER]


def test_a_hole_that_is_given_up_sends_readers_to_the_store() -> None:
    """After a skip only a reader beyond the hole may join, and finds in `recent` what follows it."""
    sequence = Sequence()
    sequence.add(batch(1, 10), 1)
    sequence.add(batch(21, 30), 1)
    assert seqs(sequence.skip_hole(WORKER)) == list(range(21, 31))
    assert not covers({WORKER: 10}, sequence.recent_from)
    assert covers({WORKER: 20}, sequence.recent_from)
    assert seqs(sequence.recent_after({WORKER: 25}, 100)) == [26, 27, 28, 29, 30]
    assert sequence.add(batch(11, 20), 1) == []


def test_recent_events_are_bounded_and_say_from_where() -> None:
    """Events that are kept for joining readers stay within their bound, and `recent_from` shows who still fits."""
    sequence = Sequence()
    for first in range(1, RECENT_EVENTS * 2, 1000):
        sequence.add(batch(first, first + 999), 1000)
    start = sequence.recent_from[WORKER]
    last = sequence.position[WORKER]
    assert 0 < last - start <= RECENT_EVENTS
    assert seqs(sequence.recent_after({WORKER: start}, 10**9)) == list(range(start + 1, last + 1))
    assert distance({WORKER: start}, sequence.position) == last - start


def test_too_much_behind_a_hole_is_noticed() -> None:
    """Events held back behind a missing batch do not pile up without bound."""
    sequence = Sequence()
    for first in range(1001, 110_000, 1000):
        sequence.add(batch(first, first + 999), 1)
    assert sequence.is_overfull
    sequence.skip_hole(WORKER)
    assert not sequence.is_overfull
