"""Key maps of environments that are known by name, and of others by their action space."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

DIRECTIONS = {
    "left": ("left", "a"),
    "right": ("right", "d"),
    "up": ("up", "w"),
    "down": ("down", "s"),
}
"""Arrows and WASD."""
IDLE = ""
"""Entry of a key map for no key at all."""
_KNOWN: dict[str, dict[str, Any]] = {
    r"CartPole": {"left": 0, "right": 1},
    r"MountainCar-": {"left": 0, "right": 2, IDLE: 1},
    r"MountainCarContinuous": {"left": [-1.0], "right": [1.0]},
    r"Acrobot": {"left": 0, "right": 2, IDLE: 1},
    r"Pendulum": {"left": [2.0], "right": [-2.0]},
    r"FrozenLake": {"left": 0, "down": 1, "right": 2, "up": 3},
    r"CliffWalking": {"up": 0, "right": 1, "down": 2, "left": 3},
    r"Taxi": {"down": 0, "up": 1, "right": 2, "left": 3, "space": 4, "enter": 5},
    r"Blackjack": {"down": 0, "up": 1, "space": 1, "enter": 0},
    r"LunarLander-": {"left": 1, "up": 2, "right": 3, IDLE: 0},
    r"LunarLanderContinuous": {"up": [1.0, 0.0], "left": [0.0, -1.0], "right": [0.0, 1.0]},
    r"CarRacing": {"left": [-1.0, 0, 0], "right": [1.0, 0, 0], "up": [0, 1.0, 0], "down": [0, 0, 0.8]},
    r"(MiniGrid|BabyAI)-": {
        "left": 0, "right": 1, "up": 2, "p": 3, "o": 4, "space": 5, "enter": 6,
    },
}  # fmt: skip
"""By the beginning of the environment's name; a direction means its arrow and its letter."""
_CAR_DISCRETE = {IDLE: 0, "right": 1, "left": 2, "up": 3, "down": 4}
_MEANINGS = {
    r"Taxi": {"space": "pick up", "enter": "drop off"},
    r"Blackjack": {"space": "hit", "up": "hit", "enter": "stick", "down": "stick"},
    r"LunarLander": {"left": "left engine", "up": "main engine", "right": "right engine"},
    r"CarRacing": {"up": "gas", "down": "brake"},
    r"(MiniGrid|BabyAI)-": {
        "up": "forward", "p": "pick up", "o": "drop", "space": "toggle", "enter": "done",
    },
}  # fmt: skip
TURNS = re.compile(r"gymnasium\.envs\.toy_text\.|minigrid\.")
"""Entry points of environments in which nothing happens by itself."""
_AXES = (("left", "right"), ("down", "up"), ("j", "l"), ("k", "i"))
_PYGAME = {
    8: "backspace", 9: "tab", 13: "enter", 27: "escape", 32: "space",
    273: "up", 274: "down", 275: "right", 276: "left",
    1073741903: "right", 1073741904: "left", 1073741905: "down", 1073741906: "up",
}  # fmt: skip
"""Names of the numbers that `get_keys_to_action` may use, of pygame 1 and 2; others are characters."""
_LETTERS = {letter: arrow for arrow, letter in DIRECTIONS.values()}
_ARROWS = dict(DIRECTIONS.values())


def default_keys(
    env: gymnasium.Env[Any, Any], fits: Callable[[Mapping[str, Any]], bool]
) -> dict[str, Any]:
    """Return the key map of an environment: its own, else one that is known by name, else one by its action space.

    Args:
        env: the environment.
        fits: whether a map is one of actions of the environment; its own may be of another version.
    """
    own = _own_keys(env)
    if own and fits(own):
        return own
    name = _name(env)
    known = next((keys for begin, keys in _KNOWN.items() if re.match(begin, name)), None)
    space = env.action_space
    is_discrete = isinstance(space, spaces.Discrete)
    if known is not None and is_discrete != _is_discrete(known):
        known = _CAR_DISCRETE if name.startswith("CarRacing") and is_discrete else None
    return _spread(known if known is not None else _keys_by_space(space))


def meanings(env: gymnasium.Env[Any, Any], keys: Mapping[str, Any]) -> dict[str, str]:
    """Return what the entries of a key map do, in a word, where that is known."""
    name = _name(env)
    known = next((words for begin, words in _MEANINGS.items() if re.match(begin, name)), {})
    words = {**{direction: direction for direction in DIRECTIONS}, **known}
    found: dict[str, str] = {}
    for direction, word in words.items():
        found |= dict.fromkeys(DIRECTIONS.get(direction, (direction,)), word)
    named = getattr(env.unwrapped, "get_action_meanings", None)
    if named is not None:
        names = [str(name).lower() for name in named()]
        found |= {key: names[value] for key, value in keys.items() if isinstance(value, int)}
    return {key: found[key] for key in keys if key in found}


