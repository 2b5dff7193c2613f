"""Where the user looks closely at a coarse curve, its points are read anew from the stack."""

from functools import partial

from PyQt6.QtCore import QObject, QTimer

from mosaic_contracts.curve_set import CurveSet
from mosaic_gui.app.session import Session
from mosaic_gui.state.store import Changes
from mosaic_gui.viewmodels.curves import Stretch

SETTLE_MS = 120
"""A wheel that still turns is not to ask at each of its steps."""
BEYOND = 0.5
"""Of the width on either side, so that moving a little asks nothing."""
FINER = 4
"""Buckets for each that the width can show: zooming in a little asks nothing, either."""


class Refining(QObject):
    """Gathers what is wanted, and asks for the newest of each curve."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.session: Session | None = None
        self._wanted: dict[tuple[str, str], Stretch] = {}
        self._asked: dict[tuple[str, str], Stretch] = {}
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(SETTLE_MS)
        self._settle.timeout.connect(self._ask)

    def want(self, stretch: Stretch) -> None:
        """This stretch is looked at; what was answered already is not asked for again."""
        key = (stretch.run_id, stretch.name)
        if self._asked.get(key) != stretch:
            self._wanted[key] = stretch
            self._settle.start()

    def stop(self) -> None:
        """Ask nothing more, and forget what was asked."""
        self._settle.stop()
        self._wanted.clear()
        self._asked.clear()

    def _ask(self) -> None:
        wanted, self._wanted = self._wanted, {}
        session = self.session
        if session is None:
            return
        for key, stretch in wanted.items():
            self._asked[key] = stretch
            beyond = round(BEYOND * (stretch.to_step - stretch.from_step))
            bounds = (stretch.from_step - beyond, stretch.to_step + beyond)
            buckets = FINER * stretch.buckets
            reply = session.api.curves(stretch.run_id, [stretch.name], buckets, bounds)
            reply.done.connect(partial(self._on_curves, session))

    def _on_curves(self, session: Session, found: CurveSet) -> None:
        from mosaic_gui.state.coarse import (
            begins_of,
            coarse_of,
        )  # numpy, which the window opens without

        followed = session.store.followed.get(found.run_id)
        for curve in found.curves:
            series = followed.curves.series.get(curve.name) if followed else None
            if series is not None and curve.reduced and session is self.session:
                series.refine(coarse_of(curve), begins_of(curve))
                session.note(Changes(curves=frozenset({found.run_id})))
