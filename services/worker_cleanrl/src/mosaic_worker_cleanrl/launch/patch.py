"""Replace an attribute for as long as a script runs. A missing attribute is an error."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mosaic_worker_cleanrl.errors import HookNotInstalled


@contextmanager
def replaced(
    owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> Iterator[None]:
    """Replace `owner.name` by `make(original)`.

    Raises:
        HookNotInstalled: `owner` has no such callable.
    """
    original = getattr(owner, name, None)
    if not callable(original):
        raise HookNotInstalled(
            f"{getattr(owner, '__module__', '')}.{getattr(owner, '__qualname__', owner)} has no {name}(): the "
            "installed packages are not those this worker was made for. ./mosaic sync worker_cleanrl restores them"
        )
    own = name in vars(owner)
    setattr(owner, name, make(original))
    try:
        yield
    finally:
        if own:
            setattr(owner, name, original)
        else:
            delattr(owner, name)
