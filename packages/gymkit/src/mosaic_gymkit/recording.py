"""The innermost wrapper around one environment. It records what the environment itself got and returned, before any
other wrapper (clipping, normalizing) changes it."""

import threading
import time
from collections.abc import Callable
from typing import Any, Protocol, SupportsFloat, TypeGuard

import gymnasium
import numpy as np

from mosaic_contracts.spec import RecordLevel
from mosaic_gymkit.families import is_atari, is_chained
from mosaic_gymkit.resets import reset_origin
from mosaic_workerkit.spaces import encode_value, space_of
from mosaic_workerkit.stephash import step_hash
from mosaic_workerkit.telemetry import PlainStep, Telemetry

StepResult = tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]
_Step = Callable[[Any], StepResult]


class StepBatch:
    """Steps that are not written yet.

    They wait no longer than until the vector environment's step returns, or one of its episodes ends: what the caller
    has seen is always durable. A step of an environment outside of that is written at once.
    """

    __slots__ = ("_has_observations", "_steps", "_telemetry", "add", "is_open")

    def __init__(self, telemetry: Telemetry, *, has_observations: bool) -> None:
        self._telemetry = telemetry
        self._has_observations = has_observations
        self._steps: list[PlainStep] = []
        self.add: Callable[[PlainStep], None] = self._steps.append
        self.is_open = False
        """Whether a vector environment is being stepped."""

    def write(self) -> None:
        """Write what waits."""
        if self._steps:
            steps = self._steps.copy()
            self._steps.clear()  # before, so that an error in writing them does not write them twice
            self._telemetry.plain_steps(steps, has_observations=self._has_observations)


class RecordedRun(Protocol):
    """What the recording of an environment needs to know of its run."""

    telemetry: Telemetry
    batch: StepBatch
    global_step: int
    """Environment steps of the run so far, over all sub-environments."""

    def episode_ended(self, length: int, episode_return: float) -> None:
        """Take note that an episode has ended, after it was recorded."""


def recorded(env: gymnasium.Env[Any, Any], index: int, run: RecordedRun) -> gymnasium.Env[Any, Any]:
    """Wrap an environment with the recording wrapper that the run's recording level asks for, if any.

    Args:
        env: as `gymnasium.make` made it.
        index: number of the sub-environment, from 0.
        run: where it is recorded.

    Returns:
        The wrapped environment, or `env` itself where neither episodes nor steps are recorded.
    """
    record: RecordLevel = run.telemetry.spec.record
    if record.has_steps:
        return RecordedEnvironment(env, index, run)
    return CountedEnvironment(env, index, run) if record.has_episodes else env


def is_watchable(
    env: gymnasium.Env[Any, Any],
) -> "TypeGuard[CountedEnvironment | RecordedEnvironment]":
    """Say whether an environment is recorded, so that its steps can be looked at."""
    return isinstance(env, CountedEnvironment | RecordedEnvironment)


class EpisodeCounter:
    """Steps one environment and counts its episodes.

    The step is the hot path. It lies here and not in the wrapper because gymnasium's wrappers define `__getattr__`,
    which makes each attribute that a method of theirs reads ten times as slow.
    """

    __slots__ = (
        "_began",
        "_index",
        "_inner",
        "_run",
        "actor",
        "episode",
        "is_open",
        "length",
        "records",
        "total",
    )

    def __init__(self, inner: _Step, index: int, run: RecordedRun) -> None:
        self._inner = inner
        self._index = index
        self._run = run
        self._began = 0.0
        self.actor: int = 0
        """Source of the actions from now on (`mosaic_contracts.wire.Actor`)."""
        self.episode = -1
        self.is_open = False
        """A caller that steps on after the end adds nothing to the episode."""
        self.records = False
        """Whether the steps of the open episode are recorded."""
        self.length = 0
        self.total = 0.0

    def begin(self, *, records: bool) -> None:
        """Begin to count; the environment has been reset, and `episode` is the new one."""
        self.length, self.total = 0, 0.0
        self.is_open, self.records = True, records
        self._began = time.monotonic()

    def step(self, action: Any) -> StepResult:
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
        run = self._run
        run.telemetry.episode(
            self._index,
            self.episode,
            self.length,
            self.total,
            duration_s=time.monotonic() - self._began,
            global_step=run.global_step,
            terminated=bool(flags & 1),
            truncated=bool(flags & 2),
        )
        run.episode_ended(self.length, self.total)


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

    def __init__(self, env: gymnasium.Env[Any, Any], index: int, run: RecordedRun) -> None:
        super().__init__(env.step, index, run)
        self._has_observations = run.telemetry.spec.record.has_observations
        self._action_form = space_of(env.action_space)
        self._observation_form = space_of(env.observation_space)
        self._is_discrete = self._action_form["kind"] == "discrete"
        is_box = self._observation_form["kind"] == "box"
        self._dtype = np.dtype(self._observation_form["dtype"]) if is_box else None
        """Dtype whose arrays are recorded as their bytes are."""
        self._batch = run.batch
        self._step = run.telemetry.hashed_step

    def step(self, action: Any) -> StepResult:
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
            if (
                not self.actor
                and type(observation) is np.ndarray
                and observation.dtype is self._dtype
            ):
                # Its bytes now: an environment may use the array again.
                seen = observation.tobytes()
                batch.add((self._index, self.episode, length, done, reward, flags, seen))
                if flags or not batch.is_open:
                    batch.write()
            else:
                batch.write()
                digest = step_hash(observation, reward, flags)
                shown = self.shown(observation)
                self._step(
                    self._index,
                    self.episode,
                    length,
                    done,
                    reward,
                    flags,
                    digest,
                    self.actor,
                    shown,
                )
        if flags:
            self._end(flags)
        return result

    def shown(self, observation: Any) -> Any:
        """An observation as the recording level keeps it."""
        if not self._has_observations:
            return None
        return encode_value(self._observation_form, observation)


