"""A worker's Markdown about an algorithm. It loads nothing; links open in a browser."""

from typing import Any

from PyQt6.QtCore import QUrl
from PyQt6.QtGui import (
    QDesktopServices,
    QTextCursor,
    QTextDocument,
)
from PyQt6.QtWidgets import QFrame, QTextBrowser

from mosaic_gui.theme.apply import ui_font
from mosaic_gui.theme.current import on_theme
from mosaic_gui.views.text import restore_cursor

_MARKDOWN = (
    QTextDocument.MarkdownFeature.MarkdownDialectGitHub
    | QTextDocument.MarkdownFeature.MarkdownNoHTML
)


class Documentation(QTextBrowser):
    """Shows Markdown, read only. It loads nothing from files or the network."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("documentation")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setTabChangesFocus(True)
        self._shown = ("", "")
        self._page: QTextDocument | None = None
        self.anchorClicked.connect(open_link)
        on_theme(self, self._colour_again)

    def loadResource(self, _kind: int, _name: QUrl) -> Any:
        """Load nothing: the text of a worker must not cause requests."""
        return None

    def show_markdown(self, title: str, text: str) -> None:
        """Show a page; an empty title is none."""
        self._shown = (title, text)
        document = QTextDocument(self)
        document.setDefaultFont(ui_font(12))
        document.setDocumentMargin(12)
        document.setIndentWidth(14)
        document.setMarkdown(f"### {title}\n\n{text}" if title else text, _MARKDOWN)
        _space(document)
        before, self._page = self._page, document
        self.setDocument(document)
        if before is not None:
            before.deleteLater()
        self.moveCursor(QTextCursor.MoveOperation.Start)

    def _colour_again(self) -> None:
        """Update the colours of links and code; selection and scroll position stay."""
        bar, cursor = self.verticalScrollBar(), self.textCursor()
        place = bar.value() if bar is not None else 0
        anchor, position = cursor.anchor(), cursor.position()
        self.show_markdown(*self._shown)
        restore_cursor(self, anchor, position)
        if bar is not None:
            bar.setValue(place)


def open_link(url: QUrl) -> None:
    """Open an http or https address in the user's browser, and nothing else."""
    if url.scheme() in ("http", "https"):
        QDesktopServices.openUrl(url)


def _space(document: QTextDocument) -> None:
    """Set the margins of paragraphs, which Markdown lacks."""
    block = document.begin()
    while block.isValid():
        shape = block.blockFormat()
        is_item = block.textList() is not None
        shape.setBottomMargin(4 if is_item else 9)
        if is_item:
            shape.setIndent(0)
        cursor = QTextCursor(block)
        cursor.setBlockFormat(shape)
        block = block.next()
