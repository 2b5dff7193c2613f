"""Sends ended runs to W&B: asks for the plan, starts the sync, and follows it to its end."""

from functools import partial
from typing import Any

from PyQt6.QtCore import QObject

from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState
from mosaic_contracts.syncs import SyncPlan, SyncStatus
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.run_actions import Say
from mosaic_gui.net.reply import ApiProblem
from mosaic_gui.state.language import tr
from mosaic_gui.timers import single_shot_timer
from mosaic_gui.viewmodels.sync import SyncModel

LOOK_MS = 1_000
"""Pause between two looks at a sync that goes on."""


class SyncController(Controller):
    """Requests of the model, and a notice when a sync that was started here has ended."""

    def __init__(self, model: SyncModel, say: Say, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model, self._say = model, say
        self._started: dict[str, str] = {}
        """The run of each sync that was started here and goes on."""
        self._look = single_shot_timer(self, self._read_all, LOOK_MS)
        model.plan_wanted.connect(self._on_plan_wanted)
        model.start_wanted.connect(self._on_start_wanted)
        model.status_wanted.connect(self._read)

    def detach(self) -> None:
        """Forget what was started; it goes on at the stack."""
        super().detach()
        self._look.stop()
        self._started.clear()

    def _on_plan_wanted(self, run_id: str, request: dict[str, Any]) -> None:
        if self.session is None:
            return
        reply = self.session.api.plan_sync(run_id, request)
        reply.done.connect(partial(self._on_plan, run_id, request))
        reply.failed.connect(partial(self._on_failed, run_id))

    def _on_plan(self, run_id: str, request: dict[str, Any], plan: SyncPlan) -> None:
        self._model.take_plan(run_id, request, plan)

    def _on_start_wanted(self, run_id: str, request: dict[str, Any]) -> None:
        if self.session is None:
            return
        reply = self.session.api.sync_run(run_id, request)
        reply.done.connect(partial(self._on_started, run_id))
        reply.failed.connect(partial(self._on_failed, run_id))

    def _on_started(self, run_id: str, sync: RunView) -> None:
        self._started[sync.run_id] = run_id
        self._model.take_sync(run_id, sync)
        self._look.start()

    def _on_failed(self, run_id: str, problem: ApiProblem) -> None:
        self._model.take_problem(run_id, problem.message)

    def _read_all(self) -> None:
        for run_id in set(self._started.values()) | {self._model.run_id} - {""}:
            self._read(run_id)

    def _read(self, run_id: str) -> None:
        if self.session is None or not run_id:
            return
        reply = self.session.api.syncs(run_id)
        reply.done.connect(partial(self._on_status, run_id))
        reply.failed.connect(partial(self._on_unread, run_id))

    def _on_status(self, run_id: str, status: SyncStatus) -> None:
        self._model.take_sync(run_id, status.syncs[0] if status.syncs else None)
        for sync in status.syncs:
            if sync.state.is_final and self._started.pop(sync.run_id, None) is not None:
                self._say_end(sync)
        if self._started or self._model.is_sending:
            self._look.start()

    def _on_unread(self, run_id: str, problem: ApiProblem) -> None:
        """Look again where a sync goes on; one that nobody can find any more is forgotten."""
        if not problem.is_passing:
            self._started = {sync: of for sync, of in self._started.items() if of != run_id}
        if self._started:
            self._look.start()

    def _say_end(self, sync: RunView) -> None:
        if sync.state is RunState.SUCCEEDED:
            self._say(tr("Sent to W&B."), "", None)
        else:
            why = sync.end.message if sync.end is not None else ""
            self._say(tr("Not sent to W&B: {why}", why=why), "", None)
