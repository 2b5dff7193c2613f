"""The beginning of a branch: a recorded episode is rebuilt up to a step in an environment of the run that goes on."""

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

import gymnasium
import numpy as np

from mosaic_contracts.branches import PLAY_BRANCH, BranchPoint, BranchRecord
from mosaic_contracts.replays import REPLAY_FILE, StepDifference
from mosaic_contracts.wire import Actor, StepFlag
from mosaic_gymkit.play.played import PlayedEnvironment
from mosaic_gymkit.recording import StepResult
from mosaic_gymkit.replay.comparison import package_differences, way_of
from mosaic_gymkit.replay.rebuilding import RebuiltEpisode, reset_difference, step_difference
from mosaic_gymkit.replay.record import RecordInvalid, ReplayRecord, read_record
from mosaic_gymkit.resets import ResetInvalid, prepare_reset
from mosaic_gymkit.run import EnvironmentRun
from mosaic_gymkit.specs import EnvironmentSpec
from mosaic_gymkit.values import action_of
from mosaic_workerkit.control import StopFlag
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.errors import EnvironmentUnusable, RunRefused

_LOOK_STEPS = 64
"""Steps between two looks at the stop flag."""
_ENDS = {StepFlag.TERMINATED: "terminated", StepFlag.TRUNCATED: "truncated"}


class RebuildingStopped(Exception):
    """The run was stopped while its beginning was rebuilt."""


class EpisodePrefix:
    """Rebuilds the beginning of a recorded episode, and refuses in words what is not as recorded.

    The steps are taken by what the run plays, with all its wrappers, so that these have seen them. A guard below
    them gives each step its recorded actor, and compares it.

    Args:
        context: of `play`; its spec names the step.
        point: the step.
        record: of the episode, and of those before it that its reset needs.

    Raises:
        RunRefused: the episode has no such step, or has ended there.
    """

    def __init__(self, context: TrainContext, point: BranchPoint, record: ReplayRecord) -> None:
        self.point = point
        self._context = context
        self._record = record
        self._require_step()
        self.environment = EnvironmentSpec.from_config(record.config)
        """The recorded environment."""
        self._guard: PrefixGuard | None = None

    @classmethod
    def of(cls, context: TrainContext) -> "EpisodePrefix | None":
        """Read the record that the run was given; None: it begins with a reset.

        Raises:
            RunRefused: the record cannot be read, or has no such step.
        """
        point = context.spec.start_from
        if point is None:
            return None
        try:
            record = read_record(context.run_dir / REPLAY_FILE)
            return cls(context, point, record)
        except (RecordInvalid, OSError, EnvironmentUnusable) as error:
            raise RunRefused(f"The record of the episode cannot be read: {error}") from error

    @property
    def actor(self) -> Actor | None:
        """Who is in control at first; None: the policy, where there is one."""
        return None if self.point.actor is None else Actor[self.point.actor.upper()]

    def make(self, run: EnvironmentRun) -> gymnasium.Env[Any, Any]:
        """Make the recorded environment in a run, wrapped with what compares its steps.

        Args:
            run: that records it.

        Returns:
            The environment; put all further wrappers around it.

        Raises:
            RunRefused: it cannot be made here.
        """
        try:
            env = run.make_like(self.environment)
        except EnvironmentUnusable as error:
            raise RunRefused(f"{self._name} cannot be rebuilt: {error}") from error
        self._guard = PrefixGuard(env, run, self.point.step, self._context.stop)
        return self._guard

    def rebuild(
        self,
        played: PlayedEnvironment,
        make: Callable[[EnvironmentSpec], gymnasium.Env[Any, Any]] | None = None,
    ) -> int:
        """Take the recorded steps.

        Args:
            played: steps the environment that `make` returned.
            make: makes an environment of a spec for a trial that nobody records; None: as `EnvironmentSpec.make` does.

        Returns:
            Steps that the episode has now; 0 also where the run was stopped meanwhile.

        Raises:
            RunRefused: a step is not as recorded.
        """
        guard, began = self._guard, time.monotonic()
        if guard is None:
            raise RuntimeError("there is no environment: call `make` first")
        try:
            guard.record = self._rebuildable(make or (lambda spec: spec.make(is_checked=False)))
            guard.rebuild(played)
        except DiffersFromRecord as error:
            raise self._refusal(error.difference, error.episode) from error
        except (ResetInvalid, EnvironmentUnusable) as error:
            raise RunRefused(f"{self._name} cannot be rebuilt: {error}") from error
        except RebuildingStopped:
            return 0
        self._context.telemetry.extra(
            PLAY_BRANCH, self._result(guard, time.monotonic() - began).model_dump(mode="json")
        )
        return guard.taken

    @property
    def _name(self) -> str:
        return f"Episode {self.point.episode} of run {self.point.run_id}"

    def _require_step(self) -> None:
        steps, asked = self._record.episodes[-1].steps, self.point.step
        if asked > len(steps):
            raise RunRefused(
                f"{self._name} has {len(steps)} recorded steps, so that it cannot go on after step {asked}."
            )
        flags = steps[asked - 1].flags if asked else 0
        ends = [name for flag, name in _ENDS.items() if flags & flag]
        if ends:
            raise RunRefused(
                f"{self._name} has ended at step {asked} ({' and '.join(ends)}): nothing goes on after it. "
                f"The last step to begin at is {asked - 1}."
            )

    def _rebuildable(
        self, make: Callable[[EnvironmentSpec], gymnasium.Env[Any, Any]]
    ) -> ReplayRecord:
        """The record without the episodes before, where it can be rebuilt so; else with them."""
        alone = self._record.alone
        with closing(RebuiltEpisode(lambda: make(self.environment), alone)) as trial:
            difference = trial.now.difference
            while difference is None and trial.now.step < self.point.step:
                self._look()
                difference = trial.advance().difference
        if difference is None:
            return alone
        if len(self._record.episodes) > 1:
            return self._record
        raise DiffersFromRecord(difference, self.point.episode)

    def _look(self) -> None:
        if self._context.stop.requested:
            raise RebuildingStopped

    def _refusal(self, difference: StepDifference, episode: int) -> RunRefused:
        where = "the reset differs" if difference.step == 0 else f"step {difference.step} differs"
        if episode != self.point.episode:
            where += f" in episode {episode}, which has to be rebuilt before it"
        parts = f" ({', '.join(difference.parts)})" if difference.parts else ""
        versions = [
            f"{each.package} {each.recorded}, here it is {each.installed or 'not installed'}"
            for each in package_differences(self._record.config)
        ]
        why = f" It was recorded with {'; '.join(versions)}." if versions else ""
        return RunRefused(
            f"{self._name} cannot be rebuilt up to step {self.point.step}: {where}{parts}.{why}"
        )

    def _result(self, guard: "PrefixGuard", duration_s: float) -> BranchRecord:
        record = guard.record
        return BranchRecord(
            start_from=self.point,
            episode=len(record.episodes) - 1,
            steps=guard.taken,
            way=way_of(record),
            episodes_before=len(record.episodes) - 1,
            packages=package_differences(record.config),
            duration_s=duration_s,
        )


