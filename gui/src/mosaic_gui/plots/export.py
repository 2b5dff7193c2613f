"""A chart as a file: a picture with the names of its curves, or its points."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

from PyQt6.QtCore import QPoint, QRectF, QSize, QStandardPaths, Qt
from PyQt6.QtGui import QColor, QImage, QPainter
from PyQt6.QtSvg import QSvgGenerator
from PyQt6.QtWidgets import QFileDialog, QWidget

from mosaic_gui.plots.curve_items import series_colour
from mosaic_gui.state.language import tr
from mosaic_gui.theme.apply import current, ui_font
from mosaic_gui.viewmodels.curves import CurveModel

EXPORTS = ("png", "svg", "csv")
SCALE = 3
"""Scale of a PNG, for paper and slides."""
_LINE, _MARGIN = 20, 14
Names = Sequence[tuple[str, str]]
"""What a picture shows, and in which colour."""


def export_chart(
    chart: QWidget, model: CurveModel, name: str, kind: str, say: Callable[[str], None]
) -> None:
    """Ask for a file name, write the chart, and show a notice."""
    dialog = QFileDialog(chart, tr("Save {name}", name=name))
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix(kind)
    dialog.setNameFilter(f"*.{kind}")
    places = QStandardPaths.standardLocations(QStandardPaths.StandardLocation.DocumentsLocation)
    known = [folder for folder in [model.saved_in, *places] if folder and Path(folder).is_dir()]
    dialog.setDirectory(known[0] if known else str(Path.home()))
    dialog.selectFile(f"{name.replace('/', '_')}.{kind}")

    def save(path: str) -> None:
        try:
            write_chart(chart, model, name, kind, Path(path))
        except OSError as error:
            why = error.strerror or str(error)
            say(tr("{file} cannot be written: {why}", file=path, why=why))
            return
        model.saved_in = str(Path(path).parent)
        say(tr("{name} is saved as {file}.", name=name, file=path))

    dialog.fileSelected.connect(save)
    dialog.open()


def write_chart(chart: QWidget, model: CurveModel, name: str, kind: str, path: Path) -> None:
    """Write a chart. CSV holds every point, not only those that are drawn.

    Raises:
        OSError: the file cannot be written.
    """
    if kind == "csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(("run", "step", "seconds", name))
            writer.writerows(model.table(name))
        return
    path.touch()  # Qt would say nothing of a place where nothing can be written
    names = [
        (model.group_label(group), series_colour(colour))
        for colour, group in enumerate(model.groups)
    ]
    size = QSize(chart.width(), chart.height() + _LINE * len(names) + _MARGIN)
    if kind == "png":
        image = QImage(size * SCALE, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(SCALE)
        _draw(QPainter(image), chart, size, names)
        if not image.save(str(path), "PNG"):
            raise OSError(tr("the picture could not be written"))
    else:
        # Qt's own: pyqtgraph's exporter stumbles over curves without points
        generator = QSvgGenerator()
        generator.setFileName(str(path))
        generator.setSize(size)
        generator.setViewBox(QRectF(0, 0, size.width(), size.height()))
        _draw(QPainter(generator), chart, size, names)


def _draw(painter: QPainter, chart: QWidget, size: QSize, names: Names) -> None:
    """Draw the chart without buttons, with a legend below."""
    tokens = current()
    painter.fillRect(QRectF(0, 0, size.width(), size.height()), QColor(tokens.surface))
    chart.render(painter, QPoint(0, 0))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setFont(ui_font(12))
    for n, (name, colour) in enumerate(names):
        middle = chart.height() + _LINE * n + _LINE / 2
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colour))
        painter.drawEllipse(QRectF(_MARGIN, middle - 4, 8, 8))
        painter.setPen(QColor(tokens.muted))
        place = QRectF(_MARGIN + 16, middle - _LINE / 2, size.width() - _MARGIN - 20, _LINE)
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, name)
    painter.end()
