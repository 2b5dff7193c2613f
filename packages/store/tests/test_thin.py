"""Thinning: steps of ended episodes go for ever, and everything else stays as it was."""

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mosaic_contracts.wire import (
    BatchHead,
    BatchInvalid,
    Checkpoint,
    Episode,
    EpisodeStart,
    Extra,
    Metric,
    Record,
    Step,
    decode_batch,
    encode_record,
    join_batch,
)
from mosaic_store import Reader, StreamCursor, Writer, open_reader, open_writer, read_batch
from mosaic_store.batch import unpack
from mosaic_store.testing import METRIC, RUN_ID, STEPS, T0_US, message, messages, strict_json

CURSOR = StreamCursor("one", 1)
RULE = "storage profile small (steps of every 10th episode)"
EPISODES = 50
LAST = 1001


def fill(writer: Writer, last: int = LAST, size: int = 100, run_id: str = RUN_ID) -> None:
    """Store the synthetic run: 50 episodes of 17 steps."""
    stored = [read_batch(m.payload, m.encoding) for m in messages(last, size, run_id)]
    writer.apply(stored, CURSOR)


def all_events(reader: Reader, run_id: str = RUN_ID, limit: int = 10_000) -> list[dict[str, Any]]:
    """Every event, read page by page."""
    found: list[dict[str, Any]] = []
    cursor, more = "", True
    while more:
        page = reader.events(run_id, cursor, limit)
        found += page.events
        cursor, more = page.cursor, page.has_more
    return found


def is_kept(event: dict[str, Any], every: int) -> bool:
    """Whether an event of the synthetic run outlives a thinning."""
    return event["type"] != "step" or (every > 0 and event["episode"] % every == 0)


@pytest.mark.parametrize("every", [0, 2, 10])
@pytest.mark.parametrize("size", [1, 7, 100, 1000])
def test_only_steps_of_other_episodes_go(
    writer: Writer, reader: Reader, every: int, size: int
) -> None:
    """What stays is byte for byte what was there, however the events were batched."""
    fill(writer, size=size)
    before = all_events(reader)
    step = writer.thin(RUN_ID, every, RULE)
    expected = [strict_json(event) for event in before if is_kept(event, every)]
    assert [strict_json(event) for event in all_events(reader)] == expected
    assert step.removed_steps == len(before) - len(expected)


@pytest.mark.parametrize("limit", [1, 3, 1000])
def test_pages_go_on_over_what_was_removed(writer: Writer, reader: Reader, limit: int) -> None:
    """Small pages and pages of one type see every event that is left once."""
    fill(writer)
    writer.thin(RUN_ID, 10, RULE)
    assert repr(all_events(reader, limit=limit)) == repr(all_events(reader))
    cursor, kept = "", []
    while True:
        page = reader.events(RUN_ID, cursor, limit, types=["metric"])
        kept += page.events
        if not page.has_more:
            break
        cursor = page.cursor
    assert len(kept) == EPISODES


def test_the_counts_stay_true(writer: Writer, reader: Reader) -> None:
    """The summary counts what was recorded and what was removed; nothing counts as lost."""
    fill(writer)
    before = reader.summary(RUN_ID)
    curve = reader.curve(RUN_ID, METRIC, buckets=20)
    writer.thin(RUN_ID, 10, RULE)
    after = reader.summary(RUN_ID)
    removed = STEPS * (EPISODES - 5)
    assert after == before.model_copy(update={"thinned_steps": removed, "thinned_by": RULE})
    assert after.gaps == 0
    assert reader.event_count() == LAST - removed
    assert repr(reader.curve(RUN_ID, METRIC, buckets=20)) == repr(curve)
    (mark,) = reader.marks(RUN_ID)
    assert (mark.next_seq, mark.last_seq, mark.missing) == (LAST + 1, LAST, 0)
    assert len(reader.events(RUN_ID, limit=10_000, contiguous=True).events) == LAST - removed


def test_episodes_say_that_they_were_thinned(writer: Writer, reader: Reader) -> None:
    """Each episode has its return and length as before, and how many steps were removed."""
    fill(writer)
    before = reader.episodes(RUN_ID).episodes
    writer.thin(RUN_ID, 10, RULE)
    after = reader.episodes(RUN_ID).episodes
    for was, now in zip(before, after, strict=True):
        kept = STEPS if was.episode % 10 == 0 else 0
        changed = {"recorded_steps": kept, "thinned_steps": STEPS - kept}
        assert repr(now) == repr(was.model_copy(update=changed))
    page = reader.episode_events(RUN_ID, 1, 0, 7)
    assert [event["type"] for event in page.events] == ["episode_start"]
    assert (page.recorded_steps, page.thinned_steps, page.thinned_by) == (0, STEPS, RULE)
    assert page.is_earlier_thinned
    tenth = reader.episode_events(RUN_ID, 1, 0, 10)
    assert len(tenth.events) == 1 + STEPS
    assert (tenth.thinned_steps, tenth.is_earlier_thinned) == (0, True)
    assert not reader.episode_events(RUN_ID, 1, 0, 1).is_earlier_thinned


