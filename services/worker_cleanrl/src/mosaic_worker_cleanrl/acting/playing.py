"""`play`: record the config, rebuild what the checkpoint needs to act, and act in seeded episodes.

Never imports torch when it is imported.
"""

import sys
from contextlib import ExitStack
from itertools import count
from typing import TYPE_CHECKING

from mosaic_base.imports import large_imports
from mosaic_contracts.evaluations import EVALUATION_RESULT, EvaluationResult, mean_and_error
from mosaic_contracts.play import PlayInput
from mosaic_contracts.spec import RunKind
from mosaic_gymkit.play.inputs import NOT_BEGUN, PersonInputs
from mosaic_gymkit.play.keymap import KeyMap
from mosaic_gymkit.play.loop import PlayLoop
from mosaic_gymkit.play.prefix import EpisodePrefix
from mosaic_gymkit.play.timing import PlayTiming, controls_of
from mosaic_worker_cleanrl.acting.counting import DecisionCount
from mosaic_worker_cleanrl.environment.extras import known_environments
from mosaic_worker_cleanrl.errors import CheckpointRefused
from mosaic_worker_cleanrl.oldgym import OLD_GYM_PATH
from mosaic_worker_cleanrl.plan import ScriptPlan, make_plan
from mosaic_worker_cleanrl.plan.play import play_facts
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.errors import RunRefused

if TYPE_CHECKING:
    from mosaic_worker_cleanrl.acting.episodes import SeededEpisodes

_NOT_IN_CONFIG = ("total_steps", "environment", "seed", "record")
"""Facts that the config has anyway."""


def play_run(context: TrainContext) -> None:
    """Act as the run's spec says, and record every step. Returns also after a polite stop.

    Raises:
        RunRefused: the spec is one that `check` calls blocking, or the checkpoint does not fit.
    """
    known_environments()  # registers the games
    plan = make_plan(context.spec)
    plan.require_none()
    total_steps = plan.total_steps if plan.episodes is None else None
    person = _PersonSeat()
    takes_inputs = context.spec.kind is RunKind.PLAY and context.spec.record.has_episodes
    on_act = person.take if takes_inputs else None
    with DecisionCount(context, total_steps=total_steps, on_act=on_act) as run:
        try:
            _act(context, plan, run, person)
        except CheckpointRefused as error:
            raise RunRefused(str(error)) from error


class _PersonSeat:
    """Takes a person's inputs once the environment is there."""

    def __init__(self) -> None:
        self.inputs: PersonInputs | None = None

    def take(self, given: PlayInput) -> str:
        """Take an input; return why it is refused."""
        return NOT_BEGUN if self.inputs is None else self.inputs.take(given)


def _act(context: TrainContext, plan: ScriptPlan, run: DecisionCount, person: _PersonSeat) -> None:
    spec = context.spec
    if plan.script is None or plan.saved is None:
        raise RunRefused("The plan is not complete")
    prefix = EpisodePrefix.of(context)
    inner = run.make(spec.environment) if prefix is None else prefix.make(run)
    timing = PlayTiming.of_policy(inner, spec.pace, plan.script.frames_per_step)
    keymap = KeyMap(inner, ramp=timing.ramp)
    person.inputs = PersonInputs(keymap, has_policy=True)
    facts = play_facts(spec, plan.script, plan)
    if run.takes_inputs:
        facts["play"] = controls_of(inner, keymap, timing, has_policy=True).model_dump(mode="json")
    run.record_config(
        {"checkpoint": plan.checkpoint, "sampled": plan.sampled},
        inner,
        **{name: value for name, value in facts.items() if name not in _NOT_IN_CONFIG},
    )
    for finding in plan.findings:
        context.telemetry.log(finding.level, finding.message, {"where": finding.where})
    with ExitStack() as stack:
        if plan.script.imports("gym"):
            sys.path.insert(0, str(OLD_GYM_PATH))
            stack.callback(sys.path.remove, str(OLD_GYM_PATH))
        # torch takes seconds to import; the config is sent before.
        with large_imports():
            from mosaic_worker_cleanrl.acting.episodes import SeededEpisodes

        episodes = SeededEpisodes(context, plan, run, inner)
        loop = PlayLoop(
            *(run, episodes, keymap, person.inputs, context.stop, timing),
            actor=None if prefix is None else prefix.actor,
        )
        context.telemetry.lifecycle("playing")
        loop.play(
            count(spec.seed),
            episodes=plan.episodes,
            steps=plan.total_steps or None,
            begin=None if prefix is None else lambda: prefix.rebuild(episodes),
        )
    if context.spec.kind is RunKind.EVALUATE:
        _record_result(context, plan, run.global_step, episodes)


def _record_result(
    context: TrainContext, plan: ScriptPlan, step: int, episodes: "SeededEpisodes"
) -> None:
    spec, saved, outcomes = context.spec, plan.saved, episodes.outcomes
    if saved is None:
        raise RunRefused("The plan is not complete")
    mean, error = mean_and_error([each.episode_return for each in outcomes])
    result = EvaluationResult(
        checkpoint=plan.checkpoint,
        checkpoint_sha256=episodes.checkpoint_sha256,
        algorithm=spec.algorithm,
        environment=spec.environment,
        trained_steps=saved.global_step,
        greedy=not plan.sampled,
        normalized=saved.has_observation_statistics,
        asked=plan.episodes,
        seeds=[each.seed for each in outcomes],
        returns=[each.episode_return for each in outcomes],
        lengths=[each.length for each in outcomes],
        mean=mean,
        standard_error=error,
    )
    context.telemetry.metrics(step, result.metrics())
    context.telemetry.extra(EVALUATION_RESULT, result.model_dump(mode="json"))
