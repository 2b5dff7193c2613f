"""A vector environment that answers as gym 0.23.1 did."""

from typing import Any

import gymnasium
import numpy as np

__all__ = ["SyncVectorEnv", "VectorEnv"]

VectorEnv = gymnasium.vector.VectorEnv

_SEED = "_old_gym_seed"


def remember_seed(env: Any, seed: int) -> None:
    """Keep a seed for the first reset."""
    setattr(env, _SEED, seed)


def _take_seed(env: Any) -> int | None:
    seed: int | None = getattr(env.unwrapped, _SEED, None)
    if seed is not None:
        delattr(env.unwrapped, _SEED)
    return seed


class SyncVectorEnv(gymnasium.vector.SyncVectorEnv):
    """`reset` gives observations only; `step` gives one `done` and a list of infos."""

    def reset(self, **kwargs: Any) -> Any:
        """Reset all, with the seeds that `seed()` was given since."""
        seeds = [_take_seed(env) for env in self.envs]
        if kwargs.get("seed") is None and any(seed is not None for seed in seeds):
            kwargs["seed"] = seeds
        observations, _ = super().reset(**kwargs)
        return observations

    def step(self, actions: Any) -> Any:
        """Step all; the last observation of an ended episode is in its info."""
        observations, rewards, terminated, truncated, infos = super().step(actions)
        return (
            observations,
            rewards,
            np.logical_or(terminated, truncated),
            _old_infos(infos, terminated, truncated),
        )


def _old_infos(infos: dict[str, Any], terminated: Any, truncated: Any) -> list[dict[str, Any]]:
    """One dict per sub-environment instead of one dict of arrays."""
    result: list[dict[str, Any]] = [{} for _ in terminated]
    if not infos:
        return result
    for key, values in infos.items():
        mask = infos.get(f"_{key}")
        if mask is None or key in ("final_info", "final_observation"):
            continue
        for index in np.flatnonzero(mask):
            result[index][key] = values[index]
    for index in np.flatnonzero(infos.get("_final_info", ())):
        # gym's reset gave no info, so what stands at an episode's end is the end's
        result[index] = _old_final_info(infos["final_info"][index])
        result[index]["terminal_observation"] = infos["final_observation"][index]
        if truncated[index]:
            result[index]["TimeLimit.truncated"] = not bool(terminated[index])
    return result


def _old_final_info(info: dict[str, Any]) -> dict[str, Any]:
    result = dict(info)
    if "episode" in result:
        result["episode"] = {key: np.asarray(v).item() for key, v in info["episode"].items()}
    return result
