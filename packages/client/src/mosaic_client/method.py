"""Methods that are made from the description of a request, so that each signature is written once for both clients."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def named_like(method: F, describe: Callable[..., Any]) -> F:
    """Give `method` the name, docstring and signature of `describe`, for `help()` and a notebook's tooltips."""
    described = inspect.signature(describe)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    answer = described.return_annotation.__args__[0]  # of Call[T]
    method.__name__ = describe.__name__
    method.__doc__ = describe.__doc__
    vars(method)["__signature__"] = described.replace(
        parameters=[own, *described.parameters.values()], return_annotation=answer
    )
    return method
