"""Pages of events, episodes, artifacts and what was set aside."""

import json
import math
import struct
from collections.abc import Sequence

import pytest

from mosaic_contracts.events import event_adapter
from mosaic_contracts.replays import EpisodeEvents
from mosaic_contracts.wire import (
    ENCODING_IDENTITY,
    MAX_BATCH_BYTES,
    Artifact,
    ArtifactPruned,
    BatchHead,
    BatchInvalid,
    Checkpoint,
    Config,
    Episode,
    EpisodeStart,
    Extra,
    Lifecycle,
    Log,
    Metric,
    Record,
    Step,
    decode_batch,
    encode_record,
    join_batch,
)
from mosaic_store import (
    EpisodeNotStored,
    Quarantined,
    Reader,
    StoredBatch,
    StreamCursor,
    Writer,
    read_batch,
)
from mosaic_store.batch import unpack
from mosaic_store.testing import METRIC, RUN_ID, SPACES, T0_US, message, messages, strict_json

CURSOR = StreamCursor("one", 1)
HASH = bytes(8)


def batch(records: Sequence[Record], source: str = "worker", t0_us: int = 0) -> StoredBatch:
    """A batch of these records, which count their seqs themselves."""
    head = BatchHead(RUN_ID, 1, source, records[0].seq, len(records))
    raw = join_batch(head, t0_us, b"".join(encode_record(record) for record in records))
    return read_batch(raw, ENCODING_IDENTITY)


def test_pages_by_cursor_give_everything_once(filled: Reader) -> None:
    """Whatever the size of the pages, their sum is the run, and the last cursor waits at the end."""
    for limit in (1, 7, 100, 999, 5000):
        seqs, cursor, more = [], "", True
        while more:
            page = filled.events(RUN_ID, cursor, limit=limit)
            seqs += [event["seq"] for event in page.events]
            cursor, more = page.cursor, page.has_more
            assert len(page.events) <= limit
        assert seqs == list(range(1, 1002))
        assert filled.events(RUN_ID, cursor).cursor == cursor == "1.worker.1001"


def test_follower_gets_what_comes_later(writer: Writer, reader: Reader) -> None:
    """The cursor of an empty page is good for what is stored afterwards."""
    cursor = reader.events(RUN_ID).cursor
    writer.apply([read_batch(*message(1, 10)[1:])], CURSOR)
    page = reader.events(RUN_ID, cursor)
    writer.apply([read_batch(*message(11, 20)[1:])], CURSOR)
    assert [e["seq"] for e in reader.events(RUN_ID, page.cursor).events] == list(range(11, 21))


@pytest.mark.parametrize("limit", [3, 1000])
def test_types_are_filtered_and_the_cursor_moves_over_the_rest(filled: Reader, limit: int) -> None:
    """Asked for some types, a reader gets all of those and reaches the end."""
    found, cursor, more = [], "", True
    while more:
        page = filled.events(RUN_ID, cursor, limit=limit, types=["metric", "config"])
        found += [event["type"] for event in page.events]
        cursor, more = page.cursor, page.has_more
    assert found == ["config", *["metric"] * 50]
    assert cursor == "1.worker.1001"


def test_all_extras_can_be_asked_for(writer: Writer, reader: Reader) -> None:
    """`*.*` gives every namespaced extra in addition to the types that are named, and no other type."""
    records: list[Record] = [
        Log(1, 0, "info", "hello"), Extra(2, 0, "bdi.intention", {}), Metric(3, 0, "loss", 1, 0.5),
        Extra(4, 0, "llm.prompt", {}),
    ]  # fmt: skip
    writer.apply([batch(records)], CURSOR)
    seqs = {
        types: [event["seq"] for event in reader.events(RUN_ID, types=types).events]
        for types in (("*.*",), ("*.*", "log"), ("bdi.intention",), ("log",))
    }
    assert list(seqs.values()) == [[2, 4], [1, 2, 4], [2], [1]]


def test_sources_are_merged_by_time(writer: Writer, reader: Reader) -> None:
    """What the supervisor said stands between the worker's events, and each source keeps its order."""
    worker = [Log(seq, seq * 10, "info", f"w{seq}") for seq in range(1, 6)]
    supervisor = [Lifecycle(seq, seq * 20 - 5, f"s{seq}") for seq in (1, 2)]
    writer.apply([batch(worker), batch(supervisor, "supervisor")], CURSOR)
    for limit in (1, 2, 100):
        said, cursor, more = [], "", True
        while more:
            page = reader.events(RUN_ID, cursor, limit=limit)
            said += [event.get("message") or event["phase"] for event in page.events]
            cursor, more = page.cursor, page.has_more
        assert said == ["w1", "s1", "w2", "w3", "s2", "w4", "w5"]
    assert len(reader.marks(RUN_ID)) == 2


