"""An ended run that is sent to W&B: what would be sent, the consent, and how far it is."""

from typing import Any

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState
from mosaic_contracts.syncs import SyncPlan
from mosaic_gui.state.language import tr
from mosaic_gui.state.run_row import badge
from mosaic_gui.state.store import Store


class SyncModel(QObject):
    """One run at a time is prepared; syncs that were started go on without this model."""

    changed = pyqtSignal()
    plan_wanted = pyqtSignal(str, dict)
    """A run, and a SyncRequest without consent."""
    start_wanted = pyqtSignal(str, dict)
    """A run, and a SyncRequest with consent."""
    status_wanted = pyqtSignal(str)
    """The syncs of a run are to be read."""

    def __init__(self, store: Store, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.run_id = ""
        self.plan: SyncPlan | None = None
        """What would be sent; None: not asked for, or not answered."""
        self.is_busy = False
        """A plan or a start is under way."""
        self.problem = ""
        """Why the run cannot be sent, in words."""
        self.sync: RunView | None = None
        """The newest sync of the run."""
        self._request: dict[str, Any] = {}

    @property
    def can_begin(self) -> bool:
        """Whether a run is there that has ended, and that no sync sends now."""
        run = self._store.runs.get(self.run_id)
        return run is not None and run.state.is_final and not self.is_sending

    @property
    def is_sending(self) -> bool:
        """Whether a sync of the run waits or runs."""
        return self.sync is not None and not self.sync.state.is_final

    @property
    def words(self) -> str:
        """What the newest sync does, or how it ended; empty: there is none."""
        sync = self.sync
        if sync is None:
            return ""
        if not sync.state.is_final:
            return sync.waiting_reason or ". ".join(sync.notes) or tr("Sending …")
        if sync.state is RunState.SUCCEEDED:
            return tr("Sent.")
        if sync.end is not None and sync.end.message:
            return f"{badge(sync)[0]}: {sync.end.message}"
        return badge(sync)[0]

    @property
    def has_failed(self) -> bool:
        """Whether the newest sync ended without success."""
        return (
            self.sync is not None
            and self.sync.state.is_final
            and self.sync.state is not RunState.SUCCEEDED
        )

    def show_run(self, run_id: str) -> None:
        """Prepare another run, of which nothing is known yet."""
        if run_id != self.run_id:
            self.run_id, self.sync = run_id, None
        self.plan, self.problem, self.is_busy, self._request = None, "", False, {}
        self.status_wanted.emit(run_id)
        self.changed.emit()

    def ask(self, project: str = "", entity: str = "") -> None:
        """Ask what would be sent, and whether W&B answers. Nothing is sent."""
        named = {"project": project.strip(), "entity": entity.strip()}
        request = {name: text for name, text in named.items() if text}
        if self.plan is not None and request == self._request:
            return
        self._request, self.plan, self.problem, self.is_busy = request, None, "", True
        self.plan_wanted.emit(self.run_id, dict(request))
        self.changed.emit()

    def agree(self) -> None:
        """Agree to what the plan says, and send it."""
        if self.plan is None or self.is_busy:
            return
        self.is_busy = True
        self.start_wanted.emit(self.run_id, self._request | {"consent": self.plan.digest})
        self.changed.emit()

    def take_plan(self, run_id: str, request: dict[str, Any], plan: SyncPlan) -> None:
        """Take what would be sent; an answer to an older question is skipped."""
        if (run_id, request) == (self.run_id, self._request):
            self.plan, self.is_busy = plan, False
            self.changed.emit()

    def take_problem(self, run_id: str, words: str) -> None:
        """Note why the run cannot be sent. What was agreed to may be another thing now: it is asked again."""
        if run_id == self.run_id:
            self.plan, self.problem, self.is_busy = None, words, False
            self.changed.emit()

    def take_sync(self, run_id: str, sync: RunView | None) -> None:
        """Take the newest sync of a run."""
        if run_id != self.run_id:
            return
        if sync is not None and not sync.state.is_final:
            self.plan, self.is_busy = None, False
        self.sync = sync
        self.changed.emit()
