"""Episodes and steps of every environment that `gymnasium.make` or `gym.make` returns."""

from __future__ import annotations

import json
import os
import time
import weakref
from typing import Any

from mosaic_hook.hashing import step_hash
from mosaic_hook.reporter import Reporter
from mosaic_hook.spaces import space_of
from mosaic_hook.values import json_number, plain

_PROGRESS_S = 0.25

_counters: dict[int, HeardEnvironment] = {}
"""By the identity of the environment, so that nothing is added to it: a copy or a pickle of it is as it would be."""
_heard_classes: set[type] = set()
made_by_make: set[int] = set()
"""Identities of what lies innermost in the environments that are counted."""


def listen_to_make(reporter: Reporter, module: Any) -> None:
    """Hear every environment that the module's `make` returns from now on."""
    library = module.__name__.partition(".")[0]

    def made(env: Any, *_: Any, **__: Any) -> None:
        listen_to(reporter, env, library)

    if getattr(module.make, "__wrapped__", None) is None:
        reporter.replace(module, "make", library, after=made)


def listen_to(reporter: Reporter, env: Any, library: str) -> None:
    """Count the episodes of an environment, and record its steps where the recording level says so.

    Args:
        env: an environment with `reset` and `step`.
        library: `gymnasium` or `gym`.
    """
    reporter.heard(library)
    if not reporter.settings.has_episodes or id(env) in _counters:
        return
    _hear_class(reporter, type(env), library)
    counter = HeardEnvironment(reporter, env, next_number(reporter.settings.spool))
    _counters[id(env)] = counter
    weakref.finalize(env, _counters.pop, id(env), None)
    inner = getattr(env, "unwrapped", env)
    made_by_make.add(id(inner))
    weakref.finalize(inner, made_by_make.discard, id(inner))


def next_number(folder: str) -> int:
    """Number of the next environment of the run; no two processes get the same."""
    number = 0
    while True:
        try:
            path = os.path.join(folder, f"environment-{number}")
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            number += 1
        else:
            return number


def _hear_class(reporter: Reporter, kind: type, library: str) -> None:
    """Replace `step` and `reset` of a class; objects without a counter are not touched."""
    if kind in _heard_classes:
        return
    _heard_classes.add(kind)
    step, reset = kind.step, kind.reset  # type: ignore[attr-defined]

    def counted_step(self: Any, action: Any) -> Any:
        counter = _counters.get(id(self))
        if counter is None or counter.kind is not kind:
            return step(self, action)
        result = step(self, action)
        try:
            counter.step(action, result)
        except Exception as error:  # noqa: BLE001 - a script must not fail because it is listened to
            reporter.fail(library, error)
        return result

    def counted_reset(self: Any, *args: Any, **kwargs: Any) -> Any:
        counter = _counters.get(id(self))
        if counter is None or counter.kind is not kind:
            return reset(self, *args, **kwargs)
        try:
            counter.before_reset(self, kwargs.get("seed"), kwargs.get("options"))
        except Exception as error:  # noqa: BLE001 - as above
            reporter.fail(library, error)
        result = reset(self, *args, **kwargs)
        try:
            counter.after_reset(result)
        except Exception as error:  # noqa: BLE001 - as above
            reporter.fail(library, error)
        return result

    for name, function, original in (("step", counted_step, step), ("reset", counted_reset, reset)):
        function.__name__, function.__doc__ = name, original.__doc__
        function.__wrapped__ = original  # type: ignore[attr-defined]
        setattr(kind, name, function)


