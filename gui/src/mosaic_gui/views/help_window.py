"""A window with the help pages of this installation."""

from pathlib import Path

from PyQt6.QtCore import Qt, QUrl
from PyQt6.QtWidgets import QDialog, QVBoxLayout, QWidget

from mosaic_gui.state.help_pages import page_text
from mosaic_gui.state.language import tr
from mosaic_gui.views.documentation import Documentation, open_link

SIZE = (780, 640)


class HelpWindow(QDialog):
    """Shows one page at a time. Links to other pages are followed here, all others open in a browser."""

    def __init__(self, parent: QWidget, folder: Path) -> None:
        super().__init__(parent)
        self.setObjectName("help")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(*SIZE)
        self._folder = folder
        self.text = Documentation()
        self.text.setAccessibleName(tr("Help"))
        self.text.anchorClicked.disconnect(open_link)
        self.text.anchorClicked.connect(self._on_link)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.text)

    def show_page(self, name: str) -> None:
        """Show a page.

        Raises:
            OSError: it cannot be read.
        """
        title, text = page_text(self._folder, name)
        self.setWindowTitle(tr("Help: {title}", title=title))
        self.text.show_markdown(title, text)
        self.show()
        self.raise_()

    def _on_link(self, link: QUrl) -> None:
        name = link.path()
        if link.isRelative() and name.endswith(".md") and (self._folder / name).is_file():
            self.show_page(name)
        elif not link.isRelative():
            open_link(link)
