"""Hooks in gymnasium: every environment that is made, every reset and step of a vector environment."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import gymnasium

from mosaic_gymkit.recording import recorded
from mosaic_worker_cleanrl.environment.wrapping import wrapped
from mosaic_worker_cleanrl.errors import HookSilent
from mosaic_worker_cleanrl.launch.patch import replaced
from mosaic_worker_cleanrl.launch.session import ScriptSession
from mosaic_worker_cleanrl.plan.video import CAPTURE
from mosaic_workerkit.spaces import space_of

_Function = Callable[..., Any]


@contextmanager
def environment_hooks(session: ScriptSession) -> Iterator[None]:
    """Hook into gymnasium while the block runs.

    Raises:
        HookNotInstalled: gymnasium is not as expected.
    """

    has_video = bool(session.plan.arguments.get(CAPTURE))

    def wrap_make(original: _Function) -> _Function:
        def make(*args: Any, **kwargs: Any) -> Any:
            if (
                has_video
            ):  # scripts for the old gym ask for pictures when they want one, not when they make it
                kwargs.setdefault("render_mode", "rgb_array")
            env = original(*args, **kwargs)
            # Numbered over the whole run, so that an evaluation's environments are never taken for the training's.
            index = session.environments_made
            session.environments_made += 1
            if index == 0:
                _compare_spaces(env, session)
            own = recorded(env, index, session)
            session.live.add(own)
            session.record_clips(own)
            return wrapped(own)

        return make

    def wrap_reset(original: _Function) -> _Function:
        def reset(envs: Any, *args: Any, **kwargs: Any) -> Any:
            session.before_reset(envs)
            return original(envs, *args, **kwargs)

        return reset

    def wrap_step(original: _Function) -> _Function:
        before_step, batch = session.before_step, session.batch

        def step(envs: Any, actions: Any) -> Any:
            before_step(envs)
            batch.is_open = True
            try:
                return original(envs, actions)
            finally:
                batch.is_open = False
                batch.write()

        return step

    vector = gymnasium.vector.SyncVectorEnv
    with ExitStack() as stack:
        stack.enter_context(replaced(gymnasium, "make", wrap_make))
        stack.enter_context(replaced(vector, "reset", wrap_reset))
        stack.enter_context(replaced(vector, "step", wrap_step))
        yield


def _compare_spaces(env: gymnasium.Env[Any, Any], session: ScriptSession) -> None:
    """Compare spaces: those in the config event, sent before the script made its environment, must be the script's."""
    probe = session.plan.probe
    if probe is None:
        return
    for planned, real in (
        (probe.observation_space, env.observation_space),
        (probe.action_space, env.action_space),
    ):
        if space_of(planned) != space_of(real):
            raise HookSilent(
                f"The script made an environment with space {real}, the run's config says {planned}. "
                "Its recording could not be read; this script needs its own way of recording the config"
            )
