from PyQt6.QtCore import Qt
from pytestqt.qtbot import QtBot

from mosaic_gui.viewmodels.connection import ConnectionModel
from mosaic_gui.views.connection_page import ConnectionPage


def test_a_start_leaves_the_focus_on_the_page(qtbot: QtBot) -> None:
    """The button is disabled while the stack starts; the next key does not go into the address of another stack."""
    model = ConnectionModel()
    page = ConnectionPage(model, can_start=True)
    qtbot.addWidget(page)
    page.start_wanted.connect(lambda: model.take_start(True))
    with qtbot.waitActive(page):
        page.show()
    page.start.setFocus()
    qtbot.keyClick(page.start, Qt.Key.Key_Space)
    assert model.starting
    assert page.hasFocus()
    assert not page.url.hasFocus()
