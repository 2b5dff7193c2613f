"""Environment variables that a run gives its script: what a name and a value may be."""

import re
from collections.abc import Sequence

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_GIVEN_BY_MOSAIC = {
    "CUDA_VISIBLE_DEVICES": "the run's GPUs are what `--gpus` leased",
    "NVIDIA_VISIBLE_DEVICES": "the run's GPUs are what `--gpus` leased",
}
_OWN = "MOSAIC_"
SECRET_NAMES = r"(?:api_?key|access_?key|secret|token|passw(?:or)?d|passphrase|credentials?)"
"""Pattern that finds the name of a variable that holds a secret; upper and lower case are the same."""
_SECRET = re.compile(SECRET_NAMES, re.IGNORECASE)


def names_a_secret(variable: str) -> bool:
    """Return whether a variable of this name holds a secret, as far as its name shows.

    Args:
        variable: name of an environment variable.

    Returns:
        True for names such as `WANDB_API_KEY`.
    """
    return _SECRET.search(variable) is not None


def read_variables(words: Sequence[str]) -> dict[str, str]:
    """Return the variables of `NAME=VALUE` words; of a name that is given twice, the last value.

    Args:
        words: one variable each.

    Returns:
        Value by name.

    Raises:
        ValueError: a word is none, or sets what MOSAIC sets or what must be a secret.
    """
    variables: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or _NAME.fullmatch(name) is None:
            raise ValueError(f"`{word}` is no variable; write NAME=VALUE")
        if "\0" in value:
            raise ValueError(f"the value of {name} has a null character")
        if name.startswith(_OWN) or name in _GIVEN_BY_MOSAIC:
            why = _GIVEN_BY_MOSAIC.get(name, "MOSAIC gives it to each run")
            raise ValueError(f"{name} cannot be set: {why}")
        if names_a_secret(name):
            raise ValueError(
                f"the value of {name} would be stored with the run; store it once by `./mosaic secret set {name}`, "
                f"and give the run `--secret {name}`"
            )
        variables[name] = value
    return variables
