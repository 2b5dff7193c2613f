"""Environment variables that a run gives its script."""

import re
import shlex
from collections.abc import Sequence

from mosaic_worker_script.credentials import names_a_secret
from mosaic_worker_script.errors import CommandRefused

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_GIVEN_BY_MOSAIC = {
    "CUDA_VISIBLE_DEVICES": "the run's GPUs are what `--gpus` leased",
    "NVIDIA_VISIBLE_DEVICES": "the run's GPUs are what `--gpus` leased",
}
_OWN = "MOSAIC_"


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
    variables: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or _NAME.fullmatch(name) is None:
            raise CommandRefused(f"`{word}` is no variable; write NAME=VALUE")
        if "\0" in value:
            raise CommandRefused(f"the value of {name} has a null character")
        if name.startswith(_OWN) or name in _GIVEN_BY_MOSAIC:
            why = _GIVEN_BY_MOSAIC.get(name, "MOSAIC gives it to each run")
            raise CommandRefused(f"{name} cannot be set: {why}")
        if names_a_secret(name):
            raise CommandRefused(
                f"the value of {name} would be stored with the run; store it once by `./mosaic secret set {name}`, "
                f"and give the run `--secret {name}`"
            )
        variables[name] = value
    return variables
