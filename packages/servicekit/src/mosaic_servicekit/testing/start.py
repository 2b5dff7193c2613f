"""What a program imports when it starts."""

import subprocess
import sys
from collections.abc import Sequence


def imported_at_start(module: str, names: Sequence[str]) -> list[str]:
    """Import the main module of a program in a new interpreter, and return which modules that loaded.

    Args:
        module: the main module.
        names: full names of the modules to look for.

    Returns:
        Those of `names` that are loaded.

    Raises:
        subprocess.CalledProcessError: the module cannot be imported.
    """
    look = f"import sys, {module}\nprint(*(name for name in {names!r} if name in sys.modules))"
    command = [sys.executable, "-I", "-c", look]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