def test_an_episode_without_an_end_keeps_its_steps(writer: Writer, reader: Reader) -> None:
    """What a killed run was in the middle of is all that there is of it."""
    fill(writer, last=30)
    writer.thin(RUN_ID, 0, RULE)
    ended, open_one = reader.episodes(RUN_ID).episodes
    assert (ended.recorded_steps, open_one.recorded_steps) == (0, 8)
    assert open_one.thinned_steps == 0


def test_everything_that_is_no_step_stays(writer: Writer, reader: Reader) -> None:
    """Checkpoints, evaluations, events of extensions and logs between the steps are read as before."""
    records: list[Record] = [
        EpisodeStart(1, 0, 0, 1, {"way": "seed"}, b"12345678"),
        Step(2, 1, 0, 1, 1, 0, 1.0, 0, b"12345678"),
        Checkpoint(3, 2, "c.pt", 5, "ab", 7, "best", {"mean_return": 3.0}),
        Extra(4, 3, "bdi.plan", {"plan": "p"}),
        Step(5, 4, 0, 1, 2, 0, 1.0, 1, b"12345678"),
        Metric(6, 5, "loss", 2, 0.5),
        Episode(7, 6, 0, 1, 2, 2.0, 1, 0.1, 2),
    ]
    head = BatchHead(RUN_ID, 1, "worker", 1, len(records))
    raw = join_batch(head, T0_US, b"".join(encode_record(record) for record in records))
    writer.apply([read_batch(raw, "identity")], CURSOR)
    artifacts = reader.artifacts(RUN_ID)
    writer.thin(RUN_ID, 10, RULE)
    assert [event["seq"] for event in all_events(reader)] == [1, 3, 4, 6, 7]
    assert reader.artifacts(RUN_ID) == artifacts
    writer.rebuild_files()
    assert reader.artifacts(RUN_ID) == artifacts
    assert [e["seq"] for e in reader.events(RUN_ID, types=["bdi.plan"]).events] == [4]
    assert reader.events(RUN_ID, types=["step"]).events == []


def test_other_runs_are_not_touched(writer: Writer, reader: Reader) -> None:
    """A thinning is of one run."""
    other = "01JGXSYNTHET1CRVN000000001"
    fill(writer)
    fill(writer, run_id=other)
    before = all_events(reader, other)
    writer.thin(RUN_ID, 0, RULE)
    assert repr(all_events(reader, other)) == repr(before)


def test_thinning_again_removes_what_a_stricter_rule_asks_for(
    writer: Writer, reader: Reader
) -> None:
    """The same rule finds nothing left; a stricter one goes on; a milder one brings nothing back."""
    fill(writer)
    first = writer.thin(RUN_ID, 2, RULE)
    assert writer.thin(RUN_ID, 2, RULE).removed_steps == 0
    second = writer.thin(RUN_ID, 10, "stricter")
    assert writer.thin(RUN_ID, 5, "milder").removed_steps == 0
    assert writer.thin(RUN_ID, 1, "all").removed_steps == 0
    assert first.removed_steps + second.removed_steps == STEPS * (EPISODES - 5)
    assert reader.summary(RUN_ID).thinned_by == "stricter"


def test_steps_that_came_later_are_thinned_the_next_time(writer: Writer, reader: Reader) -> None:
    """A run that went on has new blocks; the same rule looks at it again."""
    fill(writer, last=501)
    writer.thin(RUN_ID, 10, RULE)
    writer.apply([read_batch(*message(502, LAST)[1:])], StreamCursor("one", 2))
    writer.thin(RUN_ID, 10, RULE)
    kept = [row.episode for row in reader.episodes(RUN_ID).episodes if row.recorded_steps]
    assert kept == [0, 10, 20, 30, 40]


def test_what_was_thinned_does_not_come_back(writer: Writer, reader: Reader) -> None:
    """A publisher that sends everything once more adds nothing."""
    fill(writer)
    writer.thin(RUN_ID, 10, RULE)
    before = reader.summary(RUN_ID)
    fill(writer, size=30)
    assert reader.summary(RUN_ID) == before


def test_freed_bytes_go_back_to_the_disk(path: Path) -> None:
    """The file shrinks by what the thinning says."""
    with open_writer(path) as writer, open_reader(path) as reader:
        for first in range(1, 60_001, 1000):
            writer.apply([read_batch(*message(first, first + 999, full=True)[1:])], CURSOR)
        writer.checkpoint(truncate=True)
        size = path.stat().st_size
        (space,) = reader.run_spaces()
        estimate = space.estimate_freed(100)
        step = writer.thin(RUN_ID, 100, RULE)
        assert size - path.stat().st_size == pytest.approx(step.freed_bytes, abs=200_000)
        assert step.freed_bytes > 0.4 * size
        assert step.removed_bytes == pytest.approx(estimate, rel=0.2)
        assert step.removed_bytes / 2 < step.freed_bytes < step.removed_bytes * 2
        assert reader.space().free_bytes == 0
        (space,) = reader.run_spaces()
        assert space.estimate_freed(100) == 0
        (stored,) = writer._db.execute("SELECT sum(length(body)) FROM block").fetchone()
        assert space.bytes == stored


