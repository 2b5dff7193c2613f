"""The chosen checkpoint: what is known of it, and what can be done with it."""

from PyQt6.QtCore import QPoint, QStandardPaths, Qt, pyqtSignal
from PyQt6.QtGui import QGuiApplication
from PyQt6.QtWidgets import (
    QFileDialog,
    QFormLayout,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from mosaic_gui.state import checkpoint_texts as texts
from mosaic_gui.state.language import tr
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.checkpoints import CheckpointsModel
from mosaic_gui.views.text import ElidedLabel, button, frame, inside_of_scroll, label, restyle

WIDTH = 312


class CheckpointSide(QFrame):
    """Facts in a list, actions below them. Its texts are replaced, never its widgets."""

    said = pyqtSignal(str)

    def __init__(self, model: CheckpointsModel) -> None:
        super().__init__()
        self.setProperty("kind", "panel")
        self.setObjectName("checkpoints.side")
        self.setFixedWidth(WIDTH)
        self._model = model
        self._title = ElidedLabel("", "heading")
        self._about = ElidedLabel("", "muted")
        self._facts = QWidget()
        self._rows: list[tuple[QLabel, ElidedLabel]] = []
        self._form = QFormLayout(self._facts)
        self._file = label("", "small", wraps=True)
        self._why = label("", "small", wraps=True)
        self.play = button(tr("Play"), "primary", "checkpoints.play")
        self.play.setIcon(icon("play", "on_accent"))
        self.evaluate = button(tr("Evaluate"), "", "checkpoints.evaluate")
        self.train = button(tr("Train on"), "", "checkpoints.train")
        self.compare = _quiet(tr("Compare"), "compare", "checkpoints.compare")
        self.run = _quiet(tr("Show the run"), "watch", "checkpoints.run")
        self.check = _quiet(tr("Verify"), "ok", "checkpoints.check")
        self.copy = _quiet(tr("Copy command"), "copy", "checkpoints.copy")
        self.export = _quiet(tr("Export"), "download", "checkpoints.export")
        self.pin = _quiet(tr("Pin"), "pin", "checkpoints.pin")
        self._arrange()
        self._connect()
        self.refresh()

    def refresh(self) -> None:
        """Show the chosen checkpoint."""
        model, row = self._model, self._model.row
        self._title.set_whole(texts.step_text(row) if row is not None else "")
        self._about.set_whole(f"{row.algorithm} · {row.environment}" if row is not None else "")
        known = texts.facts(row) if row is not None else []
        for number, (name, value) in enumerate(known):
            self._show_fact(number, name, value)
        words, tone = texts.integrity(row, model.checked(row)) if row is not None else ("", "")
        self._file.setText(words)
        if self._file.property("tone") != tone:
            self._file.setProperty("tone", tone)
            restyle(self._file)
        self._allow()

    def show_menu(self, place: QPoint) -> None:
        """Everything that can be done with the chosen checkpoint."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        acts = (
            self.play,
            self.evaluate,
            self.train,
            self.compare,
            self.run,
            self.check,
            self.export,
            self.pin,
        )
        for made in acts:
            action = menu.addAction(made.text())
            if action is not None:
                action.setEnabled(made.isEnabled())
                action.triggered.connect(made.click)
        menu.addSeparator()
        self._fill_commands(menu)
        menu.popup(place)

    def _allow(self) -> None:
        model = self._model
        row = model.row
        acting, training = model.obstacle("play"), model.obstacle("train")
        for made, why, tip in (
            (self.play, acting, tr("Open the page Play with this checkpoint (Return)")),
            (
                self.evaluate,
                acting,
                tr(
                    "{n} greedy episodes, with the seeds from {seed} on",
                    n=texts.EVALUATED_EPISODES,
                    seed=texts.EVALUATED_SEED,
                ),
            ),
            (
                self.compare,
                acting,
                tr("Add it to the page Compare, where policies act on equal seeds"),
            ),
            (self.train, training, tr("Open the form, to begin with this checkpoint")),
        ):
            made.setEnabled(not why)
            made.setToolTip(why or tip)
        self.run.setEnabled(model.run is not None)
        self.check.setEnabled(row is not None and model.check_progress is None)
        self.copy.setEnabled(row is not None)
        missing = texts.gone(row, model.checked(row)) if row is not None else ""
        self.export.setEnabled(row is not None and not missing)
        self.export.setToolTip(
            missing or tr("Write a zip with the checkpoint and its facts, for another stack")
        )
        self._allow_pin(row is not None and not missing)
        algorithm = model.algorithm
        words = texts.left_words(algorithm) if algorithm is not None and not training else ""
        self._why.setText("\n".join(dict.fromkeys(filter(None, (acting, training)))) or words)

    def _allow_pin(self, is_there: bool) -> None:
        is_pinned = self._model.is_pinned
        self.pin.setText(tr("Unpin") if is_pinned else tr("Pin"))
        self.pin.setIcon(icon("pin", "accent" if is_pinned else "muted"))
        self.pin.setEnabled(self._model.run is not None and (is_there or is_pinned))
        self.pin.setToolTip(
            tr("Let the storage profile of its run apply to this checkpoint again")
            if is_pinned
            else tr("Keep this checkpoint, whatever the storage profile of its run says")
        )

    def _show_fact(self, number: int, name: str, value: str) -> None:
        if number == len(self._rows):
            title, shown = label("", "small"), ElidedLabel()
            shown.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            self._form.addRow(title, shown)
            self._rows.append((title, shown))
        title, shown = self._rows[number]
        title.setText(name)
        shown.set_whole(value)

    def _arrange(self) -> None:
        self._form.setContentsMargins(0, 0, 4, 0)
        self._form.setHorizontalSpacing(12)
        self._form.setVerticalSpacing(5)
        inside = inside_of_scroll()
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(10)
        column.addWidget(self._facts)
        column.addWidget(self._file)
        column.addStretch(1)
        area = QScrollArea()
        area.setWidget(inside)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        acts, more = QHBoxLayout(), QGridLayout()
        acts.setSpacing(8)
        more.setSpacing(2)
        for made in (self.evaluate, self.train):
            acts.addWidget(made, 1)
        for number, made in enumerate(
            (self.run, self.compare, self.check, self.export, self.copy, self.pin)
        ):
            more.addWidget(made, number // 2, number % 2, Qt.AlignmentFlag.AlignLeft)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 14, 16, 12)
        layout.setSpacing(8)
        layout.addWidget(self._title)
        layout.addWidget(self._about)
        layout.addWidget(frame("rule"))
        layout.addWidget(area, 1)
        layout.addWidget(self._why)
        layout.addWidget(self.play)
        layout.addLayout(acts)
        layout.addLayout(more)

    def _connect(self) -> None:
        model = self._model
        model.changed.connect(self.refresh)
        self.play.clicked.connect(model.play)
        self.evaluate.clicked.connect(model.evaluate)
        self.train.clicked.connect(model.train_on)
        self.run.clicked.connect(model.show_run)
        self.compare.clicked.connect(model.compare)
        self.check.clicked.connect(model.check_chosen)
        self.pin.clicked.connect(model.toggle_pin)
        self.copy.clicked.connect(self._offer_commands)
        self.export.clicked.connect(self._ask_where)

    def _ask_where(self) -> None:
        row = self._model.row
        if row is None:
            return
        where = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DownloadLocation)
        dialog = QFileDialog(self, tr("Export {name}", name=texts.file_name(row)))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDirectory(where)
        dialog.selectFile(texts.export_name(row))
        dialog.fileSelected.connect(lambda place: self._model.export_wanted.emit(row, place))
        dialog.open()

    def _offer_commands(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._fill_commands(menu)
        menu.popup(self.copy.mapToGlobal(QPoint(0, self.copy.height())))

    def _fill_commands(self, menu: QMenu) -> None:
        row = self._model.row
        for what, command in texts.commands(row, self._model.algorithm) if row is not None else []:
            action = menu.addAction(tr("Copy command: {what}", what=what))
            if action is not None:
                action.triggered.connect(lambda _on, command=command: self._copy(command))

    def _copy(self, command: str) -> None:
        clipboard = QGuiApplication.clipboard()
        if clipboard is not None:
            clipboard.setText(command)
            self.said.emit(tr("Copied: {command}", command=command))


def _quiet(text: str, picture: str, name: str) -> QPushButton:
    made = button(text, "quiet", name)
    made.setIcon(icon(picture, "muted"))
    return made
