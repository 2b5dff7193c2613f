"""The form of a sweep: the run of the form `Train new`, with parameters that vary."""

from collections.abc import Callable, Sequence
from typing import Any

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.curve_set import EPISODE_CURVES
from mosaic_contracts.worker import CheckReport, Finding
from mosaic_gui.state import wording
from mosaic_gui.state.edit_history import EditHistory
from mosaic_gui.state.form_field import FormField
from mosaic_gui.state.language import tr
from mosaic_gui.state.store import Store
from mosaic_gui.state.sweep_draft import SweepDraft, faults_of_spec
from mosaic_gui.state.sweep_settings import PATHS, is_used
from mosaic_gui.state.trial_words import budget_words
from mosaic_gui.timers import single_shot_timer
from mosaic_gui.viewmodels.launch import LaunchModel

SETTLE_MS = 450
"""Delay between the last key press and a check."""
KNOWN_METRICS = ("charts/episodic_return", "charts/episodic_length", "charts/SPS")
"""Metrics that are offered without a run that has them."""


class SweepFormModel(QObject):
    """One draft for each algorithm. It sends no requests."""

    replaced = pyqtSignal()
    """Another algorithm: the form is built again."""
    typed_replaced = pyqtSignal()
    """Other values in the same fields, or other varied parameters."""
    checked = pyqtSignal()
    """Faults, findings or the right to start may be different."""
    check_wanted = pyqtSignal(dict)
    start_wanted = pyqtSignal(dict)
    metrics_wanted = pyqtSignal(str)
    """Names of the curves of a run, by its id."""
    metrics_changed = pyqtSignal()
    opened = pyqtSignal()
    """The form is to be shown."""
    closed = pyqtSignal()

    def __init__(self, launch: LaunchModel, store: Store, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._launch, self._store = launch, store
        self.draft: SweepDraft | None = None
        self.faults: dict[str, str] = {}
        """What is wrong, by place in the SweepSpec."""
        self.report: CheckReport | None = None
        self.refusal = ""
        """Why the last check or start failed."""
        self.is_starting = self._is_open = False
        self._metrics: dict[tuple[str, str], list[str]] = {}
        """Names of curves by worker and algorithm, of its newest run."""
        self._drafts: dict[tuple[str, str], SweepDraft] = {}
        self._key = ("", "")
        self._asked: dict[str, Any] | None = None
        self._settle = single_shot_timer(self, self._ask, SETTLE_MS)

    @property
    def title(self) -> str:
        """Algorithm and environment of the trials."""
        draft = self._launch.draft
        return f"{draft.algorithm.title} · {draft.environment}" if draft is not None else ""

    def fixed_text(self, name: str) -> str:
        """Value of a parameter in the form `Train new`, which trials have where it does not vary."""
        draft = self._launch.draft
        return draft.arguments.text(name) if draft is not None else ""

    def open(self) -> bool:
        """Show the form for the algorithm of the form `Train new`; False: none is chosen there."""
        if not self._take_algorithm():
            return False
        self._is_open = True
        self.opened.emit()
        self._ask_metrics()
        self._touch()
        return True

    def close(self) -> None:
        """Leave the form; what was typed is kept."""
        self._settle.stop()
        self._is_open = False
        self.closed.emit()

    def check_again(self) -> None:
        """Request a check again where the last one could not be made."""
        if self._is_open and self.refusal and not self.is_starting:
            self._touch()

    def load(self, spec: dict[str, Any]) -> str:
        """Fill the form from a specification; return what could not be taken over, in words, or why it is refused."""
        if not self._launch.copy_from(spec["run"]):
            run = spec["run"]
            return tr(
                "This stack has no worker {worker} with {algorithm}.",
                worker=run.get("worker"),
                algorithm=run.get("algorithm"),
            )
        self._take_algorithm()
        if self.draft is None:
            return tr("Choose an algorithm.")
        lost = self.draft.fill_from(spec)
        self._note(tr("file"))
        self.typed_replaced.emit()
        self._touch()
        return tr("Not known here: {names}", names=", ".join(lost)) if lost else ""

    def vary(self, name: str, on: bool) -> None:
        """Vary a parameter, or let it be."""
        if self.draft is not None:
            self.draft.vary(name, on)
            self._note(name)
            self.typed_replaced.emit()
            self._touch()

    def set_part(self, name: str, part: str, text: str) -> None:
        """Set a field of a varied parameter."""
        if self.draft is not None:
            self.draft.set_text(name, part, text)
            self._note(f"{name} {part}")
            if part in ("kind", "log", "when"):
                self.typed_replaced.emit()
            self._touch()

    def set_setting(self, name: str, text: str) -> None:
        """Set the text of a setting; an empty text of a field that needs one is a fault."""
        if self.draft is not None:
            self.draft.settings.texts[name] = text
            self._note(name)
            self._touch()

    def reset_setting(self, name: str) -> None:
        """Reset a setting to its default."""
        if self.draft is not None:
            self.draft.settings.texts.pop(name, None)
            self._note(name)
            self.typed_replaced.emit()
            self._touch()

    def undo(self) -> None:
        """Undo the last edit."""
        self._step(lambda history: history.undo())

    def redo(self) -> None:
        """Redo the last undone edit."""
        self._step(lambda history: history.redo())

    def is_changed(self, form_field: FormField) -> bool:
        """Whether a setting differs from its default."""
        return self.draft is not None and self.draft.settings.is_changed(form_field)

    def is_used(self, name: str) -> bool:
        """Whether a setting has a meaning with what is chosen in others."""
        return self.draft is not None and is_used(name, self.draft.setting_texts)

    def fault(self, setting: str) -> str:
        """What is wrong with a setting."""
        return self._fault_at(PATHS[setting])

    def fault_of(self, parameter: str) -> str:
        """What is wrong with a varied parameter."""
        return self._fault_at(f"parameters.{parameter}")

    def wrong_parts(self, parameter: str) -> set[str]:
        """Fields of a varied parameter that are wrong."""
        before = f"parameters.{parameter}."
        found = (place.removeprefix(before) for place in self.faults if place.startswith(before))
        return {place.partition(".")[0] for place in found}

    @property
    def findings(self) -> list[Finding]:
        """What the stack found that belongs to no field of this form."""
        found = [] if self.report is None or self.faults else self.report.findings
        return [one for one in found if not self._is_at_field(_place(one.where))]

    @property
    def is_checking(self) -> bool:
        """Whether a check is running or about to be requested."""
        return self._settle.isActive() or self._asked is not None

    @property
    def words(self) -> str:
        """How many trials and runs it makes."""
        spec = self._spec()
        return budget_words_of(spec) if spec is not None else ""

    @property
    def summary(self) -> list[str]:
        """What varies, and what the stack says of the whole, a line each."""
        if self.draft is None:
            return []
        lines = [self.draft.words_of(name) for name in self.draft.names]
        steps = self.report.plan.get("steps_at_most") if self.report and not self.faults else None
        if isinstance(steps, int):
            lines += ["", tr("At most {n} environment steps", n=wording.count(steps))]
        return lines

    @property
    def obstacle(self) -> str:
        """Why it cannot be started now; empty: it can."""
        if self.draft is None:
            return tr("Choose an algorithm.")
        if self.faults:
            where, words = next(iter(self.faults.items()))
            return f"{self._label(where)}: {words}"
        if self.is_starting:
            return tr("Starting …")
        if self.refusal:
            return self.refusal
        if self.is_checking or self.report is None:
            return tr("Checking …")
        if not self.report.ok:
            blocking = [one for one in self.report.findings if one.level == "blocking"]
            return blocking[0].message if blocking else tr("The stack refuses it.")
        return ""

    @property
    def metrics(self) -> list[str]:
        """Names of metrics that are offered."""
        found = self._metrics.get(self._key, [])
        return [*KNOWN_METRICS, *sorted(set(found).difference(KNOWN_METRICS))]

    def take_metrics(self, run_id: str, names: Sequence[str]) -> None:
        """Take the names of a run's curves."""
        run = self._store.runs.get(run_id)
        if run is not None:
            metrics = [name for name in names if "/" in name and name not in EPISODE_CURVES]
            self._metrics[(run.spec.worker, run.spec.algorithm)] = metrics
            self.metrics_changed.emit()

    def _ask_metrics(self) -> None:
        runs = self._store.runs.values()
        found = [
            run.run_id
            for run in runs
            if (run.spec.worker, run.spec.algorithm) == self._key and run.summary is not None
        ]
        if found and self._key not in self._metrics:
            self.metrics_wanted.emit(max(found))

    @property
    def spec(self) -> dict[str, Any] | None:
        """The specification; None: a field cannot be read."""
        return self._spec()

    def start(self) -> None:
        """Start the sweep, if nothing is in the way."""
        spec = self._spec()
        if spec is not None and not self.obstacle:
            self.is_starting = True
            self.checked.emit()
            self.start_wanted.emit(spec)

    def take_report(self, spec: dict[str, Any], report: CheckReport) -> None:
        """Take the answer of a check; one of an older draft is skipped."""
        if spec == self._asked:
            self._asked, self.report, self.refusal = None, report, ""
            self.checked.emit()

    def take_refusal(self, spec: dict[str, Any], words: str, fields: list[dict[str, Any]]) -> None:
        """The check could not be made, or the sweep was refused."""
        was_starting, self.is_starting = self.is_starting, False
        if self._asked is not None and spec != self._asked and not was_starting:
            return
        self._asked, self.report, self.refusal = None, None, words
        self.faults |= {_place(str(f.get("where"))): str(f.get("message")) for f in fields}
        self.checked.emit()

    def take_started(self) -> None:
        """Note that the sweep was started."""
        self.is_starting = False
        self.close()
        self.checked.emit()

    def _take_algorithm(self) -> bool:
        draft = self._launch.draft
        if draft is None:
            return False
        key = (draft.worker.manifest.id, draft.algorithm.id)
        if key not in self._drafts:
            fields = draft.arguments.fields
            self._drafts[key] = SweepDraft(fields)
            self._drafts[key].history = EditHistory(self._drafts[key].snapshot())
        if key != self._key:
            self._key, self.draft = key, self._drafts[key]
            self.report, self.refusal = None, ""
            self.replaced.emit()
        return True

    def _spec(self) -> dict[str, Any] | None:
        if self.draft is None or self._launch.draft is None:
            return None
        try:
            return self.draft.spec(self._launch.draft.spec())
        except ValueError:
            return None

    def _touch(self) -> None:
        if self.draft is None:
            return
        self.faults, self.refusal, self._asked = self.draft.faults(), "", None
        spec = self._spec()
        if not self.faults and spec is not None:
            self.faults = faults_of_spec(spec)
        if self.faults:
            self._settle.stop()
        else:
            self._settle.start()
        self.checked.emit()

    def _ask(self) -> None:
        spec = self._spec()
        if self.draft is not None and spec is not None and not self.faults:
            self.draft.history.seal()
            self._asked = spec
            self.check_wanted.emit(spec)
            self.checked.emit()

    def _note(self, what: str) -> None:
        if self.draft is not None:
            self.draft.history.note(what, self.draft.snapshot())

    def _step(self, act: Callable[[EditHistory], Any]) -> None:
        if self.draft is None:
            return
        snapshot = act(self.draft.history)
        if snapshot is not None:
            self.draft.restore(snapshot)
            self.typed_replaced.emit()
            self._touch()

    def _fault_at(self, where: str) -> str:
        for place, words in self.faults.items():
            if place == where or place.startswith(f"{where}."):
                return words
        report = self.report if not self.faults else None
        for finding in report.findings if report is not None else ():
            place = _place(finding.where)
            if finding.level != "ok" and (place == where or place.startswith(f"{where}.")):
                return finding.message
        return ""

    def _label(self, where: str) -> str:
        """The name of a field, as the form shows it."""
        setting = next((name for name, path in PATHS.items() if path == where), "")
        if setting and self.draft is not None:
            return self.draft.settings.fields[setting].label
        return tr("parameters") if where == "parameters" else where.removeprefix("parameters.")

    def _is_at_field(self, place: str) -> bool:
        names = self.draft.names if self.draft is not None else []
        fields = [*PATHS.values(), *(f"parameters.{name}" for name in names)]
        return any(place == one or place.startswith(f"{one}.") for one in fields)


def budget_words_of(spec: dict[str, Any]) -> str:
    """The number of trials and runs of a specification that may be wrong."""
    from mosaic_contracts.sweeps import Budget

    trials = spec.get("budget", {}).get("trials", Budget().trials)
    return budget_words(trials, len(spec.get("seeds", ())), len(spec.get("environments", ())))


def _place(where: str) -> str:
    return where.removeprefix("sweep.")
