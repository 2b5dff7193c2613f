"""A replay buffer as scripts for stable-baselines3 1 ask for it, of version 2."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from stable_baselines3.common.buffers import ReplayBuffer

from mosaic_worker_cleanrl.launch.patch import replaced


@contextmanager
def buffer_hook() -> Iterator[None]:
    """While the block runs, a buffer that is to save memory leaves time limits aside: both together are refused.

    Raises:
        HookNotInstalled: the buffer is not as expected.
    """

    def wrap_init(original: Callable[..., Any]) -> Callable[..., Any]:
        def init(buffer: Any, *args: Any, **kwargs: Any) -> None:
            if kwargs.get("optimize_memory_usage"):
                kwargs["handle_timeout_termination"] = False
            original(buffer, *args, **kwargs)

        return init

    with replaced(ReplayBuffer, "__init__", wrap_init):
        yield
