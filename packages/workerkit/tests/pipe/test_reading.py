"""What a line means."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic_workerkit.pipe.errors import LineRefused
from mosaic_workerkit.pipe.lines import LineSplitter, OutputLine
from mosaic_workerkit.pipe.reading import (
    HugeNumber,
    number_of,
    outer_fields,
    read_line,
    read_objects,
    scan_objects,
    step_of,
    storable,
)


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (b'{"global_step": 5, "loss": 0.5}', {"global_step": 5, "loss": 0.5}),
        (
            b"global_step=1234, episodic_return=[45.]",
            {"global_step": 1234, "episodic_return": 45},
        ),
        (b"global_step=7, episodic_return=-12.5", {"global_step": 7, "episodic_return": -12.5}),
        (b"step=3 loss=1e-4 lr=nan", {"step": 3, "loss": 1e-4, "lr": math.nan}),
        (b"\x1b[32mglobal_step=1\x1b[0m, a=2", {"global_step": 1, "a": 2}),
        (b'\x1b]0;title\x07{"a": 1}', {"a": 1}),
        (b"\x1b(B\x1b[mglobal_step=1, a=2\x1b7", {"global_step": 1, "a": 2}),
        (b'\x1bPq~\x1b\\{"a": 1}\x1b]0;unfinished', {"a": 1}),
        (b'{"s": "\xff"}', {"s": "\ufffd"}),
        (b"we did step=4 of it", None),
        (b"lr=0.1", None),
        (b"SPS: 1200", None),
        (b"{not json at all}", None),
        (b"[1, 2]", None),
        (b"  7%|#     | 7/100 [00:01<00:10, 9.1it/s]", None),
    ],
)
def test_a_line_is_an_object_pairs_or_text(line: bytes, fields: dict[str, object] | None) -> None:
    """JSON objects and lines made of pairs with a step are read; everything else is for people."""
    assert repr(read_line(line)) == repr(fields)


@pytest.mark.parametrize("line", [b'{"a": 1', b"{'a': 1}", b'{"a":' + b"[" * 100_000 + b"}"])
def test_a_broken_object_is_refused(line: bytes) -> None:
    """A line that was meant as JSON and is not JSON is reported, also when it would exhaust the stack."""
    with pytest.raises(LineRefused) as refused:
        read_line(line)
    assert refused.value.reason == "json_invalid"


@pytest.mark.parametrize(
    ("line", "objects", "is_refused"),
    [
        (b'{"a": 1}{"b": 2}', [{"a": 1}, {"b": 2}], False),
        (b'{"a": 1} {"b": NaN}\t{"c": 3}', [{"a": 1}, {"b": math.nan}, {"c": 3}], False),
        (b'{"a": 1}{"b": ', [{"a": 1}], True),
        (b'{"a": 1} and more', [], True),
        (b'{"a": 1}[2]', [], True),
    ],
)
def test_objects_that_share_a_line(
    line: bytes, objects: list[dict[str, object]], is_refused: bool
) -> None:
    """Whole objects that several processes printed onto one line are all read; what is cut off is refused."""
    found, error = read_objects(line)
    assert repr(found) == repr(objects)
    assert (error is not None) is is_refused


_scalars = st.one_of(
    *(st.integers(), st.integers(-(2**63), 2**64), st.floats(), st.booleans(), st.none()),
    *(st.text(max_size=5), st.lists(st.integers() | st.floats(), max_size=2)),
)


@given(
    st.dictionaries(st.text(max_size=5), _scalars, max_size=4), st.sampled_from(["", "{}", " x"])
)
def test_a_line_has_the_same_meaning_however_fast_it_is_read(
    fields: dict[str, object], end: str
) -> None:
    """The fast decoder finds what Python's own finds, type by type, or leaves the line to it."""
    line = (json.dumps(fields) + end).encode()
    assert repr(read_objects(line)[0]) == repr(scan_objects(line)[0])


