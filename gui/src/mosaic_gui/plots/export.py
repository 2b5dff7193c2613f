"""A chart as a file: a figure for a paper, or its points."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

from PyQt6.QtCore import QMarginsF, QRectF, QSize, QSizeF, QStandardPaths
from PyQt6.QtGui import QImage, QPageSize, QPainter, QPdfWriter
from PyQt6.QtSvg import QSvgGenerator
from PyQt6.QtWidgets import QFileDialog, QWidget

from mosaic_gui.plots.axis_words import AXIS_TITLES
from mosaic_gui.plots.paper_figure import BUCKETS, Figure
from mosaic_gui.state.language import tr, tr_mark
from mosaic_gui.viewmodels.curves import CurveModel

EXPORTS = ("pdf", "svg", "png", "csv")
DPI, PT_PER_INCH = 300, 72
"""Resolution of a PNG and of the numbers in a PDF."""
Y_MARGIN = 0.08
"""Free space above and below the values, as a share of their height."""


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
            write_chart(model, name, kind, Path(path))
        except OSError as error:
            why = error.strerror or str(error)
            say(tr("{file} cannot be written: {why}", file=path, why=why))
            return
        model.saved_in = str(Path(path).parent)
        say(tr("{name} is saved as {file}.", name=name, file=path))

    dialog.fileSelected.connect(save)
    dialog.open()


def write_chart(model: CurveModel, name: str, kind: str, path: Path) -> None:
    """Write a chart. A figure shows what the chart shows; CSV has every point, also those that are not drawn.

    Raises:
        OSError: the file cannot be written.
    """
    if kind == "csv":
        _write_table(model, name, path)
        return
    figure = figure_of(model, name)
    if figure is None:
        raise OSError(tr("the chart has no points yet"))
    path.touch()  # Qt reports no error for a place where nothing can be written
    writers = {"pdf": _write_pdf, "svg": _write_svg, "png": _write_png}
    writers[kind](figure, path)


def figure_of(model: CurveModel, name: str) -> Figure | None:
    """The figure of a chart with the stretch and the limits that are on the screen; None without points."""
    span = model.span
    if span is None or model.extent(name) is None:
        return None
    drawn = model.drawn(name, *span, BUCKETS)
    limits = model.value_limits(name, drawn, *span)
    if limits is None:
        return None
    margin = Y_MARGIN * (limits[1] - limits[0])
    entries = zip(model.groups, model.legend, strict=False)  # no legend of a single curve
    names = [entry for group, entry in entries if group[0] not in model.view.hidden]
    return Figure(
        drawn=drawn,
        names=names,
        x_span=span,
        y_span=(limits[0] - margin, limits[1] + margin),
        axis=model.axis,
        x_title=tr_mark(AXIS_TITLES[model.axis]),
        y_title=name,
        log_scale=model.log_scale,
    )


def _write_table(model: CurveModel, name: str, path: Path) -> None:
    """Write a row for each point, with the full id of its run and the parameters that the run was given."""
    table = model.points_table(name)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        facts = ("run_id", "run", "worker", "algorithm", "environment", "seed")
        writer.writerow((*facts, *table.parameters, "step", "seconds", name))
        for run in table.runs:
            given = [_cell(run.parameters.get(key)) for key in table.parameters]
            head = (run.run_id, run.name, run.worker, run.algorithm, run.environment, run.seed)
            writer.writerows((*head, *given, *point) for point in run.points)


def _cell(value: object) -> object:
    """A parameter in a cell: nothing where the run has none of this name, and JSON for lists and tables."""
    if value is None:
        return ""
    return value if isinstance(value, str | int | float) else json.dumps(value)


def _write_pdf(figure: Figure, path: Path) -> None:
    writer = QPdfWriter(str(path))
    writer.setResolution(DPI)
    writer.setPageSize(QPageSize(figure.size, QPageSize.Unit.Point))
    writer.setPageMargins(QMarginsF(0, 0, 0, 0))
    writer.setTitle(figure.y_title)
    painter = QPainter(writer)
    painter.scale(DPI / PT_PER_INCH, DPI / PT_PER_INCH)
    figure.paint(painter)
    painter.end()


def _write_svg(figure: Figure, path: Path) -> None:
    # Qt's own: pyqtgraph's exporter fails for curves without points
    generator = QSvgGenerator()
    generator.setFileName(str(path))
    generator.setResolution(PT_PER_INCH)
    generator.setSize(_whole(figure.size))
    generator.setViewBox(QRectF(0, 0, figure.size.width(), figure.size.height()))
    generator.setTitle(figure.y_title)
    painter = QPainter(generator)
    figure.paint(painter)
    painter.end()


def _write_png(figure: Figure, path: Path) -> None:
    scale = DPI / PT_PER_INCH
    image = QImage(_whole(figure.size * scale), QImage.Format.Format_RGB32)
    image.setDotsPerMeterX(round(DPI / 0.0254))
    image.setDotsPerMeterY(round(DPI / 0.0254))
    painter = QPainter(image)
    painter.scale(scale, scale)
    figure.paint(painter)
    painter.end()
    if not image.save(str(path), "PNG"):
        raise OSError(tr("the picture could not be written"))


def _whole(size: QSizeF) -> QSize:
    return QSize(round(size.width()), round(size.height()))
