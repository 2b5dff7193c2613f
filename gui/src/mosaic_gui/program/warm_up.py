"""Imports numpy and the charts, and makes the watch page, after the first paint of the window."""

import gc
import importlib

from PyQt6.QtCore import QEvent, QObject, QThreadPool, pyqtSignal

from mosaic_contracts.curve_set import CurveSet
from mosaic_contracts.live import Ended, Missed, Snapshot
from mosaic_contracts.manifest import RunManifest
from mosaic_contracts.runs import EpisodePage, EventPage
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.timers import single_shot_timer

REST_MS = 250
"""Delay after the first paint, so that connection and run list come first."""
_MODELS = (Snapshot, CurveSet, EventPage, EpisodePage, RunManifest, Missed, Ended)
_NEEDED = ("mosaic_gui.viewmodels.curve_lines", "mosaic_gui.views.watch_page")

_YOUNGEST = 10_000
"""Allocations before a look at the youngest objects; a tick under load makes some thousands that die at once."""


class WarmUp(QObject):
    """Waits for the window's first paint. Modules are read on a thread of the pool, the page is made on this one."""

    done = pyqtSignal()
    _imported = pyqtSignal()

    def __init__(self, client: DesktopClient, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._client = client
        self._pool = QThreadPool(self)
        self._turn = single_shot_timer(self, self._import)
        self._imported.connect(self._make_page)

    def start(self) -> None:
        """Begin with the next paint of the window."""
        self._client.window.installEventFilter(self)

    def stop(self) -> None:
        """Stop; wait for an import that has begun, because it cannot be cancelled."""
        self._turn.stop()
        self._imported.disconnect()
        self._pool.waitForDone()

    def eventFilter(self, target: QObject | None, event: QEvent | None) -> bool:
        if target is not None and event is not None and event.type() == QEvent.Type.Paint:
            target.removeEventFilter(self)
            self._turn.start(REST_MS)
        return False

    def _import(self) -> None:
        self._pool.start(self._read_modules)

    def _read_modules(self) -> None:
        for name in _NEEDED:
            importlib.import_module(name)
        for model in _MODELS:
            model.model_rebuild()  # a validator is built when it is first used, which takes up to 25 ms
        self._imported.emit()

    def _make_page(self) -> None:
        """Make the page of a watched run, unless a click has made it already."""
        _ = self._client.window.watch
        settle_collector()
        self.done.emit()


def settle_collector() -> None:
    """Leave what exists now (modules, widgets, models) out of all later collections.

    A whole collection of the idle client looks at 70,000 objects and holds the thread for 45 ms, a frame and a half at
    30 a second; afterwards only what came since is looked at.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNGEST, 20, 20)
