"""The choice of who goes on from the step of a replayed episode."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.branches import ForkRequest
from mosaic_contracts.checkpoints import CheckpointRow
from mosaic_contracts.runs import RunView
from mosaic_contracts.services import WorkerEntry
from mosaic_gui.state.algorithms import algorithm_of
from mosaic_gui.state.episode_list import EpisodeAddress
from mosaic_gui.state.language import tr
from mosaic_gui.state.play_pace import watching_pace
from mosaic_gui.state.store import Store
from mosaic_gui.state.takeover import (
    CheckpointOffer,
    StepFault,
    Successor,
    checkpoint_offers,
    continues_in_run,
    has_policy,
    person_obstacle,
    plan_words,
    policy_obstacle,
    step_fault,
)
from mosaic_gui.viewmodels.player import PlayerModel
from mosaic_gui.viewmodels.replay import ReplayModel, ReplayPhase


@dataclass(frozen=True)
class Fork:
    """One request for a new run that goes on."""

    run_id: str
    body: dict[str, Any]
    """A ForkRequest."""
    by_person: bool


class TakeoverModel(QObject):
    """What the first episode of the player can be continued with, at the step that is looked at."""

    changed = pyqtSignal()
    checkpoints_wanted = pyqtSignal(str)
    """Checkpoints of all runs in this environment."""
    fork_wanted = pyqtSignal(object)
    """A Fork that is to be started."""
    started = pyqtSignal()
    """The new run was queued."""

    def __init__(self, store: Store, player: PlayerModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._player = store, player
        self.successor = Successor.PERSON
        self.is_open = False
        """The choice is shown."""
        self.is_starting = False
        self.refusal = ""
        """Why the last start was refused."""
        self.checkpoint = ""
        """The chosen one, as `RUN/PATH`."""
        self._workers: list[WorkerEntry] = []
        self._offers: dict[str, list[CheckpointOffer]] = {}
        """By environment."""
        self._problems: dict[str, str] = {}
        """Why the checkpoints of an environment cannot be listed."""

    @property
    def shown(self) -> ReplayModel | None:
        """The episode that would be continued."""
        return self._player.main

    @property
    def run(self) -> RunView | None:
        """The run that recorded it; None: it is in no list any more."""
        return self._store.runs.get(self.shown.address.run_id) if self.shown is not None else None

    @property
    def step(self) -> int:
        """The step after which the new run goes on."""
        return self.shown.step if self.shown is not None else 0

    @property
    def offers(self) -> list[CheckpointOffer]:
        """Checkpoints that can go on."""
        return self._offers.get(self._environment, [])

    @property
    def is_reading(self) -> bool:
        """Whether the checkpoints are not listed yet."""
        name = self._environment
        return name not in self._offers and name not in self._problems

    @property
    def fault(self) -> StepFault | None:
        """What is against this episode or this step; None: nothing that is known here."""
        shown = self.shown
        if shown is None:
            return StepFault(tr("Choose an episode in the list first."))
        if self.run is None:
            return StepFault(tr("The run of this episode was deleted."))
        if not shown.has_steps:
            return StepFault(tr("The recorded steps are being read."))
        return step_fault(self.step, shown.steps, shown.result)

    @property
    def obstacle(self) -> str:
        """Why the chosen one cannot go on; empty: it can."""
        if self.run is None:
            return ""
        algorithm = algorithm_of(self.run, self._workers)
        if self.successor is Successor.PERSON:
            return person_obstacle(self.run, algorithm, self._workers)
        if self.successor is Successor.POLICY:
            return policy_obstacle(self.run, algorithm)
        return self._checkpoint_obstacle()

    @property
    def can_start(self) -> bool:
        """Whether a start would be sent."""
        return self.fault is None and not self.obstacle and not self.is_starting

    @property
    def plan(self) -> str:
        """What will happen, in words; a replay that failed makes it uncertain."""
        shown, run = self.shown, self.run
        if shown is None or run is None:
            return ""
        algorithm = algorithm_of(run, self._workers)
        has_agent = continues_in_run(run, algorithm) and has_policy(run, algorithm)
        episode = tr("episode {n}", n=shown.address.episode)
        return plan_words(self.successor, episode, self.step, has_agent=has_agent)

    @property
    def doubt(self) -> str:
        """Why the episode may not be rebuilt; empty: nothing says so."""
        shown = self.shown
        if shown is None:
            return ""
        if shown.phase is ReplayPhase.FAILED:
            return tr("Its replay failed: {why}", why=shown.problem)
        if shown.result is not None and shown.result.problem:
            return tr("Its replay draws nothing: {why}", why=shown.result.problem)
        return ""

    def take_workers(self, workers: Sequence[WorkerEntry]) -> None:
        """Take the workers of this stack."""
        self._workers = list(workers)
        self.changed.emit()

    def begin(self) -> None:
        """Forget an earlier refusal, and choose what is possible."""
        self.refusal = ""
        self._player.play(False)
        if self.obstacle and self.successor is Successor.POLICY:
            self.successor = Successor.PERSON
        self._read_checkpoints()
        self.changed.emit()

    def clear(self) -> None:
        """Forget what another stack offers."""
        self._offers, self._problems, self.checkpoint = {}, {}, ""
        self.is_starting, self.refusal = False, ""

    def choose(self, who: Successor) -> None:
        """Choose who goes on."""
        self.successor, self.refusal = who, ""
        self._read_checkpoints()
        self.changed.emit()

    def choose_checkpoint(self, key: str) -> None:
        """Choose whose policy acts, as `RUN/PATH`."""
        self.checkpoint, self.refusal = key, ""
        self.changed.emit()

    def go_back(self) -> None:
        """Look at the last step from which something can go on."""
        fault = self.fault
        if fault is not None and fault.instead is not None:
            self._player.step_by(fault.instead - self._player.playback.step)
            self.refusal = ""
            self.changed.emit()

    def take_checkpoints(self, environment: str, rows: Sequence[CheckpointRow]) -> None:
        """Take the checkpoints in an environment."""
        self._problems.pop(environment, None)
        self._offers[environment] = checkpoint_offers(rows, self._workers)
        if environment == self._environment:
            keys = [offer.key for offer in self.offers]
            if self.checkpoint not in keys:
                self.checkpoint = keys[0] if keys else ""
        self.changed.emit()

    def take_no_checkpoints(self, environment: str, words: str) -> None:
        """Note why they cannot be listed."""
        self._problems[environment] = words
        self.changed.emit()

    def start(self) -> None:
        """Request the new run, if nothing is in the way."""
        shown, run = self.shown, self.run
        if not self.can_start or shown is None or run is None:
            return
        self.is_starting, self.refusal = True, ""
        by_person = self.successor is Successor.PERSON
        pace = watching_pace(run.spec.environment, self._workers)
        asked = ForkRequest(
            **_place(shown.address, self.step),
            actor="human" if by_person else "policy",
            checkpoint=self.checkpoint if self.successor is Successor.CHECKPOINT else None,
            overrides={} if by_person else {"pace": pace},
        )
        self.changed.emit()
        self.fork_wanted.emit(Fork(run.run_id, asked.model_dump(mode="json"), by_person))

    def take_started(self) -> None:
        """The new run was queued."""
        self.is_starting = False
        self.changed.emit()
        self.started.emit()

    def take_refusal(self, words: str) -> None:
        """The stack refused it."""
        self.is_starting, self.refusal = False, words
        self.changed.emit()

    @property
    def _environment(self) -> str:
        return self.run.spec.environment if self.run is not None else ""

    def _read_checkpoints(self) -> None:
        """Read them each time they are offered: a training may have saved one since."""
        if self.successor is Successor.CHECKPOINT and self._environment:
            self.checkpoints_wanted.emit(self._environment)

    def _checkpoint_obstacle(self) -> str:
        environment = self._environment
        if environment in self._problems:
            return self._problems[environment]
        if self.is_reading:
            return tr("Reading the checkpoints …")
        if not self.offers:
            return tr(
                "No run has left a checkpoint in {environment} that can go on from a recorded step.",
                environment=environment,
            )
        return "" if self.checkpoint else tr("Choose a checkpoint.")


def _place(address: EpisodeAddress, step: int) -> dict[str, int]:
    return {
        "episode": address.episode,
        "step": step,
        "env": address.env,
        "attempt": address.attempt,
    }
