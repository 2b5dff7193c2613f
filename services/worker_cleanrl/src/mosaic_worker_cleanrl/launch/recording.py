"""The ear around one environment, innermost: what the environment itself saw and gave, before any wrapper of the
script (clipping, normalizing) changes it."""

import json
import time
from typing import Any, SupportsFloat

import gymnasium
import numpy as np

from mosaic_worker_cleanrl.environment.atari import is_atari, snapshot
from mosaic_worker_cleanrl.environment.bundle import is_chained
from mosaic_worker_cleanrl.launch.session import Session
from mosaic_workerkit.spaces import encode_value, space_of
from mosaic_workerkit.stephash import step_hash

_Result = tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]


def recorded(env: gymnasium.Env[Any, Any], index: int, session: Session) -> gymnasium.Env[Any, Any]:
    """Put the ear around an environment that the run's recording level asks for, if any."""
    record = session.spec.record
    if record.has_steps:
        return RecordedEnvironment(env, index, session)
    return CountedEnvironment(env, index, session) if record.has_episodes else env


class CountedEnvironment(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Tells how each episode ended. Changes nothing and draws nothing; a step costs two sums."""

    def __init__(self, env: gymnasium.Env[Any, Any], index: int, session: Session) -> None:
        super().__init__(env)
        self._index = index
        self._session = session
        self._telemetry = session.telemetry
        # Bound once: the step is the hot path, a microsecond beside an environment's twenty.
        self._inner_step = env.step
        self._episode = -1
        self._is_open = False
        self._length = 0
        self._return = 0.0
        self._began = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset, and begin to count."""
        self._episode += 1
        result = self.env.reset(seed=seed, options=options)
        self._length, self._return, self._is_open = 0, 0.0, True
        self._began = time.monotonic()
        return result

    def step(self, action: Any) -> _Result:
        """Step, and count."""
        result = self._inner_step(action)
        self._length += 1
        self._return += float(result[1])
        if result[2] or result[3]:
            self._end(_flags(result))
        return result

    def _end(self, flags: int) -> None:
        if not self._is_open:
            return  # a script that steps on after the end adds nothing to this episode
        self._is_open = False
        session = self._session
        session.episodes_ended += 1
        self._telemetry.episode(
            self._index,
            self._episode,
            self._length,
            self._return,
            flags,
            time.monotonic() - self._began,
            session.global_step,
        )


class RecordedEnvironment(CountedEnvironment):
    """Tells also every reset with how to rebuild it, and every step; at level `full` with the observation."""

    def __init__(self, env: gymnasium.Env[Any, Any], index: int, session: Session) -> None:
        super().__init__(env, index, session)
        self._has_observations = session.spec.record.has_observations
        self._every = session.spec.replay_every
        self._is_chained = is_chained(session.spec.environment)
        self._is_emulated = is_atari(env.spec)
        # not `_action_space`: gymnasium keeps the wrapped space under that name
        self._action_form = space_of(env.action_space)
        self._observation_form = space_of(env.observation_space)
        self._box_dtype = np.dtype(self._observation_form.get("dtype", "V0"))
        self._is_discrete = self._action_form["kind"] == "discrete"
        self._tell_step = session.telemetry.step
        self._keeps = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset, and tell how to rebuild it."""
        self._keeps = (self._episode + 1) % self._every == 0
        if not self._keeps:
            return super().reset(seed=seed, options=options)
        # Read before the reset draws from it. Reading is free of effects.
        origin = self._origin(seed, options)
        observation, info = super().reset(seed=seed, options=options)
        self._telemetry.episode_start(
            self._index,
            self._episode,
            origin,
            step_hash(observation),
            self._shown(observation) if self._has_observations else None,
        )
        return observation, info

    def step(self, action: Any) -> _Result:
        """Step, and tell what came of it."""
        result = self._inner_step(action)
        observation, reward = result[0], float(result[1])
        flags = _flags(result)
        self._length += 1
        self._return += reward
        if self._keeps and self._is_open:
            self._tell_step(
                self._index,
                self._episode,
                self._length,
                int(action) if self._is_discrete else encode_value(self._action_form, action),
                reward,
                flags,
                step_hash(observation, reward, flags),
                0,
                self._shown(observation) if self._has_observations else None,
            )
        if flags:
            self._end(flags)
        return result

    def _origin(self, seed: int | None, options: dict[str, Any] | None) -> dict[str, Any]:
        """How to rebuild the reset. A generator's words are 128 bits wide, hence the JSON text."""
        if seed is not None:
            origin: dict[str, Any] = {"way": "seed", "seed": int(seed)}
        else:
            state = self.env.unwrapped.np_random.bit_generator.state
            origin = {"way": "generator", "state": json.dumps(state)}
            if self._is_emulated:
                origin |= {"way": "snapshot", "emulator": snapshot(self.env)}
        if self._is_chained and self._episode >= 0:
            origin["way"] = "chain"
        if options:
            origin["options"] = json.dumps(options)
        return origin

    def _shown(self, observation: Any) -> Any:
        if observation.__class__ is np.ndarray and observation.dtype == self._box_dtype:
            return observation.tobytes()  # what encode_value would do, in a tenth of the time
        return encode_value(self._observation_form, observation)


def _flags(result: _Result) -> int:
    return (1 if result[2] else 0) | (2 if result[3] else 0)
