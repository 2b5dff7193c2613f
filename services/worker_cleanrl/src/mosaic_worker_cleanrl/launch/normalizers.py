"""Statistics of normalising wrappers: without them a good policy acts badly."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch

from mosaic_worker_cleanrl.saved import OBSERVATIONS, RETURNS

_NAMES = (OBSERVATIONS, RETURNS)


class Moments(NamedTuple):
    """Mean and variance of some numbers, and how many there were."""

    mean: Any
    var: Any
    size: float


def layers(env: Any) -> Iterator[Any]:
    """The wrappers of an environment from the outside in, and the environment itself."""
    while env is not None:
        yield env
        env = vars(env).get("env")


def normalizer_state(variables: Mapping[str, Any]) -> dict[str, Any]:
    """The statistics that a script holds, by `variable.index.name`."""
    found: dict[str, Any] = {}
    for variable, index, layer in _layers_of(variables):
        for name in _NAMES:
            statistics = vars(layer).get(name)
            if statistics is not None:
                found[f"{variable}.{index}.{name}"] = {
                    "mean": torch.from_numpy(np.array(statistics.mean, dtype=np.float64)),
                    "var": torch.from_numpy(np.array(statistics.var, dtype=np.float64)),
                    "count": float(statistics.count),
                }
    return found


def merged_moments(saved: Mapping[str, Any], name: str) -> Moments | None:
    """Moments over all sub-environments of a training (Chan et al., 1983); None where it has none of this name."""
    parts = [part for key, part in saved.items() if key.rpartition(".")[2] == name]
    mean, squares, count = np.zeros(()), np.zeros(()), 0.0
    for part in parts:
        own = _moments(part)
        total = count + own.size
        difference = own.mean - mean
        squares = squares + own.var * own.size + difference**2 * (count * own.size / total)
        mean = mean + difference * (own.size / total)
        count = total
    return Moments(mean, squares / count, count) if parts else None


def restore_normalizers(saved: Mapping[str, Any], variables: Mapping[str, Any]) -> list[str]:
    """Give each normaliser of a script the statistics of a checkpoint.

    A sub-environment that the checkpoint's training did not have gets those of all together.

    Returns:
        Names of what was restored.
    """
    restored: set[str] = set()
    for variable, index, layer in _layers_of(variables):
        for name in _NAMES:
            part = saved.get(f"{variable}.{index}.{name}")
            moments = merged_moments(saved, name) if part is None else _moments(part)
            statistics = vars(layer).get(name)
            if statistics is not None and moments is not None:
                statistics.mean, statistics.var, statistics.count = moments
                restored.add(name)
    return sorted(restored)


def _moments(part: Mapping[str, Any]) -> Moments:
    mean, var = (np.array(part[name].numpy()) for name in ("mean", "var"))
    return Moments(mean, var, float(part["count"]))


def _layers_of(variables: Mapping[str, Any]) -> Iterator[tuple[str, int, Any]]:
    for variable, value in variables.items():
        if isinstance(value, gymnasium.vector.SyncVectorEnv):
            for index, env in enumerate(value.envs):
                for layer in layers(env):
                    yield variable, index, layer
