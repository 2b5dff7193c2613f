"""The log: a worker's output with search and follow."""

from PyQt6.QtCore import Qt
from PyQt6.QtGui import (
    QColor,
    QGuiApplication,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
)
from PyQt6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
    QVBoxLayout,
)

from mosaic_gui.state.ansi import plain, stretches
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.state.log_text import MOST_LINES
from mosaic_gui.theme.apply import current, mono_font
from mosaic_gui.theme.current import on_theme
from mosaic_gui.theme.tokens import mixed
from mosaic_gui.viewmodels.log_feed import LogFeed
from mosaic_gui.views.ansi_format import text_format
from mosaic_gui.views.bases import VisibilityFrame
from mosaic_gui.views.text import button, label, restore_cursor

MOST_MARKS = 500
"""Matches that are coloured; all are counted by going from one to the next."""


class LogView(VisibilityFrame):
    """A run's output as it grows."""

    def __init__(self, feed: LogFeed) -> None:
        super().__init__()
        self.setObjectName("log")
        self._has_open_line = False
        self._is_moving = False
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.text.setFont(mono_font(11))
        self.text.setMaximumBlockCount(MOST_LINES)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setAccessibleName(tr("Output of the run"))
        self.search = QLineEdit()
        self.search.setObjectName("log.search")
        self.search.setAccessibleName(tr("Search the output"))
        self.search.setPlaceholderText(tr("Search …"))
        self.search.setClearButtonEnabled(True)
        self.follow = QCheckBox(tr("Newest lines"))
        self.follow.setObjectName("log.follow")
        self.follow.setChecked(True)
        self.colours = QCheckBox(tr("Colours"))
        self.colours.setObjectName("log.colours")
        self.colours.setToolTip(tr("Show the colours that the program gave its output"))
        self.colours.setChecked(True)
        self._found = label("", "small")
        self._found.hide()
        self.copy = button(tr("Copy"), "quiet", "log.copy")
        self.copy.setToolTip(tr("Copy what is selected, or everything"))
        row = QHBoxLayout()
        row.setContentsMargins(10, 8, 4, 6)
        row.setSpacing(6)
        self.search.setMinimumWidth(44)  # in a low window the words of the boxes take the rest
        row.addWidget(self.search, 1)
        row.addWidget(self._found)
        row.addWidget(self.colours)
        row.addWidget(self.follow)
        row.addWidget(self.copy)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(row)
        layout.addWidget(self.text, 1)
        self._connect(feed)

    def set_state(self, *, has_run: bool, ended: bool) -> None:
        """Set the text that is shown while there is no output."""
        words = tr("Nothing was printed.") if ended else tr("Nothing is printed so far.")
        self.text.setPlaceholderText(words if has_run else "")

    def _connect(self, feed: LogFeed) -> None:
        self._feed = feed
        feed.reset.connect(self._begin)
        feed.grown.connect(self._on_grown)
        self.search.textChanged.connect(self._mark)
        self.search.returnPressed.connect(self._next)
        self.follow.toggled.connect(self._on_follow)
        self.colours.toggled.connect(self._refill)
        self.copy.clicked.connect(self._copy)
        on_theme(self, self._colour_again)
        bar = self.text.verticalScrollBar()
        if bar is not None:
            bar.valueChanged.connect(self._on_scrolled)
            bar.rangeChanged.connect(self._on_range)

    def _begin(self) -> None:
        """Begin with another run's output, at its end."""
        self._on_reset()
        self.follow.setChecked(True)
        if self.search.text():
            self._mark()

    def _on_reset(self) -> None:
        self._is_moving = True
        self.text.clear()
        self._is_moving = self._has_open_line = False

    def _on_grown(self, lines: list[str], unfinished: str) -> None:
        self._is_moving = True
        bar = self.text.verticalScrollBar()
        place = bar.value() if bar is not None else 0
        cursor = QTextCursor(self.text.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        if self._has_open_line:
            cursor.select(QTextCursor.SelectionType.BlockUnderCursor)
            cursor.removeSelectedText()
        parts = [*lines, unfinished] if unfinished else lines
        self._insert(cursor, parts)
        self._has_open_line = bool(unfinished)
        if bar is not None:
            bar.setValue(bar.maximum() if self.follow.isChecked() else place)
        self._is_moving = False
        if self.search.text():
            self._mark()

    def _insert(self, cursor: QTextCursor, lines: list[str]) -> None:
        document = self.text.document()
        is_first = document is not None and document.isEmpty()
        for n, line in enumerate(lines):
            if n or not is_first:
                cursor.insertText("\n", QTextCharFormat())
            if "\x1b" not in line or not self.colours.isChecked():
                cursor.insertText(plain(line), QTextCharFormat())
                continue
            for text, style in stretches(line):
                cursor.insertText(text, text_format(style))

    def _refill(self) -> None:
        """Fill the view again, e.g. in other colours; selection and scroll position stay."""
        cursor, text = self.text.textCursor(), self._feed.text
        anchor, position = cursor.anchor(), cursor.position()
        bars = self.text.verticalScrollBar(), self.text.horizontalScrollBar()
        places = [bar.value() if bar is not None else 0 for bar in bars]
        self._on_reset()
        self._on_grown(text.finished_from(0), text.unfinished)
        self._is_moving = True
        restore_cursor(self.text, anchor, position)
        for bar, place in zip(bars, places, strict=True):
            if bar is not None:
                bar.setValue(place)
        self._is_moving = False
        self._on_follow(self.follow.isChecked())

    def _colour_again(self) -> None:
        text = self._feed.text
        lines = (*text.finished_from(0), text.unfinished)
        if self.colours.isChecked() and any("\x1b" in line for line in lines):
            self._refill()
        if self.search.text():
            self._mark()

    def _on_follow(self, on: bool) -> None:
        bar = self.text.verticalScrollBar()
        if on and bar is not None:
            bar.setValue(bar.maximum())

    def _on_range(self, _least: int, most: int) -> None:
        """Stay at the end while following."""
        bar = self.text.verticalScrollBar()
        if bar is not None and self.follow.isChecked() and not self._is_moving:
            self._is_moving = True
            bar.setValue(most)
            self._is_moving = False

    def _on_scrolled(self, place: int) -> None:
        """Stop following when the user scrolls up; follow again at the end."""
        bar = self.text.verticalScrollBar()
        if not self._is_moving and bar is not None:
            self.follow.setChecked(place >= bar.maximum() - 2)

    def _copy(self) -> None:
        """Copy the selection, or else all output."""
        cursor = self.text.textCursor()
        chosen = cursor.selection().toPlainText() or self.text.toPlainText()
        if (clipboard := QGuiApplication.clipboard()) is not None:
            clipboard.setText(chosen)

    def _mark(self) -> None:
        words = self.search.text()
        marks: list[QTextEdit.ExtraSelection] = []
        tokens = current()
        ground = QTextCharFormat()
        ground.setBackground(QColor(mixed(tokens.warn, tokens.surface, 0.4)))
        document = self.text.document()
        cursor = QTextCursor(document)
        while words and document is not None and len(marks) < MOST_MARKS:
            cursor = document.find(words, cursor)
            if cursor.isNull():
                break
            mark = QTextEdit.ExtraSelection()
            mark.cursor, mark.format = cursor, ground
            marks.append(mark)
        self.text.setExtraSelections(marks)
        n = len(marks)
        found = tr_n("{n} found", "{n} found", n)
        self._found.setText(found if n < MOST_MARKS else tr("{most}+ found", most=MOST_MARKS))
        self._found.setVisible(bool(words))

    def _next(self) -> None:
        self.follow.setChecked(False)
        if not self.text.find(self.search.text()):
            self.text.moveCursor(QTextCursor.MoveOperation.Start)
            self.text.find(self.search.text(), QTextDocument.FindFlag(0))
