"""A popup that asks what an episode is exported as."""

from PyQt6.QtCore import QPoint, pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from mosaic_contracts.exports import dataset_name, datasets_folder
from mosaic_gui.state.export_words import ExportKind, ExportOffer, video_words
from mosaic_gui.state.language import tr
from mosaic_gui.state.playback import SPEEDS
from mosaic_gui.views.form_field import CalmCombo
from mosaic_gui.views.popup import PanelPopup, open_popup
from mosaic_gui.views.segments import Segments
from mosaic_gui.views.text import button, label

WIDTH = 380


class ExportPopup(PanelPopup):
    """Closes with Escape or a click outside; then nothing is exported."""

    wanted = pyqtSignal(str, float, str)
    """ExportKind, speed of a video, and name of a dataset."""

    def __init__(self, parent: QWidget, offer: ExportOffer) -> None:
        super().__init__(parent)
        self._offer = offer
        self.kinds = Segments(
            {
                ExportKind.MP4: tr("MP4"),
                ExportKind.GIF: tr("GIF"),
                ExportKind.STEPS: tr("JSON lines"),
                ExportKind.DATASET: tr("Minari dataset"),
            },
            "export.kind",
            fills=True,
        )
        self.speed = CalmCombo()
        self.speed.setObjectName("export.speed")
        self.speed.setAccessibleName(tr("Speed of the video"))
        for speed in SPEEDS:
            self.speed.addItem(tr("{n} ×", n=f"{speed:g}"), speed)
        self.speed.setCurrentIndex(SPEEDS.index(1.0))
        self.name = QLineEdit(offer.name)
        self.name.setObjectName("export.name")
        self.name.setAccessibleName(tr("Name of the dataset"))
        self.words = label("", "small", wraps=True)
        self.fault = label("", "fault", wraps=True)
        self.give = button(tr("Save as …"), "primary", "export.give")
        self._speed_title, self._name_title = label(tr("Speed")), label(tr("Name"))
        self._lay_out()
        self.kinds.chosen.connect(lambda _key: self._refresh())
        self.speed.currentIndexChanged.connect(lambda _n: self._refresh())
        self.name.textChanged.connect(lambda _text: self._refresh())
        self.name.returnPressed.connect(self.give.click)
        self.give.clicked.connect(self._give)
        if not offer.episode:
            self.kinds.set_key(ExportKind.DATASET)
        self._refresh()

    def show_at(self, place: QPoint) -> None:
        """Open with the focus on the choice of the kind."""
        open_popup(self, place)
        self.give.setFocus()

    @property
    def kind(self) -> ExportKind:
        """The chosen kind."""
        return ExportKind(self.kinds.key)

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self.panel)
        layout.setContentsMargins(14, 12, 14, 14)
        layout.setSpacing(10)
        layout.addWidget(label(tr("Export"), "heading"))
        layout.addWidget(self.kinds)
        layout.addLayout(_row(self._speed_title, self.speed))
        layout.addLayout(_row(self._name_title, self.name))
        layout.addWidget(self.words)
        layout.addWidget(self.fault)
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(self.give)
        layout.addLayout(foot)
        self.panel.setFixedWidth(WIDTH)

    def _refresh(self) -> None:
        kind, offer = self.kind, self._offer
        is_set = kind is ExportKind.DATASET
        self._speed_title.setVisible(kind.is_video)
        self.speed.setVisible(kind.is_video)
        self._name_title.setVisible(is_set)
        self.name.setVisible(is_set)
        self.give.setText(tr("Write") if is_set else tr("Save as …"))
        fault = ""
        if is_set:
            words = tr(
                "{episodes} It is written into {folder}.",
                episodes=offer.dataset.rstrip(".") + "." if offer.dataset else "",
                folder=datasets_folder(),
            ).strip()
            fault = self._name_fault() if offer.dataset else tr("No episode has recorded steps.")
        elif not offer.episode:
            words, fault = "", tr("Choose an episode in the list first.")
        elif kind.is_video:
            words = video_words(offer, float(self.speed.currentData()))
        else:
            words = tr("{episode}: one line for the reset and each step", episode=offer.episode)
        self.words.setText(words)
        self.fault.setText(fault)
        self.fault.setVisible(bool(fault))
        self.give.setEnabled(not fault)
        self.adjustSize()

    def _name_fault(self) -> str:
        try:
            dataset_name(self.name.text().strip())
        except ValueError:
            return tr(
                "A name has letters, digits, - and _, in parts with / between them, e.g. cartpole/ppo-v0."
            )
        return ""

    def _give(self) -> None:
        name = self.name.text().strip()
        if self.kind is ExportKind.DATASET:
            name = dataset_name(name)
        self.wanted.emit(self.kind.value, float(self.speed.currentData()), name)
        self.close()


def _row(title: QLabel, field: QWidget) -> QHBoxLayout:
    row = QHBoxLayout()
    title.setFixedWidth(60)
    title.setBuddy(field)
    row.addWidget(title)
    row.addWidget(field, 1)
    return row
