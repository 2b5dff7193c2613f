"""The key map of a play: which action the keys that are held mean."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from mosaic_gymkit.play.known_keys import DIRECTIONS, IDLE, default_keys
from mosaic_workerkit.errors import EnvironmentUnusable

Keys = frozenset[str]


class KeyMapInvalid(ValueError):
    """A key map, or the action without keys, does not fit the environment; the message says what."""


class KeyMap:
    """Turns keys into actions of one environment.

    Args:
        env: the environment.
        text: JSON of an action by a key, or by keys joined with `+`; empty: the environment's default.
        idle: JSON of the action without keys; empty: that of the map's entry `""`, else the last action again.
        ramp: steps from the middle of a continuous action to its end; 0: at once.

    Raises:
        KeyMapInvalid: the map or the action without keys does not fit.
        EnvironmentUnusable: keys cannot give actions of this environment.
    """

    def __init__(
        self, env: gymnasium.Env[Any, Any], text: str = "", idle: str = "", ramp: float = 0.0
    ) -> None:
        self._space = env.action_space
        self._kind = _kind_of(self._space)
        if self._kind is None:
            name = type(self._space).__name__
            raise EnvironmentUnusable(f"Keys cannot give actions of the space {name}.")
        self.default = default_keys(env, self._fits)
        """The map of the environment without the user's changes."""
        self.named = _read_map(text) if text.strip() else self.default
        """The map as it is written, an action by keys joined with `+`."""
        self._entries: dict[Keys, Any] = {}
        for keys, value in self.named.items():
            self._entries[frozenset(keys.split("+")) if keys else frozenset()] = self._checked(
                keys, value
            )
        self.ramp = ramp
        self.keys: Keys = frozenset().union(*self._entries)
        """All keys of the map."""
        self._opposites = _opposites(self._entries)
        self._idle = self._idle_action(idle)
        self._last = self._first() if self._idle is None else self._idle
        self._at = np.array(self._last, dtype=float) if self._kind == "axes" else np.zeros(0)

    @property
    def idle(self) -> Any:
        """The action without keys, in plain values; None: the last one is repeated."""
        return self._idle

    def action(self, keys: Sequence[str]) -> Any:
        """Return the action of the keys that are held.

        Opposite keys cancel each other. Keys together that the map does not have mean its largest part of them; of
        equal ones that with the key pressed last.

        Args:
            keys: in the order in which they were pressed.

        Returns:
            An action as the environment takes it.
        """
        held = self._without_opposites(keys)
        if self._kind == "axes":
            return self._ramped(held)
        if self._kind == "number":
            found = self._largest(held)
            self._last = self._last if found is None else found
            return int(self._last)
        self._last = self._merged(held)
        return np.asarray(self._last, dtype=self._space.dtype).reshape(self._space.shape)

    def reset(self) -> None:
        """Forget the last action: an episode begins."""
        self._last = self._first() if self._idle is None else self._idle
        if self._kind == "axes":
            self._at = np.array(self._last, dtype=float)

    def follow(self, action: Any) -> None:
        """Take an action of a policy as the last one: a person who takes over goes on from there."""
        if self._kind == "axes":
            self._at = np.asarray(action, dtype=float).ravel()
        elif self._kind == "number":
            self._last = int(action)
        else:
            self._last = np.asarray(action).ravel().tolist()

    def conflict(self, keys: Sequence[str], others: Sequence[str]) -> bool:
        """Say whether one of the keys is the opposite of one of the others."""
        return any(other in self._opposites.get(key, ()) for key in keys for other in others)

    def _without_opposites(self, keys: Sequence[str]) -> list[str]:
        known = [key for key in keys if key in self.keys]
        return [key for key in known if not self.conflict([key], known)]

    def _largest(self, held: Sequence[str]) -> Any:
        order = {key: place for place, key in enumerate(held)}
        fitting = [keys for keys in self._entries if keys and keys <= order.keys()]
        if not fitting:
            return self._idle
        return self._entries[max(fitting, key=lambda keys: (len(keys), max(map(order.__getitem__, keys))))]  # fmt: skip

    def _merged(self, held: Sequence[str]) -> list[int]:
        """Each part of a choice by the last pressed key that sets it; larger entries win."""
        order = {key: place for place, key in enumerate(held)}
        fitting = [keys for keys in self._entries if keys and keys <= order.keys()]
        fitting.sort(key=lambda keys: (len(keys), max(map(order.__getitem__, keys))))
        merged = list(self._last if self._idle is None else self._idle)
        for keys in fitting:
            for part, value in enumerate(self._entries[keys]):
                merged[part] = merged[part] if value is None else value
        return merged

    def _ramped(self, held: Sequence[str]) -> Any:
        space: Any = self._space
        goal = np.array(self._idle, dtype=float)
        for keys, value in self._entries.items():
            if keys and keys <= set(held):
                goal += value
        low, high = space.low.ravel().astype(float), space.high.ravel().astype(float)
        goal = np.clip(goal, low, high)
        if self.ramp > 0:
            span = np.minimum(high, 1e3) - np.maximum(low, -1e3)
            most = span / 2 / self.ramp
            goal = self._at + np.clip(goal - self._at, -most, most)
        self._at = goal
        return goal.astype(space.dtype).reshape(space.shape)

    def _idle_action(self, text: str) -> Any:
        if text.strip():
            try:
                return self._checked("idle", json.loads(text))
            except json.JSONDecodeError as error:
                raise KeyMapInvalid(f"idle is no JSON: {error}") from error
        if frozenset() in self._entries:
            return self._entries[frozenset()]
        if self._kind == "axes":
            space: Any = self._space
            return np.clip(0.0, space.low.ravel(), space.high.ravel()).astype(float).tolist()
        return [0] * _size(self._space) if self._kind == "choices" else None

    def _fits(self, keys: Mapping[str, Any]) -> bool:
        """Whether each entry of a map is an action of the environment."""
        try:
            for names, value in keys.items():
                self._checked(names, value)
        except KeyMapInvalid:
            return False
        return True

    def _first(self) -> Any:
        return int(getattr(self._space, "start", 0))

    def _checked(self, keys: str, value: Any) -> Any:
        """Return the value of an entry in plain values. Raises KeyMapInvalid."""
        space: Any = self._space
        name = f"the action of {keys!r}"
        if self._kind == "number":
            start, end = int(space.start), int(space.start + space.n) - 1
            if not isinstance(value, int) or isinstance(value, bool) or not start <= value <= end:
                raise KeyMapInvalid(f"{name} must be a number from {start} to {end}, not {value!r}")
            return value
        size = _size(space)
        if not isinstance(value, list) or len(value) != size:
            raise KeyMapInvalid(f"{name} must be a list of {size} numbers, not {value!r}")
        if self._kind == "axes":
            if not all(isinstance(part, int | float) for part in value):
                raise KeyMapInvalid(f"{name} must be a list of {size} numbers, not {value!r}")
            return [float(part) for part in value]
        for part, (one, count) in enumerate(zip(value, _counts(space), strict=True)):
            if one is not None and (not isinstance(one, int) or not 0 <= one < count):
                raise KeyMapInvalid(
                    f"{name}: part {part} must be from 0 to {count - 1}, not {one!r}"
                )
        return value


