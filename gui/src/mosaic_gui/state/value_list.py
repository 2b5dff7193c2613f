"""Several values in one field: `1-5`, `1e-4,1e-3`, `["adam", "sgd"]`. They are written as `./mosaic run` takes them."""

import json
import re

from mosaic_contracts.group_words import MAX_GROUP_RUNS
from mosaic_contracts.run_command import seeds_text
from mosaic_gui.state.form_field import FieldKind, FormField, Value
from mosaic_gui.state.language import grouped, tr
from mosaic_gui.state.number_entry import read_number, read_whole

_SHOWN = 6
"""Values of a list that are named next to the field."""
_RANGE = re.compile(r"(\d+)\s*[-\u2013]\s*(\d+)")
_SEPARATORS = re.compile(r"[,;]")


def read_values(field: FormField, text: str) -> list[Value]:
    """Parse a field that may have several values.

    Args:
        field: the field.
        text: what was typed.

    Returns:
        One value, or those of the list.

    Raises:
        ValueError: what is wrong and with which value, in words for the user.
    """
    parts = _parts(field, text.strip()) if field.many else None
    if parts is None:
        return [_one(field, text)]
    values: list[Value] = []
    for number, part in enumerate(parts, 1):
        for value in _values_of(field, part, number):
            if any(value == other and type(value) is type(other) for other in values):
                raise ValueError(tr("{value} is there twice", value=field.text(value)))
            values.append(value)
        if len(values) > MAX_GROUP_RUNS:
            raise ValueError(tr("at most {value}", value=grouped(MAX_GROUP_RUNS)))
    return values


def _one(field: FormField, text: str) -> Value:
    try:
        return field.parse(text)
    except ValueError:
        if field.ranges and text.strip() and not text.strip().lstrip("+-").isdecimal():
            raise ValueError(tr("must be a whole number, or several: 1-5 or 1,2,3")) from None
        raise


def is_list(field: FormField, text: str) -> bool:
    """Whether a text is written as a list, right or wrong."""
    try:
        return field.many and _parts(field, text.strip()) is not None
    except ValueError:
        return True


def list_reading(field: FormField, text: str) -> str:
    """The values of a list in a line; empty where the text is one value, or wrong."""
    try:
        values = read_values(field, text)
    except ValueError:
        return ""
    if len(values) < 2:
        return ""
    named = ", ".join(field.word(field.text(value)) or tr("none") for value in values[:_SHOWN])
    return f"{named}, …" if len(values) > _SHOWN else named


def list_of_choices(field: FormField) -> str:
    """All values that a field with few of them can have, as a list."""
    if field.kind is FieldKind.BOOLEAN:
        return ", ".join(("true", "false"))
    choices = [field.text(choice) for choice in field.choices if choice is not None]
    return ", ".join(choices)


def list_text(field: FormField, value: object) -> str:
    """A value, or a list of values, as the text of a field."""
    if not isinstance(value, list):
        return field.text(value)  # type: ignore[arg-type]
    if field.ranges:
        return seeds_text(value)
    if field.kind is FieldKind.TEXT:
        return json.dumps(value, ensure_ascii=False)
    return ", ".join(field.text(one) for one in value)


def one_or_list(field: FormField, text: str) -> str:
    """How to write the list that a text with commas was not read as; empty where that is clear."""
    if not field.many or "," not in text or field.kind is FieldKind.TEXT:
        return ""
    parts = [part.strip() for part in text.split(",")]
    if is_list(field, text) or not all(parts):
        return ""
    return ", ".join(parts)


def _parts(field: FormField, text: str) -> list[str] | None:
    """The values of a list as they are written; None: the text is one value."""
    if text.startswith("["):
        return _json_parts(field, text)
    if field.ranges:
        is_listed = _SEPARATORS.search(text) or _RANGE.fullmatch(text)
        return _SEPARATORS.split(text) if is_listed else None
    if field.kind is FieldKind.TEXT or _SEPARATORS.search(text) is None or _is_one(field, text):
        return None
    return text.split(";") if ";" in text else text.split(",")


def _is_one(field: FormField, text: str) -> bool:
    """Whether a text with separators is one value, e.g. `500,000` or `0,001`."""
    if field.kind is FieldKind.BOOLEAN or re.search(r",\s", text):
        return False  # `64, 128`: no number has a space behind its comma
    if field.kind is FieldKind.CHOICE:
        return text in map(field.text, field.choices)
    try:
        (read_whole if field.kind is FieldKind.INTEGER else read_number)(text)
    except ValueError:
        return False
    return True


def _json_parts(field: FormField, text: str) -> list[str] | None:
    try:
        found = json.loads(text)
    except ValueError:
        if field.kind is FieldKind.TEXT:
            return None
        raise ValueError(tr("must be a value, or a list such as {list}", list="[1, 2]")) from None
    if not isinstance(found, list) or not found:
        return None
    return [field.text(value) if _is_plain(value) else json.dumps(value) for value in found]


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _values_of(field: FormField, part: str, number: int) -> list[Value]:
    """One value of a list, or those of a range."""
    text = part.strip()
    if not text and not field.nullable:
        raise ValueError(tr("value {n} is missing", n=number))
    bounds = _RANGE.fullmatch(text) if field.ranges else None
    try:
        if bounds is None:
            return [_checked(field, text)]
        first, last = (field.parse(bounds[n]) for n in (1, 2))
    except ValueError as error:
        raise ValueError(
            tr("value {n}, {value}: {fault}", n=number, value=text, fault=error)
        ) from None
    if not isinstance(first, int) or not isinstance(last, int):
        raise TypeError(f"a range of {field.name}, which is no whole number")
    if last < first:
        raise ValueError(
            tr(
                "value {n}, {value}: counts backwards, write {right}",
                n=number,
                value=text,
                right=f"{last}-{first}",
            )
        )
    if last - first >= MAX_GROUP_RUNS:
        raise ValueError(tr("at most {value}", value=grouped(MAX_GROUP_RUNS)))
    return list(range(first, last + 1))


def _checked(field: FormField, text: str) -> Value:
    words = ("true", "yes", "1", "false", "no", "0")
    if field.kind is FieldKind.BOOLEAN and text.lower() not in words:
        raise ValueError(tr("must be true or false"))
    return field.parse(text)
