"""The per-step hash by which a replay is compared with what happened."""

import struct
from hashlib import blake2b
from typing import Any

from mosaic_workerkit.plain import is_array, is_scalar, loaded_type, raw_bytes

HASH_BYTES = 8
pack_outcome = struct.Struct("<dB").pack
"""Pack reward and flags in the form that the hash uses."""
new_hasher = blake2b(digest_size=HASH_BYTES).copy
"""Return a new hasher. Copying an empty one takes half the time of making one."""
_int64 = struct.Struct("<q").pack


def step_hash(observation: Any, reward: float = 0.0, flags: int = 0) -> bytes:
    """Return the 8-byte blake2b hash of raw observation, float64 reward and one byte of flags.

    Arrays count as their little-endian bytes in C order, integers (a discrete observation) as int64, floats as
    float64, text as UTF-8; dict observations by sorted key, tuples in order.

    Raises:
        TypeError: an observation of another kind.
    """
    if type(observation) is loaded_type("ndarray"):
        data = observation.tobytes() if observation.dtype.isnative else raw_bytes(observation)
    else:
        data = _observation_bytes(observation)
    hasher = new_hasher()
    hasher.update(data + pack_outcome(reward, flags))
    return hasher.digest()


def _observation_bytes(observation: Any) -> bytes:
    if isinstance(observation, (bool, int)):
        return _int64(int(observation))
    if is_array(observation):
        return raw_bytes(observation)
    if isinstance(observation, (loaded_type("integer"), loaded_type("bool_"))):
        return _int64(int(observation))
    if is_scalar(observation):
        import numpy as np  # whose scalar it is

        return raw_bytes(np.asarray(observation))
    if isinstance(observation, float):
        return struct.pack("<d", observation)
    if isinstance(observation, str):
        return observation.encode()
    if isinstance(observation, bytes):
        return observation
    if isinstance(observation, dict):
        return b"".join(_observation_bytes(observation[key]) for key in sorted(observation))
    if isinstance(observation, (tuple, list)):
        if all(type(part) is float for part in observation):
            return struct.pack(f"<{len(observation)}d", *observation)
        return b"".join(_observation_bytes(part) for part in observation)
    raise TypeError(
        f"cannot hash an observation of type {type(observation).__qualname__}: "
        "give an array, a number, a text, or a dict or tuple of them"
    )
