import pytest
from hypothesis import given
from hypothesis import strategies as st
from PyQt6.QtCore import QPoint, QRect, QSize, Qt
from PyQt6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot
from tests.views.test_keyboard import POPUPS, client, open_popup  # noqa: F401 - the client is a fixture

from mosaic_gui.app.client import DesktopClient
from mosaic_gui.views.popup import MARGIN, inside
from mosaic_gui.views.word_popup import WordPopup

numbers = st.integers(-4_000, 4_000)
sizes = st.builds(QSize, st.integers(1, 3_000), st.integers(1, 2_000))
rects = st.builds(QRect, st.builds(QPoint, numbers, numbers), sizes)


@given(rects, rects, rects)
def test_popup_that_fits_is_whole_on_the_screen(wanted: QRect, frame: QRect, seen: QRect) -> None:
    """Wherever it is asked for, and wherever its window is, also on a second screen to the left."""
    placed = QRect(inside(wanted, frame, seen), wanted.size())
    if seen.width() >= wanted.width() and seen.height() >= wanted.height():
        assert seen.contains(placed)
    else:
        assert seen.left() <= placed.left()
        assert seen.top() <= placed.top()


@given(rects, rects, rects)
def test_popup_stays_in_its_window_where_it_fits(wanted: QRect, frame: QRect, seen: QRect) -> None:
    """It lies within the part of its window that is seen; one that was asked for there is not moved."""
    room = frame.intersected(seen).adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
    if room.width() >= wanted.width() and room.height() >= wanted.height():
        placed = QRect(inside(wanted, frame, seen), wanted.size())
        assert room.contains(placed)
        assert not room.contains(wanted) or placed == wanted


@pytest.mark.parametrize("width", [960, 1280])
def test_tag_popup_opens_inside_of_the_screen(qtbot: QtBot, width: int) -> None:
    """The button stands at the right edge, and the popup is wider than what is left there."""
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(width, 600)
    window.show()
    anchor = QPushButton("Tag", window)
    anchor.move(width - 60, 40)
    anchor.show()
    popup = WordPopup(anchor, "Add tags, separated by commas", "baseline, ablation", "Add")
    popup.show_at(anchor.mapToGlobal(QPoint(0, 34)))
    screen = QApplication.primaryScreen()
    assert screen is not None
    assert screen.availableGeometry().contains(popup.geometry())
    assert popup.isVisible()
    assert popup.field.isVisible()
    popup.close()


@pytest.mark.nightly(by_day=["palette", "curves", "note"])
@pytest.mark.parametrize("name", sorted(POPUPS))
def test_every_popup_is_whole(qtbot: QtBot, client: DesktopClient, name: str) -> None:  # noqa: F811 - the fixture
    """Each popup of the window lies on the screen."""
    popup, _ = open_popup(qtbot, client, name)
    screen = QApplication.primaryScreen()
    assert screen is not None
    assert screen.availableGeometry().contains(popup.geometry())
    qtbot.keyClick(popup, Qt.Key.Key_Escape)
