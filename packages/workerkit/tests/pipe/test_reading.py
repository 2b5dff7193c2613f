"""What a line means."""

import math

import pytest

from mosaic_workerkit.pipe.errors import LineRefused
from mosaic_workerkit.pipe.lines import Line, LineSplitter
from mosaic_workerkit.pipe.reading import HugeNumber, number_of, read_line, step_of, storable


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
    """What was meant as JSON and is none is told, also when it would exhaust the stack."""
    with pytest.raises(LineRefused) as refused:
        read_line(line)
    assert refused.value.reason == "json_invalid"


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


@pytest.mark.parametrize("step", [-1, 2**63, 1.5, math.nan, "7", True, None])
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
        Line(b"one", 3),
        Line(b"two", 3),
        Line(b"three", 5),
        Line(b"x" * 30, 30),
        Line(b"end", 3),
    ]
    for size in range(1, len(data)):
        splitter = LineSplitter()
        lines = [
            line for at in range(0, len(data), size) for line in splitter.feed(data[at : at + size])
        ]
        assert lines + splitter.finish() == expected


def test_a_long_line_costs_bounded_memory() -> None:
    """Of a line above the limit the size and the beginning are kept, and the next line is whole."""
    splitter = LineSplitter(limit_bytes=1000)
    for _ in range(100):
        assert splitter.feed(b"y" * 4096) == []
        assert sum(map(len, splitter._parts)) <= 1001
    long, after = splitter.feed(b"\nafter\n")
    assert long == Line(b"y" * 200, 409_600)
    assert not long.is_whole
    assert after == Line(b"after", 5)
