"""Requests of the page `Storage`: what fills the disks, what would go, removing it and bringing it back."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from PyQt6.QtCore import QObject

from mosaic_contracts.runs import RunView
from mosaic_contracts.storage_reports import PrunePlan, PruneResult, StorageReport, UndoResult
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.run_actions import Say
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.reply import ApiProblem, ApiReply
from mosaic_gui.state import wording
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.state.storage import MOST_ROWS
from mosaic_gui.state.store import Changes
from mosaic_gui.timers import interval_timer, run_while, single_shot_timer
from mosaic_gui.viewmodels.storage import StorageModel

SETTLE_MS = 1_000
"""Delay after the end or deletion of a run, so that many of them cause one request."""
AGAIN_MS = 30_000
"""Interval between requests while the page is visible: no event says that a file has grown, or that time is over."""


class StorageController(Controller):
    """Reads report and plan while the page is shown, and repeats bounded steps until nothing is left."""

    def __init__(self, model: StorageModel, say: Say, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model, self._say = model, say
        self._reading: ApiReply | None = None
        self._step: ApiReply | None = None
        self._is_old = False
        """Something has changed since the request that is under way."""
        self._after_reading: Callable[[], None] | None = None
        self._settle = single_shot_timer(self, self._read, SETTLE_MS)
        self._again = interval_timer(self, AGAIN_MS, self._read)
        model.wanted.connect(self._on_wanted)
        model.prune_wanted.connect(self._on_prune)
        model.undo_wanted.connect(self._on_undo)
        model.pin_wanted.connect(self._on_pin)
        model.profiles_wanted.connect(self._on_profiles_wanted)
        model.profile_wanted.connect(self._on_profile)

    def attach(self, session: StreamSession) -> None:
        """Use this session until `detach`."""
        super().attach(session)
        session.stream.joined.connect(self._on_wanted)

    def detach(self) -> None:
        """Stop all requests, and forget what this stack has on its disks."""
        super().detach()
        self._settle.stop()
        self._again.stop()
        for reply in (self._reading, self._step):
            if reply is not None:
                reply.drop()
        self._reading = self._step = self._after_reading = None
        self._is_old = False
        self._model.forget()

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
        if self._model.is_shown and (changes.removed or any(map(self._has_ended, changes.runs))):
            self._read_soon()
        run_while(self._again, self.session is not None and self._model.is_shown)

    def _on_wanted(self) -> None:
        if self.session is not None and self._model.is_shown:
            self._again.start()
            self._read()

    def _has_ended(self, run_id: str) -> bool:
        run = self.session.store.runs.get(run_id) if self.session is not None else None
        return run is not None and run.state.is_final

    def _read_soon(self) -> None:
        if not self._settle.isActive():
            self._settle.start()

    def _read(self) -> None:
        if self.session is None or not self._model.is_shown:
            return
        if self._reading is not None:
            self._is_old = True
            return
        self._is_old = False
        self._take(self.session.api.storage(limit=MOST_ROWS), self._on_report)

    def _take(self, reply: ApiReply, act: Callable[[Any], None]) -> None:
        self._reading = reply
        reply.done.connect(act)
        reply.failed.connect(self._on_failed)

    def _on_report(self, report: StorageReport) -> None:
        self._reading = None
        self._model.take_report(report)
        if self._after_reading is not None:
            act, self._after_reading = self._after_reading, None
            act()
        if self.session is not None:
            self._take(self.session.api.plan_prune({"limit": MOST_ROWS}), self._on_plan)

    def _on_plan(self, plan: PrunePlan) -> None:
        self._reading = None
        self._model.take_plan(plan)
        if self._is_old:
            self._settle.start()

    def _on_failed(self, problem: ApiProblem) -> None:
        """What was read stays, and it is read again with the next look."""
        self._reading = self._after_reading = None
        self._model.take_problem(problem.message)

    def _on_prune(self, run_ids: Sequence[str]) -> None:
        asked = {"run_ids": list(run_ids)} if run_ids else {}
        if self.session is not None and self._step is None:
            self._prune(asked, PruneResult(), self._newest_removed())

    def _prune(self, asked: dict[str, list[str]], done: PruneResult, newest: int) -> None:
        """Take one step. `done`: what the steps before have removed."""
        if self.session is None:
            return
        words = tr("Removing files …")
        self._model.take_progress(words, done.files, done.files + done.left)
        self._step = self.session.api.prune(asked)
        self._step.done.connect(partial(self._on_pruned, asked, done, newest))
        self._step.failed.connect(self._on_step_failed)

    def _on_pruned(
        self, asked: dict[str, list[str]], done: PruneResult, newest: int, step: PruneResult
    ) -> None:
        self._step = None
        changes = {
            "files": done.files + step.files,
            "steps": done.steps + step.steps,
            "bytes": done.bytes + step.bytes,
            "freed_bytes": done.freed_bytes + step.freed_bytes,
        }
        found = step.model_copy(update=changes)
        if step.left and (step.files or step.steps or step.freed_bytes):
            self._prune(asked, found, newest)
            return
        self._model.end_progress()
        self._read_then(partial(self._say_pruned, found, newest))

    def _say_pruned(self, found: PruneResult, newest: int) -> None:
        """Say what was removed; Undo brings back exactly that."""
        size = wording.bytes_text(found.bytes + found.freed_bytes)
        words = tr_n(
            "{n} file removed: {size}", "{n} files removed: {size}", found.files, size=size
        )
        if found.steps:
            steps = tr_n("{n} step removed for good", "{n} steps removed for good", found.steps)
            words = f"{words}. {steps}"
        if found.left:
            left = tr_n("{n} could not be removed now", "{n} could not be removed now", found.left)
            words = f"{words}. {left}"
        items = self._removed_since(newest)
        undo = partial(self._on_undo, items) if items else None
        self._say(words, tr("Undo") if undo else "", undo)

    def _on_undo(self, items: Sequence[int]) -> None:
        asked = {"items": list(items)} if items else {}
        if self.session is not None and self._step is None:
            self._undo(asked, UndoResult())

    def _undo(self, asked: dict[str, list[int]], done: UndoResult) -> None:
        if self.session is None:
            return
        words = tr("Bringing files back …")
        self._model.take_progress(words, done.files, done.files + done.left)
        self._step = self.session.api.undo_prune(asked)
        self._step.done.connect(partial(self._on_undone, asked, done))
        self._step.failed.connect(self._on_step_failed)

    def _on_undone(self, asked: dict[str, list[int]], done: UndoResult, step: UndoResult) -> None:
        self._step = None
        found = UndoResult(
            files=done.files + step.files,
            bytes=done.bytes + step.bytes,
            left=step.left,
            refused=[*done.refused, *step.refused],
        )
        if step.left and step.files:
            self._undo(asked, found)
            return
        self._model.end_progress()
        size = wording.bytes_text(found.bytes)
        words = tr_n(
            "{n} file is back: {size}", "{n} files are back: {size}", found.files, size=size
        )
        self._say("  ".join([words, *found.refused[:1]]), "", None)
        self._read()

    def _on_step_failed(self, problem: ApiProblem) -> None:
        """Files that were removed before are in the trash; the page shows how it is."""
        self._step = None
        self._model.end_progress()
        self._say(problem.message, "", None)
        self._read()

    def _on_profiles_wanted(self) -> None:
        if self.session is not None:
            reply = self.session.api.storage_profiles()
            reply.done.connect(lambda known: self._model.take_profiles(known.content))
            reply.failed.connect(lambda problem: self._say(problem.message, "", None))

    def _on_profile(self, run_id: str, name: str | None) -> None:
        self._patch(run_id, {"storage_profile": name})

    def _on_pin(self, run_id: str, pinned: bool) -> None:
        self._patch(run_id, {"pinned": pinned})

    def _patch(self, run_id: str, changes: dict[str, Any]) -> None:
        if self.session is not None:
            reply = self.session.api.patch_run(run_id, changes)
            reply.done.connect(self._on_patched)
            reply.failed.connect(lambda problem: self._say(problem.message, "", None))

    def _on_patched(self, run: RunView) -> None:
        if self.session is not None:
            self.session.note(self.session.store.take_runs([run]))
        self._read()

    def _read_then(self, act: Callable[[], None]) -> None:
        """Read the report again, then do this; at once while the page is hidden."""
        if self.session is None or not self._model.is_shown:
            act()
            return
        if self._reading is not None:  # it may be older than what was done
            self._reading.drop()
            self._reading = None
        self._after_reading = act
        self._read()

    def _newest_removed(self) -> int:
        items = self._model.report.trash.items if self._model.report is not None else []
        return max((item.id for item in items), default=0)

    def _removed_since(self, newest: int) -> list[int]:
        """Numbers of the files in the trash that were removed after this one."""
        items = self._model.report.trash.items if self._model.report is not None else []
        return [item.id for item in items if item.id > newest]
