import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic_gui.state import log_text
from mosaic_gui.state.log_text import LogText


def shown(text: str) -> list[str]:
    """Lines after one piece."""
    log = LogText()
    log.feed(text)
    return log.lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a\nb\n", ["a", "b"]),
        ("a\nb", ["a", "b"]),
        ("10%\r50%\r100%\ndone\n", ["100%", "done"]),
        ("10%\r50%\r", ["50%"]),
        ("windows\r\n", ["windows"]),
        ("\x1b[31mred\x1b[0m \x1b]0;title\x07x\n", ["red x"]),
        ("\x1b(B\x1b[m\x1b7sgr0\x1b8\x1b]0;unfinished\nnext\n", ["sgr0", "next"]),
        ("\x1bPq~\x1b\\dcs \x9b31mc1\n", ["dcs c1"]),
        ("cut \x1b[3", ["cut "]),
        ("tab\tend\n", ["tab end"]),
        ("bell\x07 null\x00\n", ["bell null"]),
        ("wide 漢字 🙂 é\n", ["wide 漢字 🙂 é"]),
    ],
)
def test_it_is_shown_as_a_terminal_would(text: str, lines: list[str]) -> None:
    """Progress bars are one line, colours are left out, wide characters stay."""
    assert shown(text) == lines


@given(st.text(alphabet="ab\r\n\x1b[0m(B7]\x07\\漢", max_size=60), st.integers(0, 60))
def test_it_may_be_cut_anywhere(text: str, cut: int) -> None:
    """Two pieces give the lines that the whole gives, wherever the cut is."""
    log = LogText()
    log.feed(text[:cut])
    log.feed(text[cut:])
    finished = len(text.split("\n")) - 1
    assert log.lines[:finished] == shown(text)[:finished]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Old lines go, a line of megabytes is cut with a mark, and a bar without a line end stays small."""
    monkeypatch.setattr(log_text, "MOST_COLUMNS", 10)
    log = LogText()
    log.feed("".join(f"{i}\n" for i in range(log_text.MOST_LINES + 50)))
    assert len(log.lines) == log_text.MOST_LINES
    assert log.lines[0] == "50"
    assert log.total == log_text.MOST_LINES + 50
    log.feed("x" * 25 + "\n")
    assert log.lines[-1] == "xxxxxxxx … (15 characters left out) … xx"
    for _ in range(50):
        log.feed("y" * 5_000)
    assert len(log._output._raw) <= 65_536
    assert log.unfinished == "yyyyyyyy … (249,990 characters left out) … yy"


def test_a_view_asks_for_what_is_new() -> None:
    """Only lines that were finished since are handed over."""
    log = LogText()
    log.feed("a\nb\nc")
    before = log.total
    log.feed("c\nd\n")
    assert log.finished_from(before) == ["cc", "d"]
    assert log.unfinished == ""
