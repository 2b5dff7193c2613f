"""How a reset is recorded, and how it is done again.

Forms of the record (docs/interfaces.md): `{"way": "seed", "seed"}`, `{"way": "generator", "state"}`,
`{"way": "snapshot", "state", "emulator"}`, and `{"way": "chain", ...}` with the keys of either of the first two.
"""

import json
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

from mosaic_contracts.replays import ResetWay
from mosaic_gymkit.families import emulator_state, restore_emulator


class ResetInvalid(ValueError):
    """A recorded reset cannot be done again as it was recorded."""


def reset_origin(
    env: gymnasium.Env[Any, Any],
    seed: int | None,
    options: Mapping[str, Any] | None,
    *,
    is_emulated: bool,
    is_chained: bool,
) -> dict[str, Any]:
    """Return how to do a reset again. Call it right before the reset; reading the generator changes nothing.

    Args:
        env: the environment that will be reset.
        seed: seed of the reset; None: the environment goes on with its generator.
        options: options of the reset.
        is_emulated: whether it is an Atari emulator, whose state is then kept too.
        is_chained: whether the reset depends on the episodes before it.

    Returns:
        Data of `episode_start.reset`.
    """
    if seed is not None:
        origin: dict[str, Any] = {"way": ResetWay.SEED.value, "seed": int(seed)}
    else:
        generator = getattr(env.unwrapped, "np_random", None)
        if not isinstance(generator, np.random.Generator):
            origin = {"way": ResetWay.CHAIN.value}  # its random numbers are its own
        else:
            # A generator's words are 128 bits wide, hence the JSON text.
            state = json.dumps(generator.bit_generator.state, default=_plain)
            origin = {"way": ResetWay.GENERATOR.value, "state": state}
            if is_emulated:
                origin |= {"way": ResetWay.SNAPSHOT.value, "emulator": emulator_state(env)}
    if is_chained:
        origin["way"] = ResetWay.CHAIN.value
    if options:
        origin["options"] = json.dumps(options, default=_plain)
    return origin


def repeat_reset(env: gymnasium.Env[Any, Any], origin: Mapping[str, Any]) -> Any:
    """Do a recorded reset again.

    Args:
        env: an environment like the recorded one; for a chain, after all episodes before this one.
        origin: data of `episode_start.reset`.

    Returns:
        The first observation.

    Raises:
        ResetInvalid: the record cannot be read.
    """
    return env.reset(**prepare_reset(env, origin))[0]


def prepare_reset(env: gymnasium.Env[Any, Any], origin: Mapping[str, Any]) -> dict[str, Any]:
    """Bring an environment to where it was before a recorded reset.

    Args:
        env: as for `repeat_reset`.
        origin: data of `episode_start.reset`.

    Returns:
        The arguments of the reset: `seed` and `options`.

    Raises:
        ResetInvalid: the record cannot be read.
    """
    try:
        options = json.loads(origin["options"]) if "options" in origin else None
        if "seed" in origin:
            return {"seed": int(origin["seed"]), "options": options}
        if "state" in origin:
            inner: Any = env.unwrapped
            inner.np_random = _generator(json.loads(origin["state"]))
        if "emulator" in origin:
            restore_emulator(env, str(origin["emulator"]))
    except (ValueError, KeyError, TypeError) as error:
        raise ResetInvalid(f"the recorded reset cannot be read: {error}") from error
    return {"seed": None, "options": options}


def _generator(state: Mapping[str, Any]) -> np.random.Generator:
    kind = getattr(np.random, str(state["bit_generator"]), None)
    if not (isinstance(kind, type) and issubclass(kind, np.random.BitGenerator)):
        raise ValueError(f"{state['bit_generator']!r} is no bit generator of NumPy")
    bits = kind()
    bits.state = _arrays(state)
    return np.random.Generator(bits)


def _arrays(state: Any) -> Any:
    """Lists as the arrays that some generators keep their words in (MT19937, SFC64, Philox)."""
    if isinstance(state, Mapping):
        return {key: _arrays(value) for key, value in state.items()}
    return np.array(state, dtype=np.uint64) if isinstance(state, list) else state


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no JSON form")
