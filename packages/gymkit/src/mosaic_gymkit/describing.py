"""Descriptions of Gymnasium environments for the answer of `describe`."""

from mosaic_contracts.worker import Environment
from mosaic_gymkit.grids import grid_of
from mosaic_gymkit.play.known_keys import has_turns
from mosaic_gymkit.play.timing import own_rate
from mosaic_gymkit.specs import EnvironmentSpec
from mosaic_workerkit.spaces import space_of


def describe_environments(*ids: str) -> list[Environment]:
    """Describe environments: spaces, step limit, and how they are seen and played. Each is made once and closed.

    Args:
        ids: in Gymnasium's registry, or `module:Id`.

    Returns:
        One description each, for `BaseWorker.environments`.

    Raises:
        EnvironmentUnusable: one is unknown, or cannot be made here.
    """
    return [_described(name) for name in ids]


def _described(name: str) -> Environment:
    env = EnvironmentSpec(name).make()
    try:
        return Environment(
            id=name,
            action_space=space_of(env.action_space)["kind"],
            observation_space=space_of(env.observation_space)["kind"],
            max_steps=None if env.spec is None else env.spec.max_episode_steps,
            render="rgb_array" in env.metadata.get("render_modes", []),
            rate=own_rate(env),
            turns=has_turns(env),
            grid=grid_of(env),
        )
    finally:
        env.close()
