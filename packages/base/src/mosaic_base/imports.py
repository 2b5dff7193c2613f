"""Imports of large packages."""

import gc
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import Loader
else:
    Loader = object  # importlib.abc imports as much as all else here together


@contextmanager
def large_imports(*, on_use: Sequence[str] = ()) -> Iterator[None]:
    """Import large packages in the block without garbage collection, which is a fifth of the time that torch takes.

    What was imported stays for good, so no later collection looks at it either.

    Args:
        on_use: full names of modules that the block imports by `import NAME`, and that this program seldom needs. Each
            is loaded when one of its attributes is read for the first time, or when a module below it is imported.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    finder = _FinderOnUse(on_use)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        gc.freeze()
        if was_enabled:
            gc.enable()


class _FinderOnUse:
    """Finds the modules that are to be loaded on use, and no others."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = frozenset(names)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As the import system asks each of its finders."""
        spec = PathFinder.find_spec(name, path, target) if name in self._names else None
        if spec is not None and spec.loader is not None:
            spec.loader = _LoaderOnUse(spec.loader)
        return spec


class _LoaderOnUse(Loader):
    """Leaves a module empty until it is used.

    `importlib.util.LazyLoader` shows a half-loaded module to other threads before Python 3.12.
    """

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._lock = threading.RLock()
        self._is_loading = False

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the module's own loader does."""
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Leave the work to the first use."""
        module.__class__ = _ModuleOnUse

    def load(self, module: ModuleType, spec: ModuleSpec) -> None:
        """Load the module, once; other threads wait for it."""
        with self._lock:
            if self._is_loading or spec.loader is not self:
                return  # the module's own code reads it while it is loaded, or another thread was first
            self._is_loading = True
            try:
                self._loader.exec_module(module)
                spec.loader = module.__loader__ = self._loader
                module.__class__ = ModuleType
            finally:
                self._is_loading = False


class _ModuleOnUse(ModuleType):
    """A module that is loaded when it is used."""

    def __getattribute__(self, name: str) -> Any:
        """Load, then read; the import system reads the spec of each module that it finds loaded."""
        spec = ModuleType.__getattribute__(self, "__spec__")
        if name == "__spec__":
            return spec
        if isinstance(spec.loader, _LoaderOnUse):
            spec.loader.load(self, spec)
        return ModuleType.__getattribute__(self, name)  # not super(): the class is another one now
