"""A policy acts in episode after episode, each with a seed of its own."""

from pathlib import Path
from typing import Any

import gymnasium
import torch

from mosaic_contracts.wire import Actor
from mosaic_gymkit.play.played import name_of
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


class SeededEpisodes:
    """Rebuilds environment and policy of a checkpoint, for `mosaic_gymkit.play.loop.PlayLoop`.

    Args:
        context: of `play`.
        plan: complete, with its checkpoint.
        run: counts and records.
        inner: environment of the run, as `run.make` returned it.

    Raises:
        CheckpointRefused: the checkpoint does not fit.
    """

    has_policy = True

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
        self._spec, self._run = spec, run
        self._totals = EpisodeTotals(inner, lambda observation: run.live.show(0, observation))
        module = load_module(plan.script.module)
        self._env = script_environment(
            module,
            spec.environment,
            spec.seed,
            plan.saved.arguments,
            lambda _name: wrapped(self._totals),
        )
        state, self.checkpoint_sha256 = load_state(Path(plan.checkpoint))
        freeze_normalizer(self._env, state["normalizers"])
        self._policy = build_policy(plan.script, module, self._env, state, sampled=plan.sampled)
        self._seed = spec.seed
        self._observation: Any = None

    @property
    def name(self) -> str:
        """The environment's id."""
        return name_of(self._env)

    def reset(self, seed: int | None) -> None:
        """Begin an episode. What is drawn in it depends on the seed alone; None: on the one before."""
        self._seed = self._seed if seed is None else seed
        force_whole_reset(self._env)
        self._policy.begin(self._seed)
        self._observation, _ = self._env.reset(seed=seed)

    def choose(self) -> Any:
        """Return the policy's action."""
        return self._policy.act(self._observation)

    def step(self, action: Any, actor: Actor) -> bool:
        """Take one decision. Returns whether the whole episode has ended."""
        if actor is not Actor.POLICY:
            self._policy.see(self._observation)
        before = self._totals.ended
        self._run.decided()
        self._observation, _, terminated, truncated, _ = self._env.step(action)
        if (terminated or truncated) and self._totals.ended == before:  # a life of a game
            self._policy.life_ended()
            self._run.set_actor(Actor.POLICY)  # what follows is the script's own
            self._observation, _ = self._env.reset()
        has_ended = self._totals.ended > before
        if has_ended:
            self._note_outcome()
        return has_ended

    def _note_outcome(self) -> None:
        outcome = EpisodeOutcome(self._seed, *self._totals.newest)
        self.outcomes.append(outcome)
        if not self._spec.record.has_episodes:  # then nothing below has recorded its curves
            self._run.episode_ended(outcome.length, outcome.episode_return)
