"""Requests of the checkpoint browser: pages of the list, trends of runs in sight, hashes, and evaluations."""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from PyQt6.QtCore import QObject

from mosaic_contracts.checkpoint_words import CheckpointState
from mosaic_contracts.checkpoints import CheckpointPage, CheckpointRow
from mosaic_contracts.curve_set import EPISODE_RETURN, CurveSet
from mosaic_contracts.runs import RunView
from mosaic_contracts.spec import RunKind
from mosaic_contracts.states import RunState
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.run_actions import Say
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.reply import ApiProblem, ApiReply
from mosaic_gui.state import run_row
from mosaic_gui.state.checkpoint_texts import FileCheck
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.state.reward_trend import POINTS, RewardTrend, trend_of
from mosaic_gui.state.store import Changes
from mosaic_gui.timers import single_shot_timer
from mosaic_gui.viewmodels.checkpoints import CheckpointsModel

FIRST_PAGE, PAGE = 60, 500
"""Checkpoints of the first page, which fills a window, and of each further one."""
MOST_PAGES = 500
SETTLE_MS = 500
"""Delay before changed runs are read, so that many changes cause one request."""
MOST_CHANGED = 20
"""Runs that are read by themselves; of more the whole list is read."""
TRENDS_AT_ONCE = 2