@pytest.mark.parametrize("cursor", ["rubbish", "1.worker.x", "1.worker.1~", "0.worker.1"])
def test_foreign_cursor_is_refused(filled: Reader, cursor: str) -> None:
    """A cursor that was not made here is an error, not the beginning."""
    with pytest.raises(ValueError, match="cursor"):
        filled.events(RUN_ID, cursor)
    with pytest.raises(ValueError, match="cursor"):
        filled.episodes(RUN_ID, cursor)


def test_every_event_is_strict_json_and_fits_the_contract(writer: Writer, reader: Reader) -> None:
    """All kinds of events, with the strangest values, serialise strictly and validate as published."""
    strange = {"nan": math.nan, "inf": -math.inf, "raw": b"\x00\xff", "名": ["é", None, 1e308]}
    records: list[Record] = [
        Config(1, 0, {"spaces": SPACES, "more": strange}),
        EpisodeStart(2, 0, 0, 0, {"way": "generator", "raw": b"x"}, HASH, bytes(16)),
        Step(3, 0, 0, 0, 1, b"\x01\x00\x00\x00\x00\x00\x00\x00", math.nan, 0, HASH, 0, bytes(16)),
        Step(4, 0, 0, 0, 2, b"\x01\x02\x03\x04\x05\x06\x07\x08\x09", math.inf, 3, HASH, 0, b"odd"),
        Episode(5, 0, 0, 0, 2, math.nan, 3, 0.1, 2),
        Metric(6, 0, METRIC, None, -math.inf),
        Log(7, 0, "info", "\x00 🙂", strange),
        Lifecycle(8, 0, "done", strange),
        Checkpoint(9, 0, "checkpoints/каталог.pt", 5, "ab", 10, "final", strange),
        Artifact(10, 0, "tensorboard", "tensorboard", 10),
        ArtifactPruned(11, 0, "tensorboard", "quota"),
        Extra(12, 0, "bdi.intention", strange),
    ]
    writer.apply([batch(records)], CURSOR)
    page = reader.events(RUN_ID)
    assert len(page.events) == 12
    for event in page.events:
        event_adapter.validate_python(event)
        json.loads(strict_json(event), parse_constant=pytest.fail)
        assert strict_json(reader.event_to_builtin(RUN_ID, event)) == strict_json(event)
    json.loads(page.model_dump_json(), parse_constant=pytest.fail)
    start, first, second = page.events[1:4]
    assert start["observation"] == [[0.0, 0.0], [0.0, 0.0]]
    assert start["reset"]["raw"] == "base64:eA=="
    assert (first["action"], second["action"]) == (1, "base64:AQIDBAUGBwgJ")
    assert second["observation"] == "base64:b2Rk"
    assert page.events[0]["data"]["more"]["raw"] == "base64:AP8="


def test_steps_of_an_episode(filled: Reader) -> None:
    """An episode is its start and its steps, in order, and no other's."""
    events = filled.steps(RUN_ID, 1, 0, 20)
    assert [event["type"] for event in events] == ["episode_start", *["step"] * 17]
    assert [event["step"] for event in events[1:]] == list(range(1, 18))
    assert {event["episode"] for event in events} == {20}
    for unknown in ((1, 0, 50), (2, 0, 0), (1, 1, 0), (2**70, 0, 0)):
        with pytest.raises(EpisodeNotStored, match="list its episodes"):
            filled.steps(RUN_ID, *unknown)


def test_episode_that_never_ended_is_readable(writer: Writer, reader: Reader) -> None:
    """A run that was killed leaves an episode without an end, and its steps can be read."""
    writer.apply([read_batch(*message(1, 30)[1:])], CURSOR)
    done, running = reader.episodes(RUN_ID).episodes
    assert (done.length, done.terminated, done.truncated, done.recorded_steps) == (
        17,
        True,
        False,
        17,
    )
    assert (running.length, running.terminated, running.t_end) == (None, None, None)
    assert (running.start_seq, running.recorded_steps) == (22, 8)
    assert len(reader.steps(RUN_ID, 1, 0, 1)) == 9


