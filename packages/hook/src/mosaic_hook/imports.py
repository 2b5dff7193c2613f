"""Calls a function when a module has been imported, and imports nothing itself."""

from __future__ import annotations

import sys
from typing import Any, Callable, Sequence

OnImport = Callable[[Any], None]
"""Called with a module right after its code has run."""


class ImportWatch:
    """A finder in front of all others. It finds nothing itself: it asks the others and adds a call to their loader.

    Args:
        on_import: for each module's full name what to call. It must not raise.
    """

    def __init__(self, on_import: dict[str, OnImport]) -> None:
        self._waiting = dict(on_import)

    def install(self) -> None:
        """Watch from now on. What is imported already is reported at once."""
        for name in [name for name in self._waiting if name in sys.modules]:
            self._waiting.pop(name)(sys.modules[name])
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> Any:
        """Return the other finders' spec of a watched module, with a call after its loading; None for all others."""
        if name not in self._waiting:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec = find(name, path, target)
            if spec is not None:
                self._add_call(name, spec.loader)
                return spec
        return None

    def _add_call(self, name: str, loader: Any) -> None:
        load = getattr(loader, "exec_module", None)
        if load is None:
            return

        def exec_module(module: Any) -> None:
            del loader.exec_module  # the loader is as it was
            load(module)
            on_import = self._waiting.pop(name, None)
            if on_import is not None:
                on_import(module)

        try:
            loader.exec_module = exec_module
        except AttributeError:
            return  # a loader without attributes of its own: built-in and frozen modules
