"""Opens the runs of the last session when the watch page is shown first."""

from collections.abc import Callable

from PyQt6.QtCore import QObject

from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.preferences import PreferenceStore
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.controllers.watch import WatchController
from mosaic_gui.viewmodels.watch import WatchModel


class LastWatched(Controller):
    """Remembers which runs are watched, and watches them again where the page would be empty."""

    def __init__(
        self,
        model: WatchModel,
        watch: WatchController,
        preferences: PreferenceStore,
        is_shown: Callable[[], bool],
        parent: QObject | None = None,
    ) -> None:
        """`is_shown`: whether the watch page is in sight."""
        super().__init__(parent)
        self._model, self._watch, self._preferences = model, watch, preferences
        self._is_shown = is_shown
        model.run_replaced.connect(self._keep)

    def attach(self, session: StreamSession) -> None:
        """Use this session; its runs may have been watched before."""
        super().attach(session)
        session.runs_read.connect(self.reopen)

    def reopen(self) -> None:
        """Watch the runs of the last session that there still are, unless a run is watched."""
        if self.session is None or self._model.run_id or not self._is_shown():
            return
        known = self.session.store.runs
        run_ids = [run_id for run_id in self._preferences.memory.watched if run_id in known]
        if run_ids:
            self._watch.watch(run_ids)

    def _keep(self) -> None:
        if self._model.run_id:
            self._preferences.remember_watched(self._model.ordered_ids)
