"""The stack's proxies that carry a name and password: handed over as files, used as every program expects them."""

import os
from pathlib import Path

_NAMES = ("HTTP_PROXY", "HTTPS_PROXY")


def take_proxies() -> None:
    """Put them into this process's environment, under both spellings.

    Raises:
        OSError: a file that the environment names cannot be read.
    """
    for name in _NAMES:
        if path := os.environ.get(f"MOSAIC_SECRET_{name}_FILE"):
            os.environ[name] = os.environ[name.lower()] = Path(path).read_text(encoding="utf-8")
