"""Labels, frames and buttons with the kinds of the style sheet."""

import re
from html import escape

from PyQt6.QtCore import QEvent, Qt
from PyQt6.QtGui import QTextCursor
from PyQt6.QtWidgets import (
    QApplication,
    QFrame,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QTextEdit,
    QWidget,
)

from mosaic_gui.theme.current import current, on_theme
from mosaic_gui.theme.icon import pixmap

_CODE = re.compile(r"`([^`\n]+)`")
_FIXED = "monospace"
BUTTON_PADDING = 11
"""Padding of a `nav` button, as in the style sheet, and a pixel for its bolder face."""


def label(text: str = "", kind: str = "", *, wraps: bool = False) -> QLabel:
    """A text. Kinds: title, heading, section, muted, small, fault, fact, hero."""
    made = QLabel(text)
    made.setTextFormat(Qt.TextFormat.PlainText)
    if kind:
        made.setProperty("kind", kind)
    if wraps:
        made.setWordWrap(True)
        made.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.MinimumExpanding)
    return made


def snug_label(text: str = "", kind: str = "") -> QLabel:
    """A text of several lines that takes no more height than they need."""
    made = label(text, kind, wraps=True)
    made.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
    return made


def show_reported(shown: QLabel, text: str) -> None:
    """Show a text of the stack or a worker: `this` is code, everything else is plain text."""
    if _CODE.search(text) is None:
        shown.setTextFormat(Qt.TextFormat.PlainText)
        shown.setText(text)
        return
    shown.setTextFormat(Qt.TextFormat.RichText)
    html = _CODE.sub(rf"<span style='font-family: {_FIXED}'>\1</span>", escape(text))
    shown.setText(html.replace("\n", "<br>"))


def frame(kind: str) -> QFrame:
    """A frame. Kinds: panel, rail, bar, rule, card_bad, card_neutral, note_warn, segments."""
    made = QFrame()
    made.setProperty("kind", kind)
    return made


def button(text: str, kind: str = "", name: str = "") -> QPushButton:
    """A button. Kinds: primary, stop, quiet, nav, segment."""
    made = QPushButton(text)
    if kind:
        made.setProperty("kind", kind)
    if name:
        made.setObjectName(name)
    made.setCursor(Qt.CursorShape.PointingHandCursor)
    return made


class IconLabel(QLabel):
    """An icon in a colour of the theme, by the colour's name."""

    def __init__(self, name: str, colour: str, size: int = 18) -> None:
        super().__init__()
        self._name, self._colour, self._size = name, colour, size
        self._draw()
        on_theme(self, self._draw)

    def set_colour(self, colour: str) -> None:
        """Show it in another colour."""
        self._colour = colour
        self._draw()

    def _draw(self) -> None:
        self.setPixmap(pixmap(self._name, getattr(current(), self._colour), self._size))


def replace_html(shown: QTextEdit, html: str) -> None:
    """Replace HTML with the same words; selection and scroll position stay."""
    bar, cursor = shown.verticalScrollBar(), shown.textCursor()
    place = bar.value() if bar is not None else 0
    anchor, position = cursor.anchor(), cursor.position()
    shown.setHtml(html)
    restore_cursor(shown, anchor, position)
    if bar is not None:
        bar.setValue(place)


def restore_cursor(shown: QTextEdit | QPlainTextEdit, anchor: int, position: int) -> None:
    """Select what was selected, by places in the text."""
    document = shown.document()
    last = max(0, document.characterCount() - 1) if document is not None else 0
    cursor = QTextCursor(document)
    cursor.setPosition(min(max(0, anchor), last))
    cursor.setPosition(min(max(0, position), last), QTextCursor.MoveMode.KeepAnchor)
    shown.setTextCursor(cursor)


def without_marks(text: str) -> str:
    """A text of the stack without the backticks around commands: the window has no other way to show them."""
    return text.replace("`", "")


def inside_of_scroll() -> QWidget:
    """A transparent widget for the inside of a scroll area."""
    made = QWidget()
    made.setProperty("kind", "inside")
    return made


def restyle(widget: QWidget) -> None:
    """Apply the style sheet again after a property changed."""
    style = widget.style()
    if style is not None:
        style.unpolish(widget)
        style.polish(widget)
        # a frame asks for its width with this event alone
        QApplication.sendEvent(widget, QEvent(QEvent.Type.StyleChange))


class ElidedButton(QPushButton):
    """A button that is as narrow as it must be: what does not fit ends in `…`."""

    def __init__(self, text: str, kind: str, name: str) -> None:
        super().__init__()
        self._whole = text
        self.setProperty("kind", kind)
        self.setObjectName(name)
        self.setAccessibleName(text)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        room = max(0, self.width() - 2 * BUTTON_PADDING)
        self.setText(self.fontMetrics().elidedText(self._whole, Qt.TextElideMode.ElideRight, room))


class ElidedLabel(QLabel):
    """One line that gives way: what does not fit ends in `…`, and the tool tip has all of it."""

    def __init__(self, text: str = "", kind: str = "") -> None:
        super().__init__()
        self._whole = ""
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.setMinimumWidth(40)
        if kind:
            self.setProperty("kind", kind)
        self.set_whole(text)

    def setFixedWidth(self, width: int) -> None:
        """In a row it then has this width: next to an item that stretches, one that can shrink would get none."""
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        super().setFixedWidth(width)

    def setBuddy(self, widget: QWidget | None) -> None:
        """Name the field of the label. Qt reads `&` in the label from then on."""
        super().setBuddy(widget)
        self._fit()

    def set_whole(self, text: str) -> None:
        """Show this text."""
        self._whole = text.replace("\n", " ")
        self.setToolTip(text)
        self._fit()

    def whole(self) -> str:
        """The text as it was given."""
        return self._whole

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self._fit()

    def _fit(self) -> None:
        shown = self.fontMetrics().elidedText(
            self._whole, Qt.TextElideMode.ElideRight, max(0, self.width() - 2)
        )
        if self.buddy() is not None:
            shown = shown.replace("&", "&&")  # a single one would mark a key
        if shown != self.text():
            self.setText(shown)
