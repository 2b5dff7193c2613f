"""A worker's JSON Schema as fields of a form: kinds, groups, defaults, bounds, and what is wrong with an input."""

import math
import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Value = bool | int | float | str | None


class FieldKind(StrEnum):
    """How a value is given."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    NUMBER = "number"
    TEXT = "text"
    CHOICE = "choice"


@dataclass(frozen=True)
class FormField:
    """One argument."""

    name: str
    label: str
    kind: FieldKind
    default: Value = None
    help: str = ""
    group: str = ""
    unit: str = ""
    flag: str = ""
    placeholder: str = ""
    """Shown in it while it is empty."""
    nullable: bool = False
    """It may be left empty."""
    required: bool = False
    choices: tuple[Value, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    """Exclusive lower bound."""
    below: float | None = None
    """Exclusive upper bound."""
    pattern: str = ""

    @property
    def bounds(self) -> str:
        """The range in words, e.g. `0 to 1`, `above 0`."""
        low, high = self.minimum, self.maximum
        if low is not None and high is not None:
            return f"{low:g} to {high:g}"
        words = []
        for value, word in (
            (low, "at least"),
            (self.above, "above"),
            (high, "at most"),
            (self.below, "below"),
        ):
            if value is not None:
                words.append(f"{word} {value:g}")
        return ", ".join(words)

    def text(self, value: Value) -> str:
        """A value as it stands in the field."""
        if value is None:
            return ""
        if isinstance(value, float):
            return repr(value).removesuffix(".0")
        return str(value)

    def parse(self, text: str) -> Value:
        """The value that was typed.

        Raises:
            ValueError: what is wrong with it, in words for the user.
        """
        text = text.strip()
        if not text and self.kind is not FieldKind.TEXT:
            if self.nullable:
                return None
            raise ValueError("a value is needed")
        match self.kind:
            case FieldKind.INTEGER:
                return self._bounded(_integer(text))
            case FieldKind.NUMBER:
                return self._bounded(_number(text))
            case FieldKind.BOOLEAN:
                return text.lower() in ("true", "yes", "1")
            case FieldKind.CHOICE:
                return self._choice(text)
        if not text and self.nullable:
            return None
        if self.pattern and not re.search(self.pattern, text):
            raise ValueError(f"must match {self.pattern}")
        return text

    def _choice(self, text: str) -> Value:
        for choice in self.choices:
            if self.text(choice) == text:
                return choice
        raise ValueError(f"one of {', '.join(self.text(c) for c in self.choices)}")

    def _bounded(self, value: int | float) -> int | float:
        if self.minimum is not None and value < self.minimum:
            raise ValueError(f"at least {self.minimum:g}")
        if self.maximum is not None and value > self.maximum:
            raise ValueError(f"at most {self.maximum:g}")
        if self.above is not None and value <= self.above:
            raise ValueError(f"must be above {self.above:g}")
        if self.below is not None and value >= self.below:
            raise ValueError(f"must be below {self.below:g}")
        return value


@dataclass(frozen=True)
class FormGroup:
    """Fields that belong together."""

    name: str
    fields: tuple[FormField, ...]

    @property
    def title(self) -> str:
        return self.name.replace("_", " ").capitalize() if self.name else "Arguments"


@dataclass
class Inputs:
    """What was typed so far: texts by field; what is absent has its default."""

    groups: tuple[FormGroup, ...] = ()
    texts: dict[str, str] = field(default_factory=dict)

    @property
    def fields(self) -> dict[str, FormField]:
        return {f.name: f for group in self.groups for f in group.fields}

    def text(self, name: str) -> str:
        """What stands in a field."""
        form_field = self.fields[name]
        return self.texts.get(name, form_field.text(form_field.default))

    def faults(self) -> dict[str, str]:
        """What is wrong, by field."""
        found = {}
        for name, form_field in self.fields.items():
            try:
                value = form_field.parse(self.text(name))
            except ValueError as error:
                found[name] = str(error)
            else:
                if form_field.required and value is None:
                    found[name] = "a value is needed"
        return found

    def changed(self) -> dict[str, Value]:
        """Values that differ from their default; those that cannot be read are left out."""
        values = {}
        for name, text in self.texts.items():
            form_field = self.fields.get(name)
            if form_field is None:
                continue
            try:
                value = form_field.parse(text)
            except ValueError:
                continue
            if value != form_field.default:
                values[name] = value
        return values


def read_schema(schema: dict[str, Any], hidden: frozenset[str] = frozenset()) -> list[FormGroup]:
    """The groups of a schema in the order in which they first occur, without the hidden fields."""
    required = frozenset(schema.get("required", ()))
    groups: dict[str, list[FormField]] = {}
    for name, part in schema.get("properties", {}).items():
        if name not in hidden:
            found = _field(name, part, name in required)
            groups.setdefault(found.group, []).append(found)
    return [FormGroup(name, tuple(fields)) for name, fields in groups.items()]


def _field(name: str, part: dict[str, Any], required: bool) -> FormField:
    kind, nullable = _kind(part)
    return FormField(
        name=name,
        label=part.get("title") or name.replace("_", " "),
        kind=kind,
        default=part.get("default"),
        help=str(part.get("description", "")),
        group=str(part.get("x-group", "")),
        unit=str(part.get("x-unit", "")),
        flag=str(part.get("x-flag", "")),
        nullable=nullable,
        required=required,
        choices=tuple(part.get("enum", ())),
        minimum=part.get("minimum"),
        maximum=part.get("maximum"),
        above=part.get("exclusiveMinimum"),
        below=part.get("exclusiveMaximum"),
        pattern=str(part.get("pattern", "")),
    )


def _kind(part: dict[str, Any]) -> tuple[FieldKind, bool]:
    named = part.get("type", "string")
    names = [named] if isinstance(named, str) else list(named)
    nullable = "null" in names
    if part.get("enum"):
        return FieldKind.CHOICE, nullable
    known = {"boolean": FieldKind.BOOLEAN, "integer": FieldKind.INTEGER, "number": FieldKind.NUMBER}
    first = next((name for name in names if name != "null"), "string")
    return known.get(first, FieldKind.TEXT), nullable


def _integer(text: str) -> int:
    cleaned = text.replace(",", "").replace("_", "").replace(" ", "")
    try:
        return int(cleaned)
    except ValueError:
        pass
    value = _number(cleaned)
    if not value.is_integer():
        raise ValueError("a whole number")
    return int(value)


def _number(text: str) -> float:
    cleaned = text.replace("_", "").replace(" ", "")
    if re.fullmatch(r"[-+]?\d{1,3}(,\d{3})+(\.\d*)?", cleaned):
        cleaned = cleaned.replace(",", "")
    try:
        value = float(cleaned)
    except ValueError:
        raise ValueError("a number") from None
    if not math.isfinite(value):
        raise ValueError("a finite number")
    return value