class HeardEnvironment:
    """Counts the episodes of one environment and reports them.

    Args:
        env: the environment. It is not kept.
        number: its number in the run, from 0.
    """

    def __init__(self, reporter: Reporter, env: Any, number: int) -> None:
        self.kind = type(env)
        """Class whose `step` and `reset` call this counter, not those of its bases that they call."""
        settings = reporter.settings
        self._reporter = reporter
        self._number = number
        self._has_steps = settings.has_steps
        self._shows = settings.has_observations
        self._every = settings.replay_every
        self._episode = -1
        self._length = 0
        self._total = 0.0
        self._began = 0.0
        self._is_open = False
        self.is_within = False
        """Whether its `step` or `reset` is being called."""
        self._records = False
        self._origin: dict[str, Any] | None = None
        self._told = 0.0
        self._is_discrete = type(getattr(env, "action_space", None)).__name__ == "Discrete"
        spec = getattr(env, "spec", None)
        reporter.add(
            {
                "type": "environment",
                "env": number,
                "id": getattr(spec, "id", None) or type(getattr(env, "unwrapped", env)).__name__,
                "arguments": _arguments(spec),
                "max_episode_steps": getattr(spec, "max_episode_steps", None),
                "spaces": {
                    "observation": space_of(getattr(env, "observation_space", None)),
                    "action": space_of(getattr(env, "action_space", None)),
                },
            }
        )

    def before_reset(self, env: Any, seed: Any, options: Any) -> None:
        """Note how this reset can be done again; reading the generator changes nothing."""
        self._records = self._has_steps and (self._episode + 1) % self._every == 0
        self._origin = _origin(env, seed, options) if self._records else None

    def after_reset(self, result: Any) -> None:
        """Begin an episode."""
        self._episode += 1
        self._length, self._total, self._is_open = 0, 0.0, True
        self._began = time.monotonic()
        if self._records:
            observation = result[0] if _is_pair(result) else result
            fields = {
                "type": "start",
                "env": self._number,
                "episode": self._episode,
                "reset": self._origin,
                "hash": step_hash(observation),
            }
            if self._shows:
                fields["observation"] = plain(observation)
            self._reporter.add(fields)

    def cut(self) -> None:
        """End an episode that a wrapper has ended, which the environment itself did not see."""
        if self._is_open and self._length:
            self._end(2)

    def step(self, action: Any, result: tuple[Any, ...]) -> None:
        """Count a step, and record it where the episode's steps are."""
        self._reporter.steps += 1
        if not self._is_open:
            return
        observation, reward, terminated, truncated = _outcome(result)
        self._length += 1
        self._total += reward
        flags = (1 if terminated else 0) | (2 if truncated else 0)
        if self._records:
            self._record(action, observation, reward, flags)
        if flags:
            self._end(flags)
        else:
            now = time.monotonic()
            if now - self._told > _PROGRESS_S:
                self._told = now
                self._reporter.add_line(f'{{"type":"steps","steps":{self._reporter.steps}}}\n')

    def _record(self, action: Any, observation: Any, reward: float, flags: int) -> None:
        chosen = int(action) if self._is_discrete else json.dumps(plain(action))
        shown = ',"observation":' + json.dumps(plain(observation)) if self._shows else ""
        digest = step_hash(observation, reward, flags)
        self._reporter.add_line(
            f'{{"type":"step","env":{self._number},"episode":{self._episode},"step":{self._length},'
            f'"action":{chosen},"reward":{json_number(reward)},"flags":{flags},"hash":"{digest}"{shown}}}\n'
        )

    def _end(self, flags: int) -> None:
        self._is_open = False
        duration = time.monotonic() - self._began
        self._reporter.add_line(
            f'{{"type":"episode","env":{self._number},"episode":{self._episode},'
            f'"return":{json_number(self._total)},"length":{self._length},"flags":{flags},'
            f'"duration_s":{duration!r},"steps":{self._reporter.steps}}}\n'
        )


def _arguments(spec: Any) -> dict[str, Any]:
    """Arguments of `make` by which an environment is made again; those that JSON does not have are left out."""
    found = {}
    for name, value in dict(getattr(spec, "kwargs", None) or {}).items():
        if name != "render_mode":
            try:
                found[str(name)] = json.loads(json.dumps(plain(value)))
            except (TypeError, ValueError):
                continue
    return found


def _outcome(result: tuple[Any, ...]) -> tuple[Any, float, bool, bool]:
    """Observation, reward, terminated, truncated; old `gym` returns one `done` and says the rest in `info`."""
    if len(result) == 5:
        return result[0], float(result[1]), bool(result[2]), bool(result[3])
    observation, reward, done, info = result
    is_cut = bool(done) and bool(info.get("TimeLimit.truncated", False))
    return observation, float(reward), bool(done) and not is_cut, is_cut


def _is_pair(result: Any) -> bool:
    return isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict)


def _origin(env: Any, seed: Any, options: Any) -> dict[str, Any]:
    """How to do a reset again, in the forms of docs/interfaces.md."""
    if seed is not None:
        origin = {"way": "seed", "seed": int(seed)}  # type: dict[str, Any]
    else:
        generator = getattr(getattr(env, "unwrapped", env), "np_random", None)
        bits = getattr(generator, "bit_generator", None)
        if bits is None:
            origin = {"way": "chain"}
        else:
            origin = {"way": "generator", "state": json.dumps(bits.state, default=plain)}
    if options:
        origin["options"] = json.dumps(options, default=plain)
    return origin
