"""One argument of a script: how it is described to a user, and which words pass a value."""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Any


class FlagStyle(Enum):
    """How a value is written on a command line."""

    VALUE = "value"
    """`--lr 0.1`; a boolean is written as `True` or `False`."""
    JOINED = "joined"
    """`--lr=0.1`, where a library reads the two words otherwise."""
    SWITCH = "switch"
    """`--fast` where true, nothing where false."""
    OFF_SWITCH = "off_switch"
    """`--slow` where false, nothing where true."""
    PAIR = "pair"
    """`--fast` or `--no-fast`."""
    OVERRIDE = "override"
    """`model.lr=0.1`, in the grammar of hydra."""
    POSITIONAL = "positional"
    """The value alone."""


_ONLY_ABSENT = "The default is none of the script's choices: the script takes it only while the argument is not given."
_PLAIN = re.compile(r"[A-Za-z0-9_./-]+")


@dataclass(frozen=True, kw_only=True)
class ScriptArgument:
    """An argument as a script declares it."""

    name: str
    """The script's own name for it, with underscores."""
    flag: str
    """The option on the command line, e.g. `--learning-rate`; empty for a positional argument."""
    type: str | None
    """A type of JSON Schema: `integer`, `number`, `boolean`, `string`; None: not known, any text."""
    style: FlagStyle = FlagStyle.VALUE
    default: Any = None
    """The default as written in the script; None: there is none, or it is computed."""
    choices: tuple[Any, ...] = ()
    help: str = ""
    required: bool = False
    is_list: bool = False
    """Whether it takes several values; they are given as one text with spaces between."""

    def schema(self) -> dict[str, Any]:
        """Return the property of the JSON Schema."""
        kind = "string" if self.is_list or self.type is None else self.type
        found: dict[str, Any] = {"type": kind if self.required else [kind, "null"]}
        choices = self.choices if all(_fits(choice, kind) for choice in self.choices) else ()
        if self.default is not None and not self.is_list and _fits(self.default, kind):
            found |= {"type": kind, "default": self.default}
        elif not self.required:
            found["default"] = None
        help_text = self.help
        if choices:
            own = [found["default"]] if "default" in found else []
            found["enum"] = list(dict.fromkeys([*choices, *own]))
            if self._is_only_absent(found.get("default")):
                help_text = (
                    f"{help_text.rstrip('.')}. {_ONLY_ABSENT}" if help_text else _ONLY_ABSENT
                )
        if help_text:
            found["description"] = help_text
        if self.flag:
            found["x-flag"] = self.flag
        return found

    def words(self, value: Any) -> list[str]:
        """Return the words that pass a value; none for null.

        Args:
            value: a value that fits the schema.
        """
        if value is None or self._is_only_absent(value):
            return []
        if self.style is FlagStyle.SWITCH:
            return [self.flag] if value else []
        if self.style is FlagStyle.OFF_SWITCH:
            return [] if value else [self.flag]
        if self.style is FlagStyle.PAIR:
            return [self.flag if value else self.flag.replace("--", "--no-", 1)]
        if self.style is FlagStyle.OVERRIDE:
            return [f"{self.flag}={_override_text(value)}"]
        parts = str(value).split() if self.is_list else [str(value)]
        if self.style is FlagStyle.POSITIONAL:
            return parts
        if self.style is FlagStyle.JOINED:
            return [f"{self.flag}={value}"]
        return [self.flag, *parts]

    def _is_only_absent(self, value: Any) -> bool:
        """Whether a value is a default that is none of the choices; argparse refuses it when it is given."""
        if value is None or value != self.default:
            return False
        return bool(self.choices) and not self.is_list and value not in self.choices


def _override_text(value: Any) -> str:
    """A value as hydra reads it; a list or map is given as text in its own form."""
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    if not isinstance(value, str) or _PLAIN.fullmatch(text) or text[:1] in ("[", "{"):
        return text
    # A backslash is itself, but in front of a quote.
    quoted = re.sub(r"(\\*)'", r"\1\1\'", text)
    quoted += "\\" * (len(quoted) - len(quoted.rstrip("\\")))
    return f"'{quoted}'"


def _fits(value: Any, kind: str) -> bool:
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, str)
