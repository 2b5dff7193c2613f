"""Reads the newest metrics of the compared runs while their differences are visible."""

from collections.abc import Sequence
from functools import partial

from PyQt6.QtCore import QObject

from mosaic_contracts.runs import MetricName
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.state.store import Changes
from mosaic_gui.timers import interval_timer, run_while
from mosaic_gui.viewmodels.differences import DifferencesModel

AGAIN_MS = 5_000
"""Interval between requests while a compared run goes on."""


class DifferencesController(Controller):
    """One request for each run, when the tab is shown, while a run goes on, and at its end."""

    def __init__(self, model: DifferencesModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._is_shown = False
        self._read_ids: list[str] = []
        self._again = interval_timer(self, AGAIN_MS, self._read_live)
        model.changed.connect(self._on_changed)

    def attach(self, session: StreamSession) -> None:
        """Read again when the session joins."""
        super().attach(session)
        session.stream.joined.connect(self._read_all)

    def detach(self) -> None:
        """Stop all requests; the session closes after this."""
        super().detach()
        self._again.stop()

    def show(self, shown: bool) -> None:
        """Note whether the differences are visible."""
        self._is_shown = shown
        self._model.set_shown(shown)
        self._read_all()

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
        if not self._is_shown:
            return
        self._model.consume(changes)
        ended = set(self._model.run_ids) & changes.ended
        self._read([run_id for run_id in self._model.run_ids if run_id in ended])

    def _on_changed(self) -> None:
        if self._model.run_ids != self._read_ids:
            self._read_all()
        self._set_timer()

    def _read_all(self) -> None:
        self._read_ids = list(self._model.run_ids)
        self._read(self._read_ids)
        self._set_timer()

    def _read_live(self) -> None:
        self._read(self._live)

    @property
    def _live(self) -> list[str]:
        runs = self.session.store.runs if self.session is not None else {}
        ids = self._model.run_ids
        return [i for i in ids if i in runs and not runs[i].state.is_final]

    def _set_timer(self) -> None:
        run_while(self._again, self._is_shown and bool(self._live))

    def _read(self, run_ids: Sequence[str]) -> None:
        if self.session is None or not self._is_shown:
            return
        for run_id in run_ids:
            reply = self.session.api.metrics(run_id)
            reply.done.connect(partial(self._on_metrics, run_id))

    def _on_metrics(self, run_id: str, found: list[MetricName]) -> None:
        self._model.take_metrics(run_id, {one.name: one.last_value for one in found})
