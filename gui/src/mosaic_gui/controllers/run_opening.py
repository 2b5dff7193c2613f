"""Opens a run: curves from the store, live events from where these end, then older events by pages.

The first charts come in one answer, whatever the length of the run. No answer is so long that reading it stops the
window, and pages of what no chart waits for come with a pause in between.
"""

from functools import partial

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.cursor import Cursor, format_cursor, parse_cursor
from mosaic_contracts.curve_set import EPISODE_CURVES, CurveSet
from mosaic_contracts.live import ALL_EXTRAS, DEFAULT_TYPES
from mosaic_contracts.runs import EventPage
from mosaic_gui.net.api import ApiClient
from mosaic_gui.net.reply import ApiProblem, ApiReply
from mosaic_gui.state.store import Store
from mosaic_gui.timers import single_shot_timer
from mosaic_gui.viewmodels.curves import first_charts

BUCKETS = 1_000
"""Buckets of a series that is too long to be sent whole: more than a chart has pixels."""
CURVES_A_PAGE = 6
PAGE_EVENTS = 300
PAUSE_MS = 15
RETRY_MS = 3_000
_IN_CURVES = ("metric", "episode")
_FACTS = tuple(kind for kind in DEFAULT_TYPES if kind not in (*_IN_CURVES, ALL_EXTRAS))


class RunOpening(QObject):
    """One run that is being opened. It ends by itself."""

    noted = pyqtSignal(object)
    """Changes of the store."""
    ready = pyqtSignal(object)
    """The Follower from which live events go on."""

    def __init__(
        self, run_id: str, api: ApiClient, store: Store, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._run_id, self._api, self._store = run_id, api, store
        self._ends: list[Cursor] = []
        self._end: Cursor = {}
        self._awaited: set[ApiReply] = set()
        self._retry = single_shot_timer(self, self.start, RETRY_MS)
        self._pause = single_shot_timer(self, self._read_past)
        self._types: tuple[str, ...] = _FACTS
        self._cursor = ""

    def start(self) -> None:
        """Request the names of the run's curves."""
        self._ends = []
        reply = self._api.curves(self._run_id, [], BUCKETS)
        reply.done.connect(self._on_names)
        reply.failed.connect(self._on_failed)
        self._awaited = {reply}

    def stop(self) -> None:
        """Cancel all requests."""
        self._retry.stop()
        self._pause.stop()
        for reply in self._awaited:
            reply.drop()
        self._awaited = set()

    def _on_names(self, found: CurveSet) -> None:
        self._awaited = set()
        if not found.names:
            # it has nothing to draw yet, so it has few events
            self.ready.emit(self._store.begin_again(self._run_id))
            return
        for names in _pages(found.names):
            reply = self._api.curves(self._run_id, names, BUCKETS)
            reply.done.connect(partial(self._on_curves, reply))
            reply.failed.connect(self._on_failed)
            self._awaited.add(reply)

    def _on_curves(self, reply: ApiReply, found: CurveSet) -> None:
        self._awaited.discard(reply)
        try:
            changes = self._store.begin_curves(self._run_id, found.curves, found.cursor)
            self._ends.append(parse_cursor(found.cursor))
        except ValueError:
            self._on_failed(None)
            return
        self.noted.emit(changes)
        if not self._awaited:
            self._go_live()

    def _on_failed(self, problem: ApiProblem | None) -> None:
        """Try again after a passing problem; otherwise read the whole run as events."""
        self.stop()
        if problem is not None and problem.is_passing:
            self._retry.start()
        else:
            self.ready.emit(self._store.begin_again(self._run_id))

    def _go_live(self) -> None:
        # pages are of different moments; what lies between is taken where it is new
        keys = set.intersection(*(set(end) for end in self._ends))
        self._end = {key: min(end[key] for end in self._ends) for key in keys}
        self.ready.emit(self._store.go_on_from(self._run_id, format_cursor(self._end)))
        self._read_past()

    def _read_past(self) -> None:
        reply = self._api.events(self._run_id, self._cursor, self._types, PAGE_EVENTS)
        self._awaited = {reply}
        reply.done.connect(self._on_past)
        reply.failed.connect(self._on_no_past)

    def _on_past(self, page: EventPage) -> None:
        self._awaited = set()
        old = [event for event in page.events if self._is_past(event)]
        self.noted.emit(self._store.take_past(self._run_id, old))
        reached = parse_cursor(page.cursor)
        behind = any(reached.get(key, 0) < seq for key, seq in self._end.items())
        if page.has_more and behind:
            self._cursor = page.cursor
        elif self._types == _FACTS:
            self._types, self._cursor = (ALL_EXTRAS,), ""
        else:
            return
        self._pause.start(PAUSE_MS)

    def _on_no_past(self, problem: ApiProblem) -> None:
        """Curves and live events are there; the page is requested again after a while."""
        self._awaited = set()
        if problem.is_passing:
            self._pause.start(RETRY_MS)

    def _is_past(self, event: dict[str, object]) -> bool:
        key = (int(str(event["attempt"])), str(event["source"]))
        return int(str(event["seq"])) <= self._end.get(key, 0)


def _pages(names: list[str]) -> list[list[str]]:
    """Names by page: the charts shown first, then curves of episodes (slower in the store), then the rest."""
    first = [name for name in first_charts(names) if name not in EPISODE_CURVES]
    episodes = [name for name in names if name in EPISODE_CURVES]
    rest = [name for name in names if name not in (*first, *episodes)]
    pages = [first, episodes]
    pages += [rest[n : n + CURVES_A_PAGE] for n in range(0, len(rest), CURVES_A_PAGE)]
    return [page for page in pages if page]
