"""Figures of metrics for the columns and the search of the run list."""

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.metric_figures import MAX_METRICS, MetricColumns, MetricNames
from mosaic_contracts.run_search import MetricFigures
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.reply import ApiProblem, ApiReply
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.timers import single_shot_timer
from mosaic_gui.viewmodels.run_list import RunListModel

SETTLE_MS = 100
"""Delay before a request, so that a search that is typed causes few."""
AGAIN_MS = 5_000
"""Interval between requests for runs that go on."""
AT_ONCE = 500
"""Runs in one request."""
NAMES_AGE_MS = 10_000
"""For so long the names of all metrics are not read again."""


class RunFiguresController(Controller):
    """Reads figures of the metrics that the list wants: of ended runs once, of others again and again."""

    names_read = pyqtSignal(list)
    """Names of all metrics."""
    unclear = pyqtSignal(str, list)
    """A word for a metric, and the metrics that it may mean; none: no run has such a metric."""

    def __init__(self, store: Store, model: RunListModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._model = store, model
        self._known: dict[str, set[str]] = {}
        """Ended runs whose figures of a metric were read."""
        self._left: list[str] = []
        """Runs of this round that were not asked for yet."""
        self._words: list[str] = []
        self._only_last = True
        self._reply: ApiReply | None = None
        self._settle = single_shot_timer(self, self._begin, SETTLE_MS)
        self._again = single_shot_timer(self, self._begin, AGAIN_MS)
        self._names_age = single_shot_timer(self, lambda: None, NAMES_AGE_MS)
        model.metrics_wanted.connect(self._on_wanted)

    def attach(self, session: StreamSession) -> None:
        """Read what the list wants already."""
        super().attach(session)
        self._on_wanted()

    def detach(self) -> None:
        """Stop all requests, and forget the figures of this stack."""
        super().detach()
        for timer in (self._settle, self._again, self._names_age):
            timer.stop()
        self._known.clear()
        self._model.forget_figures()
        self._left, self._reply = [], None

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
        if changes.runs and self._model.wanted_metrics and not self._again.isActive():
            self._again.start()

    def read_names(self) -> None:
        """Read the names of all metrics, unless that was done a moment ago."""
        if self.session is not None and not self._names_age.isActive():
            self._names_age.start()
            self.session.api.known_metrics().done.connect(self._on_names)

    def _on_names(self, found: MetricNames) -> None:
        self.names_read.emit(found.names)

    def _on_wanted(self) -> None:
        if self.session is not None and self._model.wanted_metrics:
            self._settle.start()

    def _begin(self) -> None:
        """Begin a round over all runs that lack a figure."""
        self._words = sorted(self._model.wanted_metrics)[:MAX_METRICS]
        if self._only_last and not self._model.needs_only_last:
            self._known.clear()  # only newest values were read
        self._only_last = self._model.needs_only_last
        known = [self._known.setdefault(word, set()) for word in self._words]
        self._left = [
            run_id for run_id in self._model.all_ids if not all(run_id in one for one in known)
        ]
        self._ask()

    def _ask(self) -> None:
        if self.session is None or not self._words or not self._left:
            return
        run_ids, self._left = self._left[:AT_ONCE], self._left[AT_ONCE:]
        reply = self._reply = self.session.api.metric_figures(
            self._words, run_ids, only_last=self._only_last
        )
        reply.done.connect(lambda found: self._on_figures(reply, run_ids, found))
        reply.failed.connect(lambda problem: self._on_problem(reply, problem))

    def _on_figures(self, reply: ApiReply, run_ids: list[str], found: MetricColumns) -> None:
        if reply is not self._reply:
            return  # another round began
        self._reply = None
        figures = {}
        for column in found.columns:
            if len(column.names) != 1:
                self.unclear.emit(column.asked, column.names)
            figures[column.asked] = {
                run_id: MetricFigures(one.last, one.min, one.max, one.mean)
                for run_id, one in column.figures.items()
            }
        runs = self._store.runs
        ended = {
            run_id
            for run_id in run_ids
            if (run := runs.get(run_id)) is not None
            and run.state.is_final
            and not run.telemetry_pending
        }
        for word in figures:
            self._known.setdefault(word, set()).update(ended)
        self._model.take_figures(figures)
        self._ask()

    def _on_problem(self, reply: ApiReply, _problem: ApiProblem) -> None:
        """The columns keep what they have; the next round asks again."""
        if reply is self._reply:
            self._reply = None
            self._again.start()
