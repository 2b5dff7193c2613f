"""A language that nobody speaks: every text in brackets and a third longer, so that what goes past translation is seen.

It is made of what `./mosaic words` finds, compiled, and read as a user's translation is: all of the way is tested.
"""

import importlib.util
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog
from PyQt6.QtCore import QAbstractListModel, Qt
from PyQt6.QtGui import QAction, QTextDocumentFragment
from PyQt6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QComboBox,
    QDockWidget,
    QLabel,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
    QWidget,
)

from mosaic_contracts.states import RunState
from mosaic_gui.views.documentation import Documentation
from mosaic_gui.views.help_label import HelpLabel
from mosaic_gui.views.text import ElidedLabel

CODE = "eo"
LONGER = 0.3
OPEN, CLOSE = "‹", "›"
QT_NAMES = ("qt_dockwidget_", "ScrollLeftButton", "ScrollRightButton")
_WORDS = Path(__file__).parents[2] / "tools" / "words.py"
_INNER = re.compile(f"{OPEN}[^{OPEN}{CLOSE}]*{CLOSE}")
_LETTERS = re.compile(r"[A-Za-z]{2,}")
SAME_EVERYWHERE = re.compile(
    r"\b(MOSAIC|NaN|[KMG]iB|Ctrl|Alt|Shift|Del|Return|Enter|Esc|Left|Right|Up|Down|Home|F\d)\b"  # program, units, keys
    r"|\bSpace\b|\(End\)|\s{6}End$"  # the keys, and not the word
    r"|https?://\S+|\d\.\d+e-?\d+"  # addresses, numbers
    r"|\b(png|svg|csv|PNG|SVG|CSV)\b"
)
"""What has one name in all languages."""


@cache
def _tool() -> Any:
    """The extraction itself; it is a program of another room, so it is loaded by its place."""
    spec = importlib.util.spec_from_file_location("mosaic_words", _WORDS)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def bracketed(text: str) -> str:
    """The text as this language has it."""
    if not _LETTERS.search(text):
        return text
    more = max(0, round(len(text) * LONGER) - 2)
    return f"{OPEN}{text}{(' xo' * more)[:more]}{CLOSE}"


def write_pseudo(folder: Path) -> Catalog:
    """Compile it into a folder; the catalogue holds every text of the client."""
    texts: Catalog = _tool().template()
    known = Catalog(locale=CODE, fuzzy=False)
    for message in texts:
        if message.id:
            reported = (message.id,) if isinstance(message.id, str) else message.id
            said = tuple(bracketed(one) for one in reported)
            known.add(message.id, said if len(said) > 1 else said[0], context=message.context)
    folder.mkdir(parents=True, exist_ok=True)
    _tool().compile_to(folder / f"{CODE}.po", known)
    return texts


def untranslated(text: str, data: Iterable[str]) -> str:
    """What remains of a text without translated parts and data; empty when that is nothing that could be read."""
    rest = text
    while (less := _INNER.sub(" ", rest)) != rest:
        rest = less
    for reported in data:
        if reported in rest:
            rest = re.sub(rf"(?<!\w){re.escape(reported)}(?!\w)", " ", rest)
    rest = SAME_EVERYWHERE.sub(" ", rest)
    return rest.strip() if _LETTERS.search(rest) else ""


def texts_of(root: QWidget) -> Iterator[tuple[str, str]]:
    """Everything that a widget and all within it say, with where: shown, pointed at, read out."""
    for widget in (root, *root.findChildren(QWidget)):
        if widget.objectName().startswith(QT_NAMES):
            continue  # Qt's own, which has Qt's translations
        where = f"{type(widget).__name__} {widget.objectName()}".strip()
        for text in _said(widget):
            if text:
                yield where, text
    for action in root.findChildren(QAction):
        if isinstance(action.parent(), QWidget) and not isinstance(
            action.parent(), QLineEdit | QTextEdit
        ):
            for text in (action.text(), action.toolTip()):
                yield f"QAction {action.objectName()}", text


def _said(widget: QWidget) -> Iterator[str]:
    yield widget.toolTip()
    yield widget.accessibleName()
    yield widget.accessibleDescription()
    match widget:
        case Documentation():
            return  # the worker's own words
        case HelpLabel() as help_label:
            yield help_label.text
        case ElidedLabel() as elided:
            yield elided.whole()
        case QLabel() as label:
            yield plain(label)
        case QAbstractButton() as button:
            yield button.text()
        case QLineEdit() as edit:
            yield edit.placeholderText()
        case QPlainTextEdit() as output:
            yield output.placeholderText()
        case QTextEdit() as page:
            yield page.toPlainText()
        case QComboBox() as combo:
            yield from (combo.itemText(n) for n in range(combo.count()))
        case QTabBar() as bar:
            yield from (bar.tabText(n) for n in range(bar.count()))
        case QDockWidget() as dock:
            yield dock.windowTitle()
        case QMenu() as menu:
            yield menu.title()
        case QAbstractItemView() as view:
            yield from _said_in(view)
        case QAbstractSpinBox() as number:
            yield from (number.text(), number.specialValueText())


def plain(label: QLabel) -> str:
    """A label's words without its markup."""
    if label.textFormat() is Qt.TextFormat.RichText:
        return QTextDocumentFragment.fromHtml(label.text()).toPlainText()
    return label.text()


def _said_in(view: QAbstractItemView) -> Iterator[str]:
    model = view.model()
    if model is None:
        return
    columns = 1 if isinstance(model, QAbstractListModel) else model.columnCount()
    for column in range(columns):
        yield str(model.headerData(column, Qt.Orientation.Horizontal) or "")
        for row in range(min(model.rowCount(), 40)):
            index = model.index(row, column)
            for role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
                yield str(index.data(role) or "")


def strings_in(*reported: object) -> list[str]:
    """Every string in models, dictionaries (their values) and lists, the longest first: data, which stays as it is."""
    found: set[str] = set()

    def look(one: object) -> None:
        match one:
            case str() | Path():
                found.update({str(one), *str(one).split("\n")})
            case dict():
                look(list(one.values()))
            case list() | tuple() | set() | frozenset():
                for value in one:
                    look(value)
            case _ if hasattr(one, "model_dump"):
                look(one.model_dump(mode="json"))

    look(reported)
    states = {state.value for state in RunState}  # the client has words of its own for them
    return sorted((text for text in found - states if len(text) > 1), key=len, reverse=True)
