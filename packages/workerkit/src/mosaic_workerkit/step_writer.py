"""Records the steps of a run: their forms, their hashes, and what is kept of one that is too large.

A training makes thousands of steps a second, so that all that a step needs lies in attributes of one object.
"""

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mosaic_contracts.stored_spec import StoredSpec
from mosaic_contracts.wire import Actor, Kind
from mosaic_workerkit.errors import ContractViolation, EventTooLarge
from mosaic_workerkit.event_writer import EventWriter, check_range, encode, monotonic_ns
from mosaic_workerkit.plain import act_value, is_array, loaded_type
from mosaic_workerkit.spaces import Space, encode_value
from mosaic_workerkit.stephash import new_hasher, pack_outcome, step_hash

PATIENCE_STEPS = 50_000
"""Number of recorded steps without the end of an episode after which the run gets a note."""
NO_EPISODE = "no-episode"
"""Name of that note. A worker that knows the cause sets it itself."""
NEVER = 2**63
"""A number of steps that no run reaches."""
_POLICY = int(Actor.POLICY)
"""Plain, for `step` takes what is no exact int the long way."""
_STEP = int(Kind.STEP)
PlainStep = tuple[int, int, int, Any, float, int, bytes]
"""See `StepWriter.plain_steps`."""
_StepFields = tuple[int, int, int, Any, float, int, bytes, int, Any]
"""Fields of a `Step`: env, episode, step, action, reward, flags, hash, actor, observation."""


