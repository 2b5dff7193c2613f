"""The form of a run: catalogue, fields, undo, copies of other runs."""

from typing import Any

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.machine import MachineSample
from mosaic_contracts.runs import ArtifactRow, RunView
from mosaic_contracts.services import WorkerEntries, WorkerEntry
from mosaic_contracts.worker import Algorithm, Environment
from mosaic_gui.state.draft import SpecDraft, environments_for
from mosaic_gui.state.edit_history import EditHistory, FormSnapshot, SpecDiff
from mosaic_gui.state.form_field import FormField, FormGroup
from mosaic_gui.state.inputs import Inputs
from mosaic_gui.state.language import tr
from mosaic_gui.state.limits import UNKNOWN, Limits
from mosaic_gui.state.run_files import start_parameter
from mosaic_gui.state.store import Store

RUN, ARGUMENT = "run", "parameters"
_RUN_GROUPS_BEFORE = 1
"""Groups of the run that stand before the algorithm's own arguments: what it is. What it takes comes after them."""


class DraftModel(QObject):
    """One draft for each algorithm; the chosen one is shown."""

    catalogue_changed = pyqtSignal()
    draft_replaced = pyqtSignal()
    """Another algorithm: the form is built again."""
    typed_replaced = pyqtSignal()
    """Other values in the same fields (undo, a copy, defaults)."""
    checked = pyqtSignal()
    """Faults, preflight or the right to launch may be different."""
    checkpoints_wanted = pyqtSignal(str)
    """Checkpoints of a run, by its id."""
    checkpoints_read = pyqtSignal(str, list)

    def __init__(self, parent: QObject | None = None, store: Store | None = None) -> None:
        super().__init__(parent)
        self.store = store or Store()
        """Store of the runs that can be copied and resumed from."""
        self.workers: list[WorkerEntry] = []
        self.draft: SpecDraft | None = None
        self.limits = UNKNOWN
        self.cpu_limit: int | None = None
        self._drafts: dict[tuple[str, str], SpecDraft] = {}
        self.presets: dict[tuple[str, str], dict[str, Any]] = {}
        """Specs that fill the form of a worker's algorithm when it is opened for the first time."""

    def take_catalogue(self, entries: WorkerEntries) -> None:
        """Take the workers of this stack; what was typed is kept."""
        self.workers = entries.workers
        self._renew_drafts()
        self.catalogue_changed.emit()
        if self.draft is None:
            for worker in self.workers:
                if worker.ready and worker.description and worker.description.algorithms:
                    self.choose(worker.manifest.id, worker.description.algorithms[0].id)
                    return

    def _renew_drafts(self) -> None:
        """Build the form of each worker again that describes itself differently, such as a script that was edited."""
        for key, old in list(self._drafts.items()):
            worker, algorithm = self._find(*key)
            if worker is None or algorithm is None or worker.description == old.worker.description:
                continue
            renewed = self._drafts[key] = SpecDraft.of(worker, algorithm, self.limits)
            renewed.fill_from(old.typed_spec())
            renewed.origin = old.origin
            renewed.history = EditHistory(renewed.snapshot())
            if self.draft is old:
                self.draft = renewed
                self._replace_draft()

    def take_limits(self, sample: MachineSample) -> None:
        """Take the machine's limits, which bound the fields of resources."""
        limits = Limits.of(sample, self.cpu_limit)
        if limits != self.limits:
            self.limits = limits
            if self.draft is not None and self.draft.limit(limits):
                self.draft_replaced.emit()
                self._touch()

    def choose(self, worker_id: str, algorithm_id: str) -> None:
        """Choose a worker and algorithm; each keeps what was typed for it."""
        worker, algorithm = self._find(worker_id, algorithm_id)
        if worker is None or algorithm is None:
            return
        key = (worker_id, algorithm_id)
        if key not in self._drafts:
            made = self._drafts[key] = SpecDraft.of(worker, algorithm, self.limits)
            made.fill_from(self.presets.get(key, {}))
            made.history = EditHistory(made.snapshot())
        self.draft = self._drafts[key]
        self.draft.limit(self.limits)
        self._replace_draft()

    def specs(self) -> dict[tuple[str, str], dict[str, Any]]:
        """What was typed for each algorithm, as specs with lists, and without what belongs to one launch alone."""
        once = ("consent", "parent", "name", "note", "hold")
        return {
            key: {name: value for name, value in draft.typed_spec().items() if name not in once}
            for key, draft in self._drafts.items()
        }

    def copy_from(self, spec: dict[str, Any], run_id: str = "", name: str = "") -> bool:
        """Fill the form from another run's spec; False when its algorithm is not in the catalogue."""
        worker_id, algorithm_id = str(spec.get("worker")), str(spec.get("algorithm"))
        worker, algorithm = self._find(worker_id, algorithm_id)
        if worker is None or algorithm is None:
            return False
        self.choose(worker_id, algorithm_id)
        if self.draft is not None:
            self.draft.fill_from({**spec, "name": None}, run_id, name)
            self._note(tr("copy of {run}", run=name or run_id))
            self._replace_draft()
        return True

    def copy_run(self, run_id: str) -> bool:
        """As `copy_from`, of a run in the list."""
        run = self.store.runs.get(run_id)
        return run is not None and self.copy_from(
            run.spec.model_dump(mode="json"), run_id, run.name
        )

    def begin_with(self, checkpoint: str) -> str:
        """Let the draft go on from a checkpoint (RUN/PATH); the field that names it, empty where there is none."""
        name = start_parameter(self.draft.algorithm) if self.draft is not None else ""
        if name:
            self.set_text(ARGUMENT, name, checkpoint)
            self.typed_replaced.emit()
        return name

    def forget_origin(self) -> None:
        """Keep the values, and forget the run that they were copied from."""
        if self.draft is not None:
            self.draft.origin = None
            self._touch()

    def reset(self) -> None:
        """Reset all fields to their defaults."""
        if self.draft is not None:
            fresh = SpecDraft.of(self.draft.worker, self.draft.algorithm, self.limits)
            self.draft.origin = None
            self._edit(tr("defaults"), fresh.snapshot())

    def reset_field(self, part: str, name: str) -> None:
        """Reset a field to its default."""
        self._inputs(part).texts.pop(name, None)
        self._note(name)
        self.typed_replaced.emit()
        self._touch()

    def undo(self) -> None:
        """Undo the last edit."""
        self._step("undo")

    def redo(self) -> None:
        """Redo the last undone edit."""
        self._step("redo")

    @property
    def groups(self) -> list[tuple[str, FormGroup]]:
        """Groups of fields in their order, with where their values go: RUN or ARGUMENT."""
        if self.draft is None:
            return []
        run = [(RUN, group) for group in self.draft.run.groups]
        own = [(ARGUMENT, group) for group in self.draft.arguments.groups]
        return run[:_RUN_GROUPS_BEFORE] + own + run[_RUN_GROUPS_BEFORE:]

    @property
    def environments(self) -> list[Environment]:
        """Environments of the chosen algorithm."""
        return environments_for(self.draft.worker, self.draft.algorithm) if self.draft else []

    @property
    def command(self) -> str:
        """The command that starts what the form has; empty while a field is wrong."""
        draft = self.draft
        return draft.command() if draft is not None and not draft.faults() else ""

    @property
    def differences(self) -> list[SpecDiff]:
        """Fields that differ from the run that the draft was copied from."""
        return self.draft.differences() if self.draft else []

    @property
    def begins_with(self) -> str:
        """The checkpoint that the draft begins with; empty: none."""
        name = start_parameter(self.draft.algorithm) if self.draft is not None else ""
        return self.text(ARGUMENT, name).strip() if name else ""

    @property
    def copyable(self) -> list[RunView]:
        """Runs that the form can be filled from, the newest first."""
        known = {
            (worker.manifest.id, algorithm.id)
            for worker in self.workers
            if worker.description
            for algorithm in worker.description.algorithms
        }
        found = [r for r in self.store.runs.values() if (r.spec.worker, r.spec.algorithm) in known]
        return sorted(found, key=lambda run: run.run_id, reverse=True)

    @property
    def continuable(self) -> list[RunView]:
        """Runs of the chosen algorithm that have a checkpoint to go on from, those of its environment first."""
        draft = self.draft
        if draft is None:
            return []
        mine = (draft.worker.manifest.id, draft.algorithm.id)
        found = [
            run
            for run in self.copyable
            if (run.spec.worker, run.spec.algorithm) == mine
            and run.summary is not None
            and run.summary.checkpoints
        ]
        return sorted(found, key=lambda run: run.spec.environment != draft.environment)

    def take_checkpoints(self, run_id: str, rows: list[ArtifactRow]) -> None:
        """Take the checkpoints among a run's files."""
        found = [row for row in rows if row.kind == "checkpoint" and row.exists]
        found.sort(key=lambda row: (row.step or 0, row.path), reverse=True)
        self.checkpoints_read.emit(run_id, found)

    def text(self, part: str, name: str) -> str:
        """The text of a field."""
        return self._inputs(part).text(name)

    def set_text(self, part: str, name: str, text: str) -> None:
        """Set the text of a field."""
        self._inputs(part).texts[name] = text
        self._note(name)
        self._touch()

    def set_environment(self, name: str) -> None:
        """Set the environment."""
        if self.draft is not None and name.strip() != self.draft.environment:
            self.draft.environment = name.strip()
            self._note(tr("environment"))
            self._touch()

    def is_used(self, part: str, form_field: FormField) -> bool:
        """Whether a field has a meaning with what is typed in others."""
        return part == RUN or self.draft is None or form_field.name not in self.draft.unused

    def is_changed(self, part: str, form_field: FormField) -> bool:
        """Whether a field differs from its default."""
        return self._inputs(part).is_changed(form_field) and self.is_used(part, form_field)

    def _touch(self) -> None:
        """Record an edit and schedule a preflight."""
        self.checked.emit()

    def _note(self, what: str) -> None:
        if self.draft is not None:
            self.draft.history.note(what, self.draft.snapshot())

    def _edit(self, what: str, snapshot: FormSnapshot) -> None:
        if self.draft is not None:
            self.draft.restore(snapshot)
            self._note(what)
            self.typed_replaced.emit()
            self._touch()

    def _step(self, way: str) -> None:
        if self.draft is None:
            return
        history = self.draft.history
        snapshot = history.undo() if way == "undo" else history.redo()
        if snapshot is not None:
            self.draft.restore(snapshot)
            self.typed_replaced.emit()
            self._touch()

    def _replace_draft(self) -> None:
        self.draft_replaced.emit()
        self._touch()

    def _inputs(self, part: str) -> Inputs:
        if self.draft is None:
            raise RuntimeError("there is no draft, so nobody can type into it")
        return self.draft.run if part == RUN else self.draft.arguments

    def _find(
        self, worker_id: str, algorithm_id: str
    ) -> tuple[WorkerEntry | None, Algorithm | None]:
        worker = next((w for w in self.workers if w.manifest.id == worker_id), None)
        if worker is None or worker.description is None:
            return worker, None
        algorithms = worker.description.algorithms
        return worker, next((a for a in algorithms if a.id == algorithm_id), None)
