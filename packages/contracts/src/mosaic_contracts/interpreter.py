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
    """Return the argv that runs a module of ours with this interpreter."""
    return [python, *ISOLATED, "-m", module, *arguments]


def worker_command(command: Sequence[str], python: str, here: str | None) -> list[str]:
    """Return a manifest's command with `{python}` and `{here}` filled in.

    A module of ours (`{python} -m mosaic_...`) gets the options above. Any other program starts exactly as written: a
    script of the worker's author keeps its own folder on `sys.path`.

    Args:
        command: as the manifest has it.
        python: the interpreter.
        here: folder of the manifest; None leaves `{here}` as it is.
    """
    parts = [
        python if part == _PYTHON else part if here is None else part.replace(_HERE, here)
        for part in command
    ]
    is_ours = command[:2] == [_PYTHON, "-m"] and "".join(command[2:3]).startswith(_OURS)
    return python_module(python, *parts[2:]) if is_ours else parts
