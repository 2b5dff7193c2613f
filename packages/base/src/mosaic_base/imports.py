"""Imports of large packages."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def large_imports() -> Iterator[None]:
    """Import large packages in the block without garbage collection, which is a fifth of the time that torch takes.

    What was imported stays for good, so no later collection looks at it either.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
