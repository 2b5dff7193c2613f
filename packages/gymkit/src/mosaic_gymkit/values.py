"""Actions out of the plain values of a record."""

from typing import Any

import numpy as np
from gymnasium import spaces


def action_of(space: spaces.Space[Any], value: Any) -> Any:
    """Return a recorded action as the environment takes it.

    Args:
        space: the environment's action space.
        value: the action of an event in plain values: a number, or nested lists or maps.

    Returns:
        An int for a discrete space, arrays of the space's dtype and shape for boxes, maps and tuples of such.

    Raises:
        ValueError, TypeError: the value is none of the space.
    """
    if isinstance(space, spaces.Discrete):
        return int(value)
    if isinstance(space, spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary):
        return np.asarray(value, dtype=space.dtype).reshape(space.shape)
    if isinstance(space, spaces.Dict):
        return {key: action_of(space[key], value[str(key)]) for key in space}
    if isinstance(space, spaces.Tuple):
        return tuple(action_of(part, item) for part, item in zip(space, value, strict=True))
    return value
