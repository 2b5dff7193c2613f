"""Pieces of output become the lines that a terminal would show, whatever their length and wherever they are cut."""

import tracemalloc
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic_contracts import output_lines
from mosaic_contracts.output_lines import OutputLines, shorten

MOST = 100


def collect(*parts: str, keep_colours: bool = False) -> list[str]:
    lines = OutputLines(MOST, keep_colours=keep_colours)
    return [line for part in parts for line in lines.feed(part)] + lines.finish()


@pytest.mark.parametrize(
    ("parts", "lines"),
    [
        (("a\nb\n",), ["a", "b"]),
        (("a", "b\nc"), ["ab", "c"]),
        (("10%\r20%\r", "100%\ndone\n"), ["100%", "done"]),
        (("10%\r\r\r",), ["10%"]),
        (("windows\r", "\nends\r\n"), ["windows", "ends"]),
        (("\r\n", "\n"), ["", ""]),
        (("cut\x1b[3", "1mred\x1b", "(Bplain\x1bPq", "~\x1b\\end\n"), ["cutredplainend"]),
        ((), []),
    ],
)
def test_lines_are_as_on_a_screen(parts: tuple[str, ...], lines: list[str]) -> None:
    """Redrawn lines show their last state, sequences are removed across pieces, pieces are joined."""
    assert collect(*parts) == lines


@pytest.mark.parametrize("length", [101, 65_536, 65_537, 70_000, 200_000, 1_000_000])
@pytest.mark.parametrize("piece", [1_000, 65_536, 10**7])
def test_a_long_line_shows_beginning_count_and_end(length: int, piece: int) -> None:
    """The number of characters left out is exact, however the line arrives."""
    line = "<" + "x" * (length - 2) + ">"
    text = f"before\n{line}\nafter\n"
    shown = collect(*(text[i : i + piece] for i in range(0, len(text), piece)))
    middle = f" … [{length - MOST:,} character{'' if length == 101 else 's'} left out] … "
    assert shown == ["before", "<" + "x" * 74 + middle + "x" * 24 + ">", "after"]


def test_a_line_of_the_greatest_length_is_whole() -> None:
    """Nothing is left out of a line that fits, and sequences do not count."""
    line = "\x1b[31m" + "x" * MOST + "\x1b[0m"
    assert collect(line) == ["x" * MOST]
    assert collect(line, keep_colours=True) == [line]
    assert collect("\x1b[1m" * 40_000 + "word\n") == ["word"]


def test_a_redraw_replaces_a_long_line() -> None:
    """After a carriage return the line begins again, also when its first drawing was longer than the memory for it."""
    assert collect("x" * 200_000, "\r", "short") == ["short"]
    assert collect("x" * 200_000 + "\r", "\nnext") == [shorten("x" * 200_000, MOST), "next"]


@pytest.mark.parametrize(
    "introducer", ["\x1b]52;c;", "\x1bPq", "\x1b_G", "\x1bktitle", "\x1b[1", "\x1b "]
)
def test_a_sequence_longer_than_the_memory_is_removed(introducer: str) -> None:
    """A picture of a mebibyte within a line leaves no letters and does not fill the memory."""
    lines = OutputLines(MOST)
    tracemalloc.start()
    lines.feed("a" + introducer)
    filler = " " if introducer == "\x1b " else "0"
    for _ in range(100):
        lines.feed(filler * 10_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    shown = lines.feed("\x1b\\b\n")
    if introducer == "\x1bktitle":  # a title that long is none
        assert shown[0].startswith("atitle000")
    else:
        assert shown == ["ab"]
    assert peak < 2**20


@given(st.text(alphabet="ab\r\n\x1b[0m(B7]\x07\\漢", max_size=60), st.integers(0, 60))
def test_it_may_be_cut_anywhere(text: str, cut: int) -> None:
    """Two pieces give the lines that the whole gives, wherever the cut is."""
    assert collect(text[:cut], text[cut:]) == collect(text)


@given(
    st.lists(st.text(alphabet="ab\r\x1b[0m]\x07\\k\x9b", max_size=40), max_size=30),
    st.integers(1, 50),
)
def test_a_small_memory_changes_nothing_that_is_shown(pieces: list[str], memory: int) -> None:
    """A line that is stripped piece by piece reads as one that is stripped whole."""
    text = "".join(pieces)
    whole = collect(text)
    with patch.object(output_lines, "_MOST_RAW", memory):
        assert collect(*pieces) == whole
