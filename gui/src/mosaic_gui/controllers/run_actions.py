"""The user's actions on runs: each sends a request and shows a notice with the result."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.problem_codes import ProblemCode
from mosaic_contracts.runs import RunView
from mosaic_gui.controllers.base import Controller
from mosaic_gui.net.reply import ApiProblem, ApiReply
from mosaic_gui.state.language import tr, tr_n

Say = Callable[[str, str, Callable[[], None] | None], None]


class RunActions(Controller):
    """Stop, delete, tag, run again."""

    made = pyqtSignal(object)
    """A new RunView."""
    stop_refused = pyqtSignal(str)

    def __init__(self, say: Say, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._say = say

    def stop(self, run_ids: Sequence[str]) -> None:
        """Request a stop of these runs at their next safe point."""
        if self.session is None:
            return
        for run_id in run_ids:
            reply = self.session.api.stop_run(run_id)
            reply.done.connect(self._on_run)
            reply.failed.connect(partial(self._on_stop_refused, run_id))
        said = tr_n(
            "{n} run: stopping at a safe point …",
            "{n} runs: stopping at a safe point …",
            len(run_ids),
        )
        self._say(said, "", None)

    def delete(self, run_ids: Sequence[str], force: bool = False) -> None:
        """Delete runs; they can be restored for a day. `force`: although other runs need them, or they are pinned."""
        if self.session is None:
            return
        for run_id in run_ids:
            reply = self.session.api.delete_run(run_id, force=force)
            reply.done.connect(self._on_run)
            reply.failed.connect(partial(self._on_delete_refused, run_id))
        undo = partial(self.restore, tuple(run_ids))
        said = tr_n(
            "{n} run deleted; kept for a day.", "{n} runs deleted; kept for a day.", len(run_ids)
        )
        self._say(said, tr("Undo"), undo)

    def restore(self, run_ids: Sequence[str]) -> None:
        """Restore deleted runs."""
        if self.session is not None:
            for run_id in run_ids:
                reply = self.session.api.restore_run(run_id)
                reply.done.connect(self._on_restored)
                reply.failed.connect(self._on_failed)

    def add_tags(self, run_ids: Sequence[str], tags: Sequence[str]) -> None:
        """Add these tags to each run."""
        session = self.session
        if session is None:
            return
        for run in (session.store.runs.get(run_id) for run_id in run_ids):
            if run is not None:
                whole = list(dict.fromkeys([*run.tags, *tags]))
                self._apply_answer(session.api.patch_run(run.run_id, {"tags": whole}))

    def note(self, run_id: str, words: str) -> None:
        """Save the user's note on a run."""
        if self.session is not None:
            self._apply_answer(self.session.api.patch_run(run_id, {"note": words}))

    def pin(self, run_id: str, pinned: bool) -> None:
        """Keep all files of a run, or let its storage profile apply again."""
        if self.session is not None:
            self._apply_answer(self.session.api.patch_run(run_id, {"pinned": pinned}))

    def again(self, run_id: str, overrides: dict[str, Any]) -> None:
        """Start a copy of this run, with these overrides of its spec."""
        if self.session is None:
            return
        api = self.session.api
        reply = api.clone_run(run_id, overrides) if overrides else api.retry_run(run_id)
        reply.done.connect(self._on_made)
        reply.failed.connect(self._on_failed)

    def resume(self, run_id: str) -> None:
        """Start a new run from the newest checkpoint of this run."""
        if self.session is not None:
            reply = self.session.api.resume_run(run_id)
            reply.done.connect(self._on_made)
            reply.failed.connect(self._on_failed)

    def play(self, run_id: str, checkpoint: str, fields: dict[str, Any]) -> None:
        """Start a run in which a checkpoint of this run acts."""
        if self.session is not None:
            reply = self.session.api.play_run(run_id, checkpoint, fields)
            reply.done.connect(self._on_made)
            reply.failed.connect(self._on_failed)

    def _apply_answer(self, reply: ApiReply) -> None:
        reply.done.connect(self._on_run)
        reply.failed.connect(self._on_failed)

    def _on_run(self, run: RunView) -> None:
        if self.session is not None:
            self.session.note(self.session.store.take_runs([run]))

    def _on_restored(self, run: RunView) -> None:
        self._on_run(run)
        self._say(tr("Restored: {run}", run=run.name), "", None)

    def _on_made(self, run: RunView) -> None:
        self._on_run(run)
        self.made.emit(run)

    def _on_stop_refused(self, run_id: str, problem: ApiProblem) -> None:
        self._on_failed(problem)
        self.stop_refused.emit(run_id)

    def _on_delete_refused(self, run_id: str, problem: ApiProblem) -> None:
        if problem.problem is None or problem.problem.code != ProblemCode.RUN_NEEDED:
            self._on_failed(problem)
            return
        self._say(
            problem.message, tr("Delete it all the same"), partial(self.delete, [run_id], True)
        )

    def _on_failed(self, problem: ApiProblem) -> None:
        self._say(problem.message, "", None)