def test_pages_of_episodes_in_both_orders(filled: Reader) -> None:
    """Pages follow each other without gap or double, from either end."""
    for order, wanted in (("begun", range(50)), ("newest", range(49, -1, -1))):
        found: list[int] = []
        cursor: str | None = None
        while True:
            page = filled.episodes(RUN_ID, cursor, limit=7, order=order)  # type: ignore[arg-type]
            found += [episode.episode for episode in page.episodes]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert found == list(wanted)


def test_nan_return_poisons_nothing(writer: Writer, reader: Reader) -> None:
    """A NaN return is shown as NaN, and best and mean are over what is a number."""
    returns = [1.0, math.nan, 5.0, math.nan]
    ends = [Episode(i + 1, i, 0, i, 1, value, 1, 0.1, i) for i, value in enumerate(returns)]
    writer.apply([batch(ends)], CURSOR)
    summary = reader.summary(RUN_ID)
    assert (summary.episodes, summary.best_return, summary.mean_return) == (4, 5.0, 3.0)
    assert math.isnan(summary.last_return or 0)
    shown = [episode.episode_return for episode in reader.episodes(RUN_ID).episodes]
    assert [value is not None and math.isnan(value) for value in shown] == [
        False,
        True,
        False,
        True,
    ]
    json.loads(summary.model_dump_json(), parse_constant=pytest.fail)


def ended(seq: int, env: int, episode: int, value: float = 1.0) -> Episode:
    """The end of an episode."""
    return Episode(seq, seq, env, episode, 1, value, 1, 0.1, seq)


def test_episodes_that_were_not_sent_are_counted_as_played(writer: Writer, reader: Reader) -> None:
    """A worker that reports every tenth episode numbers them all: both numbers are in the summary."""
    writer.apply([batch([ended(1, 0, 0), ended(2, 0, 10), ended(3, 1, 4)])], CURSOR)
    summary = reader.summary(RUN_ID)
    assert (summary.episodes, summary.episodes_played, summary.is_sample) == (3, 16, True)
    writer.apply([batch([ended(4, 0, 7), ended(5, 1, 5)])], StreamCursor("one", 2))
    summary = reader.summary(RUN_ID)
    assert (summary.episodes, summary.episodes_played) == (5, 17)
    assert reader.run_marks()[RUN_ID].episodes == 17


def test_all_episodes_are_no_sample(filled: Reader) -> None:
    """A run whose every episode was sent has played as many as the store has."""
    summary = filled.summary(RUN_ID)
    assert (summary.episodes_played, summary.is_sample) == (50, False)


def test_absurd_episode_numbers_stop_no_recorder(writer: Writer, reader: Reader) -> None:
    """Numbers at the bound of the store are counted up to that bound, negative ones not at all."""
    most = 2**62 - 1
    writer.apply([batch([ended(1, 0, most), ended(2, 1, most), ended(3, 2, -5)])], CURSOR)
    assert reader.summary(RUN_ID).episodes_played == 2**62


def test_summary_counts_what_is_there(filled: Reader) -> None:
    """The summary of the synthetic run is what the synthetic run is."""
    summary = filled.summary(RUN_ID)
    assert (summary.events, summary.steps, summary.episodes) == (1001, 850, 50)
    assert (summary.global_step, summary.gaps, summary.dropped) == (850, 0, 0)
    assert summary.best_return == math.inf
    assert summary.first_t == pytest.approx(1.7e9 + 10e-6)
    assert summary.last_t == pytest.approx(1.7e9 + 10_010e-6)


def test_a_span_is_the_workers_own(writer: Writer, reader: Reader) -> None:
    """Events of the supervisor, whose clock is another one, do not lengthen the span of the worker's events."""
    for first, last in ((1, 100), (101, 400)):
        sent = message(first, last)
        writer.apply([read_batch(sent.payload, sent.encoding)], CURSOR)
    head = BatchHead(RUN_ID, 1, "supervisor", 1, 1)
    raw = join_batch(head, T0_US - 3_600_000_000, encode_record(Lifecycle(1, 0, "queued", {})))
    writer.apply([read_batch(raw, ENCODING_IDENTITY)], CURSOR)
    summary = reader.summary(RUN_ID)
    assert summary.span_s == pytest.approx(4000e-6)
    assert (summary.last_t or 0) - (summary.first_t or 0) > 3600


