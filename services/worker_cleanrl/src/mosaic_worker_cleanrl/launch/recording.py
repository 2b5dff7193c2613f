"""The innermost wrapper around one environment. It records what the environment itself got and returned, before any
wrapper of the script (clipping, normalizing) changes it."""

import json
import time
from collections.abc import Callable
from typing import Any, SupportsFloat

import gymnasium
import numpy as np

from mosaic_worker_cleanrl.environment.atari import is_atari, snapshot
from mosaic_worker_cleanrl.environment.extras import is_chained
from mosaic_worker_cleanrl.launch.session import ScriptSession
from mosaic_workerkit.spaces import encode_value, space_of
from mosaic_workerkit.stephash import step_hash

_Result = tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]
_Step = Callable[[Any], _Result]


def recorded(
    env: gymnasium.Env[Any, Any], index: int, session: ScriptSession
) -> gymnasium.Env[Any, Any]:
    """Wrap an environment with the recording wrapper that the run's recording level asks for, if any."""
    record = session.spec.record
    if record.has_steps:
        return RecordedEnvironment(env, index, session)
    return CountedEnvironment(env, index, session) if record.has_episodes else env


class EpisodeCounter:
    """Steps one environment and counts its episodes.

    The step is the hot path. It lies here and not in the wrapper because gymnasium's wrappers define `__getattr__`,
    which makes each attribute that a method of theirs reads ten times as slow.
    """

    __slots__ = (
        "_began",
        "_index",
        "_inner",
        "_session",
        "episode",
        "is_open",
        "length",
        "records",
        "total",
    )

    def __init__(self, inner: _Step, index: int, session: ScriptSession) -> None:
        self._inner = inner
        self._index = index
        self._session = session
        self._began = 0.0
        self.episode = -1
        self.is_open = False
        """A script that steps on after the end adds nothing to the episode."""
        self.records = False
        """Whether the steps of the open episode are recorded."""
        self.length = 0
        self.total = 0.0

    def begin(self, *, records: bool) -> None:
        """Begin to count; the environment has been reset, and `episode` is the new one."""
        self.length, self.total = 0, 0.0
        self.is_open, self.records = True, records
        self._began = time.monotonic()

    def step(self, action: Any) -> _Result:
        """Step, and count."""
        result = self._inner(action)
        self.length += 1
        self.total += float(result[1])
        if result[2] or result[3]:
            self._end((1 if result[2] else 0) | (2 if result[3] else 0))
        return result

    def _end(self, flags: int) -> None:
        if not self.is_open:
            return
        self.is_open = self.records = False
        session = self._session
        session.episode_ended()
        session.telemetry.episode(
            self._index,
            self.episode,
            self.length,
            self.total,
            duration_s=time.monotonic() - self._began,
            global_step=session.global_step,
            terminated=bool(flags & 1),
            truncated=bool(flags & 2),
        )


class StepRecorder(EpisodeCounter):
    """Records also every step; at level `full` with the observation."""

    __slots__ = (
        "_action_form",
        "_batch",
        "_dtype",
        "_has_observations",
        "_is_discrete",
        "_observation_form",
        "_step",
    )

    def __init__(self, env: gymnasium.Env[Any, Any], index: int, session: ScriptSession) -> None:
        super().__init__(env.step, index, session)
        self._has_observations = session.spec.record.has_observations
        self._action_form = space_of(env.action_space)
        self._observation_form = space_of(env.observation_space)
        self._is_discrete = self._action_form["kind"] == "discrete"
        is_box = self._observation_form["kind"] == "box"
        self._dtype = np.dtype(self._observation_form["dtype"]) if is_box else None
        """Dtype whose arrays are recorded as their bytes are."""
        self._batch = session.batch
        self._step = session.telemetry.hashed_step

    def step(self, action: Any) -> _Result:
        """Step, and record what came of it."""
        result = self._inner(action)
        observation, reward, terminated, truncated, _ = result
        if type(reward) is not float:
            reward = float(reward)
        flags = 1 if terminated else 0
        if truncated:
            flags |= 2
        self.length = length = self.length + 1
        self.total += reward
        if self.records:
            done = int(action) if self._is_discrete else encode_value(self._action_form, action)
            batch = self._batch
            if type(observation) is np.ndarray and observation.dtype is self._dtype:
                # Its bytes now: an environment may use the array again.
                seen = observation.tobytes()
                batch.add((self._index, self.episode, length, done, reward, flags, seen))
                if flags or not batch.is_open:
                    batch.write()
            else:
                batch.write()
                digest = step_hash(observation, reward, flags)
                shown = self.shown(observation)
                self._step(self._index, self.episode, length, done, reward, flags, digest, 0, shown)
        if flags:
            self._end(flags)
        return result

    def shown(self, observation: Any) -> Any:
        """An observation as the recording level keeps it."""
        if not self._has_observations:
            return None
        return encode_value(self._observation_form, observation)


class CountedEnvironment(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Reports how each episode ended. Changes nothing and draws nothing."""

    def __init__(self, env: gymnasium.Env[Any, Any], index: int, session: ScriptSession) -> None:
        super().__init__(env)
        self.counter = EpisodeCounter(env.step, index, session)
        self.step = self.counter.step  # type: ignore[method-assign] # see EpisodeCounter

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset, and begin to count."""
        self.counter.episode += 1
        result = self.env.reset(seed=seed, options=options)
        self.counter.begin(records=False)
        return result


class RecordedEnvironment(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Reports also every reset with how to rebuild it, and every step."""

    def __init__(self, env: gymnasium.Env[Any, Any], index: int, session: ScriptSession) -> None:
        super().__init__(env)
        self._index = index
        self._telemetry = session.telemetry
        self._batch = session.batch
        self._every = session.spec.replay_every
        self._is_chained = is_chained(session.spec.environment)
        self._is_emulated = is_atari(env.spec)
        self._innermost: Any = env.unwrapped
        self.counter = StepRecorder(env, index, session)
        self.step = self.counter.step  # type: ignore[method-assign] # see EpisodeCounter

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset, and report how to rebuild it."""
        counter = self.counter
        self._batch.write()
        records = (counter.episode + 1) % self._every == 0
        # Read before the reset draws from it. Reading is free of effects.
        origin = self._origin(seed, options) if records else {}
        counter.episode += 1
        observation, info = self.env.reset(seed=seed, options=options)
        counter.begin(records=records)
        if records:
            self._telemetry.episode_start(
                self._index,
                counter.episode,
                origin,
                observation=observation,
            )
        return observation, info

    def _origin(self, seed: int | None, options: dict[str, Any] | None) -> dict[str, Any]:
        """How to rebuild the reset. A generator's words are 128 bits wide, hence the JSON text."""
        if seed is not None:
            origin: dict[str, Any] = {"way": "seed", "seed": int(seed)}
        else:
            state = self._innermost.np_random.bit_generator.state
            origin = {"way": "generator", "state": json.dumps(state)}
            if self._is_emulated:
                origin |= {"way": "snapshot", "emulator": snapshot(self.env)}
        if self._is_chained and self.counter.episode >= 0:
            origin["way"] = "chain"
        if options:
            origin["options"] = json.dumps(options)
        return origin