class CheckpointBrowserController(Controller):
    """Reads the whole list when the page is first shown, and afterwards the checkpoints of changed runs."""

    def __init__(
        self,
        model: CheckpointsModel,
        say: Say,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._model, self._say = model, say
        self._reply: ApiReply | None = None
        self._pages = 0
        self._is_old = True
        """The whole list is to be read."""
        self._changed: set[str] = set()
        """Runs whose checkpoints are to be read."""
        self._counts: dict[str, tuple[int, bool]] = {}
        """Checkpoints that each run had when they were read, and whether it had ended."""
        self._settle = single_shot_timer(self, self._read, SETTLE_MS)
        self._trends: deque[str] = deque()
        self._reading_trends: set[str] = set()
        self._checks: deque[FileCheck] = deque()
        self._checked = self._to_check = 0
        self._check: ApiReply | None = None
        self._wrong = 0
        self._evaluations: set[str] = set()
        """Evaluations that were started here."""
        model.wanted.connect(self._read)
        model.trends_wanted.connect(self._on_trends_wanted)
        model.check_wanted.connect(self._on_check_wanted)
        model.check_cancelled.connect(self._on_check_cancelled)
        model.evaluation_wanted.connect(self._on_evaluation_wanted)
        model.pin_wanted.connect(self._on_pin_wanted)

    def _on_pin_wanted(self, run_id: str, paths: Sequence[str]) -> None:
        if self.session is not None:
            reply = self.session.api.patch_run(run_id, {"pinned_files": list(paths)})
            reply.done.connect(self._on_pinned)
            reply.failed.connect(lambda problem: self._say(problem.message, "", None))

    def _on_pinned(self, run: RunView) -> None:
        if self.session is not None:
            self.session.note(self.session.store.take_runs([run]))

    def attach(self, session: StreamSession) -> None:
        """Use this session until `detach`."""
        super().attach(session)
        session.stream.joined.connect(self._on_joined)

    def detach(self) -> None:
        """Stop all requests, and forget the checkpoints of this stack."""
        super().detach()
        self._settle.stop()
        self._drop(self._reply)
        self._drop(self._check)
        self._reply = self._check = None
        self._is_old = True
        for known in (self._changed, self._reading_trends, self._evaluations):
            known.clear()
        self._counts.clear()
        self._trends.clear()
        self._checks.clear()
        self._model.forget()

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
        self._model.consume(changes)
        if self.session is None:
            return
        for run_id in changes.runs:
            self._look_at(self.session.store.runs.get(run_id))
        if changes.removed and self._model.is_read and self._model.forget_runs(changes.removed):
            self._is_old = True
        if (self._changed or self._is_old) and self._model.is_shown and self._model.is_read:
            self._read_soon()

    def _look_at(self, run: RunView | None) -> None:
        if run is None:
            return
        if run.spec.kind is RunKind.EVALUATE:
            self._look_at_evaluation(run)
        stands = _stands(run)
        if stands[0] and self._counts.get(run.run_id) != stands:
            self._counts[run.run_id] = stands
            self._changed.add(run.run_id)

    def _look_at_evaluation(self, run: RunView) -> None:
        """The checkpoint has its result once the evaluation has ended and is in the store."""
        if not run.state.is_final or run.telemetry_pending:
            return
        if run.spec.parent:
            self._changed.add(run.spec.parent)
        if run.run_id not in self._evaluations:
            return
        self._evaluations.discard(run.run_id)
        if run.state is not RunState.SUCCEEDED and run.end is not None:
            words = tr("The evaluation has no result: {why}", why=run.end.message)
            self._say(words, tr("Show the run"), partial(self._model.run_wanted.emit, run.run_id))

    def _on_joined(self) -> None:
        """After a lost connection nobody knows what was missed."""
        self._is_old = True
        if self._model.is_shown:
            self._read_soon()

    def _read_soon(self) -> None:
        if not self._settle.isActive():
            self._settle.start()

    def _read(self) -> None:
        if self.session is None or not self._model.is_shown or self._reply is not None:
            return
        if self._is_old or len(self._changed) > MOST_CHANGED:
            self._is_old, self._pages = False, 0
            self._changed.clear()
            runs = self.session.store.runs
            self._counts = {run_id: _stands(run) for run_id, run in runs.items()}
            self._model.begin_reading()
            self._read_page(None)
        elif self._changed:
            run_ids = sorted(self._changed)
            self._changed.clear()
            self._read_runs(run_ids, [], None)

    def _read_page(self, cursor: str | None) -> None:
        if self.session is not None:
            self._pages += 1
            size = FIRST_PAGE if cursor is None else PAGE
            self._ask(self.session.api.checkpoints(cursor, size), self._on_page)

    def _on_page(self, page: CheckpointPage) -> None:
        goes_on = bool(page.next_cursor and page.checkpoints and self._pages < MOST_PAGES)
        self._model.take_page(page.checkpoints, is_last=not goes_on)
        if goes_on:
            self._read_page(page.next_cursor)
        else:
            self._read()

    def _read_runs(self, run_ids: list[str], rows: list[CheckpointRow], cursor: str | None) -> None:
        if self.session is not None:
            reply = self.session.api.checkpoints(cursor, PAGE, run_ids)
            self._ask(reply, partial(self._on_runs, run_ids, rows))

    def _on_runs(self, run_ids: list[str], rows: list[CheckpointRow], page: CheckpointPage) -> None:
        rows += page.checkpoints
        if page.next_cursor and page.checkpoints:
            self._read_runs(run_ids, rows, page.next_cursor)
        else:
            self._model.take_runs(run_ids, rows)
            self._read()

    def _ask(self, reply: ApiReply, take: Callable[[CheckpointPage], None]) -> None:
        self._reply = reply
        reply.done.connect(partial(self._on_answer, take))
        reply.failed.connect(self._on_failed)

    def _on_answer(self, take: Callable[[CheckpointPage], None], page: CheckpointPage) -> None:
        self._reply = None
        take(page)

    def _on_failed(self, problem: ApiProblem) -> None:
        """What was read stays, and everything is read again when the page is next shown or the stack is back."""
        self._reply, self._is_old = None, True
        self._model.take_problem(problem.message)

    def _on_trends_wanted(self, run_ids: Sequence[str]) -> None:
        """Read trends of what is in sight now; those that were in sight before are not read any more."""
        self._trends = deque(one for one in run_ids if one not in self._reading_trends)
        self._read_trends()

    def _read_trends(self) -> None:
        while self._trends and len(self._reading_trends) < TRENDS_AT_ONCE:
            run_id = self._trends.popleft()
            if self.session is None:
                return
            self._reading_trends.add(run_id)
            reply = self.session.api.curves(run_id, [EPISODE_RETURN], POINTS)
            reply.done.connect(partial(self._on_trend, run_id))
            reply.failed.connect(lambda _problem, run_id=run_id: self._take_trend(run_id, RewardTrend()))  # fmt: skip

    def _on_trend(self, run_id: str, found: CurveSet) -> None:
        self._take_trend(run_id, trend_of(found))

    def _take_trend(self, run_id: str, trend: RewardTrend) -> None:
        self._reading_trends.discard(run_id)
        self._model.take_trend(run_id, trend)
        self._read_trends()

    def _on_check_wanted(self, checks: Sequence[FileCheck]) -> None:
        if self.session is not None:
            self._checks = deque(checks)
            self._checked = self._wrong = 0
            self._to_check = sum(check.files for check in checks)
            self._check_next()

    def _check_next(self) -> None:
        if self.session is None:
            return
        if not self._checks:
            self._end_check()
            return
        self._model.take_check_progress(self._checked, self._to_check)
        check = self._checks.popleft()
        self._check = self.session.api.verify_checkpoints(check.run_id, check.path)
        self._check.done.connect(partial(self._on_checked, check))
        self._check.failed.connect(self._on_not_checked)

    def _on_checked(self, check: FileCheck, rows: Sequence[CheckpointRow]) -> None:
        self._check = None
        self._checked += check.files
        self._wrong += sum(_is_wrong(row) for row in rows)
        self._model.take_checked(rows, run_row.now())
        self._check_next()

    def _on_not_checked(self, problem: ApiProblem) -> None:
        self._check = None
        self._checks.clear()
        self._model.end_check()
        self._say(problem.message, "", None)

    def _on_check_cancelled(self) -> None:
        self._drop(self._check)
        self._check = None
        if self._to_check:
            self._checks.clear()
            self._model.end_check()
            words = tr_n(
                "Cancelled; {n} checkpoint was compared.",
                "Cancelled; {n} checkpoints were compared.",
                self._checked,
            )
            self._say(words, "", None)

    def _end_check(self) -> None:
        self._model.end_check()
        wrong = tr_n("{n} is altered or missing.", "{n} are altered or missing.", self._wrong)
        words = tr_n(
            "{n} checkpoint compared with its recorded hash.",
            "{n} checkpoints compared with their recorded hashes.",
            self._checked,
        )
        self._say(f"{words} {wrong}" if self._wrong else words, "", None)

    def _on_evaluation_wanted(self, run_id: str, path: str, fields: dict[str, Any]) -> None:
        if self.session is not None:
            reply = self.session.api.play_run(run_id, path, fields)
            reply.done.connect(self._on_evaluation)
            reply.failed.connect(lambda problem: self._say(problem.message, "", None))

    def _on_evaluation(self, run: RunView) -> None:
        self._evaluations.add(run.run_id)
        if self.session is not None:
            self.session.note(self.session.store.take_runs([run]))
        words = tr_n(
            "Evaluating in {n} episode. The card shows the result.",
            "Evaluating in {n} episodes. The card shows the result.",
            run.spec.episodes or 0,
        )
        self._say(words, tr("Show the run"), partial(self._model.run_wanted.emit, run.run_id))

    @staticmethod
    def _drop(reply: ApiReply | None) -> None:
        if reply is not None:
            reply.drop()


def _stands(run: RunView) -> tuple[int, bool]:
    return run.summary.checkpoints if run.summary is not None else 0, run.state.is_final


def _is_wrong(row: CheckpointRow) -> bool:
    return row.state in (CheckpointState.ALTERED, CheckpointState.MISSING)
