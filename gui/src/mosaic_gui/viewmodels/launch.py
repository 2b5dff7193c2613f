"""Putting a run together: catalogue, form, preflight, and whether it may be launched."""

from typing import Any

from PyQt6.QtCore import QObject, QTimer, pyqtSignal

from mosaic_contracts.preflight import PreflightLine, PreflightReport
from mosaic_contracts.services import WorkerEntries, WorkerEntry
from mosaic_contracts.worker import Algorithm, Environment
from mosaic_gui.state.draft import Draft, environments_for
from mosaic_gui.state.schema_form import FormField, FormGroup, Inputs

SETTLE_MS = 450
"""After the last key press, before the stack is asked."""
RUN, ARGUMENT = "run", "parameters"


class LaunchModel(QObject):
    """One draft and what is known of it."""

    catalogue_changed = pyqtSignal()
    draft_replaced = pyqtSignal()
    """Another algorithm: the form is built anew."""
    checked = pyqtSignal()
    """Faults, preflight or the right to launch may be different."""
    preflight_wanted = pyqtSignal(dict)
    launch_wanted = pyqtSignal(dict)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.workers: list[WorkerEntry] = []
        self.draft: Draft | None = None
        self.faults: dict[str, str] = {}
        self.report: PreflightReport | None = None
        self.refusal = ""
        """Why the last launch or preflight came to nothing."""
        self.launching = False
        self._asked: dict[str, Any] | None = None
        self._agreed = ""
        self._drafts: dict[tuple[str, str], Draft] = {}
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(SETTLE_MS)
        self._settle.timeout.connect(self._ask)

    def take_catalogue(self, entries: WorkerEntries) -> None:
        """The workers of this stack. What was typed for one stays."""
        self.workers = entries.workers
        self.catalogue_changed.emit()
        if self.draft is None:
            for worker in self.workers:
                if worker.ready and worker.description and worker.description.algorithms:
                    self.choose(worker.manifest.id, worker.description.algorithms[0].id)
                    return

    def choose(self, worker_id: str, algorithm_id: str) -> None:
        """Another worker or algorithm; each keeps what was typed for it."""
        worker, algorithm = self._find(worker_id, algorithm_id)
        if worker is None or algorithm is None:
            return
        key = (worker_id, algorithm_id)
        self.draft = self._drafts.setdefault(key, Draft.of(worker, algorithm))
        self._replace_draft()

    def copy_from(self, spec: dict[str, Any]) -> bool:
        """Fill the form from another run's spec; False when its algorithm is not in the catalogue."""
        worker_id, algorithm_id = str(spec.get("worker")), str(spec.get("algorithm"))
        worker, algorithm = self._find(worker_id, algorithm_id)
        if worker is None or algorithm is None:
            return False
        self.draft = Draft.of(worker, algorithm)
        self.draft.fill_from(spec)
        self._drafts[(worker_id, algorithm_id)] = self.draft
        self._replace_draft()
        return True

    def reset(self) -> None:
        """Back to the defaults of this algorithm."""
        if self.draft is not None:
            worker, algorithm = self.draft.worker, self.draft.algorithm
            self.draft = Draft.of(worker, algorithm)
            self._drafts[(worker.manifest.id, algorithm.id)] = self.draft
            self._replace_draft()

    @property
    def groups(self) -> list[tuple[str, FormGroup]]:
        """Groups of fields in their order, with where their values go: RUN or ARGUMENT."""
        if self.draft is None:
            return []
        run = [(RUN, group) for group in self.draft.run.groups]
        return run + [(ARGUMENT, group) for group in self.draft.arguments.groups]

    @property
    def environments(self) -> list[Environment]:
        """Those that the chosen algorithm can act in."""
        return environments_for(self.draft.worker, self.draft.algorithm) if self.draft else []

    def text(self, part: str, name: str) -> str:
        """What stands in a field."""
        return self._inputs(part).text(name)

    def set_text(self, part: str, name: str, text: str) -> None:
        """Something was typed."""
        self._inputs(part).texts[name] = text
        self._touch()

    def set_environment(self, name: str) -> None:
        """Another environment was named."""
        if self.draft is not None and name.strip() != self.draft.environment:
            self.draft.environment = name.strip()
            self._touch()

    def is_changed(self, part: str, form_field: FormField) -> bool:
        """Whether a field differs from its default."""
        return form_field.name in self._inputs(part).changed()

    def fault(self, part: str, name: str) -> str:
        """What is wrong with a field: found here, or by the preflight."""
        where = f"{ARGUMENT}.{name}" if part == ARGUMENT else name
        if where in self.faults:
            return self.faults[where]
        for line in self.lines:
            if line.where == where and line.level == "blocking":
                return line.message.removeprefix(f"{where}: ")
        return ""

    @property
    def lines(self) -> list[PreflightLine]:
        """The checklist; empty until the stack has answered."""
        return self.report.lines if self.report else []

    @property
    def is_checking(self) -> bool:
        """The stack is asked, or will be in a moment."""
        return self._settle.isActive() or self._asked is not None

    @property
    def needs(self) -> list[str]:
        """What takes the user's consent and has not got it."""
        report = self.report
        return report.needs if report and report.digest != self._agreed else []

    @property
    def obstacle(self) -> str:
        """Why it cannot be launched now, in words; empty when it can."""
        if self.draft is None:
            return "Choose an algorithm."
        if self.faults:
            where, fault = next(iter(self.faults.items()))
            return f"{where.removeprefix('parameters.')}: {fault}"
        if self.launching:
            return "Launching …"
        if self.refusal:
            return self.refusal
        if self.is_checking or self.report is None:
            return "Checking …"
        if not self.report.ok:
            blocking = next(line for line in self.report.lines if line.level == "blocking")
            return f"{blocking.title}: {blocking.message}"
        return "It needs your consent." if self.needs else ""

    def agree(self) -> None:
        """The user consents to what the preview names."""
        if self.draft is not None and self.report is not None:
            self._agreed = self.draft.consent = self.report.digest
            self.checked.emit()

    def check_again(self) -> None:
        """Ask the stack anew, e.g. after something outside was put right."""
        self._touch()

    def launch(self) -> None:
        """Launch it, if nothing is in the way."""
        if self.draft is not None and not self.obstacle:
            self.launching = True
            self.checked.emit()
            self.launch_wanted.emit(self.draft.spec())

    def take_report(self, spec: dict[str, Any], report: PreflightReport) -> None:
        """The preflight's answer; one to an older question is left out."""
        if spec != self._asked:
            return
        self._asked = None
        self.report, self.refusal = report, ""
        self.checked.emit()

    def take_refusal(self, spec: dict[str, Any], words: str, fields: list[dict[str, Any]]) -> None:
        """The preflight could not be made, or the launch was refused."""
        self.launching = False
        if self._asked is not None and spec != self._asked:
            return
        self._asked, self.report, self.refusal = None, None, words
        self.faults |= {str(f.get("where")): str(f.get("message")) for f in fields}
        self.checked.emit()

    def take_launched(self) -> None:
        """The run exists."""
        self.launching = False
        self.checked.emit()

    def _touch(self) -> None:
        if self.draft is None:
            return
        self.faults, self.refusal = self.draft.faults(), ""
        if self.faults:
            self._settle.stop()
            self._asked, self.report = None, None
        else:
            self._settle.start()
        self.checked.emit()

    def _ask(self) -> None:
        if self.draft is not None and not self.faults:
            self._asked = self.draft.spec()
            self.preflight_wanted.emit(self._asked)
            self.checked.emit()

    def _replace_draft(self) -> None:
        self.report = None
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
