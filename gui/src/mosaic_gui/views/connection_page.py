"""The page to choose a stack: this machine's, a known one or another; and why it cannot be reached."""

from collections.abc import Sequence

from PyQt6.QtCore import QEvent, QObject, Qt, pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QPlainTextEdit, QScrollArea, QVBoxLayout, QWidget

from mosaic_gui.state.language import tr
from mosaic_gui.state.memory import KnownStack
from mosaic_gui.theme.apply import mono_font
from mosaic_gui.viewmodels.connection import ConnectionModel
from mosaic_gui.views.elsewhere import Elsewhere
from mosaic_gui.views.text import IconLabel, button, inside_of_scroll, label

WIDTH = 560


class ConnectionPage(QWidget):
    """Start the stack of this machine, or name one elsewhere."""

    start_wanted = pyqtSignal()
    connect_wanted = pyqtSignal(str, str, str)
    """Address, path of a token file and of a certificate (empty: this machine's, and the system's)."""
    forget_wanted = pyqtSignal(str)
    local_wanted = pyqtSignal()
    retry_wanted = pyqtSignal()
    back_wanted = pyqtSignal()

    def __init__(
        self, model: ConnectionModel, can_start: bool, stacks: Sequence[KnownStack] = ()
    ) -> None:
        super().__init__()
        self.setObjectName("page.connection")
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._model = model
        self._can_start = can_start
        self._picture = IconLabel("server", "neutral", 44)
        self._title = label("", "hero")
        self._detail = label("", "muted", wraps=True)
        self.start = button(tr("Start the stack on this machine"), "primary", "connection.start")
        self.retry = button(tr("Try again now"), "", "connection.retry")
        self.local = button(tr("Use this machine's stack"), "", "connection.local")
        self.back = button(tr("Back"), "quiet", "connection.back")
        self._output = QPlainTextEdit()
        self._output.setReadOnly(True)
        self._output.setProperty("kind", "quote")
        self._output.setFont(mono_font())
        self._output.setMaximumHeight(120)
        self._output.setMaximumBlockCount(200)
        self.elsewhere = Elsewhere(stacks)
        self.url, self.token = self.elsewhere.url, self.elsewhere.token
        self._lay_out()
        self.start.clicked.connect(self.start_wanted)
        self.retry.clicked.connect(self.retry_wanted)
        self.local.clicked.connect(self.local_wanted)
        self.back.clicked.connect(self.back_wanted)
        self.elsewhere.connect_wanted.connect(self.connect_wanted)
        self.elsewhere.forget_wanted.connect(self.forget_wanted)
        model.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the state of the connection."""
        model = self._model
        connection = model.connection
        self._picture.set_colour(model.tone)
        self._title.setText(self._words())
        self._detail.setText(self._hint())
        # while the first try is under way nobody knows yet that there is anything to start
        is_away = model.is_stopped or not model.shows_data
        is_offered = self._can_start and model.is_local and is_away
        self.start.setVisible(is_offered and not self._is_first_try)
        if model.starting and self.start.hasFocus():
            self.setFocus()  # a disabled button would pass the focus to the address of another stack
        self.start.setEnabled(not model.starting)
        self.start.setText(
            tr("Starting …") if model.starting else tr("Start the stack on this machine")
        )
        self.retry.setVisible(bool(connection.url) and not model.starting and not model.shows_data)
        self.local.setVisible(not model.is_local and not model.starting)
        self.back.setVisible(model.shows_data)
        output = model.start_output
        self._output.setVisible(bool(output))
        if output != self._output.toPlainText():
            self._output.setPlainText(output)

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        """Fit the column whenever its content changes size."""
        if event is not None and event.type() is QEvent.Type.LayoutRequest:
            self._fit()
        return super().eventFilter(watched, event)

    def _fit(self) -> None:
        """As high as its lines need: Qt does not ask a centred column for its height by width."""
        layout = self._column.layout()
        if layout is not None:
            self._column.setFixedHeight(layout.totalHeightForWidth(WIDTH))

    @property
    def _is_first_try(self) -> bool:
        connection = self._model.connection
        return bool(connection.url) and not connection.reason and not self._model.starting

    def _words(self) -> str:
        if self._model.starting:
            return tr("Starting the stack")
        if self._model.is_live:
            return tr("Connected to a stack")
        if self._model.diagnosis.headline:
            return self._model.diagnosis.headline
        if self._model.shows_data:
            return tr("Connection lost")
        if self._model.connection.refused:
            return tr("The stack refused the connection")
        if self._is_first_try:
            return tr("Connecting …")
        return tr("No stack is connected")

    def _hint(self) -> str:
        model = self._model
        if model.starting:
            return tr("Broker, recorder, scheduler and gateway come up; this takes a few seconds.")
        if model.is_live:
            return model.connection.url
        said = model.diagnosis.todo or model.connection.reason or model.connection.url
        if model.connection.url:
            return said
        what = tr(
            "The stack does the work: it starts runs, keeps what they do, and serves this window."
        )
        return f"{said}\n{what}".strip()

    def _lay_out(self) -> None:
        area = QScrollArea()
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(area)
        inside = inside_of_scroll()
        area.setWidget(inside)
        middle = QVBoxLayout(inside)
        middle.addStretch(2)
        self._column = self._make_column()
        self._column.installEventFilter(self)
        middle.addWidget(self._column, 0, Qt.AlignmentFlag.AlignHCenter)
        middle.addStretch(3)

    def _make_column(self) -> QWidget:
        column = QWidget()
        column.setFixedWidth(WIDTH)
        layout = QVBoxLayout(column)
        layout.setSpacing(10)
        centre = Qt.AlignmentFlag.AlignHCenter
        self._detail.setAlignment(centre)
        self._title.setAlignment(centre)
        self._title.setWordWrap(True)
        layout.addWidget(self._picture, 0, centre)
        layout.addWidget(self._title)
        layout.addWidget(self._detail)
        layout.addSpacing(8)
        row = QHBoxLayout()
        row.addStretch(1)
        for part in (self.start, self.retry, self.local, self.back):
            row.addWidget(part)
        row.addStretch(1)
        layout.addLayout(row)
        layout.addWidget(self._output)
        layout.addSpacing(18)
        layout.addWidget(self.elsewhere)
        return column
