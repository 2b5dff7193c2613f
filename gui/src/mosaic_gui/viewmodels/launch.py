"""The launch of a run or a group of runs: form, preflight, consent, and obstacles."""

from typing import Any

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.groups import GroupPlan
from mosaic_contracts.machine import MachineSample
from mosaic_contracts.preflight import PreflightLine, PreflightReport
from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.services import WorkerEntries
from mosaic_contracts.stack import StackProxies
from mosaic_contracts.tracking import PROXY_ROLES, TrackingRole
from mosaic_contracts.worker import Finding
from mosaic_gui.state import wording
from mosaic_gui.state.dry_run import kept_text
from mosaic_gui.state.form_field import FormField
from mosaic_gui.state.language import tr
from mosaic_gui.state.store import Store
from mosaic_gui.state.tracking import ONLINE
from mosaic_gui.timers import single_shot_timer
from mosaic_gui.viewmodels.draft import ARGUMENT, RUN, DraftModel

__all__ = ["ARGUMENT", "RUN", "LaunchModel"]
SETTLE_MS = 450
"""Delay between the last key press and a preflight."""
AGAIN_S = 5.0
"""Least seconds between preflights, because each starts the worker's program."""
OBSTACLE_AGAIN_S = 20.0
"""Seconds between preflights while something blocks. A sample does not show each removal (a bundle was installed)."""


