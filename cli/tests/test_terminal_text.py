"""Output of workers made fit for a terminal."""

import pytest

from mosaic_cli.sparkline import sparkline
from mosaic_cli.terminal_text import MAX_LINE, LineCollector, clean_line

INF, NAN = float("inf"), float("nan")


def collect(*parts: str) -> list[str]:
    collector = LineCollector()
    return [line for part in parts for line in collector.feed(part)] + collector.finish()


@pytest.mark.parametrize(
    ("parts", "lines"),
    [
        (("a\nb\n",), ["a", "b"]),
        (("a", "b\nc"), ["ab", "c"]),
        (("10%\r20%\r", "100%\ndone\n"), ["100%", "done"]),
        (("windows\r\n",), ["windows"]),
        (("\x1b[32mgreen\x1b[0m \x1b]0;title\x07\x1b[2Kx\x07\n",), ["green x"]),
        (("\x1b(B\x1b[m\x1b7sgr0\x1b8\x1b]0;unfinished\n", "next\n"), ["sgr0", "next"]),
        (("cut\x1b[3", "1mred\x1b", "(Bplain\x1bPq", "~\x1b\\end\n"), ["cutredplainend"]),
        (("", "\n"), [""]),
    ],
)
def test_lines_are_as_on_a_screen(parts: tuple[str, ...], lines: list[str]) -> None:
    """Redrawn bars show their last state, control sequences are gone, pieces are joined."""
    assert collect(*parts) == lines


def test_a_bar_that_never_ends_its_line_stays_small() -> None:
    """A day of redraws is held in the space of one line, and its last state survives."""
    collector = LineCollector()
    for percent in range(2000):
        assert collector.feed(f"\r{percent:>100}") == []
    assert len(collector._raw) <= MAX_LINE + 200
    assert collector.finish() == [f"{1999:>100}"]


@pytest.mark.parametrize("more", [1, 1_000, 500_000])
def test_a_very_long_line_shows_beginning_count_and_end(more: int) -> None:
    """Nobody reads 64 KiB of one line; the mark says how much is left out, and the end follows it."""
    line = "<" + "x" * (MAX_LINE + more - 2) + ">"
    mark = f" … [{more:,} character{'' if more == 1 else 's'} left out] … "
    shown = "<" + "x" * (MAX_LINE * 3 // 4 - 1) + mark + "x" * (MAX_LINE // 4 - 1) + ">"
    assert clean_line(line) == shown
    assert collect(*(line[i : i + 10_000] for i in range(0, len(line), 10_000)), "\n") == [shown]


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ([0.0, 1.0], "▁█"),
        ([1.0, NAN, 2.0], "▁×█"),
        ([None, 5.0], "×▄"),
        ([INF, 0.0, -INF, 1.0], "█▁▁█"),
        ([3.0, 3.0], "▄▄"),
        ([NAN, NAN], "××"),
        ([], ""),
        ([-1e308, 1e308], "▁█"),
    ],
)
def test_a_sparkline_shows_what_is_not_a_number(values: list[float | None], line: str) -> None:
    """NaN has a mark of its own, infinities are at the edges, a constant is flat."""
    assert sparkline(values) == line
