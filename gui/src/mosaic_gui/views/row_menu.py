"""The menu of a row of a table: what can be done with it, and copies of its texts."""

from collections.abc import Callable, Sequence

from PyQt6.QtCore import QPoint, Qt
from PyQt6.QtGui import QGuiApplication
from PyQt6.QtWidgets import QMenu, QTableView

from mosaic_gui.state.language import tr

Choice = tuple[str, Callable[[], object]]


def offer_row_menu(table: QTableView, choices_of: Callable[[int], Sequence[Choice]]) -> None:
    """Open a menu where a row is clicked with the right button, or by the menu key.

    Args:
        table: rows of texts.
        choices_of: what can be done with a row, given its number: title and function.
    """
    table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
    table.customContextMenuRequested.connect(lambda place: _open(table, place, choices_of))


def _open(table: QTableView, place: QPoint, choices_of: Callable[[int], Sequence[Choice]]) -> None:
    index, viewport, model = table.indexAt(place), table.viewport(), table.model()
    if not index.isValid() or viewport is None or model is None:
        return
    shown = [n for n in range(model.columnCount()) if not table.isColumnHidden(n)]
    row = "\t".join(str(index.siblingAtColumn(n).data() or "") for n in shown)
    value = str(index.data() or "")
    menu = QMenu(table)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    copies: tuple[Choice, ...] = (
        (tr("Copy value"), lambda: _copy(value)),
        (tr("Copy row"), lambda: _copy(row)),
    )
    choices = choices_of(index.row())
    for title, act in (*choices, *copies):
        if (title, act) == copies[0] and choices:
            menu.addSeparator()
        action = menu.addAction(title)
        if action is not None:
            action.triggered.connect(lambda _on, act=act: act())
    menu.popup(viewport.mapToGlobal(place))


def _copy(text: str) -> None:
    clipboard = QGuiApplication.clipboard()
    if clipboard is not None:
        clipboard.setText(text)
