"""All settings, declared once with type, default, title, help and section. File and page are made from this."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo

from mosaic_gui.state.language import Mark, mark, tr_mark

VERSION = 1
NO_LANGUAGES: Mapping[str, str] = {}

SYSTEM = "system"
Scheme = Literal["system", "dark", "light"]
TextSize = Literal["90", "100", "110", "125", "150"]
"""Percent."""
PLAIN_SIZE: Final = "100"


MOST_SMOOTHING: Final = 0.999
"""Weight of the past in a smoothed curve; 1 would ignore all points but the first."""


class XAxis(StrEnum):
    """What runs from left to right."""

    STEP = "step"
    EPISODE = "episode"
    RELATIVE = "relative"
    WALL = "wall"


def _setting(default: Any, section: Mark, title: Mark, words: Mark, **rules: Any) -> Any:
    extra: JsonDict = {"section": section}
    return Field(default, title=title, description=words, json_schema_extra=extra, **rules)


class Settings(BaseModel):
    """The user's settings. Fields of a newer version are kept."""

    model_config = ConfigDict(frozen=True, extra="allow")

    theme: Scheme = _setting(
        "system",
        mark("Look"),
        mark("Theme"),
        mark("Follow the desktop's theme, or always use one."),
    )
    language: str = _setting(
        SYSTEM,
        mark("Look"),
        mark("Language"),
        mark(
            "Language of this window, from its next start. Texts of workers and of the stack are not translated."
        ),
    )
    text_size: TextSize = _setting(
        PLAIN_SIZE,
        mark("Look"),
        mark("Text size"),
        mark("Size of texts and of everything around them, from the next start of this window."),
    )
    notice_s: Annotated[int, Field(ge=3, le=120)] = _setting(
        12,
        mark("Look"),
        mark("Notices stay"),
        mark("Seconds for which a notice and its Undo button stay in the bar below."),
    )
    smoothing: Annotated[float, Field(ge=0, le=MOST_SMOOTHING)] = _setting(
        0.9,
        mark("Curves"),
        mark("Smoothing"),
        mark("Smoothing of curves when they are opened; 0 shows them as they are."),
    )
    axis: XAxis = _setting(
        XAxis.STEP,
        mark("Curves"),
        mark("Axis"),
        mark("Horizontal axis of curves when they are opened."),
    )
    grouped: bool = _setting(
        False,
        mark("Runs"),
        mark("Group the list"),
        mark("Group the list by environment and algorithm each time the window opens."),
    )
    notify_ends: bool = _setting(
        True,
        mark("Notifications"),
        mark("Runs that end"),
        mark("Show a notification of the desktop with the last return while the window is open."),
    )
    notify_alerts: bool = _setting(
        True,
        mark("Notifications"),
        mark("Alerts"),
        mark("Show a notification of the desktop when an alert is raised."),
    )
    keys: dict[str, str] = Field(default_factory=dict)
    """Keys of commands that were changed, by command; the page has a list of its own for them."""


_WORDS = {
    SYSTEM: mark("as the system"),
    "dark": mark("dark"),
    "light": mark("light"),
    XAxis.STEP.value: mark("step"),
    XAxis.EPISODE.value: mark("episode"),
    XAxis.RELATIVE.value: mark("time since the start"),
    XAxis.WALL.value: mark("time of day"),
}
"""Words for the values of choices."""


@dataclass(frozen=True)
class SettingEntry:
    """One setting as the page shows it."""

    name: str
    section: str
    title: str
    help: str
    choices: tuple[tuple[str, str], ...] = ()
    """Values with the word for each."""
    kind: type = str
    least: float | None = None
    most: float | None = None


def entries(languages: Mapping[str, str] = NO_LANGUAGES) -> list[SettingEntry]:
    """All settings in their order. `languages`: those that the window can speak, by code, by their own names."""
    found = [_entry(name, field) for name, field in Settings.model_fields.items() if name != "keys"]
    known = ((SYSTEM, tr_mark(_WORDS[SYSTEM])), *languages.items())
    return [replace(one, choices=known) if one.name == "language" else one for one in found]


def with_value(settings: Settings, name: str, value: object) -> Settings:
    """The settings with another value.

    Raises:
        ValidationError: it cannot have this value.
    """
    return Settings.model_validate(settings.model_dump() | {name: value})


def _entry(name: str, field: FieldInfo) -> SettingEntry:
    extra = field.json_schema_extra
    section = str(extra["section"]) if isinstance(extra, Mapping) else ""
    kind, values = _kind(field.annotation)
    bounds = {type(rule).__name__: rule for rule in field.metadata}
    return SettingEntry(
        name=name,
        section=tr_mark(Mark(section)),
        title=tr_mark(Mark(field.title or name)),
        help=tr_mark(Mark(field.description or "")),
        choices=tuple((value, _word(value)) for value in values),
        kind=kind,
        least=getattr(bounds.get("Ge"), "ge", None),
        most=getattr(bounds.get("Le"), "le", None),
    )


def _word(value: str) -> str:
    return tr_mark(_WORDS[value]) if value in _WORDS else f"{value} %"


def _kind(annotation: object) -> tuple[type, tuple[str, ...]]:
    if get_origin(annotation) is Literal:
        return str, tuple(str(choice) for choice in get_args(annotation))
    if annotation is XAxis:
        return str, tuple(choice.value for choice in XAxis)
    return (annotation if isinstance(annotation, type) else str), ()
