"""Texts, histograms and images of a run: names, steps, and what is said while there is nothing."""

import pytest
from PyQt6.QtCore import QPoint, QPointF, Qt
from PyQt6.QtGui import QColor, QImage
from PyQt6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot
from tests.media_specimen import NAMES, histogram, histograms, images, name, texts
from tests.specimen import run, run_id
from tests.views.test_watch_page import Shown

from mosaic_contracts.states import RunState
from mosaic_gui.state.heat_map import heat_map, shares
from mosaic_gui.viewmodels.media import MediaModel
from mosaic_gui.views.media_panel import MediaPanel

KEYS = Qt.Key


class Panel:
    """The page of a run with its panel."""

    def __init__(self) -> None:
        self.shown = Shown()
        self.shown.watch(RunState.RUNNING)
        self.model: MediaModel = self.shown.page._media
        self.wanted = QSignalSpy(self.model.values_wanted)
        self.images_wanted = QSignalSpy(self.model.image_wanted)

    @property
    def panel(self) -> MediaPanel:
        """The panel."""
        return self.shown.page.media

    def open(self) -> None:
        """Take names and open the tab."""
        self.model.take_names(run_id(0), NAMES)
        self.shown.page.views.setCurrentWidget(self.panel)

    def rows(self) -> list[str]:
        """Texts of the list."""
        rows = self.panel.list.model()
        assert rows is not None
        return [rows.index(n, 0).data() for n in range(rows.rowCount())]


@pytest.fixture
def panel(qtbot: QtBot) -> Panel:
    """The panel of a run of which nothing is known yet."""
    made = Panel()
    qtbot.addWidget(made.shown.page)
    return made


def test_the_tab_is_there_while_the_run_has_some(panel: Panel) -> None:
    """It appears with the first name and goes with the run."""
    views = panel.shown.page.views
    assert views.indexOf(panel.panel) < 0
    panel.open()
    assert views.currentWidget() is panel.panel
    assert panel.rows() == [
        "Texts",
        "samples/plan",
        "Histograms",
        "weights/fc1",
        "Images",
        "frames",
    ]
    panel.shown.store.replace_runs([run(0), run(1)])
    panel.shown.model.watch(run_id(1))
    assert views.indexOf(panel.panel) < 0
    assert not panel.model.names


def test_names_are_chosen_with_keys(qtbot: QtBot, panel: Panel) -> None:
    """Down passes over the headings; each name asks for its values, and says that they are read."""
    panel.open()
    assert list(panel.wanted[0]) == ["text", "samples/plan"]
    panel.panel.list.setFocus()
    qtbot.keyClick(panel.panel.list, KEYS.Key_Down)
    assert panel.model.key == ("histogram", "weights/fc1")
    assert list(panel.wanted[-1]) == ["histogram", "weights/fc1"]
    assert panel.panel._nothing.text() == "Reading …"


def test_texts_by_step(qtbot: QtBot, panel: Panel) -> None:
    """The newest first; keys of the slider show the others; Markdown is drawn, and what was cut is said."""
    panel.open()
    panel.model.take_values(run_id(0), texts())
    view = panel.panel
    assert view._step.text() == "step 100"
    assert view.text.toPlainText().startswith("go left")
    assert "cut: the text had 70,000 characters" in view.text.toPlainText()
    view.slider.setFocus()
    qtbot.keyClick(view.slider, KEYS.Key_Home)
    assert view._step.text() == "step 0"
    assert "left" in view.text.toPlainText()
    assert "|" not in view.text.toPlainText()
    assert not view.newest.isChecked()
    qtbot.keyClick(view.slider, KEYS.Key_End)
    assert view.newest.isChecked()


