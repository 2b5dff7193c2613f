"""What both algorithms share: the learner of a run, and what is reported and saved between two options."""

from typing import Any

from mosaic_contracts.evaluations import EVALUATION_RESULT, EvaluationResult, mean_and_error
from mosaic_contracts.spec import RunKind
from mosaic_gymkit.table_view import TableClips, TableView
from mosaic_worker_spade.environment.world import TableWorld
from mosaic_worker_spade.errors import EXIT_REFUSED
from mosaic_worker_spade.learning import checkpoint as checkpoints
from mosaic_worker_spade.learning.choice import RunOption
from mosaic_worker_spade.learning.draws import Draws
from mosaic_worker_spade.learning.learner import Learner
from mosaic_worker_spade.learning.loop import EpisodeWatch, Option, OptionOutcome, run_option
from mosaic_worker_spade.packages import installed_packages
from mosaic_worker_spade.recording import LearningRecorder
from mosaic_worker_spade.request import RunDraft
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.errors import RunRefused
from mosaic_workerkit.git_state import worker_git_state
from mosaic_workerkit.pace import Pace
from mosaic_workerkit.surroundings import surroundings_of

PLAN_FILE = "plan.asl"


class LearningSession:
    """One run.

    Raises:
        RunRefused: the draft is not complete.
    """

    def __init__(self, context: TrainContext, draft: RunDraft) -> None:
        if draft.is_blocked or draft.world is None:
            raise RunRefused(draft.refusal, EXIT_REFUSED)
        self.context = context
        self.draft = draft
        self.world: TableWorld = draft.world
        self.plays = context.spec.kind.plays
        self.pace = Pace(context.spec.pace if self.plays else None, context.stop)
        self.learner = self._make_learner()
        self.loop: RunOption = draft.loop.make(self.world) if draft.loop else run_option
        self.view = TableView(context.run_dir, context.telemetry.run_id, self.world.make)
        every = context.spec.clip_every
        clips = TableClips(context.telemetry, 0, every, self.world.make) if every else None
        self.recorder = LearningRecorder(
            context.telemetry,
            context.stop,
            context.spec,
            sampling=draft.sampling,
            reported_total=None if self.plays else draft.total_steps,
            env_seed=draft.env_seed,
            view=self.view,
            clips=clips,
        )
        self.recorder.continue_from(self.learner)
        self.first_step = self.learner.counts.steps
        self._first_episode = self.learner.counts.episodes
        self.last_step = self.first_step + draft.total_steps
        self._next_checkpoint = self.first_step + draft.checkpoint_every_steps
        self._next_values = self.first_step

    @property
    def steps(self) -> int:
        """Steps of this run so far."""
        return self.learner.counts.steps - self.first_step

    @property
    def left(self) -> int:
        """Steps that are left; of a play by episodes at most so many, and none after the last one."""
        counts, episodes = self.learner.counts, self.draft.episodes
        if episodes is not None and counts.episodes - self._first_episode >= episodes:
            return 0
        return self.last_step - counts.steps

    def record_config(self) -> None:
        """What really runs, the first event; and the plan itself, as a file of the run."""
        spec, draft, telemetry = self.context.spec, self.draft, self.context.telemetry
        config: dict[str, Any] = {
            "algorithm": spec.algorithm,
            "environment": self.world.id,
            "environment_arguments": self.world.arguments,
            "max_episode_steps": self.world.max_steps,
            "kind": spec.kind.value,
            "seed": spec.seed,
            "env_seed": draft.env_seed,
            "arguments": vars(draft.parameters),
            "num_envs": draft.parameters.agents,
            "spaces": self.world.spaces,
            "map": self.world.map_text,
            "table_digest": self.world.digest,
            "packages": installed_packages(),
            "surroundings": surroundings_of(spec),
            **worker_git_state(),
            "loop": draft.reported_loop,
            "record": spec.record.value,
            "sampling": vars(draft.sampling),
            "values_every": draft.parameters.values_every,
            "total_steps": draft.total_steps if draft.episodes is None else None,
            "checkpoint_every_steps": draft.checkpoint_every_steps,
        }
        if self.world.grid is not None:
            config["grid"] = self.world.grid.model_dump(mode="json")
        if self.plays:
            config |= {"episodes": draft.episodes, "pace": spec.pace}
        if draft.plan is not None:
            config["plan"] = {"name": draft.plan.name, "sha256": draft.plan.digest}
        if draft.checkpoint is not None:
            config["continues_from_step"] = self.first_step or draft.checkpoint.facts.steps
        telemetry.config(config)
        if draft.plan is not None:
            (self.context.run_dir / PLAN_FILE).write_text(draft.plan.text)
            telemetry.artifact(PLAN_FILE, "plan", {"name": draft.plan.name})
        self.record_values()

    def run_option(self, option: Option, watch: EpisodeWatch) -> OptionOutcome:
        """Learn for a while, and record and save what is due afterwards."""
        outcome = self.loop(self.learner, option, self.recorder, watch)
        self.record_progress(outcome)
        return outcome

    def record_progress(self, outcome: OptionOutcome) -> None:
        """Metrics of what was done, the values and a checkpoint where they are due."""
        telemetry, learner, at = self.context.telemetry, self.learner, self.steps
        if outcome.episodes:
            telemetry.metric("success_rate", at, learner.rate)
            telemetry.metric("mean_return", at, outcome.returns / outcome.episodes)
            telemetry.metric("mean_length", at, outcome.steps / outcome.episodes)
        telemetry.metric("epsilon", at, learner.epsilon)
        if learner.counts.steps >= self._next_values:
            self.record_values()
        if learner.counts.steps >= self._next_checkpoint and self.left > 0 and not self.plays:
            self._next_checkpoint += self.draft.checkpoint_every_steps
            self._save_periodic(at)

    def record_play_step(self) -> None:
        """A step of a play: how far it is, and when the next one is due."""
        total = None if self.draft.episodes is not None else self.draft.total_steps
        self.context.telemetry.progress(self.steps, total)
        self.pace.stepped()

    def record_values(self) -> None:
        """The table of values, now."""
        while self._next_values <= self.learner.counts.steps:
            self._next_values += self.draft.parameters.values_every
        self.recorder.values(self.learner)

    def close(self) -> None:
        """The end of the run, or a polite stop: last episode, last values, last checkpoint."""
        self.view.close()
        self.recorder.close()
        self.record_values()
        if self.context.spec.kind is RunKind.EVALUATE:
            self._record_result()
        if self.plays:
            counts = self.learner.counts
            if counts.episodes:
                rate = counts.successes / counts.episodes
                self.context.telemetry.metric("success_rate", self.steps, rate)
        else:
            reason = "stop" if self.context.stop.requested and self.left > 0 else "final"
            self.save(f"checkpoints/{reason}.npz", reason)

    def _record_result(self) -> None:
        spec, draft = self.context.spec, self.draft
        returns = [episode_return for episode_return, _ in self.recorder.evaluated]
        mean, error = mean_and_error(returns)
        result = EvaluationResult(
            checkpoint=str(draft.parameters.checkpoint),
            checkpoint_sha256=None if draft.checkpoint is None else draft.checkpoint.sha256,
            algorithm=spec.algorithm,
            environment=self.world.id,
            trained_steps=None if draft.checkpoint is None else draft.checkpoint.facts.steps,
            greedy=None if draft.plan is not None else True,
            asked=draft.episodes,
            seeds=[draft.env_seed + number for number in range(len(returns))],
            returns=returns,
            lengths=[length for _, length in self.recorder.evaluated],
            mean=mean,
            standard_error=error,
        )
        self.context.telemetry.metrics(self.steps, result.metrics())
        self.context.telemetry.extra(EVALUATION_RESULT, result.model_dump(mode="json"))

    def save(self, path: str, reason: str) -> None:
        """Write and announce a checkpoint."""
        algorithm = self.context.spec.algorithm
        self.context.telemetry.write_checkpoint(
            path, lambda draft: checkpoints.save(self.learner, algorithm, draft), self.steps, reason
        )

    def _save_periodic(self, at: int) -> None:
        """A full disk may have room later: it costs a checkpoint and not the training."""
        try:
            self.save(f"checkpoints/step_{at}.npz", "periodic")
        except OSError as error:
            self.context.telemetry.log(
                "warning",
                f"The checkpoint at step {at} could not be written: {error}. Make room on the disk; the next one is "
                f"tried at step {self._next_checkpoint - self.first_step}.",
                {"step": at},
            )

    def _make_learner(self) -> Learner:
        draft, seed = self.draft, self.context.spec.seed
        rates = draft.parameters.rates
        if draft.checkpoint is None:
            return Learner.fresh(self.world, rates, seed, draft.env_seed)
        learner = checkpoints.restore(draft.checkpoint, self.world, rates, seed)
        if "epsilon_start" in self.context.spec.parameters:
            learner.epsilon = rates.epsilon_start
        if (
            self.plays
        ):  # of the checkpoint its values only: what it shows follows from this run's seed
            fresh = Learner.fresh(self.world, rates, seed, draft.env_seed)
            fresh.q, fresh.visits, fresh.epsilon = learner.q, learner.visits, 0.0
            fresh.first_seed = draft.env_seed
            return fresh
        if draft.parameters.world_seed is not None:
            learner.world_draws, learner.is_seeded = Draws.seeded(draft.env_seed), True
        return learner
