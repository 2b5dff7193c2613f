"""Leaves torch's compiler out of a training that compiles nothing: its import takes as long as that of torch itself.

Every optimizer of torch imports `torch._dynamo`, to mark its own methods as not to be compiled. Until something is
compiled such a mark has no effect.
"""

import importlib
import sys
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import torch

NAME = "torch._dynamo"


def import_compiler_when_used() -> None:
    """Import `torch._dynamo` only when something other than an optimizer uses it."""
    if NAME not in sys.modules:
        stand_in = CompilerStandIn(NAME)
        sys.modules[NAME] = stand_in
        torch._dynamo = stand_in


class CompilerStandIn(ModuleType):
    """What optimizers use of `torch._dynamo`. A look-up of anything else, a submodule included, imports the package.

    So `torch.compile` works as always, and so does a torch whose optimizers use more.
    """

    def disable(
        self, function: Callable[..., Any] | None = None, *more: Any, **options: Any
    ) -> Any:
        """Mark a function as not to be compiled once there is a compiler; until then call it as it is."""
        if function is None:
            return partial(self.disable, **options)
        return DeferredMark(function, more, options)

    def graph_break(self, *_: Any, **__: Any) -> None:
        """Divide what is compiled here: nothing, outside of the compiler."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__path__":
            raise AttributeError(name)
        return getattr(_package(), name)


class DeferredMark:
    """Calls a function, and marks it for the compiler once that was imported."""

    def __init__(
        self, function: Callable[..., Any], more: tuple[Any, ...], options: dict[str, Any]
    ) -> None:
        """Take the function, and the further arguments of `torch._dynamo.disable`."""
        self._function = function
        self._more = more
        self._options = options
        self._is_marked = False

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function."""
        if not self._is_marked and not isinstance(sys.modules[NAME], CompilerStandIn):
            self._function = sys.modules[NAME].disable(self._function, *self._more, **self._options)
            self._is_marked = True
        return self._function(*arguments, **named)


def _package() -> Any:
    """The package itself, in place of the stand-in."""
    if isinstance(sys.modules[NAME], CompilerStandIn):
        del sys.modules[NAME]
        importlib.import_module(NAME)
    return sys.modules[NAME]
