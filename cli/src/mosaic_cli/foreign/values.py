"""Values of other programs as parameters, tags and names of a run here."""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from mosaic_contracts.spec import ParameterValue, Tag

_MAX_TAGS = 32
_MAX_NAME = 200
_MAX_NOTE = 16_384
_WORDS: dict[str, ParameterValue] = {"true": True, "false": False, "none": None, "null": None}
_tag: TypeAdapter[str] = TypeAdapter(Tag)


def parameter(value: object) -> ParameterValue:
    """A value as a parameter: numbers, texts and truth as they are, the rest as JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return json.dumps(value, default=str)


def parameter_of_text(text: str) -> ParameterValue:
    """A parameter that a program wrote as text: a number or a truth value where it reads like one."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return parameter(kind(text))
        except ValueError:
            continue
    return text


def flattened(values: Mapping[str, Any], above: str = "") -> dict[str, ParameterValue]:
    """Nested values with dots in their names."""
    found: dict[str, ParameterValue] = {}
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            found |= flattened(value, f"{above}{name}.")
        else:
            found[f"{above}{name}"] = parameter(value)
    return found


def table_parameters(text: str) -> dict[str, ParameterValue]:
    """Parameters of a Markdown table with the columns `param` and `value`, as CleanRL writes it; {}: it is none."""
    head, *rows = [line.strip() for line in text.strip().splitlines()] or [""]
    if head.replace(" ", "") != "|param|value|":
        return {}
    cells = [row.strip("|").split("|", 1) for row in rows[1:]]
    return {name.strip(): parameter_of_text(value.strip()) for name, value in cells_of_two(cells)}


def cells_of_two(rows: Iterable[list[str]]) -> list[tuple[str, str]]:
    """Rows that have two cells."""
    return [(row[0], row[1]) for row in rows if len(row) == 2]


def tags(words: Iterable[str]) -> list[str]:
    """The words that can be tags here, each once."""
    found = []
    for word in words:
        try:
            found.append(_tag.validate_python(word))
        except ValidationError:
            continue  # with a comma, or too long: it is in the run's config all the same
    return list(dict.fromkeys(found))[:_MAX_TAGS]


def name(text: str) -> str:
    """A name for a run: one line, not too long."""
    plain = " ".join(text.replace("\0", " ").split())
    return plain[:_MAX_NAME] or "imported"


def note(text: str) -> str:
    """A note of a run."""
    return text.replace("\0", " ")[:_MAX_NOTE]
