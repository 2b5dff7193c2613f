"""Execute a module as `python -m` would, and keep its variables within reach."""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, ModuleType
from typing import Any

from mosaic_worker_cleanrl.errors import ScriptMissing


class LoadedScript:
    """A module's code and the `__main__` it will be."""

    def __init__(self, module: str) -> None:
        """Load the code; nothing of it is executed yet.

        Raises:
            ScriptMissing: not installed.
        """
        try:
            spec = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            spec = None
        if spec is None or spec.origin is None or spec.loader is None:
            raise ScriptMissing(module)
        self._code: CodeType = spec.loader.get_code(module)  # type: ignore[attr-defined] # a source loader
        self._origin = spec.origin
        self._main = ModuleType("__main__")
        self._main.__file__ = spec.origin
        self._main.__spec__ = spec
        self._main.__loader__ = spec.loader
        self._main.__package__ = spec.parent

    @property
    def variables(self) -> dict[str, Any]:
        """The script's module variables, while it runs and after it has ended."""
        return vars(self._main)

    def execute(self, argv: list[str]) -> None:
        """Run the script with a command line; whatever it raises comes through."""
        with _as_main(self._main, [self._origin, *argv]):
            exec(self._code, self.variables)  # noqa: S102 - this is what the run is for


@contextmanager
def _as_main(main: ModuleType, argv: list[str]) -> Iterator[None]:
    before = sys.modules["__main__"], sys.argv
    sys.modules["__main__"], sys.argv = main, argv
    try:
        yield
    finally:
        sys.modules["__main__"], sys.argv = before
