"""Requests of the train page: catalogue, secrets, preflight, launch of a run or a group."""

from functools import partial
from typing import Any

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.access import SecretEntries, SecretEntry
from mosaic_contracts.groups import GroupView
from mosaic_contracts.runs import RunPage, RunView
from mosaic_contracts.services import WorkerEntries
from mosaic_contracts.stack import StackStatus
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.reply import ApiProblem
from mosaic_gui.state.language import tr
from mosaic_gui.timers import single_shot_timer
from mosaic_gui.viewmodels.launch import LaunchModel

UNREADY_MS = 10_000
"""Interval between requests while a worker is not ready."""


class LaunchController(Controller):
    """Reads the catalogue, and sends preflights, secrets and launches."""

    launched = pyqtSignal(object)
    """The new RunView."""
    group_launched = pyqtSignal(object)
    """The new GroupView."""
    said = pyqtSignal(str)
    """A notice for the user."""

    def __init__(self, model: LaunchModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._entries: WorkerEntries | None = None
        self._look_again = single_shot_timer(self, self._ask_workers_again, UNREADY_MS)
        model.preflight_wanted.connect(self._on_preflight_wanted)
        model.launch_wanted.connect(self._on_launch_wanted)
        model.plan_wanted.connect(self._on_plan_wanted)
        model.group_wanted.connect(self._on_group_wanted)
        model.secret_wanted.connect(self._on_secret_wanted)

    def attach(self, session: StreamSession) -> None:
        """Read the catalogue whenever this session joins the stack."""
        super().attach(session)
        session.stream.joined.connect(self._read_catalogue)

    def _read_catalogue(self) -> None:
        """Read the workers, the status of the stack and the names of its secrets."""
        if self.session is not None:
            api = self.session.api
            api.stack().done.connect(self._on_stack)
            api.workers().done.connect(self._on_workers)
            api.secrets().done.connect(self._on_secrets)

    def detach(self) -> None:
        """Stop all requests; the session closes after this."""
        super().detach()
        self._look_again.stop()

    def _on_workers(self, entries: WorkerEntries) -> None:
        self._entries = entries
        self._model.take_catalogue(entries)
        self._wait_for_workers()

    def _wait_for_workers(self) -> None:
        """A worker whose environment is made while the client runs becomes ready without a restart of the client."""
        if self._entries is not None and not all(w.ready for w in self._entries.workers):
            self._look_again.start()

    def read_workers(self) -> None:
        """Read the workers again: something may have been installed."""
        self._look_again.stop()
        self._ask_workers_again()

    def _ask_workers_again(self) -> None:
        if self.session is not None:
            reply = self.session.api.workers()
            reply.done.connect(self._on_workers_again)
            reply.failed.connect(lambda _problem: self._wait_for_workers())

    def _on_workers_again(self, entries: WorkerEntries) -> None:
        if entries != self._entries:
            self._on_workers(entries)  # forms are made anew by this, and only then
        else:
            self._wait_for_workers()

    def _on_stack(self, status: StackStatus) -> None:
        limit = (status.scheduler or {}).get("cpu_limit")
        self._model.cpu_limit = limit if isinstance(limit, int) else None
        self._model.take_proxies(status.proxies)

    def _on_secrets(self, entries: SecretEntries) -> None:
        self._model.take_secrets(frozenset(entry.name for entry in entries.secrets))

    def _on_secret_wanted(self, name: str, value: str) -> None:
        if self.session is not None:
            reply = self.session.api.set_secret(name, value)
            reply.done.connect(self._on_secret_kept)
            reply.failed.connect(lambda problem: self.said.emit(problem.message))

    def _on_secret_kept(self, entry: SecretEntry) -> None:
        self._model.take_secrets(self._model.secrets | {entry.name})
        self.said.emit(tr("{secret} is saved in the stack.", secret=entry.name))

    def _on_preflight_wanted(self, spec: dict[str, Any]) -> None:
        if self.session is None:
            return
        reply = self.session.api.preflight(spec)
        reply.done.connect(partial(self._model.take_report, spec))
        reply.failed.connect(partial(self._on_refused, spec))

    def _on_launch_wanted(self, spec: dict[str, Any]) -> None:
        if self.session is None:
            return
        reply = self.session.api.submit(spec)
        reply.done.connect(partial(self._on_launched, self._model.kept_plan))
        reply.failed.connect(partial(self._on_refused, spec))

    def _on_plan_wanted(self, group: dict[str, Any]) -> None:
        if self.session is not None:
            reply = self.session.api.check_group(group)
            reply.done.connect(partial(self._model.take_plan, group))
            reply.failed.connect(
                lambda problem: self._model.take_plan_refusal(group, problem.message)
            )

    def _on_group_wanted(self, group: dict[str, Any]) -> None:
        if self.session is not None:
            reply = self.session.api.start_group(group)
            reply.done.connect(self._on_group_launched)
            reply.failed.connect(partial(self._on_refused, group))

    def _on_group_launched(self, group: GroupView) -> None:
        """Read its runs, which the stack announces one by one, and then say that it is there."""
        self._model.take_launched()
        if self.session is not None:
            reply = self.session.api.runs_of_group(group.group_id)
            reply.done.connect(partial(self._on_group_read, group))
            reply.failed.connect(lambda problem: self.said.emit(problem.message))

    def _on_group_read(self, group: GroupView, page: RunPage) -> None:
        if self.session is not None:
            self.session.note(self.session.store.take_runs(page.runs))
        self.group_launched.emit(group)

    def _on_launched(self, plan: str, run: RunView) -> None:
        self._model.take_launched()
        self._take(run)
        if plan and self.session is not None:
            reply = self.session.api.patch_run(run.run_id, {"dry_run": plan})
            reply.done.connect(self._take)
            reply.failed.connect(lambda problem: self.said.emit(problem.message))
        self.launched.emit(run)

    def _take(self, run: RunView) -> None:
        if self.session is not None:
            self.session.note(self.session.store.take_runs([run]))

    def _on_refused(self, spec: dict[str, Any], problem: ApiProblem) -> None:
        away = ""
        if problem.is_passing:
            away = problem.problem.code if problem.problem is not None else "unanswered"
        self._model.take_refusal(spec, problem.message, problem.fields, away)
