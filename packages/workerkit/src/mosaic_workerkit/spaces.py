"""gymnasium spaces as the `config` event has them, without importing gymnasium: spaces are known by class name."""

from collections.abc import Sequence
from typing import Any

from mosaic_workerkit.plain import act_value, raw_bytes

# NumPy is imported where a space needs it: it would be a third of the start of a worker that does without.

Space = dict[str, Any]


def discrete(n: int, start: int = 0) -> Space:
    """Return the space of `n` whole numbers from `start` on."""
    described: Space = {"kind": "discrete", "n": n}
    return described | {"start": start} if start else described


def box(shape: Sequence[int], dtype: Any = "float32") -> Space:
    """Return the space of arrays of a shape and a NumPy dtype."""
    import numpy as np

    name = np.dtype(dtype).newbyteorder("<").str
    return {"kind": "box", "dtype": name, "shape": [int(n) for n in shape]}


def space_of(space: Any) -> Space:
    """Describe a Gymnasium space as a SPACE: box, discrete, multi_discrete, dict, or other."""
    names = {kind.__name__ for kind in type(space).__mro__}
    if "Box" in names:
        return box(space.shape, space.dtype)
    if "Discrete" in names:
        return discrete(int(space.n), int(getattr(space, "start", 0)))
    if "MultiDiscrete" in names:
        import numpy as np

        return {"kind": "multi_discrete", "nvec": np.asarray(space.nvec).tolist()}
    if "Dict" in names:
        parts = dict(space.spaces)
        return {"kind": "dict", "spaces": {str(key): space_of(parts[key]) for key in sorted(parts)}}
    return {"kind": "other", "repr": repr(space)[:500]}


def encode_value(space: Space, value: Any) -> Any:
    """Encode an action or observation of a space for the wire.

    box: raw bytes as dtype and shape say; discrete: int; multi_discrete: list of ints; dict: map by sorted key.

    Raises:
        ValueError: the value does not have the space's number of elements.
    """
    kind = space["kind"]
    if kind == "discrete":
        return int(value)
    if kind == "box":
        import numpy as np

        array = np.asarray(value, dtype=np.dtype(space["dtype"]))
        if list(array.shape) != space["shape"] and array.size != np.prod(space["shape"], dtype=int):
            raise ValueError(f"a value of shape {array.shape} is not of shape {space['shape']}")
        return raw_bytes(array)
    if kind == "multi_discrete":
        import numpy as np

        return np.asarray(value).tolist()
    if kind == "dict":
        parts = space["spaces"]
        return {key: encode_value(parts[key], value[key]) for key in sorted(parts)}
    return act_value(value)
