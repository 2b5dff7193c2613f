"""Importance of each parameter as a bar."""

import numpy as np
import pyqtgraph as pg

from mosaic_gui.plots.trial_plot import TrialPlot
from mosaic_gui.state.language import tr
from mosaic_gui.state.trial_points import TrialPoints
from mosaic_gui.theme.apply import current, ui_font
from mosaic_gui.viewmodels.sweeps import SweepsModel

MOST_BARS = 20
LEAST_WIDTH, MOST_WIDTH = 56, 220


class ImportancePlot(TrialPlot):
    """The most important parameter first. The sweep's own process estimates them."""

    def __init__(self, model: SweepsModel) -> None:
        super().__init__(model, "importance", tr("Parameter importance"))
        self._labels: list[pg.TextItem] = []

    def dress(self) -> None:
        self._bars = pg.BarGraphItem(x0=[], y=[], width=[], height=0.6)
        self._item.addItem(self._bars)
        view = self._item.getViewBox()
        view.setMouseEnabled(x=False, y=False)
        view.invertY(True)
        self._item.showGrid(x=False, y=False)
        self._note = pg.TextItem("", anchor=(0.5, 0.5))
        self._note.setFont(ui_font(12))
        self._item.addItem(self._note, ignoreBounds=True)

    def clear(self) -> None:
        self._show({})

    def draw(self, points: TrialPoints) -> None:
        found = self._model.importance
        self._show(found.importances if found is not None else {})

    def _show(self, importances: dict[str, float]) -> None:
        tokens = current()
        shown = sorted(importances.items(), key=lambda pair: -pair[1])[:MOST_BARS]
        shares = np.array([share for _, share in shown])
        rows = np.arange(len(shown), dtype=float)
        self._bars.setOpts(
            x0=np.zeros(len(shown)),
            y=rows,
            width=shares,
            height=0.6,
            brush=tokens.accent,
            pen=pg.mkPen(None),
        )
        for label in self._labels:
            self._item.removeItem(label)
        self._labels = []
        for row, share in enumerate(shares):
            label = pg.TextItem(f"{share:.0%}", tokens.text, anchor=(0, 0.5))
            label.setFont(ui_font(12))
            label.setPos(float(share), row)
            self._item.addItem(label, ignoreBounds=True)
            self._labels.append(label)
        self._left.setTicks([[(row, name) for row, (name, _) in enumerate(shown)]])
        widths = [self._left.text_width(name) for name, _ in shown]
        self._left.setWidth(min(MOST_WIDTH, max(LEAST_WIDTH, 16 + max(widths, default=0))))
        self._note.setText("" if shown else tr("Too few complete trials to estimate it."))
        self._note.setColor(tokens.muted)
        self._note.setPos(0.55, 2.0)
        self._item.setXRange(0.0, max(1e-3, float(shares.max(initial=0.9))) * 1.12, padding=0)
        self._item.setYRange(-0.6, max(4.0, len(shown) - 0.4), padding=0)
