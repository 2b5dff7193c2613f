"""A worker's JSON Schema as groups of fields."""

from typing import Any

from mosaic_contracts.tracking import X_TRACKING
from mosaic_contracts.worker import CHECKPOINT_MARK, FILE_MARK, FILE_TEXT_MARK
from mosaic_gui.state.form_field import FieldKind, FormField, FormGroup, Value

_KINDS = {
    "boolean": FieldKind.BOOLEAN,
    "integer": FieldKind.INTEGER,
    "number": FieldKind.NUMBER,
}


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
        default=part.get("const", part.get("default")),
        help=str(part.get("description", "")),
        group=str(part.get("x-group", "")),
        unit=str(part.get("x-unit", "")),
        flag=str(part.get("x-flag", "")),
        nullable=nullable,
        required=required,
        choices=_choices(part, nullable),
        minimum=part.get("minimum"),
        maximum=part.get("maximum"),
        above=part.get("exclusiveMinimum"),
        below=part.get("exclusiveMaximum"),
        pattern=str(part.get("pattern", "")),
        fixed="const" in part,
        role=str(part.get(X_TRACKING, "")),
        file_suffix=str(part.get(FILE_MARK, "")),
        text_suffix=str(part.get(FILE_TEXT_MARK, "")),
        many="const" not in part and X_TRACKING not in part and kind is not FieldKind.CHECKPOINT,
    )


def _kind(part: dict[str, Any]) -> tuple[FieldKind, bool]:
    named = part.get("type", "string")
    names = [named] if isinstance(named, str) else list(named)
    nullable = "null" in names
    if part.get("enum"):
        return FieldKind.CHOICE, nullable or None in part["enum"]
    if part.get(CHECKPOINT_MARK):
        return FieldKind.CHECKPOINT, nullable
    first = next((name for name in names if name != "null"), "string")
    if first == "boolean" and nullable:
        return FieldKind.CHOICE, True  # a box has no third state that a person would understand
    return _KINDS.get(first, FieldKind.TEXT), nullable


def _choices(part: dict[str, Any], nullable: bool) -> tuple[Value, ...]:
    known = tuple(part.get("enum", ()))
    if not known and nullable and "boolean" in part["type"]:
        known = (True, False)
    return (None, *known) if known and nullable and None not in known else known
