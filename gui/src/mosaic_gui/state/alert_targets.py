"""What the user enters to have alerts sent to a webhook or a command."""

import re
import shlex
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from mosaic_contracts.alert_words import TARGET_PATTERN
from mosaic_contracts.alerts import AlertTargetView
from mosaic_gui.state.language import tr

WEBHOOK, COMMAND = "webhook", "command"


@dataclass(frozen=True)
class TargetDraft:
    """A target that was entered."""

    kind: str
    name: str
    value: str = field(repr=False)
    """Address of a webhook, or a command with its arguments."""
    authorization: str = field(default="", repr=False)
    """Value of the `Authorization` header of a webhook."""

    @property
    def fault(self) -> str:
        """What is wrong with it, in words; empty: nothing."""
        if re.fullmatch(TARGET_PATTERN, self.name) is None:
            return tr(
                "A name has up to 40 small letters, digits, _ and -, and begins with a letter."
            )
        if self.kind == WEBHOOK:
            parts = urlsplit(self.value)
            is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
            return "" if is_address else tr("Write the address with https:// in front.")
        try:
            words = shlex.split(self.value)
        except ValueError:
            return tr("A quotation mark of the command is not closed.")
        return "" if words else tr("Write a program and its arguments.")

    @property
    def consent(self) -> str:
        """What the user agrees to by adding it."""
        if self.kind == WEBHOOK:
            return tr(
                "Each alert sends names, states, steps, values and messages of runs to {host}.",
                host=urlsplit(self.value).hostname or "",
            )
        return tr(
            "Each alert starts {program} as you, with names, states, steps, values and messages of runs on its "
            "standard input.",
            program=shlex.split(self.value)[0],
        )


def target_words(target: AlertTargetView) -> str:
    """A target in one line."""
    words = f"{target.name}: {target.shown}"
    if not target.last_problem:
        return words
    return words + "\n" + tr("The last delivery failed: {why}", why=target.last_problem)
