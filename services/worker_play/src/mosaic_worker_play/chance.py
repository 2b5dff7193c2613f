"""Random actions: the baseline that every policy is compared with."""

from dataclasses import dataclass
from typing import Any

import gymnasium

from mosaic_contracts.evaluations import EVALUATION_RESULT, EvaluationResult, mean_and_error
from mosaic_contracts.spec import RunKind, RunSpec
from mosaic_contracts.worker import Algorithm
from mosaic_gymkit import EnvironmentRun
from mosaic_worker_play.given import read_object
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.pace import Pace
from mosaic_workerkit.parameters import parameter, parameter_schema

_EPISODES = {RunKind.PLAY: 10, RunKind.EVALUATE: 20}
"""Episodes where the spec says neither episodes nor steps."""


@dataclass(frozen=True)
class RandomParameters:
    """How the environment is made."""

    options: str = parameter(
        "",
        'Arguments of gymnasium.make as JSON, e.g. {"is_slippery": false}.',
        x_group="environment",
        x_options=True,
    )
    reset_options: str = parameter(
        "",
        "Options of each reset as JSON, where the environment takes some.",
        x_group="environment",
    )


RANDOM = Algorithm(
    id="random",
    title="Random actions",
    summary="Uniform samples of the action space: the baseline that every policy is compared with.",
    documentation=(
        "Each action is a sample of the action space, which is seeded with the seed of the episode. So an episode is "
        "the same in whatever run it is played. An unbounded space is sampled as Gymnasium does: from a normal "
        "distribution."
    ),
    parameters=parameter_schema(RandomParameters),
    default_environment="CartPole-v1",
    play=True,
)


@dataclass
class _Outcomes:
    """The complete episodes."""

    seeds: list[int]
    returns: list[float]
    lengths: list[int]


def play_randomly(context: TrainContext, given: RandomParameters) -> None:
    """Act in seeded episodes until all are over, or a stop is requested. An evaluation records its result.

    Args:
        context: of a run of kind play or evaluate.
        given: checked parameters.
    """
    spec = context.spec
    episodes = spec.episodes
    if episodes is None and spec.steps is None:
        episodes = _EPISODES[spec.kind]
    with EnvironmentRun(context, total_steps=spec.steps if episodes is None else None) as run:
        env = run.make(spec.environment, **read_object(given.options, "options"))
        run.record_config(given, env, kind=spec.kind.value, episodes=episodes, pace=spec.pace)
        reset_options = read_object(given.reset_options, "reset_options") or None
        outcomes = _Outcomes([], [], [])
        _Player(context, run, env, reset_options, outcomes).play(episodes)
        env.close()
        if spec.kind is RunKind.EVALUATE:
            _record_result(context, run.global_step, episodes, outcomes)


class _Player:
    def __init__(
        self,
        context: TrainContext,
        run: EnvironmentRun,
        env: gymnasium.Env[Any, Any],
        reset_options: dict[str, Any] | None,
        outcomes: _Outcomes,
    ) -> None:
        self._spec: RunSpec = context.spec
        self._stop, self._run, self._env = context.stop, run, env
        self._reset_options = reset_options
        self._outcomes = outcomes
        self._pace = Pace(context.spec.pace, context.stop)

    def play(self, episodes: int | None) -> None:
        while self._goes_on() and (episodes is None or len(self._outcomes.seeds) < episodes):
            self._play_one(self._spec.seed + len(self._outcomes.seeds))

    def _goes_on(self) -> bool:
        has_steps = self._spec.steps is None or self._run.global_step < self._spec.steps
        return has_steps and not self._stop.requested

    def _play_one(self, seed: int) -> None:
        """Act in one episode; one that is cut off has no outcome."""
        self._env.action_space.seed(seed)
        self._env.reset(seed=seed, options=self._reset_options)
        total, length = 0.0, 0
        while self._goes_on():
            _, reward, terminated, truncated, _ = self._env.step(self._env.action_space.sample())
            total += float(reward)
            length += 1
            self._pace.stepped()
            self._pace.wait()
            if terminated or truncated:
                if not self._spec.record.has_episodes:  # then nothing below has recorded its curves
                    self._run.episode_ended(length, total)
                self._outcomes.seeds.append(seed)
                self._outcomes.returns.append(total)
                self._outcomes.lengths.append(length)
                return


def _record_result(
    context: TrainContext, step: int, asked: int | None, outcomes: _Outcomes
) -> None:
    mean, error = mean_and_error(outcomes.returns)
    result = EvaluationResult(
        checkpoint="",
        algorithm=RANDOM.id,
        environment=context.spec.environment,
        greedy=None,
        asked=asked,
        seeds=outcomes.seeds,
        returns=outcomes.returns,
        lengths=outcomes.lengths,
        mean=mean,
        standard_error=error,
    )
    context.telemetry.metrics(step, result.metrics())
    context.telemetry.extra(EVALUATION_RESULT, result.model_dump(mode="json"))
