"""The key map of a play: which action the keys that are held mean."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from mosaic_contracts.play import AxisRange
from mosaic_gymkit.play.known_keys import DIRECTIONS, IDLE, default_keys
from mosaic_workerkit.errors import EnvironmentUnusable

Keys = frozenset[str]


class KeyMapInvalid(ValueError):
    """A key map, or the action without keys, does not fit the environment; the message says what."""


@dataclass(frozen=True)
class KeyTable:
    """A key map that was read for one environment."""

    named: dict[str, Any]
    """As it is written, an action by keys joined with `+`."""
    entries: Mapping[Keys, Any]
    keys: Keys
    """All keys of the map."""
    opposites: Mapping[str, Keys]
    """For each key those that it cancels."""
    idle: Any
    """The action without keys, in plain values; None: the last one is repeated."""


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
        self._ranges = axis_ranges(self._space)
        self.default = default_keys(env, self._fits)
        """The map of the environment without the user's changes."""
        named = _read_map(text) if text.strip() else self.default
        self.ramp = ramp
        self._idle_text = idle
        self._table = self._read(named)
        self._last = self._first() if self._table.idle is None else self._table.idle
        self._at = np.array(self._last, dtype=float) if self._kind == "axes" else np.zeros(0)

    @property
    def named(self) -> dict[str, Any]:
        """The map as it is written, an action by keys joined with `+`."""
        return self._table.named

    @property
    def keys(self) -> Keys:
        """All keys of the map."""
        return self._table.keys

    @property
    def idle(self) -> Any:
        """The action without keys, in plain values; None: the last one is repeated."""
        return self._table.idle

    @property
    def axes(self) -> int:
        """Number of axes that act: the parts of a continuous action, 0 in any other space."""
        return len(self._ranges)

    def read(self, named: Mapping[str, Any]) -> KeyTable:
        """Read another map for this environment, empty for its own; `use` makes it count. Raises KeyMapInvalid."""
        return self._read(_plain_map(named) if named else self.default)

    def use(self, table: KeyTable) -> None:
        """Let another map count from now on; where no key means nothing, the last action goes on."""
        self._table = table

    def action(self, keys: Sequence[str], axes: Sequence[float] = ()) -> Any:
        """Return the action of the keys that are held.

        Opposite keys cancel each other. Keys together that the map does not have mean its largest part of them; of
        equal ones that with the key pressed last.

        Args:
            keys: in the order in which they were pressed.
            axes: of a gamepad, from -1 to 1, one for each part of a continuous action; they act without a ramp.

        Returns:
            An action as the environment takes it.
        """
        held = self._without_opposites(keys)
        if self._kind == "axes":
            return self._ramped(held, axes)
        if self._kind == "number":
            found = self._largest(held)
            self._last = self._last if found is None else found
            return int(self._last)
        self._last = self._merged(held)
        return np.asarray(self._last, dtype=self._space.dtype).reshape(self._space.shape)

    def reset(self) -> None:
        """Forget the last action: an episode begins."""
        self._last = self._first() if self._table.idle is None else self._table.idle
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
        return any(other in self._table.opposites.get(key, ()) for key in keys for other in others)

    def _without_opposites(self, keys: Sequence[str]) -> list[str]:
        known = [key for key in keys if key in self.keys]
        return [key for key in known if not self.conflict([key], known)]

    def _largest(self, held: Sequence[str]) -> Any:
        order = {key: place for place, key in enumerate(held)}
        fitting = [keys for keys in self._table.entries if keys and keys <= order.keys()]
        if not fitting:
            return self._table.idle
        largest = max(fitting, key=lambda keys: (len(keys), max(map(order.__getitem__, keys))))
        return self._table.entries[largest]

    def _merged(self, held: Sequence[str]) -> list[int]:
        """Each part of a choice by the last pressed key that sets it; larger entries win."""
        order = {key: place for place, key in enumerate(held)}
        fitting = [keys for keys in self._table.entries if keys and keys <= order.keys()]
        fitting.sort(key=lambda keys: (len(keys), max(map(order.__getitem__, keys))))
        merged = list(self._last if self._table.idle is None else self._table.idle)
        for keys in fitting:
            for part, value in enumerate(self._table.entries[keys]):
                merged[part] = merged[part] if value is None else value
        return merged

    def _ramped(self, held: Sequence[str], axes: Sequence[float]) -> Any:
        space: Any = self._space
        goal = np.array(self._table.idle, dtype=float)
        for keys, value in self._table.entries.items():
            if keys and keys <= set(held):
                goal += value
        low, high = space.low.ravel().astype(float), space.high.ravel().astype(float)
        goal = np.clip(goal, low, high)
        if self.ramp > 0:
            span = np.minimum(high, 1e3) - np.maximum(low, -1e3)
            most = span / 2 / self.ramp
            goal = self._at + np.clip(goal - self._at, -most, most)
        self._at = goal
        if axes:
            moved = np.zeros_like(goal)
            for part, (axis, bounds) in enumerate(zip(axes, self._ranges, strict=False)):
                moved[part] = axis * (bounds.high if axis > 0 else -bounds.low)
            goal = np.clip(goal + moved, low, high)
        return goal.astype(space.dtype).reshape(space.shape)

    def _read(self, named: dict[str, Any]) -> KeyTable:
        entries = {
            frozenset(keys.split("+")) if keys else frozenset(): self._checked(keys, value)
            for keys, value in named.items()
        }
        return KeyTable(
            named,
            entries,
            frozenset().union(*entries),
            _opposites(entries),
            self._idle_action(self._idle_text, entries),
        )

    def _idle_action(self, text: str, entries: Mapping[Keys, Any]) -> Any:
        if text.strip():
            try:
                return self._checked("idle", json.loads(text))
            except json.JSONDecodeError as error:
                raise KeyMapInvalid(f"idle is no JSON: {error}") from error
        if frozenset() in entries:
            return entries[frozenset()]
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
    return _plain_map(found)


def _plain_map(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a map with its keys in lower case, those together in one order."""
    named = {}
    for keys, value in found.items():
        parts = [part.strip().lower() for part in keys.split("+")] if keys.strip() else []
        if any(not part for part in parts):
            raise KeyMapInvalid(f"{keys!r} names no keys: join them with one `+`")
        named["+".join(sorted(parts)) or IDLE] = value
    return named


def axis_ranges(space: spaces.Space[Any]) -> list[AxisRange]:
    """Return what an axis moves, for each part of a continuous action; empty: the space is another one."""
    if _kind_of(space) != "axes":
        return []
    box: Any = space
    bounds = zip(box.low.ravel(), box.high.ravel(), strict=True)
    return [
        AxisRange(
            low=float(low) if np.isfinite(low) else -1.0,
            high=float(high) if np.isfinite(high) else 1.0,
        )
        for low, high in bounds
    ]


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