def test_run_marks_say_the_same_as_summaries(writer: Writer, reader: Reader) -> None:
    """What the run list is sorted by is, for every run at once, what each summary says."""
    other = "01JGXSYNTHET1CRVN000000001"
    stored = [
        read_batch(m.payload, m.encoding)
        for run_id, last in ((RUN_ID, 1001), (other, 150))
        for m in messages(last, 100, run_id=run_id)
    ]
    writer.apply(stored, CURSOR)
    marks = reader.run_marks()
    assert sorted(marks) == [RUN_ID, other]
    for run_id, mark in marks.items():
        summary = reader.summary(run_id).model_dump()
        assert mark._asdict() == {name: summary[name] for name in mark._fields}
    assert reader.event_count() == 1151


def test_thinned_steps_are_counted(writer: Writer, reader: Reader) -> None:
    """What the worker says it dropped is in the summary."""
    thinned = [Extra(seq, 0, "mosaic.thinned", {"steps": 40}) for seq in (1, 2)]
    writer.apply([batch(thinned)], CURSOR)
    assert reader.summary(RUN_ID).dropped == 80


def test_artifacts_follow_announcement_and_removal(writer: Writer, reader: Reader) -> None:
    """The newest word about a path counts, in whatever order the words come."""
    words: list[Record] = [
        Artifact(1, 0, "a", "video", 1),
        ArtifactPruned(2, 0, "a", "quota"),
        Artifact(3, 0, "b", "video", 1),
        ArtifactPruned(4, 0, "b", "quota"),
        Artifact(5, 0, "b", "video", 2, None, {"step": 9, "env": 0, "episode": "no number"}),
        Checkpoint(6, 0, "c.pt", 7, "ff", 3, "periodic"),
    ]
    for word in reversed(words):
        writer.apply([batch([word])], CURSOR)
    rows = {row.path: row for row in reader.artifacts(RUN_ID)}
    assert {path: (row.exists, row.bytes) for path, row in rows.items()} == {
        "a": (False, 1),
        "b": (True, 2),
        "c.pt": (True, 3),
    }
    assert (rows["c.pt"].kind, rows["c.pt"].step, rows["c.pt"].reason) == (
        "checkpoint",
        7,
        "periodic",
    )
    assert (rows["b"].step, rows["b"].env, rows["b"].episode) == (9, 0, None)
    summary = reader.summary(RUN_ID)
    assert (summary.checkpoints, summary.artifacts) == (1, 3)


@pytest.mark.parametrize(
    "record",
    [
        Step(1, 0, 2**63, 0, 1, 0, 0.0, 0, HASH),
        Episode(1, 0, 0, 0, 2**63, 0.0, 0, 0.0, 0),
        Metric(1, 0, "a", -(2**63), 0.0),
        Checkpoint(1, 0, "a", 2**63, "", 0, "final"),
        Log(1, 2**63, "info", "late"),
        Extra(1, 0, "mosaic.thinned", {"steps": "many"}),
    ],
    ids=lambda record: type(record).__name__,
)
def test_what_the_store_cannot_hold_is_refused_before_it_is_written(record: Record) -> None:
    """A number beyond the columns makes a batch invalid; it never makes a transaction fail."""
    with pytest.raises(BatchInvalid):
        batch([record])


def test_deep_nesting_and_size_are_refused() -> None:
    """A payload made to exhaust the reader is invalid, and costs little."""
    head = BatchHead(RUN_ID, 1, "worker", 1, 1)
    step = b"\x9c\x01\x01\x00\x00\x00\x01" + b"\x91" * 100_000
    with pytest.raises(BatchInvalid, match="deep"):
        read_batch(join_batch(head, 0, step), ENCODING_IDENTITY)
    with pytest.raises(BatchInvalid, match="more than a batch"):
        read_batch(bytes(2 * MAX_BATCH_BYTES + 1), ENCODING_IDENTITY)


def test_quarantine_keeps_the_message_and_handles_its_range(writer: Writer, reader: Reader) -> None:
    """A poisoned range counts as handled once; good events of it that came before stay."""
    head = BatchHead(RUN_ID, 1, "worker", 1, 100)
    poison = Quarantined("bad", "subject", 9, head.header(), b"payload", 5_000_000, RUN_ID, head)
    stray = Quarantined("worse", "subject", 10, "", b"x", 0)
    writer.apply([read_batch(*message(1, 50)[1:])], CURSOR, [stray])
    writer.apply([], CURSOR, [poison])
    writer.apply([read_batch(*message(101, 150)[1:])], CURSOR, [poison])
    (shown,) = reader.quarantine(RUN_ID)
    assert shown == {
        "reason": "bad",
        "batch": head.header(),
        "stream_seq": 9,
        "bytes": 7,
        "t": 5.0,
        "kept": True,
    }
    summary = reader.summary(RUN_ID)
    assert (summary.quarantined, summary.events, summary.gaps) == (1, 100, 0)
    assert reader.marks(RUN_ID)[0].next_seq == 151
    assert reader.quarantined() == 2


