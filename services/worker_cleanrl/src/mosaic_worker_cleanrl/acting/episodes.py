"""A policy acts in episode after episode, each with a seed of its own."""

from pathlib import Path
from typing import Any

import gymnasium
import torch

from mosaic_worker_cleanrl.acting.counting import DecisionCount, EpisodeOutcome
from mosaic_worker_cleanrl.acting.policy import build_policy, load_module
from mosaic_worker_cleanrl.acting.rebuilt import (
    EpisodeTotals,
    force_whole_reset,
    freeze_normalizer,
    script_environment,
)
from mosaic_worker_cleanrl.environment.wrapping import wrapped
from mosaic_worker_cleanrl.launch.checkpoint import load_state
from mosaic_worker_cleanrl.plan import ScriptPlan
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.errors import RunRefused
from mosaic_workerkit.pace import Pace


class SeededEpisodes:
    """Rebuilds environment and policy of a checkpoint, and acts.

    Args:
        context: of `play`.
        plan: complete, with its checkpoint.
        run: counts and records.
        inner: environment of the run, as `run.make` returned it.

    Raises:
        CheckpointRefused: the checkpoint does not fit.
    """

    def __init__(
        self,
        context: TrainContext,
        plan: ScriptPlan,
        run: DecisionCount,
        inner: gymnasium.Env[Any, Any],
    ) -> None:
        if plan.script is None or plan.saved is None:
            raise RunRefused("The plan is not complete")
        spec = context.spec
        torch.set_num_threads(spec.cpus)
        self.outcomes: list[EpisodeOutcome] = []
        """One for each episode that was played to its end."""
        self._spec, self._stop, self._run = spec, context.stop, run
        self._episodes, self._steps = plan.episodes, plan.total_steps or None
        self._pace = Pace(spec.pace, context.stop)
        self._totals = EpisodeTotals(inner)
        module = load_module(plan.script.module)
        self._env = script_environment(
            module,
            spec.environment,
            spec.seed,
            plan.saved.arguments,
            lambda _name: wrapped(self._totals),
        )
        state = load_state(Path(plan.checkpoint))
        freeze_normalizer(self._env, state["normalizers"])
        self._policy = build_policy(plan.script, module, self._env, state, sampled=plan.sampled)

    def play(self) -> None:
        """Act until all episodes or steps are over, or a stop is requested."""
        while self._goes_on() and (self._episodes is None or len(self.outcomes) < self._episodes):
            seed = self._spec.seed + len(self.outcomes)
            if self._play_one(seed):
                outcome = EpisodeOutcome(seed, *self._totals.newest)
                self.outcomes.append(outcome)
                if not self._spec.record.has_episodes:  # then nothing below has recorded its curves
                    self._run.episode_ended(outcome.length, outcome.episode_return)

    def _goes_on(self) -> bool:
        has_steps = self._steps is None or self._run.global_step < self._steps
        return has_steps and not self._stop.requested

    def _play_one(self, seed: int) -> bool:
        """Act in one episode; returns whether it was played to its end."""
        force_whole_reset(self._env)
        self._policy.begin(seed)
        observation, _ = self._env.reset(seed=seed)
        before = self._totals.ended
        while self._goes_on():
            action = self._policy.act(observation)
            self._run.decided()
            observation, _, terminated, truncated, _ = self._env.step(action)
            self._pace.stepped()
            self._pace.wait()
            if (terminated or truncated) and self._totals.ended == before:  # a life of a game
                self._policy.life_ended()
                observation, _ = self._env.reset()
            if self._totals.ended > before:
                return True
        return False
