"""Where the user zooms into a downsampled curve, its points are read again from the stack."""

from functools import partial

from PyQt6.QtCore import QObject

from mosaic_contracts.curve_set import CurveSet
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.state.store import Changes
from mosaic_gui.timers import single_shot_timer
from mosaic_gui.viewmodels.curves import Stretch

SETTLE_MS = 120
"""Delay before a request, so that a turning mouse wheel sends one request."""
BEYOND = 0.5
"""Share of the width that is read on either side, so that a small move needs no request."""
FINER = 4
"""Buckets requested for each visible one, so that a small zoom needs no request."""


class CurveRefiner(Controller):
    """Gathers requested stretches, and reads the newest one of each curve."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._wanted: dict[tuple[str, str], Stretch] = {}
        self._asked: dict[tuple[str, str], Stretch] = {}
        self._settle = single_shot_timer(self, self._ask, SETTLE_MS)

    def want(self, stretch: Stretch) -> None:
        """Request this stretch of a curve, unless it was requested before."""
        key = (stretch.run_id, stretch.name)
        if self._asked.get(key) != stretch:
            self._wanted[key] = stretch
            self._settle.start()

    def detach(self) -> None:
        """Stop all requests, and forget what was asked."""
        super().detach()
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

    def _on_curves(self, session: StreamSession, found: CurveSet) -> None:
        from mosaic_gui.state.downsampling import (
            pass_begins,
            reduced_points,
        )  # numpy, which the window opens without

        followed = session.store.followed.get(found.run_id)
        for curve in found.curves:
            series = followed.curves.series.get(curve.name) if followed else None
            if series is not None and curve.reduced and session is self.session:
                series.refine(reduced_points(curve), pass_begins(curve))
                session.note(Changes(curves=frozenset({found.run_id})))
