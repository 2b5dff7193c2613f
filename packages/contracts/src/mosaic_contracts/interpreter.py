"""How MOSAIC starts a Python that runs its own modules."""

from collections.abc import Sequence

ISOLATED = ("-I", "-u", "-X", "utf8")
"""Options for every interpreter that runs a module of ours.

`-I` imports nothing from the current folder, PYTHONPATH or the user's packages, and reads no PYTHON* variable. The
environment itself is passed on unchanged, so a user's program gets all of it. `-u` takes the place of
PYTHONUNBUFFERED, and `-X utf8` makes files and paths mean the same in every locale.
"""
_PYTHON, _HERE, _OURS = "{python}", "{here}", "mosaic_"


def python_module(python: str, module: str, *arguments: str) -> list[str]:
    """Build the command that runs a module of ours.

    Args:
        python: path of the interpreter.
        module: name of the module.
        *arguments: its arguments.

    Returns:
        The argv, with the options of `ISOLATED`.
    """
    return [python, *ISOLATED, "-m", module, *arguments]


def worker_command(command: Sequence[str], python: str, here: str | None) -> list[str]:
    """Fill in `{python}` and `{here}` of a manifest's command.

    A module of ours (`{python} -m mosaic_...`) gets the options of `ISOLATED`. Any other program starts exactly as
    written: a script of the worker's author keeps its own folder on `sys.path`.

    Args:
        command: the command as in the manifest.
        python: path of the interpreter.
        here: folder of the manifest; None leaves `{here}` as it is.

    Returns:
        The argv.
    """
    parts = [
        python if part == _PYTHON else part if here is None else part.replace(_HERE, here)
        for part in command
    ]
    is_ours = command[:2] == [_PYTHON, "-m"] and "".join(command[2:3]).startswith(_OURS)
    return python_module(python, *parts[2:]) if is_ours else parts
