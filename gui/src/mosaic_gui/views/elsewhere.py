"""Fields to connect to a stack elsewhere, with those used before."""

from collections.abc import Sequence
from functools import partial

from PyQt6.QtCore import QStringListModel, Qt, pyqtSignal
from PyQt6.QtWidgets import (
    QCompleter,
    QFileDialog,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mosaic_gui.discard import discard
from mosaic_gui.state.language import tr
from mosaic_gui.state.memory import KnownStack
from mosaic_gui.theme.icon import icon
from mosaic_gui.views.text import ElidedLabel, button, label

_LABEL_WIDTH = 88


class Elsewhere(QFrame):
    """Address, token file, certificate; what is typed is kept while a connection fails."""

    connect_wanted = pyqtSignal(str, str, str)
    forget_wanted = pyqtSignal(str)

    def __init__(self, stacks: Sequence[KnownStack]) -> None:
        super().__init__()
        self.setProperty("kind", "panel")
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(16, 12, 16, 14)
        self._layout.setSpacing(8)
        self.url = self._field("url", "http://127.0.0.1:8420", tr("Address of a stack elsewhere"))
        self.token = self._field(
            "token", tr("a copy of its secrets/gateway.token"), tr("File with its token")
        )
        self.ca = self._field(
            "ca",
            tr("a copy of its secrets/gateway.crt, for https"),
            tr("File with its certificate"),
        )
        self.connect_button = button(tr("Connect"), "", "connection.connect")
        self._known = QWidget()
        known = QVBoxLayout(self._known)
        known.setContentsMargins(0, 0, 0, 4)
        known.setSpacing(2)
        self._layout.addWidget(
            label(tr("A stack elsewhere, for example through an SSH tunnel"), "section")
        )
        self._layout.addWidget(self._known)
        self._layout.addLayout(self._grid())
        self.connect_button.clicked.connect(self._connect)
        for field in (self.url, self.token, self.ca):
            field.returnPressed.connect(self._connect)
        self.show_stacks(stacks)

    def show_stacks(self, stacks: Sequence[KnownStack]) -> None:
        """Show the stacks that were used before, the newest first."""
        layout = self._known.layout()
        while layout is not None and (item := layout.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                discard(old)
        for n, stack in enumerate(stacks):
            if layout is not None:
                layout.addWidget(self._row(stack, n))
        self._known.setVisible(bool(stacks))
        completer = QCompleter(QStringListModel([s.url for s in stacks], self), self.url)
        self.url.setCompleter(completer)

    def _row(self, stack: KnownStack, n: int) -> QWidget:
        made = QWidget()
        row = QHBoxLayout(made)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        use = button(stack.url, "nav", f"connection.known.{n}")
        use.setToolTip(tr("Connect to it (token: {file})", file=stack.token_file or "–"))
        use.clicked.connect(partial(self._use, stack))
        where = ElidedLabel(stack.token_file, "small")
        forget = QToolButton()
        forget.setObjectName(f"connection.forget.{n}")
        forget.setIcon(icon("trash", "muted"))
        forget.setToolTip(tr("Forget {url}", url=stack.url))
        forget.setAccessibleName(tr("Forget {url}", url=stack.url))
        forget.clicked.connect(lambda: self.forget_wanted.emit(stack.url))
        row.addWidget(use)
        row.addWidget(where, 1)
        row.addWidget(forget)
        return made

    def _grid(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(7)
        grid.setColumnMinimumWidth(0, _LABEL_WIDTH)
        for n, (words, field) in enumerate(
            (
                (tr("Address"), self.url),
                (tr("Token file"), self.token),
                (tr("Certificate"), self.ca),
            )
        ):
            name = label(words)
            name.setBuddy(field)
            grid.addWidget(name, n, 0)
            grid.addWidget(field, n, 1)
        grid.addWidget(self.connect_button, 2, 2)
        return grid

    def _field(self, name: str, placeholder: str, words: str) -> QLineEdit:
        made = QLineEdit()
        made.setObjectName(f"connection.{name}")
        made.setPlaceholderText(placeholder)
        made.setAccessibleName(words)
        if name != "url":
            look = made.addAction(
                icon("folder", "muted"), QLineEdit.ActionPosition.TrailingPosition
            )
            if look is not None:
                look.setToolTip(tr("Browse for the file"))
                look.triggered.connect(lambda: self._browse(made))
        return made

    def _browse(self, field: QLineEdit) -> None:
        dialog = QFileDialog(self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(field.setText)
        dialog.open()

    def _use(self, stack: KnownStack) -> None:
        self.url.setText(stack.url)
        self.token.setText(stack.token_file)
        self.ca.setText(stack.ca_file)
        self._connect()

    def _connect(self) -> None:
        given = [field.text().strip() for field in (self.url, self.token, self.ca)]
        if given[0]:
            self.connect_wanted.emit(*given)
