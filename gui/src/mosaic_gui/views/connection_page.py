"""What is seen before a stack is there: where it was looked for, and how to have one."""

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget

from mosaic_gui.theme.apply import current, mono_font
from mosaic_gui.theme.icon import pixmap
from mosaic_gui.viewmodels.connection import ConnectionModel
from mosaic_gui.views.text import button, frame, label

WIDTH = 520


class ConnectionPage(QWidget):
    """Start the stack of this machine, or name one elsewhere."""

    start_wanted = pyqtSignal()
    connect_wanted = pyqtSignal(str, str)
    """Address, and path of a token file (empty: this machine's)."""
    retry_wanted = pyqtSignal()

    def __init__(self, model: ConnectionModel, can_start: bool) -> None:
        super().__init__()
        self.setObjectName("page.connection")
        self._model = model
        self._can_start = can_start
        self._picture = label()
        self._title = label("", "hero")
        self._detail = label("", "muted", wraps=True)
        self.start = button(
            self.tr("Start the stack on this machine"), "primary", "connection.start"
        )
        self.retry = button(self.tr("Try again now"), "", "connection.retry")
        self._output = QPlainTextEdit()
        self._output.setReadOnly(True)
        self._output.setProperty("kind", "quote")
        self._output.setFont(mono_font())
        self._output.setMaximumHeight(120)
        self._output.setMaximumBlockCount(200)
        layout = QVBoxLayout(self)
        layout.addStretch(2)
        layout.addWidget(self._column(), 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(3)
        self.start.clicked.connect(self.start_wanted)
        self.retry.clicked.connect(self.retry_wanted)
        model.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Say how it is."""
        tokens = current()
        connection = self._model.connection
        self._picture.setPixmap(pixmap("server", tokens.tone(self._model.tone), 44))
        self._title.setText(self._words())
        self._detail.setText(connection.reason or self._hint())
        # while the first try is under way nobody knows yet that there is anything to start
        self.start.setVisible(self._can_start and not self._is_first_try)
        self.start.setEnabled(not self._model.starting)
        self.start.setText(
            self.tr("Starting …")
            if self._model.starting
            else self.tr("Start the stack on this machine")
        )
        self.retry.setVisible(bool(connection.url) and not self._model.starting)
        output = self._model.start_output
        self._output.setVisible(bool(output))
        if output != self._output.toPlainText():
            self._output.setPlainText(output)

    @property
    def _is_first_try(self) -> bool:
        connection = self._model.connection
        return bool(connection.url) and not connection.reason and not self._model.starting

    def _words(self) -> str:
        if self._model.starting:
            return self.tr("Starting the stack")
        if self._model.connection.refused:
            return self.tr("The stack refused the connection")
        if self._is_first_try:
            return self.tr("Connecting …")
        return self.tr("No stack is connected")

    def _hint(self) -> str:
        if self._model.starting:
            return self.tr(
                "Broker, recorder, scheduler and gateway come up; this takes a few seconds."
            )
        return self._model.connection.url or self.tr(
            "The stack does the work: it starts runs, keeps what they do, and serves this window."
        )

    def _column(self) -> QWidget:
        column = QWidget()
        column.setFixedWidth(WIDTH)
        layout = QVBoxLayout(column)
        layout.setSpacing(10)
        centre = Qt.AlignmentFlag.AlignHCenter
        self._detail.setAlignment(centre)
        layout.addWidget(self._picture, 0, centre)
        layout.addWidget(self._title, 0, centre)
        layout.addWidget(self._detail)
        layout.addSpacing(8)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.start)
        row.addWidget(self.retry)
        row.addStretch(1)
        layout.addLayout(row)
        layout.addWidget(self._output)
        layout.addSpacing(18)
        layout.addWidget(self._elsewhere())
        return column

    def _elsewhere(self) -> QWidget:
        panel = frame("panel")
        self.url = QLineEdit()
        self.url.setObjectName("connection.url")
        self.url.setPlaceholderText("http://127.0.0.1:8420")
        self.url.setAccessibleName(self.tr("Address of a stack elsewhere"))
        self.token = QLineEdit()
        self.token.setObjectName("connection.token")
        self.token.setPlaceholderText(self.tr("file with its token (secrets/gateway.token)"))
        self.token.setAccessibleName(self.tr("File with its token"))
        self.connect_button = button(self.tr("Connect"), "", "connection.connect")
        layout = QVBoxLayout(panel)
        layout.setContentsMargins(16, 12, 16, 14)
        layout.addWidget(
            label(self.tr("A stack elsewhere, for example through an SSH tunnel"), "section")
        )
        row = QHBoxLayout()
        row.addWidget(self.url, 3)
        row.addWidget(self.token, 4)
        row.addWidget(self.connect_button)
        layout.addLayout(row)
        self.connect_button.clicked.connect(self._connect)
        self.url.returnPressed.connect(self._connect)
        self.token.returnPressed.connect(self._connect)
        return panel

    def _connect(self) -> None:
        if self.url.text().strip():
            self.connect_wanted.emit(self.url.text().strip(), self.token.text().strip())
