"""Removal of terminal control sequences from text that other programs or people wrote.

This is the only remover in MOSAIC. Services, the command line and the window all call it, so that a log line reads
the same everywhere and no name or note can act on a reader's terminal.

The grammar is ECMA-48 (5th edition, 1991) as UTF-8 terminals read it, with three forms of the field: titles of GNU
screen (`ESC k`), palettes of the Linux console (`ESC ] P`) and strings that were never ended.
"""

import re

_STRING = r"[^\x07\x18\x1a\x1b\x9c\r\n]*"
"""Content of a control string. A line end closes it here, or one lost terminator would hide the rest of a log."""
_END = r"(?:\x07|\x1b\\|\x9c)"
_COLOUR = r"\[[0-9;:]*m"
_ESCAPED = (
    r"\[[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor, erasing; also one that was cut short
    r"|\](?:P[0-9A-Fa-f]{7}|R)"  # palette of the Linux console, which has no terminator
    rf"|[\]PX^_]{_STRING}{_END}?"  # OSC, DCS, SOS, PM, APC
    rf"|k{_STRING}(?:\x1b\\|\x9c)"  # title of GNU screen
    r"|[ -/]+[0-~]?"  # character sets and the like: ESC ( B
    r"|[0-Z\\^-~]?"  # two characters: ESC 7, ESC 8, ESC c; also ESC alone at the end of a chunk
)
_C1 = (
    r"\x9b[0-?]*[ -/]*[@-~]"
    # Wrongly decoded text is full of these characters, so an introducer without an end hides nothing.
    r"|[\x90\x98\x9d-\x9f][^\x07\x18\x1a\x1b\x80-\x9f\r\n]*(?:\x07|\x1b\\|\x9c)"
)
_SEQUENCE = re.compile(rf"\x1b(?:{_ESCAPED})|{_C1}")
_CONTROL = re.compile(rf"\x1b(?:{_ESCAPED})|{_C1}|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_CONTROL_BUT_COLOUR = re.compile(
    rf"\x1b(?!{_COLOUR})(?:{_ESCAPED})|{_C1}|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]"
)


def strip_controls(text: str, *, keep_colours: bool = False) -> str:
    r"""Return `text` without control sequences and control characters; tabs and line feeds stay.

    Sequences that were cut short are removed as far as they go. Call it on whole lines: a sequence that is cut
    between two calls leaves its second half in the second text.

    Args:
        text: What a program printed, or a name, tag or note that a person wrote.
        keep_colours: Leave SGR sequences (`ESC [ ... m`) in place, for a view that shows colours.

    Example:
        >>> strip_controls("\x1b[31mred\x1b(B\x1b[m text")
        'red text'
    """
    if text.isprintable():
        return text
    return (_CONTROL_BUT_COLOUR if keep_colours else _CONTROL).sub("", text)


def strip_sequences(raw: bytes) -> bytes:
    """Return `raw`, mostly UTF-8, without control sequences. Single control characters and broken bytes stay.

    For readers of data: a JSON string may hold control characters, but no program means a colour as data.
    """
    if b"\x1b" not in raw and b"\xc2" not in raw:
        return raw
    text = raw.decode("utf-8", "surrogateescape")
    return _SEQUENCE.sub("", text).encode("utf-8", "surrogateescape")


def split_unfinished(text: str) -> tuple[str, str]:
    """Split off a sequence at the end of `text` that may go on in the next piece of output.

    Returns:
        The part that is fit for `strip_controls`, and the start of the sequence ("" without one). Content of an
        unfinished sequence is left out where it is long, so that the second part stays below 5,000 characters.
    """
    found = _UNFINISHED.search(text)
    if found is None:
        return text, ""
    cut = found[0]
    if len(cut) <= _SHORT:
        return text[: found.start()], cut
    if cut[1] == "k" or cut[0] != "\x1b":
        # Without its end this is no sequence, so its content must not be lost.
        return (text[: found.start()], cut) if len(cut) <= _MOST_UNDECIDED else (text, "")
    return text[: found.start()], cut[:2] + ("\x1b" if cut.endswith("\x1b") else "")


_UNFINISHED = re.compile(
    rf"(?:\x1b(?:\[[0-?]*[ -/]*|[\]PX^_k]{_STRING}\x1b?|[ -/]*)"
    r"|\x9b[0-?]*[ -/]*|[\x90\x98\x9d-\x9f][^\x07\x18\x1a\x1b\x80-\x9f\r\n]*\x1b?)\Z"
)
_SHORT = 64
_MOST_UNDECIDED = 4_096