def test_the_newest_is_followed_until_another_is_chosen(panel: Panel) -> None:
    """More values ask for no click, and move nothing that the user chose."""
    panel.open()
    panel.model.choose(("histogram", "weights/fc1"))
    panel.model.take_values(run_id(0), histograms(10))
    assert panel.model.place == 9
    panel.model.take_names(run_id(0), [NAMES[0], name("histogram", "weights/fc1", 41), NAMES[2]])
    assert list(panel.wanted[-1]) == ["histogram", "weights/fc1"]
    panel.model.take_values(run_id(0), histograms(12))
    assert panel.model.place == 11
    panel.model.choose_place(4)
    panel.model.take_values(run_id(0), histograms(14))
    assert (panel.model.place, panel.panel._step.text()) == (4, "step 400")
    panel.panel.newest.click()
    assert panel.model.place == 13


def test_a_histogram_is_pointed_at(qtbot: QtBot, panel: Panel) -> None:
    """The tool tip says step, values and share; a click chooses the step."""
    panel.shown.page.resize(1400, 900)
    panel.open()
    panel.model.choose(("histogram", "weights/fc1"))
    panel.model.take_values(run_id(0), histograms())
    view = panel.panel.histogram
    qtbot.waitUntil(view.isVisible)
    rect = view._map_rect
    words = view.words_at(QPointF(rect.left() + 1, rect.center().y()))
    assert words.startswith("step 0\n")
    assert "of the values from" in words
    assert view.words_at(QPointF(2, 2)) == ""
    middle = QPoint(int(rect.center().x()), int(rect.center().y()))
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=middle)
    assert 15 <= panel.model.place <= 24
    image = view.grab().toImage()
    columns, rows = range(60, image.width(), 3), range(10, 200, 3)
    colours = {image.pixelColor(x, y).name() for x in columns for y in rows}
    assert len(colours) > 12


def test_an_image_is_read_when_its_step_is_chosen(qtbot: QtBot, panel: Panel) -> None:
    """Only the newest answer for the chosen path is shown, and a file that is gone is said to be."""
    panel.open()
    panel.model.choose(("image", "frames"))
    panel.model.take_values(run_id(0), images())
    assert list(panel.images_wanted[-1]) == ["media/frames/2.png"]
    picture = QImage(40, 30, QImage.Format.Format_RGB32)
    picture.fill(QColor("#ff0000"))
    panel.model.take_image(run_id(0), "media/frames/0.png", picture)
    assert panel.panel._pages.currentWidget() is not panel.panel.image
    panel.model.take_image(run_id(0), "media/frames/2.png", picture)
    assert panel.panel._pages.currentWidget() is panel.panel.image
    assert panel.panel._caption.text() == "frame 2"
    qtbot.waitUntil(panel.panel.image.isVisible)
    shown = panel.panel.image.grab().toImage()
    assert shown.pixelColor(shown.width() // 2, shown.height() // 2).name() == "#ff0000"
    panel.model.choose_place(0)
    panel.model.take_image(run_id(0), "media/frames/0.png", None, "It is gone.")
    assert panel.panel._nothing.text() == "It is gone."


def test_shares_of_a_histogram() -> None:
    """Values lie evenly in their bins; what lies outside is in no row; an empty one has none."""
    import numpy as np

    one = histogram(0, 0.0)
    assert one.edges is not None
    whole = np.array([one.edges[0], 0.0, one.edges[-1]])
    assert shares(one, whole).tolist() == pytest.approx([0.5, 0.5])
    assert shares(one, whole + 1000).tolist() == [0, 0]
    empty = one.model_copy(update={"counts": [0.0] * 40})
    assert shares(empty, whole).tolist() == [0, 0]


def test_a_map_has_the_steps_in_their_places() -> None:
    """A histogram is shown up to the next one; where steps go back, their order counts."""
    values = [histogram(0, 0), histogram(10, 5), histogram(100, 9)]
    found = heat_map(values, 101, 20)
    assert found is not None
    assert (found.at[0], found.at[9], found.at[10], found.at[99], found.at[100]) == (0, 0, 1, 1, 2)
    assert found.has_steps
    assert found.cells.sum(axis=0) == pytest.approx(1.0)
    again = heat_map([*values, histogram(5, 0)], 8, 4)
    assert again is not None
    assert not again.has_steps
    assert again.at == (0, 0, 0, 1, 1, 2, 2, 3)
    assert heat_map([], 10, 10) is None
    assert heat_map(values, 0, 0) is None
