"""The user's actions on runs: each sends a request and shows a notice with the result."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.groups import GroupView
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
    undo_changed = pyqtSignal()
    """Whether a deletion can be undone changed."""

    def __init__(self, say: Say, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._say = say
        self._deletions: list[Callable[[], None]] = []
        """What undoes each deletion of this session, the last one at the end."""
        self._notes_under_way = 0
        self._after_notes: Callable[[], None] | None = None

    def detach(self) -> None:
        """Forget the deletions of this stack."""
        super().detach()
        self._notes_under_way = 0
        self._deletions.clear()
        self.undo_changed.emit()

    @property
    def can_undo(self) -> bool:
        """Whether there is a deletion to undo."""
        return bool(self._deletions)

    def undo(self) -> None:
        """Undo the last deletion."""
        if self._deletions:
            self._deletions[-1]()

    def _note_deletion(self, said: str, restore: Callable[[], None]) -> None:
        """Offer to undo a deletion, in a notice and by the key, once."""

        def undo() -> None:
            if undo in self._deletions:
                self._deletions.remove(undo)
                self.undo_changed.emit()
            restore()

        self._deletions.append(undo)
        self.undo_changed.emit()
        self._say(said, tr("Undo"), undo)

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
        said = tr_n(
            "{n} run deleted; kept for a day.", "{n} runs deleted; kept for a day.", len(run_ids)
        )
        self._note_deletion(said, partial(self.restore, tuple(run_ids)))

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

    def remove_tag(self, run_ids: Sequence[str], tag: str) -> None:
        """Remove a tag from each run that has it."""
        session = self.session
        if session is None:
            return
        for run in (session.store.runs.get(run_id) for run_id in run_ids):
            if run is not None and tag in run.tags:
                rest = [one for one in run.tags if one != tag]
                self._apply_answer(session.api.patch_run(run.run_id, {"tags": rest}))

    def rename(self, run_id: str, name: str) -> None:
        """Give a run another name."""
        session = self.session
        run = session.store.runs.get(run_id) if session is not None else None
        if session is None or run is None:
            return
        before = run.name
        reply = session.api.patch_run(run_id, {"name": name})
        reply.done.connect(self._on_run)
        reply.failed.connect(self._on_failed)
        said = tr("Renamed: {name}", name=name)
        reply.done.connect(
            lambda _run: self._say(said, tr("Undo"), partial(self._put_name, run_id, before))
        )

    def _put_name(self, run_id: str, name: str) -> None:
        if self.session is not None:
            self._apply_answer(self.session.api.patch_run(run_id, {"name": name}))

    def retry(self, run_ids: Sequence[str]) -> None:
        """Start runs once more; one alone is then opened."""
        if len(run_ids) == 1:
            self.again(run_ids[0], {})
        elif self.session is not None:
            for run_id in run_ids:
                self._apply_answer(self.session.api.retry_run(run_id))
            said = tr_n("{n} run starts once more.", "{n} runs start once more.", len(run_ids))
            self._say(said, "", None)

    def pin_all(self, run_ids: Sequence[str], pinned: bool) -> None:
        """Keep all files of these runs, or let their storage profiles apply again."""
        for run_id in run_ids:
            self.pin(run_id, pinned)

    def stop_groups(self, group_ids: Sequence[str]) -> None:
        """Request a stop of all runs of these groups, those that wait first."""
        if self.session is None:
            return
        for group_id in group_ids:
            self.session.api.stop_group(group_id).failed.connect(self._on_failed)
        said = tr_n(
            "{n} group: stopping at a safe point …",
            "{n} groups: stopping at a safe point …",
            len(group_ids),
        )
        self._say(said, "", None)

    def retry_groups(self, group_ids: Sequence[str]) -> None:
        """Start once more what failed in these groups."""
        if self.session is None:
            return
        for group_id in group_ids:
            reply = self.session.api.retry_group(group_id)
            reply.done.connect(self._on_group_retried)
            reply.failed.connect(self._on_failed)

    def _on_group_retried(self, group: GroupView) -> None:
        self._say(tr("{group}: what failed starts once more.", group=group.name), "", None)

    def delete_groups(self, group_ids: Sequence[str]) -> None:
        """Delete all runs of these groups; they can be restored for a day."""
        if self.session is None:
            return
        for group_id in group_ids:
            reply = self.session.api.delete_group(group_id)
            reply.done.connect(self._on_group_deleted)
            reply.failed.connect(self._on_failed)

    def _on_group_deleted(self, group: GroupView) -> None:
        if self.session is not None:
            self.session.note(self.session.store.forget_runs(group.run_ids))
        said = tr("Group {group} deleted; kept for a day.", group=group.name)
        self._note_deletion(said, partial(self._restore_group, group.group_id))

    def _restore_group(self, group_id: str) -> None:
        if self.session is not None:
            reply = self.session.api.restore_group(group_id)
            reply.done.connect(self._on_group_restored)
            reply.failed.connect(self._on_failed)

    def _on_group_restored(self, group: GroupView) -> None:
        self._say(tr("Restored: {run}", run=group.name), "", None)

    def note(self, run_id: str, words: str) -> None:
        """Save the user's note on a run, and offer to undo it."""
        session = self.session
        run = session.store.runs.get(run_id) if session is not None else None
        if session is None or run is None:
            self._say(tr("The note is not saved: the stack does not answer."), "", None)
            return
        if run.note == words:
            return
        before = run.note
        self._notes_under_way += 1
        reply = session.api.patch_run(run_id, {"note": words})
        reply.done.connect(self._on_run)
        reply.failed.connect(self._on_failed)
        reply.done.connect(
            lambda _run: self._say(
                tr("Note saved."), tr("Undo"), partial(self._put_note, run_id, before)
            )
        )
        for ended in (reply.done, reply.failed):
            ended.connect(self._on_note_ended)

    def when_noted(self, then: Callable[[], None]) -> None:
        """Call this once no note is being saved; at once where none is."""
        if self._notes_under_way:
            self._after_notes = then
        else:
            then()

    def _on_note_ended(self, _answer: object) -> None:
        self._notes_under_way -= 1
        if self._notes_under_way == 0 and self._after_notes is not None:
            then, self._after_notes = self._after_notes, None
            then()

    def _put_note(self, run_id: str, words: str) -> None:
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
