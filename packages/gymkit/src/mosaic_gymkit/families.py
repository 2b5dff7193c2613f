"""What is known of families of environments: which carry state from episode to episode, which can be copied."""

import base64
import re
import zlib
from contextlib import suppress
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

ATARI = "ale_py."
"""How the entry points of ale-py's environments begin."""
MUJOCO = "gymnasium.envs.mujoco."
"""How the entry points of Gymnasium's MuJoCo environments begin."""
_CHAINED = re.compile(r"(BipedalWalker(Hardcore)?|LunarLander(Continuous)?)-v\d+")
"""Environments whose Box2D world carries something over from episode to episode: most episodes of BipedalWalker, about
one in twenty of LunarLander (`benchmarks/replays.py`)."""


def find_registered(name: str) -> bool:
    """Say whether Gymnasium knows an environment; ale-py's games are registered when one is missing.

    Args:
        name: id in Gymnasium's registry.
    """
    if name not in gymnasium.registry:
        with suppress(ImportError):
            import ale_py

            if hasattr(gymnasium, "register_envs"):  # before 1.0 the import alone registers them
                gymnasium.register_envs(ale_py)
    return name in gymnasium.registry


def is_chained(name: str) -> bool:
    """Say whether some episodes can be rebuilt only after all those that the environment had before them.

    Args:
        name: id of the environment.
    """
    return _CHAINED.fullmatch(name.rpartition(":")[2]) is not None


def is_atari(spec: EnvSpec | None) -> bool:
    """Say whether an environment is one of ale-py's."""
    return spec is not None and str(spec.entry_point).startswith(ATARI)


def is_mujoco(spec: EnvSpec | None) -> bool:
    """Say whether an environment is one of Gymnasium's for MuJoCo, which draw with OpenGL."""
    return spec is not None and str(spec.entry_point).startswith(MUJOCO)


def emulator_state(env: gymnasium.Env[Any, Any]) -> str:
    """Return the whole state of an Atari emulator, its random numbers included, as text.

    A reset does not clear all of it: some games begin otherwise after other games.

    Args:
        env: an environment of ale-py.

    Returns:
        Base64 of zlib of the emulator's own form.
    """
    return base64.b64encode(zlib.compress(emulator_bytes(env))).decode()


def emulator_bytes(env: gymnasium.Env[Any, Any]) -> bytes:
    """Return the whole state of an Atari emulator as bytes."""
    inner: Any = env.unwrapped
    state: bytes
    (state,) = inner.clone_state(include_rng=True).__getstate__()
    return state


def restore_emulator(env: gymnasium.Env[Any, Any], state: str | bytes) -> None:
    """Put an Atari emulator into a state that was taken before. Nothing in it is run as code.

    Args:
        env: an environment of ale-py.
        state: what `emulator_state` or `emulator_bytes` returned.

    Raises:
        ValueError, zlib.error: it is neither.
    """
    import ale_py

    data = zlib.decompress(base64.b64decode(state)) if isinstance(state, str) else state
    # One that is made as usual takes no other state.
    restored = ale_py.ALEState.__new__(ale_py.ALEState)
    restored.__setstate__((data,))
    inner: Any = env.unwrapped
    inner.restore_state(restored)
