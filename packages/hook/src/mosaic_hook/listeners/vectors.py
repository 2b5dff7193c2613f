"""Episodes of environments that step in batches of their own: `make_vec` with a vector entry point, and EnvPool.

Their steps are counted and not recorded one by one: a single one of them cannot be made again for a replay.
"""

from __future__ import annotations

import time
import weakref
from typing import Any

from mosaic_hook.listeners.environments import next_number
from mosaic_hook.reporter import Reporter
from mosaic_hook.spaces import space_of
from mosaic_hook.values import json_number

MAX_HEARD = 256
"""Episodes of so many of a batch are reported; the steps of all are counted."""
_PROGRESS_S = 0.25
_OF_SINGLE = ("SyncVectorEnv", "AsyncVectorEnv")
"""They consist of environments that `make` made, which are heard one by one."""

_counters: dict[int, HeardBatch] = {}
_heard_classes: set[type] = set()


def listen_to_make_vec(reporter: Reporter, module: Any) -> None:
    """Hear every vector environment of its own that the module's `make_vec` returns from now on."""

    def made(env: Any, *_: Any, **__: Any) -> None:
        if type(getattr(env, "unwrapped", env)).__name__ in _OF_SINGLE:
            return
        reporter.heard("gymnasium")
        spec = getattr(env, "spec", None)
        metadata = getattr(env, "metadata", None) or {}
        mode = getattr(metadata.get("autoreset_mode"), "name", "NEXT_STEP")
        _count(reporter, env, getattr(spec, "id", None), mode, ("step", "reset"))

    if getattr(module.make_vec, "__wrapped__", None) is None:
        reporter.replace(module, "make_vec", "gymnasium", after=made, silences=False)


def listen_to_envpool(reporter: Reporter, module: Any) -> None:
    """Hear what `envpool.make` and `make_gymnasium` return; `recv` is called by `step` and `reset`, too."""

    def made(env: Any, task_id: Any, *_: Any, **__: Any) -> None:
        if hasattr(env, "recv") and hasattr(env, "observation_space"):
            reporter.heard("envpool")
            _count(reporter, env, str(task_id), "NEXT_STEP", ("recv",))

    for name in ("make", "make_gym", "make_gymnasium"):
        if hasattr(module, name):
            reporter.replace(module, name, "envpool", after=made)


def _count(
    reporter: Reporter, env: Any, name: str | None, mode: str, functions: tuple[str, ...]
) -> None:
    if not reporter.settings.has_episodes or id(env) in _counters:
        return
    kind = type(env)
    if kind not in _heard_classes:
        _heard_classes.add(kind)
        for function in functions:
            _hear_function(reporter, kind, function)
    _counters[id(env)] = HeardBatch(reporter, env, name or kind.__name__, mode)
    weakref.finalize(env, _counters.pop, id(env), None)


def _hear_function(reporter: Reporter, kind: type, name: str) -> None:
    original = getattr(kind, name)

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        counter = _counters.get(id(self))
        if counter is not None:
            try:
                counter.take(result)
            except Exception as error:  # noqa: BLE001 - a script must not fail because it is listened to
                reporter.fail("vector environment", error)
        return result

    counted.__name__, counted.__doc__ = name, original.__doc__
    counted.__wrapped__ = original  # type: ignore[attr-defined]
    setattr(kind, name, counted)


class HeardBatch:
    """Counts the episodes of a vector environment and reports them.

    Args:
        env: the vector environment. It is not kept.
        name: id of the environment.
        mode: when it resets an environment that has ended: `NEXT_STEP` (the step after), `SAME_STEP` or `DISABLED`.
    """

    def __init__(self, reporter: Reporter, env: Any, name: str, mode: str) -> None:
        size = _size_of(env)
        self._reporter = reporter
        self._mode = mode
        self._numbers = [next_number(reporter.settings.spool) for _ in range(min(size, MAX_HEARD))]
        self._lengths = [0] * size
        self._totals = [0.0] * size
        self._begun = [time.monotonic()] * size
        self._episodes = [0] * size
        self._is_over = [False] * size
        self._reported_at = 0.0
        spaces = {
            "observation": space_of(_single(env, "observation_space")),
            "action": space_of(_single(env, "action_space")),
        }
        for number in self._numbers:
            reporter.add({"type": "environment", "env": number, "id": name, "spaces": spaces})

    def take(self, result: Any) -> None:
        """Take what a step or a reset of the batch returned."""
        if not isinstance(result, tuple) or len(result) != 5:
            self._begin_all()
            return
        _, rewards, terminated, truncated, info = result
        ids = _listed(info.get("env_id")) if isinstance(info, dict) else None
        elapsed = _listed(info.get("elapsed_step")) if isinstance(info, dict) else None
        rows = zip(_listed(rewards) or [], _listed(terminated) or [], _listed(truncated) or [])
        now = time.monotonic()
        for at, (reward, ended, cut) in enumerate(rows):
            one = at if ids is None else ids[at]
            if self._is_over[one] if elapsed is None else elapsed[at] == 0:
                self._begin(one, now)
                continue
            self._reporter.steps += 1
            self._lengths[one] += 1
            self._totals[one] += reward
            if ended or cut:
                self._end(one, (1 if ended else 0) | (2 if cut else 0), now)
        if now - self._reported_at > _PROGRESS_S:
            self._reported_at = now
            self._reporter.add_line(f'{{"type":"steps","steps":{self._reporter.steps}}}\n')

    def _begin_all(self) -> None:
        now = time.monotonic()
        for one in range(len(self._lengths)):
            # A reset of a part, by a mask, begins those again that are over.
            if self._mode != "DISABLED" or self._is_over[one]:
                self._begin(one, now)

    def _begin(self, one: int, now: float) -> None:
        self._lengths[one], self._totals[one] = 0, 0.0
        self._begun[one], self._is_over[one] = now, False

    def _end(self, one: int, flags: int, now: float) -> None:
        if one < len(self._numbers):
            self._reporter.add_line(
                f'{{"type":"episode","env":{self._numbers[one]},"episode":{self._episodes[one]},'
                f'"return":{json_number(self._totals[one])},"length":{self._lengths[one]},"flags":{flags},'
                f'"duration_s":{now - self._begun[one]!r},"steps":{self._reporter.steps}}}\n'
            )
        self._episodes[one] += 1
        if self._mode == "SAME_STEP":
            self._begin(one, now)
        else:
            self._is_over[one] = True


def _size_of(env: Any) -> int:
    size = getattr(env, "num_envs", None)
    return int(env.config["num_envs"] if size is None else size)


def _single(env: Any, name: str) -> Any:
    return getattr(env, f"single_{name}", None) or getattr(env, name, None)


def _listed(values: Any) -> list[Any] | None:
    if values is None:
        return None
    return values.tolist() if hasattr(values, "tolist") else list(values)
