from PyQt6.QtGui import QTextDocumentFragment
from PyQt6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from mosaic_gui.views.text import ElidedLabel, label, show_reported


def test_code_is_shown_as_code_and_markup_as_it_stands(qtbot: QtBot) -> None:
    """Text in backticks is set in the face of code; all other text of a stack is shown as text, never as markup."""
    shown = label()
    qtbot.addWidget(shown)
    show_reported(shown, "Give `cpus` <b>less</b>.\nThen launch.")
    assert "monospace'>cpus</span>" in shown.text()
    plain = QTextDocumentFragment.fromHtml(shown.text()).toPlainText()
    assert plain == "Give cpus <b>less</b>.\nThen launch."
    show_reported(shown, "a ` alone, and <i>this</i>")
    assert shown.text() == "a ` alone, and <i>this</i>"


def test_an_ampersand_in_a_fields_label_is_shown(qtbot: QtBot) -> None:
    """Qt takes `&` as the mark of a key where a label has a field."""
    made, field = ElidedLabel("W&B group"), QLineEdit()
    for widget in (made, field):
        qtbot.addWidget(widget)
    made.setFixedWidth(200)
    made.setBuddy(field)
    assert (made.text(), made.whole()) == ("W&&B group", "W&B group")
