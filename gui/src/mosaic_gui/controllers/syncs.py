"""Sends ended runs to W&B: asks for the plan, starts the sync, and follows it to its end."""

from collections.abc import Callable
from functools import partial
from typing import Any

from PyQt6.QtCore import QObject

from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState
from mosaic_contracts.syncs import SyncPlan, SyncStatus
from mosaic_contracts.tracking import UploadState
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.run_actions import Say
from mosaic_gui.net.reply import ApiProblem
from mosaic_gui.state.language import tr
from mosaic_gui.timers import single_shot_timer
from mosaic_gui.viewmodels.sync import SyncModel

LOOK_MS = 1_000
"""Pause between two looks at a sync that goes on."""
MOST_LOOKS = 30
"""Looks at a sync that was done, until the run's page is recorded."""


class SyncController(Controller):
    """Requests of the model, and a notice when a sync that was started here has ended."""

    def __init__(
        self,
        model: SyncModel,
        say: Say,
        open_page: Callable[[str], bool],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._model, self._say, self._open = model, say, open_page
        self._started: dict[str, str] = {}
        """The run of each sync that was started here and goes on."""
        self._sent: dict[str, int] = {}
        """Runs that were sent, whose page is not recorded yet, and how many looks are left."""
        self._look = single_shot_timer(self, self._read_all, LOOK_MS)
        model.plan_wanted.connect(self._on_plan_wanted)
        model.start_wanted.connect(self._on_start_wanted)
        model.status_wanted.connect(self._read)

    def detach(self) -> None:
        """Forget what was started; it goes on at the stack."""
        super().detach()
        self._look.stop()
        self._started.clear()
        self._sent.clear()

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
        for run_id in {*self._started.values(), *self._sent, self._model.run_id} - {""}:
            self._read(run_id)

    def _read(self, run_id: str) -> None:
        if self.session is None or not run_id:
            return
        reply = self.session.api.syncs(run_id)
        reply.done.connect(partial(self._on_status, run_id))
        reply.failed.connect(partial(self._on_unread, run_id))

    def _on_status(self, run_id: str, status: SyncStatus) -> None:
        if self.session is None:
            return
        self._model.take_sync(run_id, status.syncs[0] if status.syncs else None)
        for sync in status.syncs:
            if sync.state.is_final and self._started.pop(sync.run_id, None) is not None:
                self._end(run_id, sync)
        if status.tracked is not None:
            store = self.session.store
            self.session.note(store.take_tracking(run_id, status.tracked, status.upload))
        self._look_for_page(run_id, status)
        self._look_again()

    def _on_unread(self, run_id: str, problem: ApiProblem) -> None:
        """Look again where a sync goes on; one that nobody can find any more is forgotten."""
        if not problem.is_passing:
            self._started = {sync: of for sync, of in self._started.items() if of != run_id}
            self._sent.pop(run_id, None)
        self._look_again()

    def _look_again(self) -> None:
        if self._started or self._sent or self._model.is_sending:
            self._look.start()

    def _end(self, run_id: str, sync: RunView) -> None:
        if sync.state is RunState.SUCCEEDED:
            self._sent[run_id] = MOST_LOOKS
            return
        why = sync.end.message if sync.end is not None else ""
        self._say(tr("Not sent to W&B: {why}", why=why), "", None)

    def _look_for_page(self, run_id: str, status: SyncStatus) -> None:
        """Say that a run was sent, with its page, which is recorded a moment after the sync has ended."""
        if run_id not in self._sent:
            return
        self._sent[run_id] -= 1
        is_there = status.upload is not None and status.upload.state is UploadState.UPLOADED
        url = status.tracked.url if status.tracked is not None and is_there else None
        if url is not None:
            self._say(tr("Sent to W&B."), tr("Open page"), partial(self._show_page, url))
        elif is_there or not self._sent[run_id]:
            self._say(tr("Sent to W&B."), "", None)
        else:
            return
        del self._sent[run_id]

    def _show_page(self, url: str) -> None:
        self._open(url)
