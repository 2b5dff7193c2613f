"""The verb `play` of a worker whose policy acts in one Gymnasium environment: plays and evaluations of a checkpoint."""

import hashlib
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import gymnasium

from mosaic_contracts.compat import Self
from mosaic_contracts.evaluations import EVALUATION_RESULT, EvaluationResult, mean_and_error
from mosaic_contracts.play import PlayInput
from mosaic_contracts.spec import RunKind
from mosaic_contracts.wire import Actor
from mosaic_gymkit.play.inputs import NOT_BEGUN, PersonInputs
from mosaic_gymkit.play.keymap import KeyMap
from mosaic_gymkit.play.loop import PlayLoop
from mosaic_gymkit.play.played import name_of
from mosaic_gymkit.play.prefix import EpisodePrefix
from mosaic_gymkit.play.timing import PlayTiming, controls_of
from mosaic_gymkit.run import EnvironmentRun
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.errors import EnvironmentUnusable
from mosaic_workerkit.pace import Pace

EPISODES = {RunKind.PLAY: 10, RunKind.EVALUATE: 20}
"""Episodes where the spec says neither episodes nor steps; a branch has one."""
Policy = Callable[[Any], Any]
"""Returns the action for one observation of the environment."""


class PolicyPlay:
    """A run of kind `play` or `evaluate`: a policy acts in one environment, and learns nothing.

    It makes the environment and records the config. Every step is recorded as the run's recording level asks for, a
    person may act too where keys give actions of the environment, and an evaluation records its result.

    Example:
        >>> def play(self, context):
        ...     given = self.arguments(context.spec, Parameters)
        ...     with PolicyPlay(context, given) as play:
        ...         table = load(given.checkpoint)
        ...         play.act(lambda state: int(table[state].argmax()), checkpoint=given.checkpoint)

    Args:
        context: of the worker's `play`.
        arguments: every argument of the algorithm with its value, for the config.
    """

    def __init__(self, context: TrainContext, arguments: Any) -> None:
        spec = context.spec
        self._context, self._spec = context, spec
        self._episodes = spec.episodes
        if spec.episodes is None and spec.steps is None:
            self._episodes = EPISODES[spec.kind] if spec.start_from is None else 1
        self._prefix = EpisodePrefix.of(context)
        self._inputs: PersonInputs | None = None
        takes_inputs = spec.kind is RunKind.PLAY and spec.record.has_episodes
        self.run = EnvironmentRun(
            context,
            total_steps=spec.steps if self._episodes is None else None,
            on_act=self._take if takes_inputs else None,
        )
        """Where the environment is recorded and shown."""
        made = self._prefix.make(self.run) if self._prefix else self.run.make(spec.environment)
        self.env: gymnasium.Env[Any, Any] = made
        """The environment; wrappers of the training that change no episode belong into the policy."""
        self._timing = PlayTiming.of_policy(self.env, spec.pace)
        self._keymap = self._make_keymap()
        facts: dict[str, Any] = {
            "kind": spec.kind.value,
            "episodes": self._episodes,
            "pace": spec.pace,
        }
        if self._keymap is not None and takes_inputs:
            controls = controls_of(self.env, self._keymap, self._timing, has_policy=True)
            facts["play"] = controls.model_dump(mode="json")
        self.run.record_config(arguments, self.env, **facts)

    def act(
        self,
        policy: Policy,
        *,
        checkpoint: str,
        begin: Callable[[int], object] | None = None,
        greedy: bool = True,
        normalized: bool = False,
        trained_steps: int | None = None,
    ) -> None:
        """Act in episode after episode, until all are over or the run is stopped.

        Args:
            policy: returns the action for an observation.
            checkpoint: path of the file that was loaded, relative to the run folder.
            begin: called with the seed of each episode before it begins, for a policy that draws its actions.
            greedy: whether each action is the most likely or best one.
            normalized: whether observations are normalised with the statistics of the training.
            trained_steps: environment steps of the training when the checkpoint was saved; None: not known.

        Raises:
            ReportedError: the environment or the policy failed.
        """
        played = _PlayedPolicy(self._context, self.run, self.env, policy, begin)
        self._context.telemetry.lifecycle("playing")
        if self._keymap is None or self._inputs is None:
            self._act_alone(played)
        else:
            self._loop(played, self._keymap, self._inputs)
        if self._spec.kind is RunKind.EVALUATE:
            file = self._context.run_dir / checkpoint
            facts = {"greedy": greedy, "normalized": normalized, "trained_steps": trained_steps}
            self._record_result(played, checkpoint, file, facts)

    def close(self) -> None:
        """Close the environment, and show it no more."""
        self.env.close()
        self.run.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _make_keymap(self) -> KeyMap | None:
        """The key map of a person; None: keys cannot give actions of this environment, e.g. of several agents."""
        try:
            keymap = KeyMap(self.env, ramp=self._timing.ramp)
        except EnvironmentUnusable:
            return None
        self._inputs = PersonInputs(keymap, has_policy=True)
        return keymap

    def _take(self, given: PlayInput) -> str:
        return NOT_BEGUN if self._inputs is None else self._inputs.take(given)

    def _loop(self, played: "_PlayedPolicy", keymap: KeyMap, inputs: PersonInputs) -> None:
        prefix = self._prefix
        loop = PlayLoop(
            *(self.run, played, keymap, inputs, self._context.stop, self._timing),
            actor=None if prefix is None else prefix.actor,
        )
        loop.play(
            count(self._spec.seed),
            episodes=self._episodes,
            steps=self._spec.steps,
            begin=None if prefix is None else lambda: prefix.rebuild(played),
        )

    def _act_alone(self, played: "_PlayedPolicy") -> None:
        """Act where no person can."""
        pace, seeds, steps = Pace(self._spec.pace, self._context.stop), count(self._spec.seed), 0
        is_over = True
        while not self._context.stop.requested and steps != self._spec.steps:
            if is_over:
                if len(played.returns) == self._episodes:
                    return
                played.reset(next(seeds))
            is_over = played.step(played.choose(), Actor.POLICY)
            steps += 1
            pace.stepped()
            pace.wait()

    def _record_result(
        self, played: "_PlayedPolicy", checkpoint: str, file: Path, facts: dict[str, Any]
    ) -> None:
        mean, error = mean_and_error(played.returns)
        result = EvaluationResult(
            checkpoint=checkpoint,
            checkpoint_sha256=hashlib.sha256(file.read_bytes()).hexdigest(),
            algorithm=self._spec.algorithm,
            environment=self._spec.environment,
            asked=self._episodes,
            seeds=played.seeds,
            returns=played.returns,
            lengths=played.lengths,
            mean=mean,
            standard_error=error,
            **facts,
        )
        telemetry = self._context.telemetry
        telemetry.metrics(self.run.global_step, result.metrics())
        telemetry.extra(EVALUATION_RESULT, result.model_dump(mode="json"))


