"""The wire codec and the published models say the same, and nothing invalid passes."""

import json
import math
import types
import typing
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mosaic_contracts import events, wire
from mosaic_contracts.wire import (
    BatchHead,
    BatchInvalid,
    Record,
    decode_batch,
    decode_record,
    join_batch,
)

RUN = "01K5ZZZZZZZZZZZZZZZZZZZZZZ"
T0_US = 1_795_000_000_000_000

PAIRS: list[tuple[type[msgspec.Struct], type[events.Envelope]]] = [
    (wire.Step, events.StepEvent),
    (wire.EpisodeStart, events.EpisodeStartEvent),
    (wire.Episode, events.EpisodeEvent),
    (wire.Metric, events.MetricEvent),
    (wire.Log, events.LogEvent),
    (wire.Config, events.ConfigEvent),
    (wire.Lifecycle, events.LifecycleEvent),
    (wire.Checkpoint, events.CheckpointEvent),
    (wire.Artifact, events.ArtifactEvent),
    (wire.ArtifactPruned, events.ArtifactPrunedEvent),
    (wire.Extra, events.ExtraEvent),
]
MSGPACK_INTS = st.integers(-(2**63), 2**63 - 1)
PLAIN = st.recursive(
    st.none() | st.booleans() | MSGPACK_INTS | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
ACTIONS = MSGPACK_INTS | st.floats() | st.binary(max_size=32) | st.lists(MSGPACK_INTS, max_size=4)
OF_TYPE: dict[Any, st.SearchStrategy[Any]] = {
    int: MSGPACK_INTS,
    float: st.floats(),
    str: st.text(max_size=30),
    bytes: st.binary(min_size=8, max_size=8),
    Any: ACTIONS | st.none(),
    dict[str, Any]: st.dictionaries(st.text(max_size=8), PLAIN, max_size=3),
}


def of_type(annotation: Any) -> st.SearchStrategy[Any]:
    if isinstance(annotation, types.UnionType):
        return st.one_of([of_type(arm) for arm in typing.get_args(annotation)])
    return st.none() if annotation is type(None) else OF_TYPE[annotation]


def records_of(kind: type[msgspec.Struct]) -> st.SearchStrategy[Record]:
    fields = {f.name: of_type(f.type) for f in msgspec.structs.fields(kind)}
    fields |= {"seq": st.just(1), "dt": st.integers(0, 2**45)}
    if kind is wire.Extra:
        fields["type"] = st.from_regex(r"[a-z][a-z0-9_]{0,5}\.[a-z0-9_]{1,5}", fullmatch=True)
    make: Any = kind
    return st.builds(make, **fields)


RECORDS = st.one_of([records_of(kind) for kind, _ in PAIRS])


def batch_of(
    records: list[Record], seq0: int = 1, run_id: str = RUN, source: str = "worker"
) -> bytes:
    numbered = [msgspec.structs.replace(r, seq=seq) for seq, r in enumerate(records, seq0)]
    head = BatchHead(run_id, 1, source, seq0, len(numbered))
    return join_batch(head, T0_US, b"".join(wire.encode_record(r) for r in numbered))


@pytest.mark.parametrize(("record", "event"), PAIRS, ids=lambda kind: kind.__name__)
def test_same_fields(record: type[msgspec.Struct], event: type[events.Envelope]) -> None:
    """A record has exactly the event's own fields, of the same type and default; hashes are hex in the event."""
    own = {
        name: info
        for name, info in event.model_fields.items()
        if name not in events.Envelope.model_fields and (name != "type" or record is wire.Extra)
    }
    fields = {f.name: f for f in msgspec.structs.fields(record) if f.name not in ("seq", "dt")}
    assert list(fields) == list(own)
    for name, info in own.items():
        want = bytes if name == "hash" else info.annotation
        assert fields[name].type == want, name
        default = fields[name].default
        if fields[name].default_factory is not msgspec.NODEFAULT:
            default = fields[name].default_factory()
        assert info.is_required() == (default is msgspec.NODEFAULT), name
        if not info.is_required():
            assert info.get_default(call_default_factory=True) == default, name


def test_every_kind_has_a_pair() -> None:
    """No record class and no published event is left out, and the tag distinguishes kinds."""
    assert {record for record, _ in PAIRS} == set(typing.get_args(wire.Record))
    tags = {record.__struct_config__.tag for record, _ in PAIRS}
    assert tags == {int(kind) for kind in wire.Kind}
    published = json.dumps(events.event_schema())
    for _, event in PAIRS:
        assert event.__name__ in published
    for record, event in PAIRS:
        if record is not wire.Extra:
            assert event.model_fields["type"].default == wire.TYPE_OF[record]


@given(st.lists(RECORDS, min_size=1, max_size=8), st.integers(1, 2**40))
def test_batch_round_trip(records: list[Record], seq0: int) -> None:
    """Joined undecoded and decoded again, every record has the same bytes, NaN and infinities included."""
    batch = decode_batch(batch_of(records, seq0))
    assert (batch.run_id, batch.source, batch.seq0, batch.t0_us) == (RUN, "worker", seq0, T0_US)
    for seq, (got, given_record) in enumerate(zip(batch.records, records, strict=True), seq0):
        want = wire.encode_record(msgspec.structs.replace(given_record, seq=seq))
        assert wire.encode_record(got) == want
        assert wire.encode_record(wire.decode_record(want)) == want


@given(RECORDS)
def test_event_is_the_published_one(record: Record) -> None:
    """What a record becomes validates as its published event with equal values, and its JSON parses strictly."""
    batch = decode_batch(batch_of([record]))
    plain = wire.to_event(batch, batch.records[0])
    event = events.event_adapter.validate_python(plain)
    kind = dict(PAIRS)[type(record)]
    assert type(event) is kind
    for name, value in plain.items():
        assert _same(getattr(event, name), value), name
    if not _has_bytes(plain):
        json.loads(event.model_dump_json(), parse_constant=_refuse)


def _same(got: Any, want: Any) -> bool:
    return msgspec.msgpack.encode(got) == msgspec.msgpack.encode(want)


def _has_bytes(value: Any) -> bool:
    # Raw actions and observations leave the store as lists; bytes never meet JSON.
    return isinstance(value, bytes) or (
        isinstance(value, dict) and any(_has_bytes(part) for part in value.values())
    )


def _refuse(text: str) -> None:
    raise AssertionError(f"{text} is no JSON")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_non_finite_json(value: float) -> None:
    """Non-finite numbers are words in JSON and come back as the numbers they were."""
    event = events.MetricEvent(
        run_id=RUN, attempt=1, source="worker", seq=1, t=0, name="m", step=1, value=value
    )
    text = event.model_dump_json()
    json.loads(text, parse_constant=_refuse)
    back = events.event_adapter.validate_json(text)
    assert isinstance(back, events.MetricEvent)
    assert _same(back.value, value)


@pytest.mark.parametrize("count", [1, 15, 16, 255, 256, 65_535, 65_536])
def test_batch_of_any_size(count: int) -> None:
    """A joined batch decodes whatever the number of its records, over every msgpack array size."""
    record = wire.Metric(1, 0, "m", 1, 0.5)
    assert len(decode_batch(batch_of([record] * count)).records) == count


METRIC = wire.Metric(1, 0, "m", 1, 0.5)


def _body(*elements: Any) -> bytes:
    return msgspec.msgpack.encode(elements)


@pytest.mark.parametrize(
    "data",
    [
        _body(2, RUN, 1, "worker", 1, 0, [METRIC]),
        _body(1, "*", 1, "worker", 1, 0, [METRIC]),
        _body(1, RUN.lower(), 1, "worker", 1, 0, [METRIC]),
        _body(1, RUN, 0, "worker", 1, 0, [METRIC]),
        _body(1, RUN, 1, "gateway", 1, 0, [METRIC]),
        _body(1, RUN, 1, "worker", 0, 0, [wire.Metric(0, 0, "m", 1, 0.5)]),
        _body(1, RUN, 1, "worker", 1, 0, []),
        _body(1, RUN, 1, "worker", 2, 0, [METRIC]),
        _body(1, RUN, 1, "worker", 1, 0, [METRIC, METRIC]),
        _body(1, RUN, 1, "worker", 1, 0, [METRIC, wire.Metric(3, 0, "m", 1, 0.5)]),
        _body(1, RUN, 1, "worker", 1, 0, [[99, 1, 0]]),
        _body(1, RUN, 1, "worker", 1, 0, [[4, 1, 0, "m", 1, "high"]]),
        _body(1, RUN, 1, "worker", 1, 0, [[1, 1, 0, 0, 0, True, 0, 0.0, 0, b""]]),
        _body(1, RUN, 1, "worker", 1, 0),
        batch_of([METRIC])[:-1],
        batch_of([METRIC]) + b"\0",
        b"",
        b"{}",
    ],
)
def test_poison_is_refused(data: bytes) -> None:
    """Whatever is not a valid batch raises the one error that the recorder sets messages aside for."""
    with pytest.raises(BatchInvalid):
        decode_batch(data)


@given(st.binary(max_size=200))
@example(b"\x97\x01\xa1\xff")  # a text that is not UTF-8: msgspec raises UnicodeDecodeError
@example(b"\x95\x04\x01\x00\xa1\xff")
def test_noise_is_refused(data: bytes) -> None:
    """Random bytes raise nothing but BatchInvalid."""
    with pytest.raises(BatchInvalid):
        decode_batch(data)
    try:
        wire.decode_record(data)
    except BatchInvalid:
        return


@given(
    st.integers(1, 99), st.sampled_from(wire.SOURCES), st.integers(1, 2**50), st.integers(1, 9999)
)
def test_header_round_trip(attempt: int, source: str, seq0: int, n: int) -> None:
    """The header names the batch, and the message id names nonce and the whole range."""
    head = BatchHead(RUN, attempt, source, seq0, n)
    assert wire.parse_batch_header(head.header()) == head
    assert head.msg_id("x") != head._replace(n=n + 1).msg_id("x")
    assert head.msg_id("x") != head.msg_id("y")


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"2 {RUN} 1 worker 1 1",
        f"1 {RUN} 1 worker 1",
        f"1 {RUN} 1 worker 1 1 1",
        "1 * 1 worker 1 1",
        f"1 {RUN} 0 worker 1 1",
        f"1 {RUN} 1 nobody 1 1",
        f"1 {RUN} 1 worker 0 1",
        f"1 {RUN} 1 worker 1 0",
        f"1 {RUN} 1 worker x 1",
        f"1 {RUN}  worker 1 1",
    ],
)
def test_bad_header(text: str) -> None:
    """A header that does not name a batch is refused."""
    with pytest.raises(BatchInvalid):
        wire.parse_batch_header(text)


