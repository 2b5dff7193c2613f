"""The checkpoint browser: all checkpoints, which are shown, the chosen one, and what is known of their files."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.checkpoints import CheckpointRow
from mosaic_contracts.runs import RunView
from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.spec import RunKind
from mosaic_contracts.worker import Algorithm
from mosaic_gui.state.algorithms import find_algorithm
from mosaic_gui.state.checkpoint_list import (
    CardChoice,
    CardOrder,
    CheckpointAddress,
    CheckpointList,
    address_of,
)
from mosaic_gui.state.checkpoint_texts import (
    EVALUATED_EPISODES,
    EVALUATED_SEED,
    CheckedFile,
    acting_obstacle,
    file_checks,
    gone,
    training_obstacle,
)
from mosaic_gui.state.language import tr
from mosaic_gui.state.reward_trend import RewardTrend
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.timers import single_shot_timer
from mosaic_gui.viewmodels.checkpoint_cards import CheckpointCards

MOST_TRENDS = 2_000
"""Trends of runs that are kept."""
ASKED_OF_FILE = ("algorithm", "environment", "worker")
"""What can be named of a file that does not say it."""
FILL_MS = 150
"""Time between two pages of a long list and the cards that have them."""


@dataclass(frozen=True)
class ImportQuestion:
    """What is to be named before a file can be imported."""

    file: str
    words: str
    """The refusal."""
    fields: dict[str, str]
    """What was named for it, by the fields of `ASKED_OF_FILE`."""

    @property
    def name(self) -> str:
        """Name of the file."""
        return Path(self.file).name


class CheckpointsModel(QObject):
    """What the page `Checkpoints` shows, and what the user wants of it."""

    changed = pyqtSignal()
    """Other figures, progress or problem; the chosen one may be another."""
    tags_changed = pyqtSignal()
    """Something that is painted on cards: a checked file, an evaluation, a trend."""
    wanted = pyqtSignal()
    """What is not read yet is to be read."""
    trends_wanted = pyqtSignal(list)
    """Ids of runs in sight whose trend is not known."""
    check_wanted = pyqtSignal(list)
    """FileChecks."""
    check_cancelled = pyqtSignal()
    play_wanted = pyqtSignal(object, str)
    """RunView, and path of its checkpoint."""
    evaluation_wanted = pyqtSignal(str, str, dict)
    """Run, path of its checkpoint, and fields of the new run's spec."""
    train_wanted = pyqtSignal(str, str)
    """Run, and path of its checkpoint."""
    comparison_wanted = pyqtSignal(str, str)
    """Run, and path of its checkpoint."""
    run_wanted = pyqtSignal(str)
    pin_wanted = pyqtSignal(str, list)
    """Run, and paths of all its files that are to be pinned."""
    import_wanted = pyqtSignal(str, dict)
    """A file of this machine, and what it does not say, by the fields of `ASKED_OF_FILE`."""
    import_cancelled = pyqtSignal()
    import_asked = pyqtSignal(object)
    """An ImportQuestion."""
    export_wanted = pyqtSignal(object, str)
    """CheckpointRow, and the place on this machine."""
    said = pyqtSignal(str)

    def __init__(self, store: Store, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.list = CheckpointList()
        self.cards = CheckpointCards(self)
        self.words = ""
        self.choice, self.order = CardChoice.ALL, CardOrder.DATE
        self.shown_rows: list[CheckpointRow] = []
        """Checkpoints that match, of all groups."""
        self.chosen: CheckpointAddress | None = None
        self.is_shown = self.is_read = self.is_reading = False
        self.problem = ""
        """Why the list could not be read; empty: it was."""
        self.check_progress: tuple[int, int] | None = None
        """Checkpoints whose hash was compared, and how many there are to compare; None: none are."""
        self.upload: tuple[str, int, int] | None = None
        """A file that is imported, bytes that were sent, and bytes of it; None: none is."""
        self._expected = ""
        """Run whose checkpoint is chosen once it is listed."""
        self._checked: dict[CheckpointAddress, CheckedFile] = {}
        self._trends: dict[str, RewardTrend] = {}
        self._old_trends: set[str] = set()
        """Runs that have changed since their trend was read."""
        self._evaluations: dict[str, str] = {}
        """Which checkpoint a running evaluation is of, by the evaluation's run."""
        self._workers: Sequence[WorkerEntry] = ()
        self._was_pinned = False
        """As the page shows the chosen checkpoint."""
        self._fill = single_shot_timer(self, self.fill, FILL_MS)

    @property
    def row(self) -> CheckpointRow | None:
        """The chosen checkpoint."""
        return self.list.get(self.chosen)

    @property
    def algorithm(self) -> Algorithm | None:
        """Its algorithm, as the stack's worker describes it."""
        row = self.row
        return find_algorithm(row.worker, row.algorithm, self._workers) if row is not None else None

    @property
    def run(self) -> RunView | None:
        """Its run."""
        return self._store.runs.get(self.chosen.run_id) if self.chosen is not None else None

    @property
    def is_pinned(self) -> bool:
        """Whether the chosen checkpoint stays, whatever the storage profile of its run says."""
        run = self.run
        return run is not None and self.chosen is not None and self.chosen.path in run.pinned_files

    @property
    def total(self) -> int:
        """How many checkpoints were read."""
        return len(self.list)

    def checked(self, row: CheckpointRow) -> CheckedFile | None:
        """What a comparison of its hash has found."""
        return self._checked.get(address_of(row))

    def trend(self, run_id: str) -> RewardTrend | None:
        """The returns of a run; None: they were not read yet."""
        return self._trends.get(run_id)

    def is_evaluated(self, address: CheckpointAddress) -> bool:
        """Whether an evaluation of it goes on."""
        return address.reference in self._evaluations.values()

    def obstacle(self, act: str) -> str:
        """Why the chosen checkpoint cannot `play` or `train`, in words; empty: it can."""
        row = self.row
        if row is None:
            return tr("Choose a checkpoint.")
        if self.run is None:
            return tr("Its run is not in the list.")
        missing = gone(row, self.checked(row))
        algorithm = self.algorithm
        own = training_obstacle(algorithm) if act == "train" else acting_obstacle(algorithm)
        return missing or own

    def set_shown(self, shown: bool) -> None:
        """Note whether the page is visible; nothing is read for a hidden one."""
        self.is_shown = shown
        if shown:
            self.wanted.emit()

    def take_workers(self, workers: Sequence[WorkerEntry]) -> None:
        """Take the workers of this stack."""
        self._workers = workers
        self.changed.emit()

    def consume(self, changes: Changes) -> None:
        """Take the changes of one tick: which evaluations go on, and which runs are gone."""
        before = dict(self._evaluations)
        for run_id in changes.removed:
            self._evaluations.pop(run_id, None)
        for run_id in changes.runs:
            run = self._store.runs.get(run_id)
            if run is not None and run.spec.kind is RunKind.EVALUATE:
                self._note_evaluation(run)
        if before != self._evaluations:
            self.tags_changed.emit()
        if self.is_pinned != self._was_pinned:
            self._note_pin()

    def begin_reading(self) -> None:
        """The whole list is read."""
        self.is_reading, self.problem = True, ""
        self.list.begin()
        self.changed.emit()

    def take_page(self, rows: Iterable[CheckpointRow], *, is_last: bool) -> None:
        """Take a page of the list. The first one is shown at once, and the others a few at a time."""
        is_first = not self.list
        self.list.take(rows)
        if is_last:
            self.list.finish()
            self.is_reading, self.is_read = False, True
        if is_first or is_last:
            self.fill()
        elif not self._fill.isActive():
            self._fill.start()

    def take_problem(self, words: str) -> None:
        """The list could not be read; what was read before stays."""
        self.is_reading, self.problem = False, words
        self.changed.emit()

    def take_runs(self, run_ids: Iterable[str], rows: Iterable[CheckpointRow]) -> None:
        """Take all checkpoints of some runs."""
        self._old_trends |= set(run_ids)
        found = list(rows)
        self.list.replace_runs(run_ids, found)
        imported = next((row for row in found if row.run_id == self._expected), None)
        if imported is not None:
            self.chosen, self._expected = address_of(imported), ""
        self.fill()

    def forget_runs(self, run_ids: Iterable[str]) -> bool:
        """Drop the checkpoints of deleted runs; whether other ones have their marks now."""
        lost = self.list.forget_runs(run_ids)
        self.fill()
        return lost

    def take_trend(self, run_id: str, trend: RewardTrend) -> None:
        """Take the returns of a run."""
        while len(self._trends) >= MOST_TRENDS:
            del self._trends[next(iter(self._trends))]
        self._trends[run_id] = trend
        self._old_trends.discard(run_id)
        self.tags_changed.emit()

    def take_checked(self, rows: Iterable[CheckpointRow], at: datetime) -> None:
        """Take what a comparison of hashes has found."""
        for row in rows:
            self._checked[address_of(row)] = CheckedFile(row.state, row.sha256, at)
        self.tags_changed.emit()
        self.changed.emit()

    def take_check_progress(self, done: int, total: int) -> None:
        """Note how many files were compared; all: none is compared any more."""
        self.check_progress = (done, total) if done < total else None
        self.changed.emit()

    def end_check(self) -> None:
        """No file is compared any more."""
        self.check_progress = None
        self.changed.emit()

    def take_upload(self, name: str, sent: int, size: int) -> None:
        """Note the progress of an import."""
        self.upload = (name, sent, size)
        self.changed.emit()

    def end_upload(self) -> None:
        """No file is imported any more."""
        self.upload = None
        self.changed.emit()

    def expect(self, run_id: str) -> None:
        """Choose the checkpoint of this run once it is listed."""
        self._expected = run_id

    def ask(self, question: ImportQuestion) -> None:
        """Ask what a file does not say."""
        self.import_asked.emit(question)

    def forget(self) -> None:
        """Forget everything of this stack."""
        self._fill.stop()
        self.list.clear()
        self._checked, self._trends, self._evaluations = {}, {}, {}
        self._old_trends = set()
        self.is_read = self.is_reading = False
        self.problem, self.check_progress, self.upload = "", None, None
        self.fill()

    def search(self, words: str) -> None:
        """Show only checkpoints that have all words."""
        if words != self.words:
            self.words = words
            self.fill()

    def show_choice(self, choice: str) -> None:
        """Show all checkpoints, or those with a mark."""
        self.choice = CardChoice(choice)
        self.fill()

    def sort(self, order: str) -> None:
        """Sort the cards of each group."""
        self.order = CardOrder(order)
        self.fill()

    def choose(self, address: CheckpointAddress | None) -> None:
        """Choose a checkpoint."""
        if address != self.chosen:
            self.chosen = address
            self._note_pin()

    def want_trends(self, run_ids: Iterable[str]) -> None:
        """Note which runs are in sight; trends are read for no other ones."""
        known = self._trends.keys() - self._old_trends
        missing = [run_id for run_id in dict.fromkeys(run_ids) if run_id not in known]
        if missing:
            self.trends_wanted.emit(missing)

    def play(self) -> None:
        """Open the play panel with the chosen checkpoint."""
        if not self.obstacle("play") and self.chosen is not None:
            self.play_wanted.emit(self.run, self.chosen.path)

    def evaluate(self) -> None:
        """Start an evaluation of the chosen checkpoint."""
        if not self.obstacle("play") and self.chosen is not None:
            fields: dict[str, Any] = {"kind": RunKind.EVALUATE.value}
            fields |= {"episodes": EVALUATED_EPISODES, "seed": EVALUATED_SEED}
            self.evaluation_wanted.emit(*self.chosen, fields)

    def compare(self) -> None:
        """Add the chosen checkpoint to the comparison that is put together."""
        if not self.obstacle("play") and self.chosen is not None:
            self.comparison_wanted.emit(*self.chosen)

    def train_on(self) -> None:
        """Open the form, to begin with the chosen checkpoint."""
        if not self.obstacle("train") and self.chosen is not None:
            self.train_wanted.emit(*self.chosen)

    def show_run(self) -> None:
        """Open the run of the chosen checkpoint."""
        if self.run is not None:
            self.run_wanted.emit(self.run.run_id)

    def toggle_pin(self) -> None:
        """Pin the chosen checkpoint, or unpin it."""
        run, chosen = self.run, self.chosen
        if run is not None and chosen is not None:
            others = [path for path in run.pinned_files if path != chosen.path]
            self.pin_wanted.emit(
                run.run_id, others if self.is_pinned else [*run.pinned_files, chosen.path]
            )

    def _note_pin(self) -> None:
        self._was_pinned = self.is_pinned
        self.changed.emit()

    def check_chosen(self) -> None:
        """Compare the hash of the chosen checkpoint."""
        if self.row is not None:
            self._check([self.row])

    def check_shown(self) -> None:
        """Compare the hashes of all checkpoints that match."""
        self._check(self.shown_rows)

    def cancel(self) -> None:
        """Import or compare no more."""
        if self.upload is not None:
            self.import_cancelled.emit()
        else:
            self.check_cancelled.emit()

    def fill(self) -> None:
        """Show what matches; the chosen one stays chosen while it is there."""
        self._fill.stop()
        groups = self.list.groups(self.words, self.choice, self.order, self._notes())
        self.shown_rows = [row for group in groups for row in group.rows]
        self.cards.replace(groups)
        if self.cards.place_of(self.chosen) is None:
            first = next((e for e in self.cards.entries if isinstance(e, CheckpointRow)), None)
            self.chosen = address_of(first) if first is not None else None
        self.changed.emit()

    def _check(self, rows: list[CheckpointRow]) -> None:
        checks = file_checks(rows)
        if checks and self.check_progress is None:
            self.check_wanted.emit(checks)

    def _notes(self) -> dict[str, str]:
        """Words of the user on runs: tags and notes."""
        if not self.words:
            return {}
        return {
            run.run_id: " ".join((*run.tags, run.note))
            for run in self._store.runs.values()
            if run.tags or run.note
        }

    def _note_evaluation(self, run: RunView) -> None:
        if run.state.is_final:
            self._evaluations.pop(run.run_id, None)
            return
        values = [value for value in run.spec.parameters.values() if isinstance(value, str)]
        reference = next((value for value in values if value.startswith(f"{run.spec.parent}/")), "")
        if reference:
            self._evaluations[run.run_id] = reference