class LaunchModel(DraftModel):
    """A draft with its preflight, consents and launch."""

    preflight_wanted = pyqtSignal(dict)
    launch_wanted = pyqtSignal(dict)
    plan_wanted = pyqtSignal(dict)
    """What a group would start, by its GroupSpec; nothing is started."""
    group_wanted = pyqtSignal(dict)
    """A group is to be started."""
    consents_changed = pyqtSignal(list)
    """Kinds of access that the user agreed to for all runs."""
    secret_wanted = pyqtSignal(str, str)
    """The stack is to keep a value under this name; nothing here does."""
    keyring_wanted = pyqtSignal(str, str)
    """The user's keyring is to `get` the tracker's key for the stack, or to `set` this one."""
    keyring_left = pyqtSignal()
    """The request to the keyring is cancelled."""
    keyring_changed = pyqtSignal()

    def __init__(self, parent: QObject | None = None, store: Store | None = None) -> None:
        super().__init__(parent, store)
        self.faults: dict[str, str] = {}
        self.report: PreflightReport | None = None
        self.refusal = ""
        """Why the last launch or preflight failed."""
        self.launching = False
        self.keeps_plan = True
        """Whether the plan is saved with the run."""
        self.plan_seen = False
        self.kept_plan = ""
        """The plan that is saved with the run being launched."""
        self.secrets: frozenset[str] = frozenset()
        """Names of the secrets that the stack keeps."""
        self.keyring_words, self.keyring_asked = "", False
        """What the keyring said, and whether it is being asked."""
        self.proxies = StackProxies()
        """Proxies of the stack for runs that name none."""
        self.consents: set[str] = set()
        """Kinds of access that were agreed to once, as `worker: need`."""
        self.plan: GroupPlan | None = None
        """What the group of the form would start; None: there is one run, or the stack has not answered."""
        self._asked_group: dict[str, Any] | None = None
        self._asked: dict[str, Any] | None = None
        self._is_again = False
        """The question is asked again without a change of the draft: what is known holds until the answer."""
        self._agreed = ""
        self._is_away = self._lacks_broker = False
        """Whether a part of the stack did not answer, and whether that is the broker."""
        self._shown = False
        self._stood: tuple[object, ...] | None = None
        self._asked_at = 0.0
        self._settle = single_shot_timer(self, self._ask, SETTLE_MS)

    def take_catalogue(self, entries: WorkerEntries) -> None:
        """Take the workers of a stack, and request the preflight again."""
        had_draft = self.draft is not None
        super().take_catalogue(entries)
        if had_draft:
            self.ask_again()

    def take_machine(self, sample: MachineSample) -> None:
        """Take a sample of the machine; request the preflight again where it may differ."""
        self.take_limits(sample)
        if self._is_away and self._shown and not self.is_checking:
            self.ask_again()  # who looks at the machine is there again
        stands, age = preflight_basis(sample), sample.t - self._asked_at
        if self.report is None or not self._shown or self.is_checking:
            self._stood = stands
            return
        is_other = stands != self._stood and age >= AGAIN_S
        if is_other or (not self.report.ok and age >= OBSTACLE_AGAIN_S):
            self._stood, self._asked_at = stands, sample.t
            self.ask_again()

    def set_shown(self, shown: bool) -> None:
        """Note whether the form is visible; preflights are requested only while it is."""
        if shown and not self._shown and self.report is not None:
            self.ask_again()
        self._shown = shown

    def fault(self, part: str, name: str) -> str:
        """What is wrong with a field: found here, or by the preflight."""
        where = f"{ARGUMENT}.{name}" if part == ARGUMENT else name
        if where in self.faults:
            return self.faults[where]
        for line in self.lines:
            if line.where == where and line.level == "blocking":
                return line.message.removeprefix(f"{where}: ")
        return next((f.message for f in self._refusals if f.where == where), "")

    @property
    def runs(self) -> int:
        """Number of runs that Launch starts."""
        draft = self.draft
        return draft.size if draft is not None and not self.faults else 1

    @property
    def is_group(self) -> bool:
        """Whether Launch starts several runs."""
        return self.runs > 1

    @property
    def runs_words(self) -> str:
        """How many runs Launch starts, and how long they take together; empty where it is one run."""
        if not self.is_group:
            return ""
        return wording.runs_and_time(self.runs, self.plan.expected_s if self.plan else None)

    @property
    def run_names(self) -> list[str]:
        """What sets the runs of the group apart, as far as the stack has answered."""
        return self.plan.names if self.is_group and self.plan is not None else []

    @property
    def _refusals(self) -> list[Finding]:
        """What speaks against the group."""
        if self.plan is None or self.plan.ok or not self.is_group:
            return []
        return [one for one in self.plan.findings if one.level == "blocking"]

    @property
    def lines(self) -> list[PreflightLine]:
        """The checklist; empty until the stack has answered. Consent is as the user has just given it."""
        if self.report is None and self._is_away:
            return [self._away()]
        return [self._with_consent(line) for line in self.report.lines] if self.report else []

    @property
    def is_checking(self) -> bool:
        """Whether a preflight is running or about to be requested."""
        waits = self._asked is not None or self._asked_group is not None
        return self._settle.isActive() or waits

    @property
    def is_outdated(self) -> bool:
        """The checklist is of the form as it was before the last change."""
        return (
            self.report is not None and not self._is_again and bool(self.faults or self.is_checking)
        )

    @property
    def needs(self) -> list[str]:
        """Kinds of access that still need the user's consent."""
        report = self.report if not self.faults else None
        return report.needs if report and report.digest != self._agreed else []

    @property
    def agreed(self) -> list[str]:
        """What it needs and has the user's consent for, now or from an earlier run."""
        return self.report.needs if self.report and not self.needs and not self.faults else []

    @property
    def obstacle(self) -> str:
        """Why it cannot be launched now, in words; empty when it can."""
        if self.draft is None:
            return tr("Choose an algorithm.")
        if self.faults:
            where, fault = next(iter(self.faults.items()))
            return f"{self._label(where)}: {fault}"
        if self.launching:
            return tr("Launching …")
        if self.refusal:
            return self.refusal
        if self.report is None or (self.is_checking and not self._is_again):
            return tr("Checking …")
        if not self.report.ok and (blocking := self._blocking()) is not None:
            return f"{blocking.title}: {blocking.message}"
        if self._refusals:
            refusal = self._refusals[0]
            return f"{self._label(refusal.where)}: {refusal.message}"
        return tr("It needs your consent.") if self.needs else ""

    @property
    def obstacle_field(self) -> str:
        """The first field of the spec that blocks the launch, e.g. `parameters.gamma`; empty: none."""
        blocking = self._blocking() if not self.refusal else None
        found = [*self.faults, *([blocking.where] if blocking else [])]
        where = next(iter([*found, *(one.where for one in self._refusals)]), "")
        return where if where in self._known_fields else ""

    @property
    def _known_fields(self) -> set[str]:
        """Fields of the spec that the form has."""
        known = {"environment"}
        for part, group in self.groups:
            before = f"{ARGUMENT}." if part == ARGUMENT else ""
            known |= {f"{before}{form_field.name}" for form_field in group.fields}
        return known

    def obstacle_words(self, *, with_lines: bool) -> str:
        """Why it cannot be launched now, without what a field or the checklist says already.

        Args:
            with_lines: the checklist is in sight.
        """
        obstacle = self.obstacle
        if obstacle and self.obstacle_field:
            return tr("Correct {field}.", field=self._label(self.obstacle_field))
        blocking = self._blocking()
        said = blocking.message if blocking is not None else ""
        if with_lines and blocking is not None and said and said in obstacle:
            return tr("{title}: see the checks above.", title=blocking.title)
        return obstacle

    def line_beside_fields(self, line: PreflightLine) -> PreflightLine:
        """A line of the checklist without the message that stands at its field."""
        _, _, name = line.where.rpartition(".")
        part = ARGUMENT if line.where.startswith(f"{ARGUMENT}.") else RUN
        if line.where not in self._known_fields or line.level != "blocking":
            return line
        if self.fault(part, name) != line.message.removeprefix(f"{line.where}: "):
            return line
        words = tr("Correct {field} in the form.", field=self._label(line.where))
        return line.model_copy(update={"message": "" if line.todo else words})

    def agree(self) -> None:
        """Agree to the access that the run needs, for this run and later ones."""
        if self.draft is not None and self.report is not None:
            self.consents |= {self._kind(need) for need in self.report.needs}
            self._give_consent()
            self.consents_changed.emit(sorted(self.consents))
            self.checked.emit()

    def disagree(self) -> None:
        """Withdraw the consent."""
        if self.draft is not None and self.report is not None:
            self.consents -= {self._kind(need) for need in self.report.needs}
            self._agreed, self.draft.consent = "", None
            self.consents_changed.emit(sorted(self.consents))
            self.checked.emit()

    def check_again(self) -> None:
        """Request the preflight again, e.g. after an obstacle on the stack's machine was removed."""
        self._touch()

    def ask_again(self) -> None:
        """As `check_again`, but keep showing the present result."""
        if self.draft is not None and not self.faults and not self.launching:
            self._is_again = self.report is not None
            self._settle.start()
            self.checked.emit()

    def launch(self) -> None:
        """Launch the run, if nothing blocks it."""
        if self.draft is None or self.obstacle:
            return
        spec, group = self.draft.spec(), self.draft.group()
        looked_at = self.keeps_plan and self.plan_seen and self.report is not None
        self.kept_plan = kept_text(self.report) if looked_at and self.report is not None else ""
        self.launching = True
        self.checked.emit()
        if group is None:
            self.launch_wanted.emit(spec)
        else:
            self.group_wanted.emit(group)

    def take_plan(self, group: dict[str, Any], plan: GroupPlan) -> None:
        """Take what a group would start; a plan of an older draft is skipped."""
        if group == self._asked_group:
            self.plan, self._asked_group = plan, None
            self.checked.emit()

    def take_plan_refusal(self, group: dict[str, Any], words: str) -> None:
        """The plan of a group could not be made."""
        if group == self._asked_group:
            self.plan, self._asked_group, self.refusal = None, None, words
            self.checked.emit()

    def take_report(self, spec: dict[str, Any], report: PreflightReport) -> None:
        """Take the result of a preflight; one of an older draft is skipped."""
        if spec != self._asked:
            return
        self._asked, self._is_again = None, False
        self.report, self.refusal, self._is_away = report, "", False
        if report.needs and all(self._kind(need) in self.consents for need in report.needs):
            self._give_consent()
        self.checked.emit()

    def take_refusal(
        self, spec: dict[str, Any], words: str, fields: list[dict[str, Any]], away: str = ""
    ) -> None:
        """The preflight could not be made, or the launch was refused. `away`: code of what is missing for now."""
        was_launching, self.launching = self.launching, False
        if self._asked is not None and spec != self._asked and not was_launching:
            return
        self._asked, self.report, self.refusal, self._is_again = None, None, words, False
        self._asked_group = None
        self._is_away, self._lacks_broker = bool(away), away == ProblemCode.BROKER_UNAVAILABLE
        self.faults |= {str(f.get("where")): str(f.get("message")) for f in fields}
        self.checked.emit()

    def take_launched(self) -> None:
        """Note that the run was launched."""
        self.launching = self.plan_seen = False
        self.checked.emit()

    def take_secrets(self, names: frozenset[str]) -> None:
        """Take the names of the stack's secrets; request the preflight again where one was missing."""
        if names != self.secrets:
            self.secrets = names
            self.ask_again()

    def take_keyring(self, words: str, *, is_asked: bool) -> None:
        """Take the state of the request to the keyring."""
        self.keyring_words, self.keyring_asked = words, is_asked
        self.keyring_changed.emit()

    def take_proxies(self, proxies: StackProxies) -> None:
        """Take the stack's proxies."""
        self.proxies = proxies
        self.checked.emit()

    @property
    def needs_key(self) -> bool:
        """Whether the run sends to a tracker while it goes on."""
        draft = self.draft
        if draft is None or draft.tracking is None:
            return False
        return draft.tracking.mode_in(draft.arguments.texts) == ONLINE

    def fallback(self, field: FormField) -> str:
        """The stack's value for an empty field; empty where the stack has none."""
        if field.role not in PROXY_ROLES:
            return ""
        is_http = field.role == TrackingRole.HTTP_PROXY
        address = self.proxies.http if is_http else self.proxies.https
        return address or ""

    def stop(self) -> None:
        """Ask no more: the window closes."""
        self._settle.stop()

    def _touch(self) -> None:
        if self.draft is None:
            return
        self.faults, self.refusal, self._is_again = self.draft.faults(), "", False
        self._is_away = False
        # a consent is to one plan: with another draft the next answer decides
        self._agreed, self.draft.consent = "", None
        self.plan = self._asked_group = None
        if self.faults:
            self._settle.stop()
            self._asked = None  # what the stack said last stays, as what it is: out of date
        else:
            self._settle.start()
        self.checked.emit()

    def _ask(self) -> None:
        if self.draft is not None and not self.faults:
            self.draft.history.seal()
            self._asked = self.draft.spec()
            self._asked_group = self.draft.group()
            self.preflight_wanted.emit(self._asked)
            if self._asked_group is not None:
                self.plan_wanted.emit(self._asked_group)
            self.checked.emit()

    def _replace_draft(self) -> None:
        self.report = None
        super()._replace_draft()

    def _give_consent(self) -> None:
        if self.draft is not None and self.report is not None:
            self._agreed = self.draft.consent = self.report.digest

    def _label(self, where: str) -> str:
        name = where.removeprefix("parameters.")
        inputs = (self.draft.arguments, self.draft.run) if self.draft else ()
        return next((i.fields[name].label for i in inputs if name in i.fields), name)

    def _kind(self, need: str) -> str:
        return f"{self.draft.worker.manifest.id if self.draft else ''}: {need}"

    def _with_consent(self, line: PreflightLine) -> PreflightLine:
        if line.id != "consent" or line.level == "ok" or self.report is None:
            return line
        if not self.needs:
            return line.model_copy(update={"level": "ok", "message": tr("You agreed.")})
        said = {"message": "; ".join(self.report.needs), "todo": tr("Agree below.")}
        return line.model_copy(update=said)

    def _away(self) -> PreflightLine:
        """The only line of the checklist while the stack does not answer."""
        return PreflightLine(
            id="broker" if self._lacks_broker else "stack",
            title=tr("Broker") if self._lacks_broker else tr("Stack"),
            level="blocking",
            message=self.refusal,
            todo=tr(
                "The client asks again by itself. `./mosaic status` shows details; `./mosaic up` starts what is "
                "missing."
            ),
        )

    def _blocking(self) -> PreflightLine | None:
        """The first blocking line other than the consent."""
        found = [line for line in self.lines if line.level == "blocking" and line.id != "consent"]
        return found[0] if found else None


def preflight_basis(sample: MachineSample) -> tuple[object, ...]:
    """What the result of a preflight depends on at the machine. While it is equal, asking again is of no use."""
    runs = tuple(sorted(use.run_id for use in sample.runs))
    gpus = tuple(gpu.uuid for gpu in sample.gpus)
    # a disk that is nearly full counts by the gibibyte; one that is not need not be looked at
    return runs, gpus, min(sample.disk_free_bytes // 2**30, 8)