def test_a_step_is_small() -> None:
    """A step without observation stays about 60 bytes, late in a long run too."""
    step = wire.Step(10**7, 3_600_000_000, 3, 9_999, 500, 1, 1.0, 0, b"12345678")
    assert len(wire.encode_record(step)) <= 60


@pytest.mark.parametrize("decode", [decode_batch, decode_record])
def test_deep_nesting_is_invalid(decode: Callable[[bytes], object]) -> None:
    """A payload made to exhaust the reader is refused as invalid by every decoder, not by a RecursionError."""
    record = b"\x9c\x01\x01\x00\x00\x00\x01" + b"\x91" * 100_000
    head = BatchHead("01J9ZC3QW7Q0Z5V8T6X4M2N1AB", 1, "worker", 1, 1)
    data = join_batch(head, 0, record) if decode is decode_batch else record
    with pytest.raises(BatchInvalid, match="deep"):
        decode(data)


@given(RECORDS)
def test_every_way_to_an_event_gives_the_same_dict(record: Record) -> None:
    """The short ways for steps and metrics give what the general one gives, keys in the same order."""
    batch = wire.Batch(1, RUN, 2, "worker", 1, T0_US, [record])
    general = wire._write_any(batch, record)
    for event in (wire.to_event(batch, record), *wire.to_events(batch, [record])):
        assert repr(event) == repr(general)
