"""One field of a form: its kind, default and bounds, and what was typed read as a value."""

import re
from dataclasses import dataclass
from enum import StrEnum

from mosaic_contracts.tracking import PROXY_ROLES, TrackingRole, is_proxy, without_userinfo
from mosaic_gui.state.language import mark, tr, tr_mark
from mosaic_gui.state.number_entry import read_number, read_whole

Value = bool | int | float | str | None


class FieldKind(StrEnum):
    """Kind of input."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    NUMBER = "number"
    TEXT = "text"
    CHOICE = "choice"
    CHECKPOINT = "checkpoint"
    """A file of an earlier run, as RUN/path."""


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
    """The field may be empty."""
    required: bool = False
    choices: tuple[Value, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    """Exclusive lower bound."""
    below: float | None = None
    """Exclusive upper bound."""
    too_much: str = ""
    """What is said of a value above the maximum; empty: the maximum."""
    pattern: str = ""
    fixed: bool = False
    """The default is the only possible value."""
    role: str = ""
    """Role of the field for a tracker (see `mosaic_contracts.tracking`)."""
    file_suffix: str = ""
    """Ending of files whose path it takes, e.g. `.asl`; empty: none."""
    text_suffix: str = ""
    """Ending of files whose text it takes; empty: none."""
    many: bool = False
    """Several values may be given (see `value_list`); each makes a run."""
    ranges: bool = False
    """Ranges of whole numbers, such as `1-5`, may be among them."""

    @property
    def bounds(self) -> str:
        """The range in words, e.g. `0 to 1`, `above 0`."""
        if self.fixed:
            return tr("always {value}", value=self.text(self.default))
        low, high = self.minimum, self.maximum
        if low is not None and high is not None:
            return tr("{low} to {high}", low=f"{low:g}", high=f"{high:g}")
        words = (
            (low, mark("at least {value}")),
            (self.above, mark("above {value}")),
            (high, mark("at most {value}")),
            (self.below, mark("below {value}")),
        )
        return ", ".join(tr_mark(text, value=f"{n:g}") for n, text in words if n is not None)

    def text(self, value: Value) -> str:
        """A value as the text of the field."""
        if value is None:
            return ""
        if isinstance(value, float):
            return repr(value).removesuffix(".0")
        return str(value)

    def word(self, text: str) -> str:
        """The text of the field as it is named in a sentence."""
        words = {"True": tr("on"), "False": tr("off")}
        if self.role == TrackingRole.TRACK:
            words |= {"off": tr("off"), "offline": tr("offline"), "online": tr("online")}
        return words.get(text, text)

    def is_same(self, one: str, other: str) -> bool:
        """Whether two texts mean one value."""
        try:
            return self.parse(one) == self.parse(other)
        except ValueError:
            return one == other

    def reading(self, text: str) -> str:
        """The number that a text is read as; empty where it is written in that very way, or is no number."""
        if self.kind not in (FieldKind.INTEGER, FieldKind.NUMBER):
            return ""
        try:
            read = self.text(self.parse(text))
        except ValueError:
            return ""
        return read if read != text.strip() else ""

    def parse(self, text: str) -> Value:
        """Parse the text of the field.

        Raises:
            ValueError: what is wrong with it, in words for the user.
        """
        value = self._read(text.strip())
        if self.fixed and value != self.default:
            raise ValueError(tr("only {value} is possible", value=self.text(self.default)))
        return value

    def _read(self, text: str) -> Value:
        if not text and self.kind not in (FieldKind.TEXT, FieldKind.CHECKPOINT):
            if self.nullable:
                return None
            raise ValueError(tr("a value is needed"))
        match self.kind:
            case FieldKind.INTEGER:
                return self._bounded(text, read_whole(text))
            case FieldKind.NUMBER:
                return self._bounded(text, read_number(text))
            case FieldKind.BOOLEAN:
                return text.lower() in ("true", "yes", "1")
            case FieldKind.CHOICE:
                return self._choice(text)
        if not text and self.nullable:
            return None
        if text and self.role in PROXY_ROLES:
            return _proxy(text)
        if self.pattern and not re.search(self.pattern, text):
            raise ValueError(tr("must match {pattern}", pattern=self.pattern))
        return text

    def _choice(self, text: str) -> Value:
        for choice in self.choices:
            if self.text(choice) == text:
                return choice
        known = ", ".join(self.text(choice) for choice in self.choices if choice is not None)
        raise ValueError(tr("one of {values}", values=known))

    def _bounded(self, text: str, value: int | float) -> int | float:
        try:
            return self._within_bounds(value)
        except ValueError as error:
            if text == (read := self.text(value)):
                raise
            raise ValueError(tr("read as {value}: {fault}", value=read, fault=error)) from None

    def _within_bounds(self, value: int | float) -> int | float:
        if self.minimum is not None and value < self.minimum:
            raise ValueError(tr("at least {value}", value=f"{self.minimum:g}"))
        if self.maximum is not None and value > self.maximum:
            raise ValueError(self.too_much or tr("at most {value}", value=f"{self.maximum:g}"))
        if self.above is not None and value <= self.above:
            raise ValueError(tr("must be above {value}", value=f"{self.above:g}"))
        if self.below is not None and value >= self.below:
            raise ValueError(tr("must be below {value}", value=f"{self.below:g}"))
        return value


_OWN_TITLES = {
    "run": mark("Run"),
    "resources": mark("Resources"),
    "tracking": mark("Tracking"),
}
"""Titles of groups that this client makes; groups of a schema have the worker's names."""


@dataclass(frozen=True)
class FormGroup:
    """A group of fields with a title."""

    name: str
    fields: tuple[FormField, ...]
    hindrance: str = ""
    """Why the fields cannot be used; empty: they can."""

    @property
    def title(self) -> str:
        if self.name in _OWN_TITLES:
            return tr_mark(_OWN_TITLES[self.name])
        return self.name.replace("_", " ").capitalize() if self.name else tr("Arguments")


def _proxy(text: str) -> str:
    """An address that may be kept in a run's record."""
    if not is_proxy(text):
        raise ValueError(tr("must be http://HOST:PORT"))
    if without_userinfo(text) != text:
        raise ValueError(
            tr(
                "no name and password here, for a run's record keeps it: leave it empty, and set "
                "MOSAIC_HTTP_PROXY or MOSAIC_HTTPS_PROXY of the stack"
            )
        )
    return text
