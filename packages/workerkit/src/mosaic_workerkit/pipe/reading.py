"""What one printed line means: JSON objects, `key=value` pairs as CleanRL prints them, or just text."""

import json
import math
import re
from contextlib import suppress
from typing import Any

import msgspec

from mosaic_contracts.terminal import strip_sequences
from mosaic_contracts.wire import INTEGER_LIMIT
from mosaic_workerkit.pipe.errors import LineRefused
from mosaic_workerkit.pipe.number import HugeNumber as HugeNumber
from mosaic_workerkit.pipe.number import finite, integer
from mosaic_workerkit.pipe.pairs import read_pairs

Fields = dict[str, Any]

STEP_KEYS = ("global_step", "step", "time/total_timesteps")
"""Keys that give the environment step of a line. The last one is Stable-Baselines3's."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""What some programs write in front of UTF-8 text."""
_STEP_PAIR = re.compile(rb"step\s*[=:]")
_LONG_DIGITS = re.compile(rb"\d{19}")
_INT64 = range(-(2**63), 2**63)


def plain_text(raw: bytes) -> bytes:
    """A line without colours, a byte order mark and surrounding space."""
    return strip_sequences(raw).strip().removeprefix(BYTE_ORDER_MARK).lstrip()


def read_line(raw: bytes) -> Fields | None:
    """Return the fields of a line, or None for text that is meant for people.

    Raises:
        LineRefused: it looks like a JSON object or like pairs with a step, and is none.
    """
    objects, error = read_objects(raw)
    if error is not None:
        raise error
    return objects[0] if objects else None


def read_objects(raw: bytes) -> tuple[list[Fields], LineRefused | None]:
    """Return the fields of each complete object on a line, and why the rest was refused.

    Several processes that write to one pipe leave lines with more than one object.
    """
    text = plain_text(raw)
    if text.startswith(b"{"):
        return _read_objects(text)
    if may_be_pairs(text):
        try:
            fields = read_pairs(text.decode(errors="replace"), STEP_KEYS)
        except LineRefused as error:
            return [], _nul_refusal(text) or error
        return ([fields] if fields else []), None if fields else _nul_refusal(text)
    return [], _nul_refusal(text)


def may_be_pairs(text: bytes) -> bool:
    """Return whether the line names a step in front of a value."""
    return b"step" in text and _STEP_PAIR.search(text) is not None


def outer_fields(beginning: bytes, end: bytes = b"") -> Fields:
    """Return the plain fields at both ends of an object that is too long or broken to be read."""
    text = beginning.removeprefix(BYTE_ORDER_MARK).decode(errors="replace").lstrip()
    pairs = _pairs_from(text, 1) if text.startswith("{") else []
    rest = end.decode(errors="replace")
    cut = max(rest.rfind(bracket, 0, rest.rfind("}")) for bracket in "]}")
    if cut >= 0:
        pairs += _pairs_from(rest, cut + 1)
    fields: Fields = {}
    for pair in pairs:
        with suppress(ValueError):
            fields |= _scan(f"{{{pair}}}")[0]
    return fields


def _pairs_from(text: str, at: int) -> list[str]:
    pairs = []
    while pair := _PLAIN_PAIR.match(text, at):
        pairs.append(pair[1])
        at = pair.end()
    return pairs


def number_of(value: Any) -> float | None:
    """Return a metric's value, or None if this is no number.

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
    """Return the environment step of a line, or None if it names none.

    Raises:
        LineRefused: it is no whole number from 0 to 2**62 - 1.
    """
    for key in STEP_KEYS:
        if key in fields:
            value = fields[key]
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if (
                isinstance(value, bool)
                or not isinstance(value, int)
                or not 0 <= value < INTEGER_LIMIT
            ):
                raise LineRefused(
                    "step_invalid",
                    f"{key} is {_short(value)}, not a whole number from 0 to 2**62-1",
                )
            return value
    return None


def storable(value: Any) -> Any:
    """Return a value that an event can hold: integers beyond 64 bits and lone surrogates become text."""
    if type(value) is float or value is None:
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {storable(str(key)): storable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [item if type(item) is float else storable(item) for item in value]
    if isinstance(value, int) and value not in _INT64:
        return str(value)
    return value


def has_long_number(text: bytes) -> bool:
    """Return whether a number may need more than 64 bits."""
    return _LONG_DIGITS.search(text) is not None


def read_plain_object(text: bytes) -> Fields | None:
    """Return the fields of a line that is one object without NaN; None for any other line."""
    try:
        return _decode_fast(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None


def _read_objects(text: bytes) -> tuple[list[Fields], LineRefused | None]:
    fields = None if has_long_number(text) else read_plain_object(text)
    return ([fields], None) if fields is not None else scan_objects(text)


def scan_objects(text: bytes) -> tuple[list[Fields], LineRefused | None]:
    # Broken UTF-8 costs its own characters, not the line.
    whole = text.decode(errors="replace")
    objects: list[Fields] = []
    at = 0
    try:
        while at < len(whole) and whole[at] == "{":
            found, end = _scan(whole, at)
            objects.append(found)
            at = _SPACE.match(whole, end).end()  # type: ignore[union-attr] # it matches nothing, too
        if at < len(whole):
            raise ValueError(f"more text after the object at character {at}")
    except (ValueError, RecursionError) as error:
        is_cut = at > 0 and whole[at] == "{"
        return (objects if is_cut else []), _refusal(text, error)
    return objects, None


def _refusal(text: bytes, error: Exception) -> LineRefused | None:
    if not text.startswith((b'{"', b"{'", b"{}")):
        return _nul_refusal(text)  # or text that happens to begin with a brace
    hint = " (Python's repr? use json.dumps)" if text.startswith(b"{'") else ""
    why = "nested too deeply" if isinstance(error, RecursionError) else str(error)
    refused = LineRefused("json_invalid", f"not a JSON object{hint}: {why}")
    refused.__cause__ = error
    return refused


def _nul_refusal(text: bytes) -> LineRefused | None:
    """Why a line is not read that would be an object or pairs without its NUL bytes, as UTF-16 has them."""
    if b"\0" not in text:
        return None
    meant = text.lstrip(b"\xff\xfe\0").replace(b"\0", b"")
    if not meant.startswith((b'{"', b"{'", b"{}")) and not may_be_pairs(meant):
        return None
    return LineRefused("nul_bytes", "the line contains NUL bytes (UTF-16?); print UTF-8 text")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""As every JSON output of MOSAIC writes them; as bare words Python's json reads and writes them too."""
_PLAIN_PAIR = re.compile(
    r'[\s,]*("(?:[^"\\]|\\.)*"\s*:\s*(?:"(?:[^"\\]|\\.)*"|true|false|null|-?\d[\d.eE+-]*))(?=\s*[,}])'
)
_SPACE = re.compile(r"\s*")
_scan = json.JSONDecoder(parse_float=finite, parse_int=integer).raw_decode
_decode_fast = msgspec.json.Decoder(dict[str, Any]).decode