@pytest.mark.parametrize(
    ("beginning", "end", "fields"),
    [
        (b'{"type": "step", "env": 1, "observation": [1, 2', b'3], "step": 5}', {"type": "step", "env": 1, "step": 5}),
        (b'{"observation": [1', b'2]], "step": 5, "type": "step"}\n', {"step": 5, "type": "step"}),
        (b'{"type": "step", "action": {"a": 1}, "reward": 2', b"", {"type": "step"}),
        (b'{"s": "a\\"}", "n": 1e400, "b": tru', b"", {"s": 'a"}', "n": "1e400"}),
        (b'\xef\xbb\xbf{"type": "step", "a": [1', b"", {"type": "step"}),
        (b"yyyy", b"yy", {}),
    ],
)  # fmt: skip
def test_what_is_known_of_an_object_that_is_not_read(
    beginning: bytes, end: bytes, fields: dict[str, object]
) -> None:
    """Plain fields at both ends of a line are found although the line is too long or broken."""
    assert outer_fields(beginning, end) == fields


def test_numbers() -> None:
    """No number changes its value: what a float cannot hold is refused, not made infinite."""
    fields = read_line(
        b'{"a": NaN, "b": -Infinity, "c": 9223372036854775808, "d": 1e400, "e": 1'
        + b"0" * 5000
        + b"}"
    )
    assert fields is not None
    assert math.isnan(number_of(fields["a"]) or 0)
    assert number_of(fields["b"]) == -math.inf
    assert number_of(fields["c"]) == 2.0**63
    for key in "de":
        assert isinstance(fields[key], HugeNumber)
        with pytest.raises(LineRefused, match="64-bit float"):
            number_of(fields[key])
    assert number_of("Infinity") == math.inf
    assert number_of("fast") is None
    assert number_of(True) is None


@pytest.mark.parametrize("step", [-1, 2**62, 1.5, math.nan, "7", True, None])
def test_a_wrong_step_is_refused(step: object) -> None:
    """A step is a whole number that fits 63 bits."""
    with pytest.raises(LineRefused) as refused:
        step_of({"global_step": step})
    assert refused.value.reason == "step_invalid"


def test_what_an_event_cannot_hold_becomes_text() -> None:
    """Integers beyond 64 bits and half characters are kept as text."""
    assert storable({"n": 2**64, "s": "\ud800", "l": [-(2**63), {"x": 2**63}]}) == {
        "n": str(2**64),
        "s": "\ufffd\ufffd\ufffd",
        "l": [-(2**63), {"x": str(2**63)}],
    }


def test_lines_are_cut_wherever_chunks_end() -> None:
    """The same bytes give the same lines, however they come; CR, LF and CR LF end one."""
    data = b"one\r\ntwo\rthree\n\n" + b"x" * 30 + b"\nend"
    expected = [
        OutputLine(b"one", 3),
        OutputLine(b"two", 3),
        OutputLine(b"three", 5),
        OutputLine(b"x" * 30, 30),
        OutputLine(b"end", 3),
    ]
    for size in range(1, len(data)):
        splitter = LineSplitter()
        lines = [
            line for at in range(0, len(data), size) for line in splitter.feed(data[at : at + size])
        ]
        assert lines + splitter.finish() == expected


def test_a_long_line_costs_bounded_memory() -> None:
    """The size and the beginning of a line above the limit are kept, and the next line is whole."""
    splitter = LineSplitter(limit_bytes=1000)
    for _ in range(100):
        assert splitter.feed(b"y" * 4096) == []
        assert sum(map(len, splitter._parts)) <= 1001
    long, after = splitter.feed(b"\nafter\n")
    assert long == OutputLine(b"y" * 200, 409_600)
    assert not long.is_whole
    assert after == OutputLine(b"after", 5)


def test_the_ends_of_a_long_object_are_kept() -> None:
    """Both ends of a long line that begins like an object are kept, wherever chunks end."""
    line = b'{"type": "step", "x": [' + b"1," * 5000 + b'1], "step": 7}'
    for size in (1, 7, 1000, 4096, len(line)):
        splitter = LineSplitter(limit_bytes=1000)
        for at in range(0, len(line), size):
            assert splitter.feed(line[at : at + size]) == []
        (long,) = splitter.finish()
        assert line.startswith(long.ends[0])
        assert line.endswith(long.ends[1])
        assert outer_fields(*long.ends) == {"type": "step", "step": 7}