class DiffersFromRecord(Exception):
    """A step is not as recorded.

    Attributes:
        difference: what differs.
        episode: number of its episode.
    """

    def __init__(self, difference: StepDifference, episode: int) -> None:
        super().__init__(f"step {difference.step} of episode {episode}")
        self.difference = difference
        self.episode = episode


class PrefixGuard(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Does recorded resets again, gives each step its recorded actor, and compares it; afterwards it changes nothing.

    Args:
        env: of the run.
        run: that records it.
        last_step: of the last episode, after which the run goes on.
        stop: of the run.
    """

    def __init__(
        self, env: gymnasium.Env[Any, Any], run: EnvironmentRun, last_step: int, stop: StopFlag
    ) -> None:
        super().__init__(env)
        self.record = ReplayRecord({}, [])
        """What is rebuilt."""
        self.taken = 0
        """Steps of the episode so far, while it is rebuilt."""
        self._run = run
        self._last_step = last_step
        self._stop = stop
        self._place = -1
        """Which episode of the record is being rebuilt."""
        self._is_guarding = False
        self._last: tuple[Any, StepResult] | None = None

    def rebuild(self, played: PlayedEnvironment) -> None:
        """Let the played environment take all recorded steps.

        Raises:
            DiffersFromRecord: one is another.
            RebuildingStopped: the run was stopped.
            ResetInvalid: a reset cannot be done again.
        """
        self._is_guarding = True
        episodes = self.record.episodes
        for place, episode in enumerate(episodes):
            is_last = place == len(episodes) - 1
            self._run.is_rebuilding = not is_last
            played.reset(None)
            until = self._last_step if is_last else len(episode.steps)
            while self.taken < until:
                action = action_of(self.env.action_space, episode.steps[self.taken].action)
                played.step(action, Actor.SCRIPT)
        self._is_guarding = False
        if self._last is not None:
            self._run.live.note_step(0, *self._last)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset; while it is rebuilt, as recorded."""
        if not self._is_guarding:
            return self.env.reset(seed=seed, options=dict(options) if options else None)
        self._place += 1
        self.taken = 0
        episode = self.record.episodes[self._place]
        result = self.env.reset(**prepare_reset(self.env, episode.reset))
        difference = reset_difference(episode, result[0])
        if difference is not None:
            raise DiffersFromRecord(difference, episode.episode)
        self._last = None, (result[0], 0.0, False, False, result[1])
        return result

    def step(self, action: Any) -> StepResult:
        """Step, and compare it while it is rebuilt."""
        return self._guarded(action) if self._is_guarding else self.env.step(action)

    def _guarded(self, action: Any) -> StepResult:
        episode = self.record.episodes[self._place]
        is_last = self._place == len(self.record.episodes) - 1
        if is_last and self.taken >= self._last_step:
            # the rest of an action that lasts several steps
            self.taken += 1
            result = self.env.step(action)
            self._last = action, result
            return result
        recorded = episode.steps[self.taken]
        if not np.array_equal(action, action_of(self.env.action_space, recorded.action)):
            raise DiffersFromRecord(
                StepDifference(step=recorded.step, parts=["action"]), episode.episode
            )
        self._run.set_actor(Actor(recorded.actor))
        if recorded.step % _LOOK_STEPS == 0 and self._stop.requested:
            raise RebuildingStopped
        result = self.env.step(action)
        flags = (1 if result[2] else 0) | (2 if result[3] else 0)
        difference = step_difference(recorded, result[0], float(result[1]), flags)
        if difference is not None:
            raise DiffersFromRecord(difference, episode.episode)
        self.taken += 1
        self._last = action, result
        return result