def has_turns(env: gymnasium.Env[Any, Any]) -> bool:
    """Say whether nothing happens in an environment by itself, so that each press of a key is one step."""
    return env.spec is not None and TURNS.match(str(env.spec.entry_point)) is not None


def _name(env: gymnasium.Env[Any, Any]) -> str:
    return "" if env.spec is None else env.spec.id.rpartition(":")[2]


def _is_discrete(keys: Mapping[str, Any]) -> bool:
    return all(isinstance(value, int) for value in keys.values())


def _spread(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Arrows and WASD for directions. A letter that is used otherwise stays so."""
    spread: dict[str, Any] = {}
    for key, value in keys.items():
        for each in DIRECTIONS.get(key, (key,)):
            if each == key or each not in keys:
                spread[each] = value
    return spread


def _own_keys(env: gymnasium.Env[Any, Any]) -> dict[str, Any]:
    """What the environment's `get_keys_to_action` says, for arrows and WASD where it says one of them."""
    inner: Any = env.unwrapped
    if not hasattr(inner, "get_keys_to_action"):
        return {}
    meanings_of = getattr(inner, "get_action_meanings", None)
    known = list(meanings_of()) if meanings_of is not None else []
    found: dict[str, Any] = {}
    for keys, action in inner.get_keys_to_action().items():
        names = sorted(_key_name(key) for key in ([keys] if isinstance(keys, int) else keys))
        found["+".join(names)] = _plain_action(action, known)
    if IDLE not in found and "NOOP" in known:
        found[IDLE] = known.index("NOOP")
    return _with_twins(found)


def _plain_action(action: Any, meanings: list[str]) -> Any:
    """A number, or a list of numbers. An action that is called as one of `meanings` is its place: before ale-py 0.11 a
    game's own map had the numbers of the whole console."""
    value: Any = action
    if getattr(action, "name", None) in meanings:
        return meanings.index(action.name)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return list(value)
    is_number = isinstance(value, float)
    return value if is_number else int(value)  # an enumeration of its own, too


def _with_twins(keys: dict[str, Any]) -> dict[str, Any]:
    """Add arrows to a map of WASD, and the other way round."""
    used = {key for names in keys for key in names.split("+")}
    for twins in (_LETTERS, _ARROWS):
        if used & twins.keys() and not used & set(twins.values()):
            added = {
                "+".join(sorted(twins.get(key, key) for key in names.split("+"))): value
                for names, value in keys.items()
                if set(names.split("+")) & twins.keys()
            }
            return keys | added
    return keys


def _key_name(key: int | str) -> str:
    if isinstance(key, str):
        return _PYGAME[32] if key == " " else key.lower()
    return _PYGAME.get(key) or chr(key).lower()


def _keys_by_space(space: spaces.Space[Any]) -> dict[str, Any]:
    if isinstance(space, spaces.Discrete):
        start, count = int(space.start), int(space.n)
        keys: dict[str, Any] = {str(i): start + i for i in range(min(count, 10))}
        sides = {
            2: ("left", "right"),
            3: ("left", IDLE, "right"),
            4: ("left", "down", "right", "up"),
        }
        return keys | {side: start + i for i, side in enumerate(sides.get(count, ()))}
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        return _keys_of_choices(space)
    if isinstance(space, spaces.Box):
        return _keys_of_axes(space)
    return {}


def _keys_of_choices(space: spaces.MultiDiscrete | spaces.MultiBinary) -> dict[str, Any]:
    """The lowest and the highest value of each part of a choice, on the keys of an axis."""
    size = int(np.prod(space.shape, dtype=int))
    counts = [2] * size
    if isinstance(space, spaces.MultiDiscrete):
        counts = space.nvec.ravel().tolist()
    keys: dict[str, Any] = {}
    for part, (count, (low, high)) in enumerate(zip(counts, _AXES, strict=False)):
        for key, value in ((low, 0), (high, int(count) - 1)):
            keys[key] = [value if i == part else None for i in range(len(counts))]
    return keys


def _keys_of_axes(space: spaces.Box) -> dict[str, Any]:
    size = int(space.low.size)
    keys = {}
    for axis, pair in enumerate(_AXES[:size]):
        for key, end in zip(pair, (space.low.ravel()[axis], space.high.ravel()[axis]), strict=True):
            far = max(-1.0, min(1.0, float(end))) if abs(float(end)) > 1e3 else float(end)
            keys[key] = [far if i == axis else 0.0 for i in range(size)]
    return keys
