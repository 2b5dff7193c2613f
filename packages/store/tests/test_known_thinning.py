"""A run that was thinned in another store shows the same here: thinned steps, and no gaps."""

import pytest
from tests.test_thin import CURSOR, LAST, RULE, all_events, fill

from mosaic_contracts.wire import BatchHead, decode_batch, encode_record, join_batch
from mosaic_store import (
    BEFORE_ALL,
    EpisodePlace,
    Reader,
    StreamCursor,
    Writer,
    known_thinning,
    read_batch,
)
from mosaic_store.batch import unpack
from mosaic_store.testing import RUN_ID, messages

OTHER = "01JGXSYNTHET1CRVN000000001"


def copy_of(reader: Reader) -> list[bytes]:
    """What an archive sends: batches without missing seqs, of another run."""
    page = reader.batches(RUN_ID)
    assert not page.has_more
    made = []
    for frame in page.frames:
        batch = decode_batch(unpack(frame), thinned=True)
        for record in batch.records:
            head = BatchHead(OTHER, batch.attempt, batch.source, record.seq, 1)
            made.append(join_batch(head, batch.t0_us, encode_record(record)))
    return made


@pytest.mark.parametrize("every", [0, 10])
def test_an_imported_run_shows_thinned_steps_as_before(
    writer: Writer, reader: Reader, every: int
) -> None:
    """Figures of run and episodes are those of the other store; to thin it again removes what is left to remove."""
    fill(writer)
    writer.thin(RUN_ID, every, RULE)
    was = reader.summary(RUN_ID)
    writer.apply([read_batch(raw, "identity") for raw in copy_of(reader)], StreamCursor("one", 2))
    assert reader.summary(OTHER).gaps == was.thinned_steps > 0
    assert not writer.note_known_thinning(OTHER, was.thinned_steps - 1, RULE)
    assert reader.summary(OTHER).thinned_steps == 0
    assert writer.note_known_thinning(OTHER, was.thinned_steps, RULE)
    here = reader.summary(OTHER)
    assert here.model_dump(exclude={"run_id"}) == was.model_dump(exclude={"run_id"})
    one, other = reader.episodes(RUN_ID), reader.episodes(OTHER)
    assert [each.model_dump() for each in other.episodes] == [
        each.model_dump() for each in one.episodes
    ]
    assert [event["seq"] for event in all_events(reader, OTHER)] == [
        event["seq"] for event in all_events(reader)
    ]
    assert not writer.note_known_thinning(OTHER, was.thinned_steps, RULE)
    again = writer.thin(OTHER, 0, "all")
    assert again.removed_steps == was.steps - was.thinned_steps


def test_what_comes_later_is_counted_as_usual(writer: Writer, reader: Reader) -> None:
    """A seq behind the last one that leaves others out is a gap again."""
    fill(writer)
    writer.thin(RUN_ID, 0, RULE)
    writer.apply([read_batch(raw, "identity") for raw in copy_of(reader)], StreamCursor("one", 2))
    writer.note_known_thinning(OTHER, reader.summary(RUN_ID).thinned_steps, RULE)
    later = list(messages(LAST + 20, 10, OTHER))[-1]
    writer.apply([read_batch(later.payload, later.encoding)], CURSOR)
    assert reader.summary(OTHER).gaps == 19


def test_it_goes_on_after_a_kill_between_any_two_steps(
    writer: Writer, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Begun again after each step: what is counted and what is missing are the steps of the other store throughout."""
    monkeypatch.setattr(known_thinning, "_EPISODES", 3)
    monkeypatch.setattr(known_thinning, "_HOLES", 4)
    fill(writer)
    writer.thin(RUN_ID, 10, RULE)
    was = reader.summary(RUN_ID)
    writer.apply([read_batch(raw, "identity") for raw in copy_of(reader)], StreamCursor("one", 2))
    most = 0
    is_known = True
    while is_known:
        after: EpisodePlace | None = BEFORE_ALL
        most += 1
        for _ in range(most):
            step = writer.note_some_known_thinning(OTHER, was.thinned_steps, RULE, after)
            is_known, after = step.is_known, step.after
            here = reader.summary(OTHER)
            assert here.thinned_steps + here.gaps == was.thinned_steps
            if step.done:
                break
    assert most > 10
    here = reader.summary(OTHER)
    assert here.model_dump(exclude={"run_id"}) == was.model_dump(exclude={"run_id"})
    one, other = reader.episodes(RUN_ID), reader.episodes(OTHER)
    assert [each.model_dump() for each in other.episodes] == [
        each.model_dump() for each in one.episodes
    ]
