"""Colours of programs: which stretch has which, and that nothing else of the text is touched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic_gui.state.ansi import PLAIN, Style, plain, stretches


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        ("plain", [("plain", PLAIN)]),
        ("", []),
        ("a\x1b[31mred\x1b[0mb", [("a", PLAIN), ("red", Style(ink="red")), ("b", PLAIN)]),
        ("\x1b[1;92mok", [("ok", Style(ink="green", bold=True))]),
        ("\x1b[1mb\x1b[22;3mi", [("b", Style(bold=True)), ("i", Style(italic=True))]),
        ("\x1b[41mx\x1b[49my", [("x", Style(ground="red")), ("y", PLAIN)]),
        ("\x1b[38;5;196mx", [("x", Style(ink="#ff0000"))]),
        ("\x1b[38;5;244mx", [("x", Style(ink="#808080"))]),
        ("\x1b[38;2;1;2;300mx", [("x", Style(ink="#0102ff"))]),
        ("\x1b[38;5mx", [("x", PLAIN)]),
        ("\x1b[mx\x1b[999my", [("x", PLAIN), ("y", PLAIN)]),
    ],
)
def test_each_stretch_has_its_style(line: str, reported: list[tuple[str, Style]]) -> None:
    """Eight colours, bright ones, 256 and all; what is cut or unknown changes nothing."""
    assert stretches(line) == reported


@given(st.lists(st.sampled_from(["x", "\x1b[31m", "\x1b[0m", "\x1b[38;5;", "m", "漢", ";"])))
def test_no_letter_is_lost(parts: list[str]) -> None:
    """With and without colours the text is the same, whatever a program writes."""
    line = "".join(parts)
    assert "".join(text for text, _ in stretches(line)) == plain(line)
