"""One execution of a script: counts its steps, knows its safe points, and saves and stops there."""

from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import gymnasium

from mosaic_contracts.checkpoint_words import NORMALIZER, REASON_BEST
from mosaic_contracts.spec import RunSpec
from mosaic_gymkit.clips import ClipRecorder
from mosaic_gymkit.live import LiveView
from mosaic_gymkit.recording import StepBatch, is_watchable
from mosaic_worker_cleanrl.launch.best import BEST_PATH, BestReturn
from mosaic_worker_cleanrl.launch.checkpoint import (
    collect_state,
    has_networks,
    load_state,
    save_state,
)
from mosaic_worker_cleanrl.launch.stop import GracefulStop
from mosaic_worker_cleanrl.launch.warm_start import begin_with
from mosaic_worker_cleanrl.plan import ScriptPlan
from mosaic_worker_cleanrl.saved import has_observation_statistics
from mosaic_workerkit.control import StopFlag
from mosaic_workerkit.telemetry import NO_EPISODE, Telemetry

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

_PATIENCE_STEPS = 20_000
_PATIENCE_EPISODES = 10
"""Without an episode's end after so many steps, and so many times the longest episode, something is wrong."""
_MOST_PATIENCE_STEPS = 50_000
"""After so many steps a person should know, also where episodes may be longer."""


class SafePointRecorder(Protocol):
    """Has something to record in the script's thread."""

    def record_news(self) -> None:
        """Record what is new."""