StepTap = Callable[[Any, StepResult], None]
"""Called after a step with its action and result."""


class StepTaps:
    """Functions that look at the steps of one environment.

    Without any, the environment is stepped by its counter's own function: looking costs nothing while nobody looks. May
    be changed in any thread; the next step sees it.
    """

    def __init__(self, env: "CountedEnvironment | RecordedEnvironment") -> None:
        self._env = env
        self._count = env.counter.step
        self._taps: tuple[StepTap, ...] = ()
        self._lock = threading.Lock()

    def add(self, tap: StepTap) -> None:
        """Call `tap` after each step from now on."""
        with self._lock:
            if tap not in self._taps:
                self._set((*self._taps, tap))

    def remove(self, tap: StepTap) -> None:
        """Call `tap` no more."""
        with self._lock:
            self._set(tuple(each for each in self._taps if each != tap))

    def _set(self, taps: tuple[StepTap, ...]) -> None:
        self._taps = taps
        step = self._tapped_step if taps else self._count
        self._env.step = step  # type: ignore[method-assign] # see EpisodeCounter

    def _tapped_step(self, action: Any) -> StepResult:
        result = self._count(action)
        for tap in self._taps:
            tap(action, result)
        return result


class CountedEnvironment(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Reports how each episode ended. Changes nothing and draws no random number."""

    def __init__(self, env: gymnasium.Env[Any, Any], index: int, run: RecordedRun) -> None:
        super().__init__(env)
        self.index = index
        self.counter = EpisodeCounter(env.step, index, run)
        self.step = self.counter.step  # type: ignore[method-assign] # see EpisodeCounter
        self.taps = StepTaps(self)
        self.on_reset: Callable[[], None] | None = None
        """Called after each reset."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset, and begin to count."""
        self.counter.episode += 1
        result = self.env.reset(seed=seed, options=options)
        self.counter.begin(records=False)
        if self.on_reset is not None:
            self.on_reset()
        return result


class RecordedEnvironment(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Reports also every reset with how to do it again, and every step."""

    def __init__(self, env: gymnasium.Env[Any, Any], index: int, run: RecordedRun) -> None:
        super().__init__(env)
        spec = run.telemetry.spec
        self.index = index
        self._telemetry = run.telemetry
        self._batch = run.batch
        self._every = spec.replay_every
        self._is_chained = is_chained(env.spec.id if env.spec is not None else spec.environment)
        self._is_emulated = is_atari(env.spec)
        self.counter = StepRecorder(env, index, run)
        self.step = self.counter.step  # type: ignore[method-assign] # see EpisodeCounter
        self.taps = StepTaps(self)
        self.on_reset: Callable[[], None] | None = None
        """Called after each reset."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset, and report how to do it again."""
        counter = self.counter
        self._batch.write()
        records = (counter.episode + 1) % self._every == 0
        origin = {}
        if records:
            origin = reset_origin(
                self.env,
                seed,
                options,
                is_emulated=self._is_emulated,
                is_chained=self._is_chained and counter.episode >= 0,
            )
        counter.episode += 1
        observation, info = self.env.reset(seed=seed, options=options)
        counter.begin(records=records)
        if records:
            self._telemetry.episode_start(
                self.index, counter.episode, origin, observation=observation
            )
        if self.on_reset is not None:
            self.on_reset()
        return observation, info
