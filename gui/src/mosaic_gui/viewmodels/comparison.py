"""The page `Compare`: what is compared, how far it is, and the result."""

from collections.abc import Sequence
from pathlib import Path

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.comparison_orders import (
    ActorProgress,
    ComparerLine,
    PolicyOrder,
    TrainingOrder,
)
from mosaic_contracts.comparisons import TOO_FEW, ActorsResult, TrainingResult
from mosaic_contracts.runs import ArtifactRow, RunView
from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.spec import RunKind
from mosaic_gui.state import run_row
from mosaic_gui.state.algorithms import algorithm_of
from mosaic_gui.state.comparison_draft import (
    ComparisonDraft,
    DraftActor,
    actor_of,
    can_act,
    training_obstacle,
    training_order,
    training_words,
)
from mosaic_gui.state.comparison_result import (
    Rows,
    actor_rows,
    episodes_of_seed,
    group_rows,
    headline,
    pair_rows,
    seed_rows,
)
from mosaic_gui.state.language import tr
from mosaic_gui.state.run_files import CHECKPOINT
from mosaic_gui.state.store import Store
from mosaic_gui.viewmodels.checkpoint_choice import can_sample

MOST_OFFERED = 300
"""Runs that are offered as further actors, the newest first."""


class ComparisonModel(QObject):
    """One comparison. It sends no requests."""

    changed = pyqtSignal()
    """Other actors, or another state."""
    progress_changed = pyqtSignal()
    result_changed = pyqtSignal()
    checkpoints_wanted = pyqtSignal(str)
    """Files of a run, by its id."""
    start_wanted = pyqtSignal(object)
    """A PolicyOrder or TrainingOrder."""
    cancel_wanted = pyqtSignal()
    episodes_wanted = pyqtSignal(list)
    """EpisodeAddress of each actor, to be shown side by side."""

    def __init__(self, store: Store, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.draft = ComparisonDraft()
        self.is_training = False
        """Whether trainings are compared over their seeds, and no policies."""
        self.trainings: list[str] = []
        """Ids of the trainings that are compared."""
        self.threshold: float | None = None
        """Return for the steps that a training needs to reach it."""
        self.is_running = False
        self.step = ""
        """What is done now, while it is not the evaluations."""
        self.progress: list[ActorProgress] = []
        self.problem = ""
        """Why the last comparison has no result."""
        self.left_out: list[str] = []
        self.result: ActorsResult | TrainingResult | None = None
        self.folder: Path | None = None
        """Folder of the files of the result."""
        self._workers: list[WorkerEntry] = []
        self._paths: dict[str, list[str]] = {}

    @property
    def obstacle(self) -> str:
        """Why it cannot be started; empty: it can."""
        if self.is_training:
            return training_obstacle(self.training_runs)
        return self.draft.obstacle

    @property
    def training_runs(self) -> list[RunView]:
        """The trainings that are compared, as far as they are in the list."""
        runs = (self._store.runs.get(run_id) for run_id in self.trainings)
        return [run for run in runs if run is not None]

    @property
    def groups(self) -> list[str]:
        """The groups of trainings, in words."""
        return training_words(self.training_runs)

    @property
    def candidates(self) -> list[tuple[str, str]]:
        """Runs that can be added, by id, with words."""
        environment = "" if self.is_training else self.draft.environment
        found = (run for run in self._store.runs.values() if self._fits(run, environment))
        newest = sorted(found, key=lambda run: run.run_id, reverse=True)[:MOST_OFFERED]
        return [(run.run_id, self._words(run)) for run in newest]

    def paths_of(self, run_id: str) -> list[str]:
        """Checkpoints of a run that are there, the newest first."""
        return self._paths.get(run_id, [])

    def take_workers(self, workers: Sequence[WorkerEntry]) -> None:
        """Take the workers of this stack."""
        self._workers = list(workers)

    def take_files(self, run_id: str, rows: Sequence[ArtifactRow]) -> None:
        """Take the files of a run, of which checkpoints are offered."""
        found = [row for row in rows if row.kind == CHECKPOINT and row.exists]
        found.sort(key=lambda row: (row.step or 0, row.t or 0.0), reverse=True)
        self._paths[run_id] = [row.path for row in found]
        self.changed.emit()

    def begin(self, run_ids: Sequence[str]) -> None:
        """Compare these runs; several trainings of one algorithm begin as trainings."""
        runs = [run for one in run_ids if (run := self._store.runs.get(one)) is not None]
        self.draft.actors = ()
        self.trainings = [run.run_id for run in runs if run.spec.kind is RunKind.TRAIN]
        for run in filter(can_act, runs):
            self._add(run)
        self.problem = ""
        self.changed.emit()

    def set_training(self, on: bool) -> None:
        """Compare trainings over their seeds, or policies on equal seeds."""
        self.is_training, self.problem = on, ""
        self.changed.emit()

    def add(self, run_id: str) -> None:
        """Add a run."""
        run = self._store.runs.get(run_id)
        if run is None:
            return
        if self.is_training:
            self.trainings = [*dict.fromkeys([*self.trainings, run_id])]
        else:
            self._add(run)
        self.changed.emit()

    def add_checkpoint(self, run_id: str, path: str) -> None:
        """Add a checkpoint; actors of another environment make room for it."""
        run = self._store.runs.get(run_id)
        if run is None:
            return
        self.is_training, self.problem = False, ""
        if self.draft.environment not in ("", run.spec.environment):
            self.draft.actors = ()
        if not any((a.run_id, a.checkpoint) == (run_id, path) for a in self.draft.actors):
            self._add(run)
            self.draft.change(len(self.draft.actors) - 1, checkpoint=path)
        self.changed.emit()

    def add_random(self) -> None:
        """Add random actions."""
        self.draft.add(DraftActor(title=tr("Random actions")))
        self.changed.emit()

    def remove(self, place: int) -> None:
        """Remove the actor, or the training, at a place."""
        if self.is_training:
            del self.trainings[place]
        else:
            self.draft.remove(place)
        self.changed.emit()

    def change(self, place: int, *, checkpoint: str = "", sampled: bool | None = None) -> None:
        """Let another checkpoint act, or another way."""
        self.draft.change(place, checkpoint=checkpoint, sampled=sampled)
        self.changed.emit()

    def set_seeds(self, episodes: int, seed: int) -> None:
        """Set number of seeds and the first one."""
        if (episodes, seed) != (self.draft.episodes, self.draft.seed):
            self.draft.episodes, self.draft.seed = episodes, seed
            self.changed.emit()

    def set_again(self, on: bool) -> None:
        """Leave out earlier evaluations, or use them."""
        self.draft.again = on

    def start(self) -> None:
        """Start it, if nothing is in the way."""
        if self.obstacle or self.is_running:
            return
        self.is_running, self.problem, self.progress, self.step = True, "", [], ""
        order: PolicyOrder | TrainingOrder = self.draft.order
        if self.is_training:
            order = training_order(self.training_runs, self.threshold)
        self.changed.emit()
        self.progress_changed.emit()
        self.start_wanted.emit(order)

    def take_step(self, words: str) -> None:
        """Show what is done now."""
        self.step = words
        self.progress_changed.emit()

    def take_line(self, line: ComparerLine, folder: Path) -> None:
        """Take what the comparer reports."""
        if line.progress is not None:
            self.progress, self.step = line.progress, ""
        elif line.analysing:
            self.step = tr("Analysing …")
        elif line.problem:
            self.problem = line.problem
        elif line.policies is not None or line.training is not None:
            self.result, self.folder = line.policies or line.training, folder
            self.left_out = line.left_out
            self.result_changed.emit()
        self.progress_changed.emit()

    def take_end(self, problem: str) -> None:
        """The comparer has ended. `problem`: why, where it did not say it itself."""
        self.is_running, self.step = False, ""
        self.problem = self.problem or problem
        self.changed.emit()
        self.progress_changed.emit()

    def clear(self) -> None:
        """Forget what belongs to another stack."""
        self.draft.actors, self.trainings, self._paths = (), [], {}
        self.result, self.problem, self.progress, self.left_out = None, "", [], []
        self.changed.emit()
        self.result_changed.emit()

    @property
    def headline(self) -> str:
        """The verdict in a sentence."""
        if isinstance(self.result, ActorsResult):
            return headline([actor.name for actor in self.result.actors], self.result.pairs)
        if isinstance(self.result, TrainingResult) and self.result.pairs:
            return headline([group.name for group in self.result.groups], self.result.pairs)
        return tr("One group: there is nothing to compare it with.") if self.result else ""

    @property
    def rows(self) -> Rows:
        """Rows of the main table."""
        if isinstance(self.result, ActorsResult):
            return actor_rows(self.result)
        return group_rows(self.result) if self.result is not None else []

    @property
    def pairs(self) -> Rows:
        """Rows of the table of pairs."""
        return pair_rows(self.result.pairs) if self.result is not None else []

    @property
    def cautions(self) -> list[str]:
        """What limits the result: actors that are left out, and too few samples."""
        notes = self.result.notes if self.result is not None else []
        return [*self.left_out, *(note for note in notes if note.startswith(TOO_FEW))]

    @property
    def notes(self) -> list[str]:
        """What else a reader must know."""
        notes = self.result.notes if self.result is not None else []
        return [note for note in notes if not note.startswith(TOO_FEW)]

    @property
    def seeds(self) -> list[tuple[int, tuple[str, ...]]]:
        """Returns by seed."""
        return seed_rows(self.result) if isinstance(self.result, ActorsResult) else []

    def show_seed(self, seed: int) -> None:
        """Show the episodes of all actors on a seed side by side."""
        if isinstance(self.result, ActorsResult) and (found := episodes_of_seed(self.result, seed)):
            self.episodes_wanted.emit(found)

    def _fits(self, run: RunView, environment: str) -> bool:
        if run.trial is not None:
            return False  # those of a sweep would bury all others; they are selected in the list of runs
        if self.is_training:
            is_training = run.spec.kind is RunKind.TRAIN and run.run_id not in self.trainings
            return is_training and run.summary is not None and run.summary.episodes > 0
        return can_act(run) and environment in ("", run.spec.environment)

    def _words(self, run: RunView) -> str:
        return f"{run_row.title(run)} · {run_row.subtitle(run)} · …{run.run_id[-4:]}"

    def _add(self, run: RunView) -> None:
        algorithm = algorithm_of(run, self._workers)
        may_sample = algorithm is not None and can_sample(algorithm.parameters)
        self.draft.add(actor_of(run, may_sample=may_sample))
        if not run.spec.kind.plays and run.run_id not in self._paths:
            self.checkpoints_wanted.emit(run.run_id)