class StepWriter(EventWriter):
    """Records environment steps."""

    def __init__(self, run_dir: Path, run_id: str, attempt: int, spec: StoredSpec) -> None:
        super().__init__(run_dir, run_id, attempt, spec)
        self._steps = 0
        """Recorded steps."""
        self._patience = PATIENCE_STEPS if spec.record.has_episodes else NEVER
        """After more steps than that it is noted that no episode has ended."""
        self._shows = spec.record.has_observations
        self._observation_space: Space | None = None
        self._box_dtype: str | None = None
        """Dtype of observations as the config names it, until the first array comes."""
        self._array: Any = None
        self._observation_dtype: Any = None
        """NumPy's type of arrays, and the dtype whose arrays are recorded as their bytes are."""
        self._action_space: Space | None = None
        self._deprecated: set[str] = set()
        """Calls in an old form that were warned of."""

    def step(
        self,
        env: int,
        episode: int,
        step: int,
        action: Any,
        reward: float,
        flags: int | None = None,
        hash: bytes | None = None,
        actor: int = _POLICY,
        observation: Any = None,
        *,
        terminated: bool = False,
        truncated: bool = False,
    ) -> None:
        """Record one environment step. `EpisodeRecorder` counts episodes and steps for you.

        This is the one event that policy `thin` may drop, counted. A step that is larger than an event may be is kept
        without its observation; the first one is reported, all are counted.

        Args:
            env: number of the sub-environment, from 0.
            episode: number of its episode, from 0.
            step: number of the step within the episode, from 1.
            action: in the form of the action space that the config names.
            reward: of the environment itself, neither clipped nor scaled.
            flags: deprecated, with `hash`: give `terminated`, `truncated` and `observation`.
            hash: deprecated: computed from the observation.
            actor: who chose the action (`mosaic_contracts.wire.Actor`).
            observation: what the environment returned. Its hash is recorded, and itself at recording level `full`.
        """
        if flags is not None or hash is not None:
            if "step" not in self._deprecated:
                self._warn_of_flags("step")
            flags = flags or 0
            digest = step_hash(observation, reward, flags) if hash is None else hash
            self.hashed_step(env, episode, step, action, reward, flags, digest, actor, observation)
            return
        if not self._may_step:
            self._refuse("step")
        flags = 1 if terminated else 0
        if truncated:
            flags |= 2
        if type(reward) is not float:
            reward = float(reward)
        if type(observation) is self._array and observation.dtype is self._observation_dtype:
            seen = observation.tobytes()
            hasher = new_hasher()
            hasher.update(seen + pack_outcome(reward, flags))
            digest = hasher.digest()
            shown = seen if self._shows else None
        else:
            if self._box_dtype is not None:
                self._learn_arrays(observation)
            digest = step_hash(observation, reward, flags)
            shown = self._form(self._observation_space, observation) if self._shows else None
        if not (
            type(env) is int
            and type(episode) is int
            and type(step) is int
            and type(action) is int
            and type(actor) is int
        ):
            env, episode, step, actor = int(env), int(episode), int(step), int(actor)
            action = self._form(self._action_space, action)
        if (env | episode | step) >> 62:  # a negative one, too
            check_range(env, episode, step)
        self._write_step((env, episode, step, action, reward, flags, digest, actor, shown))

    def hashed_step(
        self,
        env: int,
        episode: int,
        step: int,
        action: Any,
        reward: float,
        flags: int,
        hash: bytes,
        actor: int = _POLICY,
        observation: Any = None,
    ) -> None:
        """Record one step whose hash is known already, e.g. from a table of all steps of a small world.

        Args:
            flags: bits of `mosaic_contracts.wire.StepFlag`: 1 terminated, 2 truncated.
            hash: as `step_hash` makes it.
            observation: recorded as it is given, whatever the recording level; None: not recorded.
        """
        if not self._may_step:
            self._refuse("step")
        if not (
            type(env) is int
            and type(episode) is int
            and type(step) is int
            and type(flags) is int
            and type(actor) is int
            and type(reward) is float
        ):
            env, episode, step = int(env), int(episode), int(step)
            flags, actor, reward = int(flags), int(actor), float(reward)
        if type(action) is not int and type(action) is not bytes:
            action = act_value(action)
        if observation is not None and type(observation) is not bytes:
            observation = act_value(observation)
        if type(hash) is not bytes:
            raise ContractViolation(
                "a step's hash is 8 bytes: use step_hash(observation, reward, flags)"
            )
        if (env | episode | step) >> 62:  # a negative one, too
            check_range(env, episode, step)
        self._write_step(
            (env, episode, step, action, reward, flags, hash, actor, observation),
        )

    def plain_steps(self, steps: Sequence[PlainStep], *, has_observations: bool) -> None:
        """Record the steps of a vector environment at once, from plain values.

        All are durable when it returns, in the order given, in half the time of as many calls.

        Args:
            steps: env, episode, step, action (as the wire has it), reward (an exact `float`), flags, and the bytes of
                the observation, of which the hash is made as `step_hash` makes it.
            has_observations: whether the bytes are recorded too.
        """
        if not self._may_step:
            self._refuse("step")
        outbox = self._outbox
        seq = outbox.next_seq
        dt = (monotonic_ns() - self._t0_ns) // 1000
        known: float | None = None
        records = []
        try:
            for env, episode, step, action, reward, flags, seen in steps:
                if reward is not known or flags:  # most rewards of a vector step are one object
                    outcome = pack_outcome(reward, flags)
                    known = None if flags else reward
                hasher = new_hasher()
                hasher.update(seen + outcome)
                hash = hasher.digest()
                shown = seen if has_observations else None
                # A tuple has the bytes of a `Step` and is made in half the time.
                fields = (_STEP, seq, dt, env, episode, step, action, reward, flags, hash, 0, shown)
                records.append(encode(fields))
                seq += 1
        except TypeError as error:
            raise ContractViolation(f"step: {error}; give plain values") from error
        if self._mask is not None or outbox.thinned or not outbox.append_all(records):
            self._write_each(steps, has_observations)
            return
        self._steps = done = self._steps + len(records)
        if done > self._patience:
            self._report_no_episode()

    def _learn_spaces(self, spaces: Any) -> None:
        """Take the forms of actions and observations from the config, where it names them."""
        if not isinstance(spaces, Mapping):
            return
        observation, action = spaces.get("observation"), spaces.get("action")
        self._observation_space = observation if isinstance(observation, dict) else None
        self._action_space = action if isinstance(action, dict) else None
        if isinstance(observation, dict) and observation.get("kind") == "box":
            self._box_dtype, self._array = str(observation.get("dtype", "")), None

    def _learn_arrays(self, observation: Any) -> None:
        """At the first array take NumPy's types, which is imported by now."""
        if not is_array(observation):
            return
        self._array = loaded_type("ndarray")
        with suppress(TypeError, ValueError):  # a space that explains no value
            self._observation_dtype = loaded_type("dtype")(self._box_dtype)
        self._box_dtype = None

    @staticmethod
    def _form(space: Space | None, value: Any) -> Any:
        """An action or observation in the form of the space that the config names."""
        if space is None or space.get("kind", "other") == "other":
            return act_value(value)
        return encode_value(space, value)

    def _warn_of_flags(self, call: str) -> None:
        self._deprecated.add(call)
        warnings.warn(
            f"Telemetry.{call} with flags is deprecated: give terminated=, truncated= and observation=, from which "
            "the hash is computed, or call EpisodeRecorder",
            DeprecationWarning,
            stacklevel=3,
        )

    def _write_step(self, fields: _StepFields) -> None:
        if self._outbox.thinned and not self._resume():
            self._outbox.thinned += 1
            return
        try:
            self._append_step(fields)
        except EventTooLarge as error:
            self._append_reduced(fields, error)
        self._steps += 1
        if self._steps > self._patience:
            self._report_no_episode()

    def _write_each(self, steps: Sequence[PlainStep], has_observations: bool) -> None:
        for env, episode, step, action, reward, flags, seen in steps:
            digest = step_hash(seen, reward, flags)
            shown = seen if has_observations else None
            self._write_step((env, episode, step, action, reward, flags, digest, _POLICY, shown))

    def _append_step(self, fields: _StepFields) -> None:
        try:
            data = encode((_STEP, self.next_seq, self._dt(), *fields))
        except TypeError as error:
            raise ContractViolation(f"step: {error}; give plain values or arrays") from error
        self._append(data, may_drop=True)

    def _append_reduced(self, fields: _StepFields, error: EventTooLarge) -> None:
        """Keep of a step what fits: first without its observation, then without its action too."""
        env, episode, step, action, reward, flags, hash, actor, _observation = fields
        for without, kept in (("its observation", action), ("its action and observation", None)):
            try:
                self._append_step((env, episode, step, kept, reward, flags, hash, actor, None))
            except EventTooLarge:
                continue
            self._report_reduced(f"step {step} of episode {episode}", without, str(error))
            return
        raise error

    def _report_no_episode(self) -> None:
        """Report once that episodes do not end, or are not reported; a worker's own note on it stands."""
        self._patience = NEVER - 1
        if NO_EPISODE in self._notes:
            return
        words = (
            f"No episode has ended in more than {PATIENCE_STEPS:,} recorded steps, so no return is shown. Likely "
            "causes: the environment has no time limit and is never solved, or the worker does not report the ends of "
            "episodes (`episode`)."
        )
        self.note(NO_EPISODE, words)
        self.log("warning", words, {"steps": self._steps})
