"""Terminal control sequences are removed whole, and nothing else of the text is."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic_contracts.terminal import strip_controls, strip_sequences

CORPUS = [
    # CSI
    ("\x1b[31mred\x1b[0m", "red"),
    ("\x1b[mreset", "reset"),
    ("\x1b[38;2;1;2;3mtrue\x1b[38:5:9mcolour", "truecolour"),
    ("\x1b[2K\x1b[1Aup\x1b[?25l\x1b[?25h", "up"),
    ("\x1b[!p\x1b[2 q\x1b[>4;1msoft", "soft"),
    ("a\x1b[31", "a"),
    ("a\x1b[", "a"),
    ("a\x1b[3é", "aé"),
    # OSC
    ("\x1b]0;title\x07x", "x"),
    ("\x1b]0;title\x1b\\x", "x"),
    ("\x1b]8;;http://h/\x1b\\link\x1b]8;;\x1b\\", "link"),
    ("\x1b]133;A\x07$ ", "$ "),
    ("kept \x1b]0;never ended", "kept "),
    ("kept \x1b]0;never ended\nnext line", "kept \nnext line"),
    ("\x1b]0;aborted\x1b[1mbold", "bold"),
    ("\x1b]0;aborted\x18rest", "rest"),
    ("\x1b]P0a1b2c3ink\x1b]R", "ink"),
    ("\x1b]52;c;aGk=\x9cx", "x"),
    # DCS, SOS, PM, APC, title of GNU screen
    ("\x1bPq#0;2;0;0;0~\x1b\\sixel", "sixel"),
    ("\x1bP+q544e never ended", ""),
    ("\x1bXsos\x1b\\a\x1b^pm\x1b\\b\x1b_Gi=1;AAAA\x1b\\c", "abc"),
    ("\x1bktitle\x1b\\x", "x"),
    ("\x1bkno end", "no end"),
    # character sets, saved cursor, keypad, reset
    ("\x1b(B\x1b[mtput sgr0", "tput sgr0"),
    ("\x1b)0\x1b*A\x1b%G\x1b#8\x1b Fx", "x"),
    ("\x1b7saved\x1b8", "saved"),
    ("\x1b=\x1b>\x1bc\x1bM\x1bE\x1bDx", "x"),
    ("cut\x1b", "cut"),
    ("cut\x1b(", "cut"),
    ("\x1b\x1b[31mtwice", "twice"),
    ("\x1bé", "é"),
    # C1, as UTF-8 terminals read them
    ("\x9b31mred\x9b0m", "red"),
    ("\x9d0;title\x07x\x9d0;title\x9cy", "xy"),
    ("\x90q\x9cx\x98s\x9cy\x9ep\x9cz\x9fa\x9c", "xyz"),
    ("\u00e2\x80\x9dquoted\u00e2\x80\x9d and more", "\u00e2quoted\u00e2 and more"),
    ("\x84\x85\x8d\x9cx", "x"),
    # single control characters
    ("bell\x07 null\x00 back\x08 shift\x0e\x0f delete\x7f", "bell null back shift delete"),
    ("tab\tand\nline", "tab\tand\nline"),
    ("\r\x0b\x0cx", "x"),
    # what only looks like one
    ("[31m no escape (B", "[31m no escape (B"),
    ("wide 漢字 🙂 é\u00a0\u200d", "wide 漢字 🙂 é\u00a0\u200d"),
    ("", ""),
]


@pytest.mark.parametrize(("text", "left"), CORPUS)
def test_a_sequence_is_removed_whole(text: str, left: str) -> None:
    """Each kind of sequence goes with its parameters, finished or not, and no letter around it does."""
    assert strip_controls(text) == left


@pytest.mark.parametrize(("text", "left"), [pair for pair in CORPUS if pair[1].isprintable()])
def test_bytes_lose_the_same_sequences(text: str, left: str) -> None:
    """Readers of data remove the same sequences from bytes; control characters alone stay."""
    raw = strip_sequences(text.encode())
    assert strip_controls(raw.decode()) == left
    assert b"\x1b" not in raw


def test_data_keeps_its_characters() -> None:
    """A control character or a broken byte within data is not a sequence."""
    for raw in (b'{"s": "\xc2\x85 \xff"}', b"\x07\xc2\xb0", b"\xc2", b"\x9b31m"):
        assert strip_sequences(raw) == raw


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("\x1b[31mred\x1b[0m\x1b[K", "\x1b[31mred\x1b[0m"),
        ("\x1b(B\x1b[m\x1b7x\x1b]0;t\x07", "\x1b[mx"),
        ("\x1b[38:5:9mc\x9b1m", "\x1b[38:5:9mc"),
        ("cut\x1b[3", "cut"),
    ],
)
def test_colours_can_stay(text: str, left: str) -> None:
    """A view that shows colours gets SGR sequences and nothing else."""
    assert strip_controls(text, keep_colours=True) == left


@given(st.text(alphabet="a[]P(;07m\\k\x07\x1b\x9b\x9c\x9d\x90\r\n\t漢", max_size=80))
def test_nothing_is_left_that_a_terminal_obeys(text: str) -> None:
    """Whatever is written, no control character is left, with or without colours."""
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", strip_controls(text))
    coloured = strip_controls(text, keep_colours=True)
    assert not re.search(r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]|\x1b(?!\[[0-9;:]*m)", coloured)
    assert "\x1b" not in strip_sequences(text.encode()).decode()


@given(st.text(alphabet="ab漢é \t\n", max_size=80))
def test_plain_text_is_not_changed(text: str) -> None:
    """Letters, tabs and line feeds stay as they are."""
    assert strip_controls(text) == text == strip_sequences(text.encode()).decode()


@pytest.mark.parametrize(
    "piece", ["\x1b", "\x1b]", "\x1b[1;", "\x9b1", "\x9d;", "\x1bk", "\x1b(", "\x90x\x1b"]
)
def test_time_grows_with_the_length_alone(piece: str) -> None:
    """No text makes the remover slow: a mebibyte of unfinished sequences takes less than two seconds."""
    began = time.process_time()
    strip_controls(piece * (2**20 // len(piece)))
    strip_sequences(piece.encode() * (2**20 // len(piece)))
    assert time.process_time() - began < 2