def _kind_of(space: spaces.Space[Any]) -> str | None:
    """How keys give actions of a space; None: they cannot."""
    if isinstance(space, spaces.Discrete):
        return "number"
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        return "choices"
    return "axes" if isinstance(space, spaces.Box) else None


def _size(space: Any) -> int:
    return int(np.prod(space.shape, dtype=int))


def _counts(space: Any) -> list[int]:
    if isinstance(space, spaces.MultiBinary):
        return [2] * _size(space)
    return [int(count) for count in space.nvec.ravel()]


def _read_map(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise KeyMapInvalid(f"keys is no JSON: {error}") from error
    if not isinstance(found, dict) or not found:
        raise KeyMapInvalid('keys must be an object, e.g. {"left": 0, "right": 1}')
    named = {}
    for keys, value in found.items():
        parts = [part.strip().lower() for part in keys.split("+")] if keys.strip() else []
        if any(not part for part in parts):
            raise KeyMapInvalid(f"{keys!r} names no keys: join them with one `+`")
        named["+".join(sorted(parts)) or IDLE] = value
    return named


def _opposites(entries: Mapping[Keys, Any]) -> dict[str, Keys]:
    """For each key those that it cancels: the other side of arrows and WASD, unless the map knows both together."""
    found: dict[str, set[str]] = {}
    sides = ((DIRECTIONS["left"], DIRECTIONS["right"]), (DIRECTIONS["up"], DIRECTIONS["down"]))
    for first, second in sides:
        for one in first:
            for other in second:
                if not any({one, other} <= keys for keys in entries):
                    found.setdefault(one, set()).add(other)
                    found.setdefault(other, set()).add(one)
    return {key: frozenset(others) for key, others in found.items()}