class ScriptSession:
    """Shared by the hooks. Everything happens in the script's own thread."""

    def __init__(
        self,
        spec: RunSpec,
        plan: ScriptPlan,
        telemetry: Telemetry,
        stop: StopFlag,
        variables: MutableMapping[str, Any],
    ) -> None:
        self.spec = spec
        self.plan = plan
        self.telemetry = telemetry
        self.variables = variables
        self.global_step = 0
        """Environment steps begun, over all sub-environments of the vector environment that trains."""
        self.environments_made = 0
        self.writers_made = 0
        self.writers: list[SummaryWriter] = []
        self.tracker: SafePointRecorder | None = None
        """Has news of a tracker to record at safe points."""
        self._has_ended_one = False
        """Whether an episode has ended."""
        self._is_noted = False
        """Whether the run says that none has."""
        self.batch = StepBatch(telemetry, has_observations=spec.record.has_observations)
        self.live = LiveView(telemetry.run_dir, telemetry.run_id)
        self._clips: ClipRecorder | None = None
        self._stop = stop
        self._progress: Callable[..., None] = telemetry.progress
        self._training: Any = None
        """The vector environment that trains: the first one that is reset. A later one evaluates."""
        self._best = BestReturn(telemetry.run_dir, plan.total_steps)
        self._next_checkpoint = plan.checkpoint_every_steps
        self._patience_steps = self._patience()
        self._is_checkpoint_due = False
        """Whether the training begins with a checkpoint at its first step."""
        self._next_look = min(self._next_checkpoint, self._patience_steps)
        """Until then a step has nothing to do but to count."""

    def record_clips(self, env: gymnasium.Env[Any, Any]) -> None:
        """Record clips of the first environment, where the run asks for them."""
        every = self.spec.clip_every
        if every is not None and self._clips is None and is_watchable(env):
            self._clips = ClipRecorder(env, self.telemetry, every, lambda: self.global_step)

    def close_clips(self) -> None:
        """Complete and announce what is being encoded."""
        if self._clips is not None:
            self._clips.close()

    def episode_ended(self, length: int, episode_return: float) -> None:
        """Take note of an episode of an environment; its curves are the script's own."""
        self.note_episode()
        self._look_at_return()

    def note_episode(self) -> None:
        """Take back the note that no episode has ended."""
        self._has_ended_one = True
        if self._is_noted:
            self._is_noted = False
            self.telemetry.note(NO_EPISODE, None)

    def note_return(self, episode_return: float) -> None:
        """Take note of a return that the script reports, where episodes themselves are not recorded."""
        self.note_episode()
        if not self.spec.record.has_episodes:
            self.telemetry.recent_returns.append(episode_return)
            self._look_at_return()

    def _look_at_return(self) -> None:
        """Save at the next step if the policy is the best so far."""
        if self._best.is_due(self.global_step, self.telemetry.recent_returns):
            self._next_look = 0

    def before_reset(self, envs: Any) -> None:
        """Safe point: networks exist, nothing was trained since the last step."""
        self.safe_point()
        if self._training is None:
            self._training = envs
            if self.plan.checkpoint and not has_networks(self.variables):
                # Scripts for JAX make their networks of the first observation: after the reset, before any step.
                self._is_checkpoint_due, self._next_look = True, 0
            else:
                self._begin_with_checkpoint()
            self.telemetry.lifecycle("training")

    def _begin_with_checkpoint(self) -> None:
        """Warm start, where the run names a checkpoint: the networks are there, and nothing has been trained."""
        if not self.plan.checkpoint:
            return
        taken = begin_with(load_state(Path(self.plan.checkpoint)).state, self.variables)
        self.telemetry.log(
            "info",
            f"Warm start from a checkpoint of {taken['steps']:,} steps: weights, optimizers and normalisers are taken "
            "over. Counters and schedules begin new; the run's own arguments hold.",
            taken,
        )

    def before_step(self, envs: Any) -> None:
        """Safe point before every step of a vector environment: all networks are between updates."""
        if self._stop.reason is not None:  # `requested` without a call; this is the hot path
            self._stop_here()
        if envs is not self._training:
            return
        step = self.global_step
        if step >= self._next_look:
            self._look_up(step)
        self.global_step = step = step + envs.num_envs
        self._progress(step)

    def _look_up(self, step: int) -> None:
        if self._is_checkpoint_due:
            self._is_checkpoint_due = False
            self._begin_with_checkpoint()
        if self._best.is_due(step, self.telemetry.recent_returns):
            self._save_best(step)
        if step >= self._next_checkpoint:
            self._next_checkpoint = step + self.plan.checkpoint_every_steps
            self._save_periodic()
        if step >= self._patience_steps:
            self._complain()
        self._next_look = min(self._next_checkpoint, self._patience_steps)

    def _save_best(self, step: int) -> None:
        """Replace the best checkpoint; a full disk costs this one and not the training."""
        try:
            if self._save(self._collect(), REASON_BEST, BEST_PATH):
                self._best.saved(step)
        except OSError as error:
            self._best.failed(step)
            self._warn_unsaved(
                f"The best checkpoint so far, of step {step}", error, "a later one is tried"
            )

    def safe_point(self) -> None:
        """Stop here if that was asked for.

        Raises:
            GracefulStop: it was; what there is to save is saved.
        """
        if self.tracker is not None:
            self.tracker.record_news()
        if self._stop.requested:
            self._stop_here()

    @property
    def is_stopping(self) -> bool:
        """Whether the run is to stop."""
        return self._stop.requested

    def request_stop(self, reason: str) -> None:
        """Stop at the next safe point. It may be called in any thread."""
        self._stop.request(reason)

    def save(self, reason: str) -> bool:
        """Write and announce the last checkpoint of everything the script holds, and the best one if it is that.

        Returns:
            False when the script holds no network yet.

        Raises:
            OSError: the disk refused.
        """
        state = self._collect()
        if self._best.is_beaten(self.telemetry.recent_returns):
            self._save(state, REASON_BEST, BEST_PATH)
            self._best.saved(self.global_step)
        return self._save(state, reason)

    def _collect(self) -> dict[str, Any] | None:
        """Everything the script holds; None when it holds no network yet."""
        if not has_networks(self.variables):
            return None
        return collect_state(
            self.spec,
            self.global_step,
            self.variables,
            wrappers=self.plan.wrappers,
            spaces=self.plan.spaces,
        )

    def _save(self, state: dict[str, Any] | None, reason: str, path: Path | None = None) -> bool:
        if state is None:
            return False
        name = f"step-{self.global_step:012d}-{reason}.pt"
        self.telemetry.write_checkpoint(
            path or Path("checkpoints") / name,
            lambda draft: save_state(state, draft),
            self.global_step,
            reason,
            {
                "networks": sorted(state["networks"]),
                "optimizers": sorted(state["optimizers"]),
                NORMALIZER: has_observation_statistics(state["normalizers"]),
            },
        )
        return True

    def _save_periodic(self) -> None:
        """A disk that is full now may have room later: that costs a checkpoint and not the training."""
        try:
            self._save(self._collect(), "periodic")
        except OSError as error:
            self._warn_unsaved(
                f"The checkpoint at step {self.global_step}",
                error,
                f"the next one is tried at step {self._next_checkpoint}",
            )

    def _warn_unsaved(self, what: str, error: OSError, then: str) -> None:
        self.telemetry.log(
            "warning",
            f"{what} could not be written: {error}. Make room on the disk; {then}.",
            {"global_step": self.global_step},
        )

    def _stop_here(self) -> None:
        if not self.save("stop"):
            self.telemetry.log("info", "Stopped before the script had a network: no checkpoint.")
        raise GracefulStop

    def _patience(self) -> int:
        longest = self.plan.probe.max_steps if self.plan.probe is not None else None
        num_envs = int(self.plan.arguments.get("num_envs", 1))
        patience = max(_PATIENCE_STEPS, _PATIENCE_EPISODES * (longest or 0) * num_envs)
        return min(patience, _MOST_PATIENCE_STEPS)

    def _complain(self) -> None:
        self._patience_steps = 2**63
        if not self._has_ended_one:
            words = (
                f"Not one episode has ended in {self.global_step} steps, so no return can be shown. "
                f"Likely cause: {self._why_no_episode_ends()}."
            )
            self._is_noted = True
            self.telemetry.note(NO_EPISODE, words)
            self.telemetry.log("warning", words, {"global_step": self.global_step})

    def _why_no_episode_ends(self) -> str:
        """Say what the environment's time limit has to do with it."""
        name = self.spec.environment
        limit = self.plan.probe.max_steps if self.plan.probe is not None else None
        if limit is None:
            return (
                f"{name} has no time limit, and the agent has not reached an end; register the environment with "
                "max_episode_steps"
            )
        together = limit * int(self.plan.arguments.get("num_envs", 1))
        return f"an episode of {name} may have {limit:,} steps, so the first one may end as late as step {together:,}"
