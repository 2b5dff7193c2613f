"""Everything that a user may set, declared once: type, default, title, help, section. File and page are made of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo

from mosaic_gui.state.axis import XAxis

VERSION = 1

Scheme = Literal["system", "dark", "light"]


def _setting(default: Any, section: str, title: str, words: str, **rules: Any) -> Any:
    extra: JsonDict = {"section": section}
    return Field(default, title=title, description=words, json_schema_extra=extra, **rules)


class Settings(BaseModel):
    """What holds until it is changed. What a newer version wrote is kept as it was."""

    model_config = ConfigDict(frozen=True, extra="allow")

    theme: Scheme = _setting("system", "Look", "Theme", "As the desktop has it, or one that stays.")
    notice_s: Annotated[int, Field(ge=3, le=120)] = _setting(
        12,
        "Look",
        "Notices stay",
        "Seconds for which a notice, and its undo, stay in the bar below.",
    )
    smoothing: Annotated[float, Field(ge=0, le=0.999)] = _setting(
        0.9, "Curves", "Smoothing", "Of curves at first; 0 shows them as they are."
    )
    axis: XAxis = _setting(XAxis.STEP, "Curves", "Axis", "What curves are drawn against at first.")
    grouped: bool = _setting(
        False, "Runs", "Group the list", "By environment and algorithm when the client starts."
    )


@dataclass(frozen=True)
class Entry:
    """One setting as the page shows it."""

    name: str
    section: str
    title: str
    help: str
    choices: tuple[str, ...] = ()
    kind: type = str
    least: float | None = None
    most: float | None = None


def entries() -> list[Entry]:
    """All settings in their order."""
    return [_entry(name, field) for name, field in Settings.model_fields.items()]


def with_value(settings: Settings, name: str, value: object) -> Settings:
    """The settings with another value.

    Raises:
        ValidationError: it cannot have this value.
    """
    return Settings.model_validate(settings.model_dump() | {name: value})


def _entry(name: str, field: FieldInfo) -> Entry:
    extra = field.json_schema_extra
    section = str(extra["section"]) if isinstance(extra, Mapping) else ""
    kind, choices = _kind(field.annotation)
    bounds = {type(rule).__name__: rule for rule in field.metadata}
    return Entry(
        name=name,
        section=section,
        title=field.title or name,
        help=field.description or "",
        choices=choices,
        kind=kind,
        least=getattr(bounds.get("Ge"), "ge", None),
        most=getattr(bounds.get("Le"), "le", None),
    )


def _kind(annotation: object) -> tuple[type, tuple[str, ...]]:
    if get_origin(annotation) is Literal:
        return str, tuple(str(choice) for choice in get_args(annotation))
    if annotation is XAxis:
        return str, tuple(choice.value for choice in XAxis)
    return (annotation if isinstance(annotation, type) else str), ()
