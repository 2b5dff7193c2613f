"""Recorded spaces and values as Gymnasium and NumPy have them."""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from mosaic_exporter.errors import ExportProblem

Recorded = Mapping[str, Any]
"""A space as the `config` event has it (docs/interfaces.md)."""


def space_of(recorded: Recorded, named: spaces.Space[Any] | None = None) -> spaces.Space[Any]:
    """Return the Gymnasium space of a recorded one.

    Args:
        recorded: kind, dtype and shape; bounds of a box are not recorded.
        named: the space of the environment that the record names, where it is installed: taken where it fits, for it
            knows its bounds.

    Raises:
        ExportProblem: a space of a kind that Minari cannot hold.
    """
    match recorded.get("kind"):
        case "discrete":
            return spaces.Discrete(int(recorded["n"]), start=int(recorded.get("start", 0)))
        case "multi_discrete":
            return spaces.MultiDiscrete(np.asarray(recorded["nvec"]))
        case "box":
            return _box(recorded, named)
        case "dict":
            inner = named.spaces if isinstance(named, spaces.Dict) else {}
            parts = recorded["spaces"]
            return spaces.Dict({key: space_of(parts[key], inner.get(key)) for key in parts})
        case _:  # a graph, a text, ... of Gymnasium
            text = recorded.get("repr", recorded.get("kind"))
            raise ExportProblem(f"A Minari dataset cannot hold values of the space {text}.")


def value_of(space: spaces.Space[Any], value: Any) -> Any:
    """Return a recorded action or observation as the space has it.

    Raises:
        ExportProblem: the value is none of the space.
    """
    try:
        if isinstance(space, spaces.Discrete):
            return np.int64(value)
        if isinstance(space, spaces.Dict):
            return {key: value_of(space[key], value[key]) for key in space}
        shape, dtype = space.shape, space.dtype
        if isinstance(value, bytes) and shape is not None:
            # recorded little-endian; a copy, for the bytes are those of a whole batch
            wire = np.dtype(dtype).newbyteorder("<")
            return np.frombuffer(value, wire).reshape(shape).astype(dtype)
        return np.asarray(value, dtype).reshape(shape or ())
    except (ValueError, TypeError, KeyError) as error:
        raise ExportProblem(f"A recorded value does not fit {space}: {error}") from error


def collected(space: spaces.Space[Any], values: Sequence[Any]) -> Any:
    """Return values of one space as Minari takes them: a list, or a dict of lists."""
    if isinstance(space, spaces.Dict):
        return {key: collected(space[key], [value[key] for value in values]) for key in space}
    return list(values)


def environment_spaces(
    spec: gymnasium.envs.registration.EnvSpec | None,
) -> tuple[spaces.Space[Any] | None, spaces.Space[Any] | None]:
    """Return observation and action space of an environment that is installed here; None for one that is not."""
    if spec is None:
        return None, None
    try:
        env = gymnasium.make(spec)
    except (gymnasium.error.Error, ImportError, ValueError, TypeError):
        return None, None
    found = env.observation_space, env.action_space
    env.close()
    return found


def _box(recorded: Recorded, named: spaces.Space[Any] | None) -> spaces.Box:
    shape, dtype = tuple(recorded["shape"]), np.dtype(recorded["dtype"]).newbyteorder("=")
    if isinstance(named, spaces.Box) and (named.shape, named.dtype) == (shape, dtype):
        return named
    if dtype.kind == "f":
        return spaces.Box(-np.inf, np.inf, shape, dtype.type)
    if dtype.kind == "b":
        return spaces.Box(0, 1, shape, np.int8)
    limits = np.iinfo(dtype.type)  # type: ignore[type-var] # a kind that is not whole raises ValueError
    return spaces.Box(limits.min, limits.max, shape, dtype.type)