class _PlayedPolicy:
    """Environment and policy, as `PlayLoop` steps them."""

    has_policy = True

    def __init__(
        self,
        context: TrainContext,
        run: EnvironmentRun,
        env: gymnasium.Env[Any, Any],
        policy: Policy,
        begin: Callable[[int], object] | None,
    ) -> None:
        self._run, self._env, self._policy, self._begin = run, env, policy, begin
        self._has_curves = context.spec.record.has_episodes
        self._seed, self._observation = context.spec.seed, None
        self._return, self._length = 0.0, 0
        self.seeds: list[int] = []
        """One for each episode that was played to its end."""
        self.returns: list[float] = []
        self.lengths: list[int] = []

    @property
    def name(self) -> str:
        return name_of(self._env)

    def reset(self, seed: int | None) -> None:
        self._seed = self._seed if seed is None else seed
        self._return, self._length = 0.0, 0
        if self._begin is not None:
            self._begin(self._seed)
        self._observation, _ = self._env.reset(seed=seed)
        self._run.live.show(0, self._observation)

    def choose(self) -> Any:
        return self._policy(self._observation)

    def step(self, action: Any, actor: Actor) -> bool:
        self._observation, reward, terminated, truncated, _ = self._env.step(action)
        self._return += float(reward)
        self._length += 1
        if not (terminated or truncated):
            return False
        if not self._has_curves:  # then nothing below has recorded them
            self._run.episode_ended(self._length, self._return)
        self.seeds.append(self._seed)
        self.returns.append(self._return)
        self.lengths.append(self._length)
        return True