def test_prune_deletes_one_run_and_shrinks_the_file(writer: Writer, reader: Reader) -> None:
    """Nothing of a pruned run is left, nothing of another is touched, and the file gets smaller."""
    other = "01JGXSYNTHET1CRVN000000009"
    for run_id in (RUN_ID, other):
        stored = [read_batch(*m[1:]) for m in messages(20_000, 100, run_id)]
        writer.apply(stored, CURSOR)
    writer.prune("none")
    before = writer.path.stat().st_size
    kept = reader.summary(other)
    freed = writer.prune(RUN_ID)
    assert reader.summary(RUN_ID).events == 0
    assert reader.metric_names(RUN_ID) == []
    assert reader.summary(other) == kept
    assert len(reader.events(other, limit=10_000).events) == 10_000
    after = writer.path.stat().st_size
    assert freed == pytest.approx(before - after, rel=0.2)
    assert writer.prune(RUN_ID) == 0


def test_batches_are_the_run_page_by_page(
    writer: Writer, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each page goes on where the one before ended, and together they hold every record once, with the spaces."""
    monkeypatch.setattr("mosaic_store.batch_page._MAX_RECORDS", 250)
    writer.apply([read_batch(m.payload, m.encoding) for m in messages(1001, 100)], CURSOR)
    writer.apply([batch([Log(1, 5, "info", "s")], "supervisor", T0_US)], CURSOR)
    seqs: list[tuple[str, int]] = []
    cursor, more, count = "", True, 0
    while more:
        page = reader.batches(RUN_ID, cursor)
        for frame in page.frames:
            found = decode_batch(unpack(frame))
            seqs += [(found.source, record.seq) for record in found.records]
        cursor, more, count = page.cursor, page.has_more, count + 1
        assert page.spaces == {1: SPACES}
    assert sorted(seqs) == [("supervisor", 1), *(("worker", seq) for seq in range(1, 1002))]
    assert cursor == "1.supervisor.1~1.worker.1001"
    assert count > 3
    assert reader.batches(RUN_ID, cursor).frames == []


def test_batches_without_a_wanted_type_are_passed_over(filled: Reader) -> None:
    """A page of a rare type holds the blocks in which it is, and reaches the end."""
    page = filled.batches(RUN_ID, types=["config"])
    assert [decode_batch(unpack(frame)).seq0 for frame in page.frames] == [1]
    assert (page.cursor, page.has_more) == ("1.worker.1001", False)
    with pytest.raises(ValueError, match="cursor"):
        filled.batches(RUN_ID, "rubbish")


def test_pages_of_an_episode_are_its_steps_without_observations(
    writer: Writer, reader: Reader
) -> None:
    """What a replay is made from: the same events as `steps`, in pages that join."""
    sent = message(1, 200, full=True)
    writer.apply([read_batch(sent.payload, sent.encoding)], CURSOR)
    whole = reader.steps(RUN_ID, 1, 0, 3)
    assert any(event["observation"] is not None for event in whole)
    found, after_seq, more = [], 0, True
    while more:
        page = reader.episode_events(RUN_ID, 1, 0, 3, after_seq, limit=4)
        assert len(page.events) <= 4
        found += page.events
        after_seq, more = page.last_seq, page.has_more
    assert found == [{k: v for k, v in event.items() if k != "observation"} for event in whole]
    assert [event.get("step", 0) for event in found] == list(range(len(whole)))


def test_strange_numbers_of_an_episode_survive_its_page(writer: Writer, reader: Reader) -> None:
    """Non-finite rewards and actions come through JSON as their words; raw actions become lists."""
    spaces = {"action": {"kind": "box", "dtype": "<f4", "shape": [2]}}
    values = [math.nan, math.inf, -math.inf, 0.1, 1e300]
    few = [math.nan, math.inf, -math.inf, 0.1, 1e30]
    steps = [
        Step(3 + i, 0, 0, 0, i + 1, struct.pack("<2f", few[i], 0.1), value, 0, HASH)
        for i, value in enumerate(values)
    ]
    start = EpisodeStart(2, 0, 0, 0, {"way": "seed", "seed": 1}, HASH)
    writer.apply([batch([Config(1, 0, {"spaces": spaces}), start, *steps])], CURSOR)
    page = reader.episode_events(RUN_ID, 1, 0, 0)
    sent = EpisodeEvents.model_validate_json(page.model_dump_json())
    assert [str(float(event["reward"])) for event in sent.events[1:]] == [str(v) for v in values]
    for event, step in zip(sent.events[1:], steps, strict=True):
        assert struct.pack("<2f", *map(float, event["action"])) == step.action
        assert bytes.fromhex(event["hash"]) == HASH


def test_a_page_of_large_actions_fits_a_message(writer: Writer, reader: Reader) -> None:
    """The broker takes 8 MiB: a page ends before that, whatever its limit says."""
    action = [1 / 3] * 20_000
    start = EpisodeStart(1, 0, 0, 0, {"way": "chain"}, HASH)
    for first in range(2, 32, 10):
        steps = [Step(first + i, 0, 0, 0, first + i - 1, action, 0.0, 0, HASH) for i in range(10)]
        writer.apply([batch([*([start] if first == 2 else []), *steps])], CURSOR)
    page = reader.episode_events(RUN_ID, 1, 0, 0)
    assert page.has_more
    assert 2**21 < len(page.model_dump_json()) < 5 * 2**20


def test_the_config_event_of_an_attempt(filled: Reader) -> None:
    """It comes whole; an attempt without one has none."""
    config = filled.config_event(RUN_ID, 1)
    assert config is not None
    assert config["type"] == "config"
    assert config["data"]["spaces"] == SPACES
    assert filled.config_event(RUN_ID, 2) is None


def test_an_episode_without_recorded_steps_has_no_events(writer: Writer, reader: Reader) -> None:
    """`replay_every` leaves them out: the episode is known, and nothing can be rebuilt."""
    writer.apply([batch([Episode(1, 0, 0, 7, 3, 1.0, 1, 0.1, 3)])], CURSOR)
    assert reader.episode_events(RUN_ID, 1, 0, 7).events == []
    with pytest.raises(EpisodeNotStored):
        reader.episode_events(RUN_ID, 1, 0, 8)


def test_several_episodes_of_one_environment_are_one_sequence(
    writer: Writer, reader: Reader
) -> None:
    """What a chain is rebuilt from: all of its sub-environment from one episode to another, in order."""
    records: list[Record] = []
    for episode in range(4):
        for env in (0, 1):
            seq = len(records) + 1
            records.append(EpisodeStart(seq, 0, env, episode, {"way": "chain"}, HASH))
            records += [Step(seq + n, 0, env, episode, n, 0, 1.0, 0, HASH) for n in (1, 2, 3)]
    for first in range(0, len(records), 5):
        writer.apply([batch(records[first : first + 5])], CURSOR)
    found, after_seq, more = [], 0, True
    while more:
        page = reader.episode_events(RUN_ID, 1, 1, 2, after_seq, limit=7, from_episode=1)
        found += [(e["env"], e["episode"], e.get("step", 0)) for e in page.events]
        after_seq, more = page.last_seq, page.has_more
    assert found == [(1, episode, step) for episode in (1, 2) for step in range(4)]
    with pytest.raises(EpisodeNotStored):
        reader.episode_events(RUN_ID, 1, 1, 4, from_episode=0)


def test_a_page_of_an_episode_reads_a_bounded_number_of_records(
    writer: Writer, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sub-environment of many: a page ends although it holds few events, and says how far it has read."""
    monkeypatch.setattr("mosaic_store.reader._MAX_EPISODE_RECORDS", 10)
    records: list[Record] = [EpisodeStart(1, 0, 0, 0, {"way": "chain"}, HASH)]
    records += [Step(seq, 0, 1, 0, seq - 1, 0, 1.0, 0, HASH) for seq in range(2, 60)]
    records.append(Step(60, 0, 0, 0, 1, 0, 1.0, 0, HASH))
    for first in range(0, len(records), 5):
        writer.apply([batch(records[first : first + 5])], CURSOR)
    found, after_seq, pages, more = [], 0, 0, True
    while more:
        page = reader.episode_events(RUN_ID, 1, 0, 0, after_seq)
        assert page.last_seq > after_seq
        found += [event["seq"] for event in page.events]
        after_seq, more, pages = page.last_seq, page.has_more, pages + 1
    assert found == [1, 60]
    assert pages > 2
