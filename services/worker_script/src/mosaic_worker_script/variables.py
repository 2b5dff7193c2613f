"""Environment variables that a run gives its script."""

import shlex
from collections.abc import Sequence

from mosaic_contracts import script_variables
from mosaic_worker_script.errors import CommandRefused


def split_variables(text: str) -> list[str]:
    """Return the words `NAME=VALUE` of a text, split as a shell splits them.

    Raises:
        CommandRefused: it cannot be split.
    """
    try:
        return shlex.split(text)
    except ValueError as error:
        raise CommandRefused(f"the variables cannot be split into words: {error}") from error


def read_variables(words: Sequence[str]) -> dict[str, str]:
    """Return the variables of `NAME=VALUE` words; of a name that is given twice, the last value.

    Raises:
        CommandRefused: a word is none, or sets what MOSAIC sets or what must be a secret.
    """
    try:
        return script_variables.read_variables(words)
    except ValueError as error:
        raise CommandRefused(str(error)) from error
