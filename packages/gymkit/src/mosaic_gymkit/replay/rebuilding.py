"""Rebuilds one recorded episode in a fresh environment, and compares each step with the record."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium

from mosaic_contracts.replays import StepDifference
from mosaic_contracts.wire import StepFlag
from mosaic_gymkit.families import emulator_bytes, is_atari, restore_emulator
from mosaic_gymkit.replay.record import EpisodeLines, RecordedStep, ReplayRecord
from mosaic_gymkit.resets import repeat_reset
from mosaic_gymkit.values import action_of
from mosaic_workerkit.stephash import step_hash

SNAPSHOT_STEPS = 200
"""Steps between two copies of an environment's state, where it can be copied."""
_NAMES = {StepFlag.TERMINATED: "terminated", StepFlag.TRUNCATED: "truncated"}


@dataclass(frozen=True)
class RebuiltMoment:
    """The rebuilt episode after one step."""

    step: int
    """0: after the reset."""
    observation: Any
    reward: float
    flags: int
    episode_return: float
    difference: StepDifference | None
    """How it differs from the record; None: it is equal."""


class RebuiltEpisode:
    """One environment that is brought to any step of the episode.

    Args:
        make: makes a fresh environment like the recorded one.
        record: the episode, and those before it that its reset needs.
        on_earlier: called after each step of an earlier episode.
    """

    def __init__(
        self,
        make: Callable[[], gymnasium.Env[Any, Any]],
        record: ReplayRecord,
        on_earlier: Callable[[], None] = lambda: None,
    ) -> None:
        self._make = make
        self._earlier, self.episode = record.episodes[:-1], record.episodes[-1]
        self._on_earlier = on_earlier
        self.env = make()
        self._can_copy = is_atari(self.env.spec)
        self._copies: dict[int, tuple[bytes, RebuiltMoment, Any]] = {}
        self.last_step = len(self.episode.steps)
        """Last step that can be rebuilt: that of the record, or an earlier one at which the environment ends."""
        self.now = self._begin()

    def advance(self) -> RebuiltMoment:
        """Take the next recorded step.

        Returns:
            The moment after it.

        Raises:
            IndexError: the record, or the rebuilt episode, ends here.
        """
        if self.now.step >= self.last_step:
            raise IndexError(f"there is no step after {self.last_step}")
        recorded = self.episode.steps[self.now.step]
        action = action_of(self.env.action_space, recorded.action)
        observation, reward, terminated, truncated, _ = self.env.step(action)
        flags = (1 if terminated else 0) | (2 if truncated else 0)
        self.now = RebuiltMoment(
            recorded.step,
            observation,
            float(reward),
            flags,
            self.now.episode_return + float(reward),
            step_difference(recorded, observation, float(reward), flags),
        )
        if flags:
            self.last_step = recorded.step
        if self._can_copy and recorded.step % SNAPSHOT_STEPS == 0:
            self._copy()
        return self.now

    def go_to(self, step: int) -> RebuiltMoment:
        """Bring the environment to a step: forward from where it is, or from the nearest copy, or from the reset.

        Args:
            step: number of the step; 0: the reset.

        Returns:
            The moment after it.
        """
        nearest = max((at for at in self._copies if at <= step), default=-1)
        if step < self.now.step or nearest > self.now.step:
            if nearest >= 0:
                self._restore(nearest)
            else:
                self.env.close()
                self.env = self._make()
                self.now = self._begin()
        while self.now.step < step:
            self.advance()
        return self.now

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def _begin(self) -> RebuiltMoment:
        for episode in self._earlier:
            repeat_reset(self.env, episode.reset)
            for step in episode.steps:
                self.env.step(action_of(self.env.action_space, step.action))
                self._on_earlier()
        observation = repeat_reset(self.env, self.episode.reset)
        difference = reset_difference(self.episode, observation)
        self.now = RebuiltMoment(0, observation, 0.0, 0, 0.0, difference)
        if self._can_copy:
            self._copy()
        return self.now

    def _copy(self) -> None:
        if self.now.step not in self._copies:
            self._copies[self.now.step] = (emulator_bytes(self.env), self.now, _limits(self.env))

    def _restore(self, step: int) -> None:
        state, self.now, limits = self._copies[step]
        restore_emulator(self.env, state)
        for wrapper, elapsed in zip(_time_limits(self.env), limits, strict=True):
            wrapper._elapsed_steps = elapsed


def _time_limits(env: gymnasium.Env[Any, Any]) -> list[Any]:
    """The wrappers that count steps: their counts belong to the state too."""
    found: list[Any] = []
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, gymnasium.wrappers.TimeLimit):
            found.append(env)
        env = env.env
    return found


def _limits(env: gymnasium.Env[Any, Any]) -> list[int | None]:
    return [wrapper._elapsed_steps for wrapper in _time_limits(env)]


def reset_difference(recorded: EpisodeLines, observation: Any) -> StepDifference | None:
    """Compare a reset; None: it is equal."""
    is_equal = step_hash(observation) == recorded.hash
    return None if is_equal else StepDifference(step=0, parts=["observation"])


def step_difference(
    recorded: RecordedStep, observation: Any, reward: float, flags: int
) -> StepDifference | None:
    """Compare a step; None: it is equal.

    The hash covers all parts; which one differs follows from those that were recorded too.
    """
    if step_hash(observation, reward, flags) == recorded.hash:
        return None
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    parts = []
    if step_hash(observation, recorded.reward, recorded.flags) != recorded.hash:
        parts.append("observation")
    if reward != recorded.reward and not (reward != reward and recorded.reward != recorded.reward):
        parts.append("reward")
        before["reward"], after["reward"] = recorded.reward, reward
    for flag, name in _NAMES.items():
        if (flags ^ recorded.flags) & flag:
            parts.append(name)
            before[name], after[name] = bool(recorded.flags & flag), bool(flags & flag)
    return StepDifference(step=recorded.step, parts=parts, recorded=before, rebuilt=after)
