"""Texts, histograms and images of a run: a list of names, and the chosen one by step."""

from PyQt6.QtCore import QModelIndex, QSize, Qt
from PyQt6.QtGui import QFont, QStandardItem, QStandardItemModel
from PyQt6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QListView,
    QSlider,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from mosaic_contracts.media import MediaValue
from mosaic_gui.state import wording
from mosaic_gui.state.language import mark, tr, tr_mark, tr_n
from mosaic_gui.theme.apply import ui_font
from mosaic_gui.viewmodels.media import MediaModel
from mosaic_gui.views.bases import VisibilityFrame
from mosaic_gui.views.documentation import Documentation
from mosaic_gui.views.frame_canvas import FrameCanvas
from mosaic_gui.views.histogram_view import HistogramView
from mosaic_gui.views.text import ElidedLabel, button, label

LIST_WIDTH, ROW_HEIGHT = 190, 26
"""Pixels."""
SECTIONS = {
    "text": mark("Texts"),
    "histogram": mark("Histograms"),
    "image": mark("Images"),
}
_KEY = Qt.ItemDataRole.UserRole + 1


class MediaPanel(VisibilityFrame):
    """The tab `Media`."""

    def __init__(self, model: MediaModel) -> None:
        super().__init__()
        self.setProperty("kind", "panel")
        self.setObjectName("media")
        self._model = model
        self._rows = QStandardItemModel(self)
        self.list = QListView()
        self.list.setObjectName("media.names")
        self.list.setAccessibleName(tr("Texts, histograms and images"))
        self.list.setModel(self._rows)
        self.list.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._title = ElidedLabel("", "section")
        self._about = label("", "small")
        self.text, self.histogram = Documentation(), HistogramView()
        self.text.setObjectName("media.text")
        self.text.setAccessibleName(tr("Text of the chosen step"))
        self.image = FrameCanvas(tr("Image of the chosen step"))
        self.image.setObjectName("media.image")
        self._caption = label("", "small", wraps=True)
        self._pages = QStackedWidget()
        self._nothing = label("", "muted")
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        for page in (self.text, self.histogram, self.image, self._nothing):
            self._pages.addWidget(page)
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setObjectName("media.step")
        self.slider.setAccessibleName(tr("Step"))
        self.slider.setToolTip(tr("Arrow keys, Page Up and Page Down, Home and End"))
        self._step = label("", "small")
        self.newest = button(tr("Newest step"), "segment", "media.follow")
        self.newest.setCheckable(True)
        self.newest.setToolTip(tr("Keep showing the newest"))
        self._lay_out()
        self._connect()
        self._fill()

    def _lay_out(self) -> None:
        side = QWidget()
        column = QVBoxLayout(side)
        column.setContentsMargins(12, 8, 12, 8)
        column.setSpacing(6)
        head = QHBoxLayout()
        head.addWidget(self._title, 1)
        head.addWidget(self._about)
        column.addLayout(head)
        column.addWidget(self._pages, 1)
        column.addWidget(self._caption)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.slider, 1)
        row.addWidget(self._step)
        row.addWidget(self.newest)
        column.addLayout(row)
        split = QSplitter()
        split.setObjectName("media.split")
        split.setChildrenCollapsible(False)
        split.addWidget(self.list)
        split.addWidget(side)
        split.setStretchFactor(1, 1)
        split.setSizes([LIST_WIDTH, 3 * LIST_WIDTH])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 1, 1, 1)
        layout.addWidget(split)

    def _connect(self) -> None:
        model = self._model
        model.names_changed.connect(self._fill)
        model.values_changed.connect(self._show_values)
        model.place_changed.connect(self._show_place)
        model.image_changed.connect(self._show_image)
        if (selection := self.list.selectionModel()) is not None:
            selection.currentChanged.connect(self._on_current)
        self.slider.valueChanged.connect(model.choose_place)
        self.histogram.chosen.connect(model.choose_place)
        self.newest.clicked.connect(self._on_follow)

    def _fill(self) -> None:
        """List the names by kind; the chosen one stays."""
        self._rows.clear()
        for kind, title in SECTIONS.items():
            names = [one for one in self._model.names if one.kind == kind]
            if not names:
                continue
            head = QStandardItem(tr_mark(title))
            head.setFlags(Qt.ItemFlag.NoItemFlags)
            head.setFont(ui_font(12, QFont.Weight.DemiBold))
            head.setSizeHint(QSize(0, ROW_HEIGHT))
            self._rows.appendRow(head)
            for one in names:
                item = QStandardItem(one.name)
                item.setSizeHint(QSize(0, ROW_HEIGHT))
                item.setData((one.kind, one.name), _KEY)
                count = tr_n("{n} value", "{n} values", one.count)
                item.setToolTip(f"{one.name}\n{count}")
                self._rows.appendRow(item)
        self._show_values()

    def _mark(self) -> None:
        """Select the line of the chosen name."""
        rows = (self._rows.index(n, 0) for n in range(self._rows.rowCount()))
        key = self._model.key
        chosen = next((row for row in rows if row.data(_KEY) == key and key), QModelIndex())
        selection = self.list.selectionModel()
        if selection is not None and chosen != self.list.currentIndex():
            selection.blockSignals(True)
            selection.setCurrentIndex(chosen, selection.SelectionFlag.ClearAndSelect)
            selection.blockSignals(False)
            if (viewport := self.list.viewport()) is not None:
                viewport.update()

    def _on_current(self, now: QModelIndex, _before: QModelIndex) -> None:
        key = now.data(_KEY)
        if key is not None:
            self._model.choose(tuple(key))

    def _on_follow(self) -> None:
        self._model.choose_place(len(self._model.values) - 1)
        self._show_place()

    def _show_values(self) -> None:
        model = self._model
        self._mark()
        self.slider.blockSignals(True)
        self.slider.setRange(0, max(0, len(model.values) - 1))
        self.slider.blockSignals(False)
        self.slider.setEnabled(len(model.values) > 1)
        self._title.set_whole(model.key[1] if model.key is not None else "")
        shown = len(model.values)
        words = tr_n("{n} value", "{n} values", model.count)
        if shown < model.count:
            words = tr(
                "{shown} of {total} values",
                shown=wording.count(shown),
                total=wording.count(model.count),
            )
        self._about.setText(words if model.key is not None else "")
        self._show_place()

    def _show_place(self) -> None:
        model, value = self._model, self._model.value
        self.slider.blockSignals(True)
        self.slider.setValue(model.place)
        self.slider.blockSignals(False)
        self.newest.setChecked(model.following)
        self._caption.setVisible(value is not None and bool(value.caption))
        if value is None:
            self._step.setText("")
            self._say(tr("Reading …") if model.key is not None else "")
            return
        self._step.setText(step_words(value, model.place))
        self._caption.setText(value.caption or "")
        if value.text is not None:
            self.text.show_markdown("", text_words(value))
            self._pages.setCurrentWidget(self.text)
        elif value.edges is not None:
            self.histogram.show_values(model.values, model.place)
            self._pages.setCurrentWidget(self.histogram)
        else:
            self._show_image()

    def _show_image(self) -> None:
        model = self._model
        if model.image_fault:
            self._say(model.image_fault)
        elif model.image is not None:
            self.image.show_image(model.image)
            self._pages.setCurrentWidget(self.image)

    def _say(self, words: str) -> None:
        self._nothing.setText(words)
        self._pages.setCurrentWidget(self._nothing)


def step_words(value: MediaValue, place: int) -> str:
    """The step of a value, or its number where it has none."""
    if value.step is None:
        return tr("value {n}", n=wording.count(place + 1))
    return tr("step {n}", n=wording.count(value.step))


def text_words(value: MediaValue) -> str:
    """A text as it is shown, with what was cut off."""
    text = value.text or ""
    if value.characters is None:
        return text
    total = wording.count(value.characters)
    return text + "\n\n" + tr("… cut: the text had {n} characters.", n=total)
