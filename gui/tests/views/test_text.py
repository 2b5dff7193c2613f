from PyQt6.QtGui import QTextDocumentFragment
from pytestqt.qtbot import QtBot

from mosaic_gui.views.text import label, show_reported


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
