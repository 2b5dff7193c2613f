"""Requests of the page `Sweeps`: sweeps, changed trials from a cursor, and what is done with a sweep."""

import itertools
from collections import deque
from functools import partial
from typing import Any

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.runs import RunView
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.sweeps import SweepView, TrialPage
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.run_actions import Say
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.reply import ApiProblem, ApiReply
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.state.store import Changes
from mosaic_gui.timers import single_shot_timer
from mosaic_gui.viewmodels.sweeps import SweepsModel

PAGE = 500
"""Trials of one answer."""
SETTLE_MS = 200
"""Delay after an event, so that many events cause one request."""
RETRY_MS = 3_000
FIRST_FRESH_SEED = 1_000
"""Seeds from here on are fresh, as on the command line, where the sweep itself does not use them."""


class SweepsController(Controller):
    """Reads the chosen sweep while its page is shown. Events say that trials have changed; a cursor says which."""

    made = pyqtSignal(object)
    """A list of new RunViews."""

    def __init__(self, model: SweepsModel, say: Say, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model, self._say = model, say
        self._cursors: dict[str, str] = {}
        """How far the trials of the chosen sweep were read."""
        self._followed = ""
        """The sweep whose events are listened to because of this page."""
        self._reading: ApiReply | None = None
        self._is_old = False
        """Something has changed since the request that is under way."""
        self._unread: deque[str] = deque()
        self._view: ApiReply | None = None
        self._settle = single_shot_timer(self, self._read, SETTLE_MS)
        self._again = single_shot_timer(self, self._read, RETRY_MS)
        model.wanted.connect(self._on_wanted)
        model.stop_wanted.connect(self._on_stop)
        model.resume_wanted.connect(self._on_resume)
        model.train_wanted.connect(self._on_train)

    def attach(self, session: StreamSession) -> None:
        """Use this session until `detach`."""
        super().attach(session)
        session.stream.joined.connect(self._on_joined)

    def detach(self) -> None:
        """Stop all requests, and forget the sweeps of this stack."""
        super().detach()
        self._settle.stop()
        self._again.stop()
        for reply in (self._reading, self._view):
            if reply is not None:
                reply.drop()
        self._reading = self._view = None
        self._followed = ""
        self._cursors.clear()
        self._unread.clear()
        self._model.forget()

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
        self._model.consume(changes)
        if self._model.is_shown:
            self._read_list()
            if self._model.chosen in changes.runs | changes.events:
                self._read_soon()

    def _on_joined(self) -> None:
        """After a lost connection the cursor says what was missed."""
        if self._model.is_shown:
            self._read_soon()

    def _on_wanted(self) -> None:
        if self.session is None or not self._model.is_shown:
            return
        self._listen()
        self._read_list()
        if self._reading is not None:
            self._reading.drop()
            self._reading = None
        self._read()

    def _listen(self) -> None:
        """Listen to the events of the chosen sweep, and of no other one."""
        session, chosen = self.session, self._model.chosen
        if session is None or self._followed == chosen:
            return
        if self._followed:
            session.unfollow(self._followed)
            self._cursors.pop(self._followed, None)
        self._followed = ""
        if chosen and chosen not in session.store.followed:
            self._followed = chosen
            session.listen(chosen)

    def _read_soon(self) -> None:
        self._is_old = True
        if self._reading is None and not self._settle.isActive():
            self._settle.start()

    def _read(self) -> None:
        chosen = self._model.chosen
        if self.session is None or not chosen or self._reading is not None:
            return
        self._is_old = False
        if self._model.spec is None:
            self._take(self.session.api.sweep(chosen), self._on_chosen)
        else:
            self._read_trials(chosen)

    def _read_trials(self, run_id: str) -> None:
        if self.session is not None:
            after = self._cursors.get(run_id, "") if len(self._model.trials) else ""
            reply = self.session.api.sweep_trials(run_id, after, PAGE)
            self._take(reply, partial(self._on_trials, run_id))

    def _take(self, reply: ApiReply, act: Any) -> None:
        self._reading = reply
        reply.done.connect(act)
        reply.failed.connect(self._on_failed)

    def _on_chosen(self, view: SweepView) -> None:
        self._reading = None
        self._model.take_view(view)
        self._read()

    def _on_trials(self, run_id: str, page: TrialPage) -> None:
        self._reading = None
        self._cursors[run_id] = page.cursor
        self._model.take_trials(run_id, page)
        if page.has_more:
            self._read_trials(run_id)
        elif self._is_old:
            self._settle.start()
        else:
            self._read_facts(run_id)

    def _read_facts(self, run_id: str) -> None:
        """Importance is estimated by the sweep's own process, and is part of no trial."""
        if run_id not in self._unread:
            self._unread.append(run_id)
        self._read_view()

    def _on_failed(self, problem: ApiProblem) -> None:
        self._reading = None
        self._model.take_problem(problem.message)
        if problem.is_passing:
            self._again.start()

    def _read_list(self) -> None:
        self._unread += [one for one in self._model.unread if one not in self._unread]
        self._read_view()

    def _read_view(self) -> None:
        if self.session is None or self._view is not None or not self._unread:
            return
        run_id = self._unread.popleft()
        reply = self._view = self.session.api.sweep(run_id)
        reply.done.connect(self._on_view)
        reply.failed.connect(self._on_no_view)

    def _on_view(self, view: SweepView) -> None:
        self._view = None
        self._model.take_view(view)
        self._read_view()

    def _on_no_view(self, _problem: ApiProblem) -> None:
        """A sweep that cannot be read keeps its line, without figures; choosing it says why."""
        self._view = None
        self._read_view()

    def _on_stop(self, run_id: str, let_finish: bool) -> None:
        if self.session is None:
            return
        reply = self.session.api.stop_sweep(run_id, let_finish)
        words = (
            tr("No further trial starts; running trials go on to their end.")
            if let_finish
            else tr("The sweep is stopping, with its running trials …")
        )
        reply.done.connect(lambda _run: self._say(words, "", None))
        self._apply(reply)

    def _on_resume(self, run_id: str, changes: dict[str, Any]) -> None:
        if self.session is None:
            return
        reply = self.session.api.resume_sweep(run_id, changes)
        self._apply(reply)
        reply.done.connect(self._on_resumed)

    def _on_resumed(self, run: RunView) -> None:
        """It goes on as a new run, which has the earlier trials too."""
        self._say(tr("The sweep goes on as {run}.", run=run.name), "", None)
        self._model.choose(run.run_id)

    def _apply(self, reply: ApiReply) -> None:
        reply.done.connect(self._on_run)
        reply.failed.connect(self._on_refused)

    def _on_run(self, run: RunView) -> None:
        if self.session is not None:
            self.session.note(self.session.store.take_runs([run]))

    def _on_refused(self, problem: ApiProblem) -> None:
        self._say(problem.message, "", None)

    def _on_train(self, run_id: str, number: int | None, seeds: int) -> None:
        if self.session is not None:
            reply = self.session.api.sweep_best(run_id, number)
            reply.done.connect(partial(self._train, run_id, seeds))
            reply.failed.connect(self._on_refused)

    def _train(self, run_id: str, count: int, best: RunSpec) -> None:
        if self.session is None:
            return
        spec = self._model.spec
        used = {*(spec.seeds if spec is not None else ()), best.seed}
        fresh = (seed for seed in itertools.count(FIRST_FRESH_SEED) if seed not in used)
        fields = best.model_dump(mode="json", exclude_unset=True)
        made: list[RunView] = []
        for seed in itertools.islice(fresh, count):
            reply = self.session.api.submit({**fields, "seed": seed})
            reply.done.connect(partial(self._on_made, made, count))
            self._apply(reply)

    def _on_made(self, made: list[RunView], count: int, run: RunView) -> None:
        made.append(run)
        if len(made) == count:
            said = tr_n(
                "{n} run with fresh seeds was started.",
                "{n} runs with fresh seeds were started.",
                count,
            )
            ids = [one.run_id for one in made]
            self._say(said, tr("Show"), lambda: self._model.runs_wanted.emit(ids))
            self.made.emit(made)
