"""The hash of a step, as `mosaic_workerkit.stephash` defines it; a test holds the two equal."""

from __future__ import annotations

import struct
import sys
from hashlib import blake2b
from typing import Any

_outcome = struct.Struct("<dB").pack
_new = blake2b(digest_size=8).copy


def step_hash(observation: Any, reward: float = 0.0, flags: int = 0) -> str:
    """Return the 16 hexadecimal digits of one step's hash.

    Args:
        observation: what the environment returned: an array, number, text, or a dict or tuple of them.
        reward: of this step.
        flags: 1 for terminated, plus 2 for truncated.

    Raises:
        TypeError: an observation of another kind.
    """
    hasher = _new()
    hasher.update(observation_bytes(observation) + _outcome(reward, flags))
    return hasher.hexdigest()


def observation_bytes(observation: Any) -> bytes:
    """Return an observation as the hash takes it: arrays as little-endian bytes in C order.

    Raises:
        TypeError: as for `step_hash`.
    """
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(observation, numpy.ndarray):
        if observation.dtype.byteorder == ">":
            observation = observation.astype(observation.dtype.newbyteorder("<"))
        return bytes(observation.tobytes())
    if numpy is not None and isinstance(observation, (numpy.integer, numpy.bool_)):
        observation = int(observation)
    if isinstance(observation, int):
        return struct.pack("<q", observation)
    if numpy is not None and isinstance(observation, numpy.generic):
        return observation_bytes(numpy.asarray(observation))
    if isinstance(observation, float):
        return struct.pack("<d", observation)
    if isinstance(observation, str):
        return observation.encode()
    if isinstance(observation, bytes):
        return observation
    if isinstance(observation, dict):
        return b"".join(observation_bytes(observation[key]) for key in sorted(observation))
    if isinstance(observation, (tuple, list)):
        return b"".join(observation_bytes(part) for part in observation)
    raise TypeError(f"cannot hash an observation of type {type(observation).__name__}")
