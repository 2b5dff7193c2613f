"""Charts as files: figures for a paper, and points with the facts of their runs."""

import csv
from pathlib import Path

import pytest
from PyQt6.QtCore import QSize
from PyQt6.QtGui import QColor, QImage
from PyQt6.QtPdf import QPdfDocument
from pytestqt.qtbot import QtBot
from tests.specimen import metrics, run, run_id
from tests.views.test_watch_page import Shown

from mosaic_gui.plots.export import EXPORTS, figure_of, write_chart
from mosaic_gui.theme.tokens import LIGHT

NAME = "losses/a"


@pytest.fixture
def shown(qtbot: QtBot) -> Shown:
    """Two runs of different learning rates, in the dark theme."""
    made = Shown()
    qtbot.addWidget(made.page)
    rates = (0.001, 0.01)
    runs = [run(n, spec={"parameters": {"lr": rate}}) for n, rate in enumerate(rates)]
    made.store.replace_runs(runs)
    for n in range(2):
        made.store.follow(run_id(n))
        made.store.apply(metrics(1, NAME, [float(n), 5.0, 2.0 + n], n))
    made.model.watch(run_id(0), [run_id(1)])
    return made


def test_a_figure_is_for_paper(shown: Shown, tmp_path: Path) -> None:
    """White ground and the dark colours of the light theme, whatever the window has; 300 dots an inch."""
    write_chart(shown.model, NAME, "png", tmp_path / "a.png")
    picture = QImage(str(tmp_path / "a.png"))
    assert picture.width() == 1800
    assert round(picture.dotsPerMeterX() * 0.0254) == 300
    assert picture.pixelColor(2, 2) == QColor("#ffffff")
    seen = {picture.pixelColor(x, y).name() for x in range(0, 1800, 3) for y in range(0, 900, 3)}
    assert set(LIGHT.series[:2]) <= seen


def test_vectors_stay_vectors(shown: Shown, tmp_path: Path) -> None:
    """An SVG has the titles of both axes and the legend as text, and a PDF has one page of the figure's size."""
    for kind in ("svg", "pdf"):
        write_chart(shown.model, NAME, kind, tmp_path / f"a.{kind}")
    drawing = (tmp_path / "a.svg").read_text()
    assert "Environment steps" in drawing
    assert NAME in drawing
    assert all(name in drawing for name, _ in shown.model.legend)
    assert "<image" not in drawing
    figure = figure_of(shown.model, NAME)
    assert figure is not None
    document = QPdfDocument(None)
    document.load(str(tmp_path / "a.pdf"))
    assert document.pageCount() == 1
    size = document.pagePointSize(0)
    assert QSize(round(size.width()), round(size.height())) == QSize(
        round(figure.size.width()), round(figure.size.height())
    )
    document.close()


def test_a_figure_shows_what_the_chart_shows(shown: Shown) -> None:
    """The stretch that was zoomed to, and no hidden curve."""
    shown.model.show_span(15, 25)
    shown.model.view.set_hidden(run_id(0), True)
    figure = figure_of(shown.model, NAME)
    assert figure is not None
    assert list(figure.x_span) == [15, 25]
    shown_ids = {one.run_id for one in figure.drawn}
    assert shown_ids == {run_id(1)}
    assert [colour for _, colour in figure.names] == [1]


def test_points_come_with_their_run(shown: Shown, tmp_path: Path) -> None:
    """The full id, the seed and each parameter are columns, so that a table of two runs says which is which."""
    write_chart(shown.model, NAME, "csv", tmp_path / "a.csv")
    with (tmp_path / "a.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6
    assert list(rows[0])[:6] == ["run_id", "run", "worker", "algorithm", "environment", "seed"]
    assert list(rows[0])[6:] == ["lr", "step", "seconds", NAME]
    assert [row["run_id"] for row in rows] == [run_id(0)] * 3 + [run_id(1)] * 3
    assert [row["lr"] for row in rows[::3]] == ["0.001", "0.01"]
    assert [float(row[NAME]) for row in rows[:3]] == [0.0, 5.0, 2.0]


@pytest.mark.parametrize("kind", EXPORTS)
def test_a_place_that_cannot_be_written_is_reported(
    shown: Shown, tmp_path: Path, kind: str
) -> None:
    """No kind of file is lost without a word."""
    with pytest.raises(OSError, match="No such file"):
        write_chart(shown.model, NAME, kind, tmp_path / "nowhere" / f"a.{kind}")
