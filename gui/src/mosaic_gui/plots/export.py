"""A chart as a file: a picture, or its points."""

import csv
from pathlib import Path

from PyQt6.QtGui import QPainter
from PyQt6.QtSvg import QSvgGenerator
from PyQt6.QtWidgets import QFileDialog, QWidget

from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.curves import CurveModel

EXPORTS = ("png", "svg", "csv")


def export_chart(chart: QWidget, model: CurveModel, name: str, kind: str) -> None:
    """Ask where to, and write it there."""
    dialog = QFileDialog(chart, tr("Save {name}", name=name))
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix(kind)
    dialog.setNameFilter(f"*.{kind}")
    dialog.selectFile(f"{name.replace('/', '_')}.{kind}")
    dialog.fileSelected.connect(lambda path: write_chart(chart, model, name, kind, Path(path)))
    dialog.open()


def write_chart(chart: QWidget, model: CurveModel, name: str, kind: str, path: Path) -> None:
    """Write a chart. CSV holds every point, not only those that are drawn."""
    if kind == "png":
        chart.grab().save(str(path), "PNG")
    elif kind == "svg":
        _draw_svg(chart, path)
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(("run", "step", "seconds", name))
            writer.writerows(model.table(name))


def _draw_svg(chart: QWidget, path: Path) -> None:
    # Qt's own: pyqtgraph's exporter stumbles over curves without points
    generator = QSvgGenerator()
    generator.setFileName(str(path))
    generator.setSize(chart.size())
    generator.setViewBox(chart.rect())
    painter = QPainter(generator)
    chart.render(painter)
    painter.end()
