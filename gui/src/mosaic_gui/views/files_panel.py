"""The files of a run, with buttons to download them, copy paths, and use checkpoints."""

from PyQt6.QtCore import QModelIndex, QPoint, QStandardPaths, Qt, pyqtSignal
from PyQt6.QtGui import QGuiApplication, QResizeEvent, QShowEvent
from PyQt6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QMenu,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from mosaic_contracts.runs import ArtifactRow
from mosaic_gui.state.language import tr
from mosaic_gui.state.run_files import is_video, local_name, play_obstacle, start_obstacle
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.watch import WatchModel
from mosaic_gui.views.plain_table import PlainTable
from mosaic_gui.views.text import ElidedLabel, button

_TICKS = 1_000
ROW_HEIGHT = 28
WITH_KIND = 420
"""Width from which the kind has a column of its own; names say it too."""
_KIND = 1
MARGIN, SPACING = 4, 2
"""Pixels around and between the buttons."""


class FilesPanel(QWidget):
    """A table, what can be done with the chosen file above it, and what is under way between them."""

    save_wanted = pyqtSignal(object, object, str)
    """RunView, ArtifactRow, and the place on this machine; an empty one: the folder of downloads."""
    cancel_wanted = pyqtSignal()
    train_on_wanted = pyqtSignal(str, str)
    """Run and path of its checkpoint."""
    play_wanted = pyqtSignal(object, str)
    """RunView, and path of its checkpoint."""
    show_wanted = pyqtSignal(object, object)
    """RunView, and ArtifactRow of a video."""
    said = pyqtSignal(str)

    def __init__(self, model: WatchModel) -> None:
        super().__init__()
        self.setObjectName("side.files")
        self._model = model
        self._path = ""
        self._is_own = False
        """The user chose the file, not the panel."""
        self.table = PlainTable(model.files, "files.table")
        self.table.setAccessibleName(tr("Files of the run"))
        # Paths begin alike; what differs is at their ends.
        self.table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        rows = self.table.verticalHeader()
        if rows is not None:
            rows.setDefaultSectionSize(ROW_HEIGHT)
        self._words = ElidedLabel("", "small")
        self._bar = QProgressBar()
        self._strip = self._make_strip()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(self._make_acts())
        layout.addWidget(self._strip)
        layout.addWidget(self.table, 1)
        self.table.row_chosen.connect(self._on_row)
        self.table.activated.connect(self._on_activated)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.table.customContextMenuRequested.connect(self._open_menu)
        model.files.modelReset.connect(self._on_reset)
        model.files.transfers_changed.connect(self._show_transfers)
        model.run_changed.connect(self.refresh)
        self._on_reset()
        self._show_transfers()

    @property
    def file(self) -> ArtifactRow | None:
        """The chosen file."""
        return self._model.files.file(self._path)

    def _open_menu(self, place: QPoint) -> None:
        """Offer for the file at a place what the buttons do."""
        index, viewport = self.table.indexAt(place), self.table.viewport()
        if not index.isValid() or viewport is None:
            return
        self.table.setCurrentIndex(index)
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for made, title in (
            (self.show_video, tr("Show the video")),
            (self.play, tr("Play")),
            (self.train_on, tr("Train on")),
            (self.save, tr("Download")),
            (self.save_as, tr("Save as …")),
            (self.copy, tr("Copy path")),
        ):
            action = None if made.isHidden() else menu.addAction(title)
            if action is not None:
                action.setEnabled(made.isEnabled())
                action.triggered.connect(made.click)
        menu.popup(viewport.mapToGlobal(place))

    def refresh(self) -> None:
        """Enable the actions of the chosen file; tool tips say why not."""
        file, algorithm = self.file, self._model.algorithm
        tips = {
            self.save: tr("Save in the downloads folder (Return)"),
            self.save_as: tr("Save as …"),
            self.copy: tr("Copy path"),
        }
        for made, tip in tips.items():
            made.setEnabled(file is not None)
            made.setToolTip(tip if file is not None else tr("Choose a file."))
        shows_video = is_video(file)
        self.show_video.setVisible(shows_video)
        self.train_on.setVisible(not shows_video)
        _allow(
            self.train_on,
            start_obstacle(file, algorithm),
            tr("Open the form with this run's values, to begin with this checkpoint"),
        )
        # what the worker does not offer is not promised by a button
        self.play.setVisible(not shows_video and (algorithm is None or algorithm.play))
        _allow(
            self.play,
            play_obstacle(file, algorithm),
            tr(
                "Start a run that acts with this checkpoint and learns nothing, with the last "
                "choices under Use trained"
            ),
        )
        self._fit()

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self._fit()

    def showEvent(self, event: QShowEvent | None) -> None:
        super().showEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Where there is little room the names get it: the kind is left out, and words of buttons are."""
        self.table.setColumnHidden(_KIND, self.width() < WITH_KIND)
        acts = (self.save, self.save_as, self.copy, self.train_on, self.play, self.show_video)
        shown = [made for made in acts if not made.isHidden()]
        worded = ((self.save, tr("Download")), (self.train_on, tr("Train on")))
        for made, words in worded:
            made.setText(words)
        for made, _ in worded:
            needed = sum(one.sizeHint().width() + SPACING for one in shown) + 2 * MARGIN
            if needed > self.width():
                made.setText("")

    def _make_acts(self) -> QHBoxLayout:
        self.save = _act(tr("Download"), "download", "files.save")
        self.save_as = _act("", "folder", "files.save_as", tr("Save as"))
        self.copy = _act("", "copy", "files.copy", tr("Copy path"))
        self.train_on = _act(tr("Train on"), "train", "files.train_on", tr("Train on from here"))
        self.play = _act(tr("Play"), "play", "files.play")
        self.show_video = _act(tr("Show"), "play", "files.show")
        self.show_video.setToolTip(tr("Show the video (Return)"))
        row = QHBoxLayout()
        row.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        row.setSpacing(SPACING)
        for made in (self.save, self.save_as, self.copy):
            row.addWidget(made)
        row.addStretch(1)
        row.addWidget(self.train_on)
        row.addWidget(self.play)
        row.addWidget(self.show_video)
        self.save.clicked.connect(lambda: self._save(""))
        self.save_as.clicked.connect(self._ask_where)
        self.copy.clicked.connect(self._copy)
        self.train_on.clicked.connect(
            lambda: self.train_on_wanted.emit(self._model.run_id, self._path)
        )
        self.show_video.clicked.connect(self._show_video)
        self.play.clicked.connect(lambda: self.play_wanted.emit(self._model.run, self._path))
        return row

    def _make_strip(self) -> QWidget:
        self._bar.setObjectName("files.progress")
        self._bar.setRange(0, _TICKS)
        self._bar.setTextVisible(False)
        self._bar.setFixedHeight(6)
        cancel = button(tr("Cancel"), "quiet", "files.cancel")
        cancel.clicked.connect(self.cancel_wanted)
        strip = QWidget()
        row = QHBoxLayout(strip)
        row.setContentsMargins(12, 0, 6, 4)
        row.setSpacing(10)
        row.addWidget(self._words, 1)
        row.addWidget(self._bar, 1)
        row.addWidget(cancel)
        return strip

    def _show_transfers(self) -> None:
        files = self._model.files
        self._strip.setVisible(bool(files.under_way))
        self._words.set_whole(files.under_way)
        self._bar.setValue(round(files.share * _TICKS))

    def _on_reset(self) -> None:
        """Other files: the one that the user chose stays chosen while it is there; else what was learned last."""
        files = self._model.files
        own = files.file(self._path) if self._is_own else None
        self._is_own = own is not None
        file = own or files.newest
        self._path = file.path if file is not None else ""
        if file is not None:
            self.table.mark(files.files.index(file))
        self.refresh()

    def choose(self, path: str) -> None:
        """Choose a file by its path."""
        files = self._model.files
        file = files.file(path)
        if file is not None:
            row = files.files.index(file)
            self.table.mark(row)
            self._on_row(row)

    def _on_row(self, row: int) -> None:
        self._path, self._is_own = self._model.files.files[row].path, True
        self.refresh()

    def _on_activated(self, index: QModelIndex) -> None:
        self._on_row(index.row())
        if is_video(self.file):
            self._show_video()
        else:
            self._save("")

    def _show_video(self) -> None:
        if self._model.run is not None and self.file is not None:
            self.show_wanted.emit(self._model.run, self.file)

    def _save(self, place: str) -> None:
        if self._model.run is not None and self.file is not None:
            self.save_wanted.emit(self._model.run, self.file, place)

    def _ask_where(self) -> None:
        run, file = self._model.run, self.file
        if run is None or file is None:
            return
        where = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DownloadLocation)
        dialog = QFileDialog(self, tr("Save {name}", name=file.path))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDirectory(where)
        dialog.selectFile(local_name(run, file))
        dialog.fileSelected.connect(lambda place: self.save_wanted.emit(run, file, place))
        dialog.open()

    def _copy(self) -> None:
        clipboard, run = QGuiApplication.clipboard(), self._model.run
        if clipboard is not None and run is not None:
            place = self._model.files.place(run.run_dir, self._path)
            clipboard.setText(place)
            self.said.emit(tr("Copied: {place}", place=place))


def _act(text: str, picture: str, name: str, accessible: str = "") -> QPushButton:
    made = button(text, "quiet", name)
    made.setIcon(icon(picture, "muted"))
    made.setAccessibleName(accessible or text)
    return made


def _allow(made: QPushButton, obstacle: str, tip: str) -> None:
    made.setEnabled(not obstacle)
    made.setToolTip(obstacle or tip)
