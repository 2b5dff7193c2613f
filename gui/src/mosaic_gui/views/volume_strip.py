"""The disks that a stack uses: free space, level, and how much is the stack's own."""

from collections.abc import Sequence

from PyQt6.QtCore import QRectF, QSize
from PyQt6.QtGui import QColor, QPainter, QPaintEvent
from PyQt6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from mosaic_contracts.storage_reports import StorageVolume
from mosaic_gui.discard import discard
from mosaic_gui.state.language import tr
from mosaic_gui.state.storage import VolumeWords, share_text, volume_words
from mosaic_gui.theme.apply import current
from mosaic_gui.theme.tokens import mixed
from mosaic_gui.views.badge import Badge
from mosaic_gui.views.text import ElidedLabel, frame, label

_BAR = 8


class VolumeStrip(QWidget):
    """A panel for each disk, next to each other."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("storage.volumes")
        self.setAccessibleName(tr("Disks in use"))
        self._shown: list[VolumeWords] = []
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(12)

    def show_volumes(self, volumes: Sequence[StorageVolume]) -> None:
        """Show these disks; equal ones stay as they are."""
        words = [volume_words(volume) for volume in volumes]
        if words == self._shown:
            return
        self._shown = words
        while (item := self._row.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                discard(widget)
        for each in words:
            self._row.addWidget(_panel(each), 1)
        self.setVisible(bool(words))


class UseBar(QWidget):
    """How full a disk is, with the part of this stack in front."""

    def __init__(self, words: VolumeWords) -> None:
        super().__init__()
        self._words = words
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(_BAR)

    def sizeHint(self) -> QSize:
        return QSize(100, _BAR)

    def paintEvent(self, _event: QPaintEvent | None) -> None:
        painter, tokens, words = QPainter(self), current(), self._words
        painter.fillRect(self.rect(), QColor(mixed(tokens.edge, tokens.surface, 0.22)))
        used = QColor(mixed(tokens.edge, tokens.surface, 0.7))
        painter.fillRect(QRectF(0, 0, self.width() * words.used_share, _BAR), used)
        own = QColor(tokens.accent if words.tone == "ok" else tokens.tone(words.tone))
        painter.fillRect(QRectF(0, 0, self.width() * words.own_share, _BAR), own)


def _panel(words: VolumeWords) -> QFrame:
    made = frame("panel")
    head = QHBoxLayout()
    head.setSpacing(8)
    head.addWidget(ElidedLabel(words.name, "strong"), 1)
    head.addWidget(label(words.free, "muted"))
    head.addWidget(Badge(words.level, words.tone))
    column = QVBoxLayout(made)
    column.setContentsMargins(12, 8, 12, 10)
    column.setSpacing(6)
    column.addLayout(head)
    column.addWidget(UseBar(words))
    if words.message:
        column.addWidget(label(words.message, "warn", wraps=True))
    own, used = (
        share_text(round(1e6 * words.own_share), 10**6),
        share_text(round(1e6 * words.used_share), 10**6),
    )
    tip = tr("{own} of this disk is used by this stack, {used} in all", own=own, used=used)
    made.setToolTip(tip)
    made.setAccessibleName(f"{words.name}: {words.free}, {words.level}. {tip}")
    return made
