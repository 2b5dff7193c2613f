"""Where the code lies that the reference pages are made from."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_READ_IN_PLACE = ("cli/src", "services/gateway/src")
"""Sources that this environment does not install: their packages bring more than a page needs."""


def import_in_place(module: str) -> Any:
    """Import a module of the command line or the gateway from the checkout."""
    for folder in _READ_IN_PLACE:
        if str(ROOT / folder) not in sys.path:
            sys.path.append(str(ROOT / folder))
    return import_module(module)