def test_exports_read_thinned_batches(writer: Writer, reader: Reader) -> None:
    """Frames of a page decode as thinned ones only: an older program refuses them instead of misreading them."""
    fill(writer)
    writer.thin(RUN_ID, 10, RULE)
    page = reader.batches(RUN_ID)
    assert not page.has_more
    raws = [unpack(frame) for frame in page.frames]
    seqs = [record.seq for raw in raws for record in decode_batch(raw, thinned=True).records]
    assert seqs == [event["seq"] for event in all_events(reader)]
    with pytest.raises(BatchInvalid, match="contiguous"):
        decode_batch(raws[1])
    assert reader.batches(RUN_ID, types=["step"]).frames


def test_sources_stay_merged_in_time(writer: Writer, reader: Reader) -> None:
    """A block whose first steps are gone is placed by its first event that is left."""
    fill(writer, size=10)
    said = [Extra(n, n * 997, "machine.load", {}) for n in range(1, 11)]
    head = BatchHead(RUN_ID, 1, "supervisor", 1, len(said))
    raw = join_batch(head, T0_US, b"".join(encode_record(record) for record in said))
    writer.apply([read_batch(raw, "identity")], StreamCursor("one", 2))
    writer.thin(RUN_ID, 10, RULE)
    events = all_events(reader)
    times = [event["t"] for event in events]
    assert times == sorted(times)


def test_a_deleted_run_leaves_no_mark_of_its_thinning(path: Path) -> None:
    """Its rows go with it, in the middle of the job too."""
    with open_writer(path) as writer:
        fill(writer, last=10_001)
        assert not writer.thin_some(RUN_ID, 10, RULE).done
        writer.prune(RUN_ID)
    with sqlite3.connect(path) as db:
        left = {line.split('"')[1] for line in db.iterdump() if line.startswith("INSERT INTO")}
    db.close()
    assert left <= {"stream_cursor"}


_THIN = """
import sys
from pathlib import Path
from mosaic_store import Writer, open_writer, thin, writer

def announce(place):
    print(place, flush=True)
    sys.stdin.readline()

def announced(real, before, after):
    def call(*arguments, **named):
        if before:
            announce(before)
        result = real(*arguments, **named)
        announce(after)
        return result
    return call

thin._RECORDS = 1000
writer.thin_step = announced(writer.thin_step, "", "in the transaction")
Writer.give_back_pages = announced(Writer.give_back_pages, "behind the transaction", "pages given back")
Writer.checkpoint = announced(Writer.checkpoint, "", "log written")
with open_writer(Path(sys.argv[1])) as store:
    store.thin(sys.argv[2], 10, "rule")
print("done", flush=True)
"""


@pytest.mark.parametrize("size", [50, 1000])
def test_a_kill_at_any_step_leaves_a_consistent_store(path: Path, size: int) -> None:
    """A process is killed at each place of the work in turn, and the last one ends with the same store."""
    with open_writer(path) as writer:
        fill(writer, last=5_001, size=size)
    with open_reader(path) as reader:
        expected = [event for event in all_events(reader) if is_kept(event, 10)]
    killed: list[str] = []
    while (place := _thin_and_kill(path, 1 + len(killed) % 5)) != "done":
        killed.append(place)
        _check_consistent(path)
    assert {"in the transaction", "pages given back"} <= set(killed)
    with open_reader(path) as reader:
        assert repr(all_events(reader)) == repr(expected)
        assert reader.space().free_bytes == 0


def _thin_and_kill(path: Path, point: int) -> str:
    """Thin in a process of its own, and kill it at the place that it comes to as the `point`th; the place."""
    arguments = [sys.executable, "-c", _THIN, str(path), RUN_ID]
    pipe = subprocess.PIPE
    with subprocess.Popen(arguments, stdin=pipe, stdout=pipe, text=True, bufsize=1) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        for number in range(1, point + 1):
            place = process.stdout.readline().strip()
            assert place, "the process ended by itself"
            if place == "done" or number == point:
                break
            process.stdin.write("\n")
        if place != "done":
            process.kill()
    return place


def _check_consistent(path: Path) -> None:
    """Counts of episodes and run agree with the blocks."""
    with open_writer(path), open_reader(path) as reader:
        steps: dict[int, int] = {}
        for event in all_events(reader):
            if event["type"] == "step":
                steps[event["episode"]] = steps.get(event["episode"], 0) + 1
        rows: list[Any] = []
        cursor = None
        while True:
            page = reader.episodes(RUN_ID, cursor, 1000)
            rows += page.episodes
            if (cursor := page.next_cursor) is None:
                break
        assert {row.episode: row.recorded_steps for row in rows if row.recorded_steps} == steps
        summary = reader.summary(RUN_ID)
        assert summary.thinned_steps == sum(row.thinned_steps for row in rows)
        assert summary.steps - summary.thinned_steps == sum(steps.values())
        (space,) = reader.run_spaces()
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        (stored,) = db.execute("SELECT sum(length(body)) FROM block").fetchone()
    db.close()
    assert space.bytes == stored
