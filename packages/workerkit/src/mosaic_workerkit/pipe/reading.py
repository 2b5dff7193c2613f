"""What one printed line means: a JSON object, `key=value` pairs as CleanRL prints them, or just text."""

import json
import math
import re
from typing import Any

from mosaic_contracts.terminal import strip_sequences
from mosaic_workerkit.pipe.errors import LineRefused

Fields = dict[str, Any]

STEP_KEYS = ("global_step", "step")
"""Where a line says at which environment step it is."""

_PAIR = re.compile(r"([A-Za-z_][\w./-]*)=\[?([^\s,=\[\]]+?)\.?\]?(?=[,\s]|$)")
_BETWEEN = re.compile(r"[,\s]*")
_MAX_DIGITS = 400
"""Python refuses to read integers of more than 4,300 digits, and no float holds one of 310."""
_INT64 = range(-(2**63), 2**63)


class HugeNumber(str):
    """A number as it was written, because no 64-bit float holds it: 1e400 is not infinity."""

    __slots__ = ()


def read_line(raw: bytes) -> Fields | None:
    """The fields of a line, or None for text that is meant for people.

    Raises:
        LineRefused: it looks like a JSON object and is none.
    """
    text = strip_sequences(raw).strip()
    if text.startswith(b"{"):
        return _read_object(text)
    if b"step=" in text:
        return _read_pairs(text.decode(errors="replace"))
    return None


def number_of(value: Any) -> float | None:
    """A metric's value, or None when this is no number.

    Raises:
        LineRefused: a number that a 64-bit float cannot hold.
    """
    if isinstance(value, HugeNumber):
        raise LineRefused(
            "number_too_large", f"{value[:40]} is beyond a 64-bit float; print it scaled"
        )
    if isinstance(value, str):
        return _NON_FINITE.get(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return None


def step_of(fields: Fields) -> int | None:
    """The environment step that a line names; None when it names none.

    Raises:
        LineRefused: it is no whole number from 0 to 2**63 - 1.
    """
    for key in STEP_KEYS:
        if key in fields:
            value = fields[key]
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
                raise LineRefused(
                    "step_invalid",
                    f"{key} is {_short(value)}, not a whole number from 0 to 2**63-1",
                )
            return value
    return None


def storable(value: Any) -> Any:
    """A value as an event can hold it: integers beyond 64 bits and lone surrogates become text."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {storable(str(key)): storable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [storable(item) for item in value]
    if isinstance(value, int) and value not in _INT64:
        return str(value)
    return value


def _read_object(text: bytes) -> Fields | None:
    try:
        # Broken UTF-8 costs its own characters, not the line.
        found = _decode(text.decode(errors="replace"))
    except (ValueError, RecursionError) as error:
        if not text.startswith((b'{"', b"{'", b"{}")):
            return None  # text that happens to begin with a brace
        hint = " (Python's repr? use json.dumps)" if text.startswith(b"{'") else ""
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise LineRefused("json_invalid", f"not a JSON object{hint}: {why}") from error
    return found if isinstance(found, dict) else None


def _read_pairs(text: str) -> Fields | None:
    """All of the line is pairs, and one is the step; otherwise it is a sentence with an equals sign in it."""
    fields: Fields = {}
    at = 0
    for match in _PAIR.finditer(text):
        if not _BETWEEN.fullmatch(text, at, match.start()):
            return None
        at = match.end()
        fields[match[1]] = _read_word(match[2])
    if not _BETWEEN.fullmatch(text, at) or not any(key in fields for key in STEP_KEYS):
        return None
    return fields


def _read_word(word: str) -> Any:
    try:
        return _decode(word)
    except ValueError:
        return _NON_FINITE_WORDS.get(word.lower(), word)


def _integer(text: str) -> int | HugeNumber:
    if len(text) > _MAX_DIGITS:
        return HugeNumber(text)
    value = int(text)
    try:
        float(value)
    except OverflowError:
        return HugeNumber(text)
    return value


def _float(text: str) -> float | HugeNumber:
    value = float(text)
    return value if math.isfinite(value) else HugeNumber(text)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""As every JSON output of MOSAIC writes them; as bare words Python's json reads and writes them too."""
_NON_FINITE_WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_decode = json.JSONDecoder(parse_float=_float, parse_int=_integer).decode
