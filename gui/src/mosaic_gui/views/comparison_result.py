"""The result of a comparison: verdict, tables, picture, and the returns by seed."""

from collections.abc import Sequence
from pathlib import Path

from PyQt6.QtCore import QModelIndex, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QPixmap, QResizeEvent
from PyQt6.QtWidgets import (
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from mosaic_contracts.comparison_orders import DARK_PICTURE, PICTURE
from mosaic_contracts.comparisons import ActorsResult
from mosaic_gui.discard import discard
from mosaic_gui.state.language import tr
from mosaic_gui.theme.current import current, on_theme
from mosaic_gui.theme.icon import icon
from mosaic_gui.theme.tokens import DARK
from mosaic_gui.viewmodels.comparison import ComparisonModel
from mosaic_gui.viewmodels.rows import RowsModel
from mosaic_gui.views.plain_table import PlainTable
from mosaic_gui.views.text import IconLabel, button, inside_of_scroll, label

_RESULT, _VECTOR = "result.json", "picture.svg"
_ROW_HEIGHT, _HEAD_HEIGHT = 30, 34
_LEAST_COLUMN = 70
_MOST_HEIGHT = 330
"""Height of the picture, however wide the page is."""
_MOST_SEEDS = 8
"""Rows of the table of seeds that are in sight at once."""


class ComparisonResult(QWidget):
    """Scrolls; without a result it says what a comparison is."""

    save_wanted = pyqtSignal(str, object)
    """Name of a file of the result, and the Path of the copy."""

    def __init__(self, model: ComparisonModel) -> None:
        super().__init__()
        self._model = model
        self.headline = label("", "heading", wraps=True)
        self.brackets = label(tr("In brackets: 95 % bootstrap intervals."), "small")
        self.cautions = label("", "warn", wraps=True)
        self.notes = label("", "small", wraps=True)
        self.picture = _Picture()
        self.save_result = button(tr("Save result"), "", "compare.save_result")
        self.save_picture = button(tr("Save picture"), "", "compare.save_picture")
        self.side_by_side = button(tr("Show side by side"), "", "compare.side_by_side")
        self.tables = QVBoxLayout()
        self._tables: list[PlainTable] = []
        self.seeds: PlainTable | None = None
        self._seed_numbers: list[int] = []
        self._scroll = QScrollArea()
        self._empty = self._make_empty()
        self._arrange()
        self.save_result.clicked.connect(lambda: self._ask(_RESULT))
        self.save_picture.clicked.connect(lambda: self._ask(_VECTOR))
        self.side_by_side.clicked.connect(self._show_seed)
        model.result_changed.connect(self.refresh)
        on_theme(self, self._show_picture)
        self.refresh()

    def refresh(self) -> None:
        """Show the newest result."""
        model, result = self._model, self._model.result
        self._scroll.setVisible(result is not None)
        self._empty.setVisible(result is None)
        self._drop_tables()
        if result is None:
            return
        self.headline.setText(model.headline)
        for shown, lines in ((self.cautions, model.cautions), (self.notes, model.notes)):
            shown.setText("\n".join(lines))
            shown.setVisible(bool(lines))
        if isinstance(result, ActorsResult):
            titles = [tr("Actor"), tr("Episodes"), tr("Mean"), tr("IQM"), tr("Median")]
            self._add_table("compare.actors", titles, model.rows, tr("Returns of the actors"))
        else:
            titles = [tr("Group"), tr("Environment"), tr("Runs"), tr("Final return")]
            titles += [tr("Mean return"), tr("Steps to threshold")]
            self._add_table("compare.groups", titles, model.rows, tr("Groups of trainings"))
        if model.pairs:
            titles = [tr("X – Y"), tr("Verdict"), tr("Difference"), tr("P(X > Y)")]
            titles += [tr("Won / tied / lost")]
            self._add_table("compare.pairs", titles, model.pairs, tr("Differences of the means"))
        self._add_seeds()
        self._show_picture()
        if (bar := self._scroll.verticalScrollBar()) is not None:
            bar.setValue(0)

    def _add_seeds(self) -> None:
        model = self._model
        found = model.seeds
        self.side_by_side.setVisible(bool(found))
        self.seeds, self._seed_numbers = None, [seed for seed, _ in found]
        if not found or not isinstance(model.result, ActorsResult):
            return
        titles = [tr("Seed"), *(actor.name for actor in model.result.actors)]
        rows = [(str(seed), *returns) for seed, returns in found]
        name = tr("Returns by seed")
        self.seeds = self._add_table("compare.seeds", titles, rows, name, _MOST_SEEDS)
        self.seeds.setToolTip(tr("A double click shows the episodes of a seed side by side."))
        self.seeds.doubleClicked.connect(lambda _index: self._show_seed())
        self.seeds.activated.connect(lambda _index: self._show_seed())
        self.seeds.setCurrentIndex(self.seeds.model().index(0, 0))  # type: ignore[union-attr]

    def _show_seed(self) -> None:
        index = self.seeds.currentIndex() if self.seeds is not None else QModelIndex()
        if index.isValid():
            self._model.show_seed(self._seed_numbers[index.row()])

    def _add_table(
        self,
        name: str,
        titles: Sequence[str],
        rows: Sequence[Sequence[str]],
        accessible: str,
        most: int = 20,
    ) -> PlainTable:
        model = RowsModel(titles, numeric=tuple(range(1, len(titles))), parent=self)
        model.replace(rows)
        made = PlainTable(model, name)
        made.setAccessibleName(accessible)
        made.setProperty("kind", "dense")
        made.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        vertical, header = made.verticalHeader(), made.horizontalHeader()
        if vertical is not None:
            vertical.setDefaultSectionSize(_ROW_HEIGHT)
        if header is not None:
            header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
            header.setMinimumSectionSize(_LEAST_COLUMN)
            header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        made.setFixedHeight(_HEAD_HEIGHT + min(len(rows), most) * _ROW_HEIGHT + 14)
        self._tables.append(made)
        self.tables.addWidget(label(accessible, "section"))
        self.tables.addWidget(made)
        return made

    def _drop_tables(self) -> None:
        while (item := self.tables.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                discard(widget)
        self._tables, self.seeds = [], None

    def _show_picture(self) -> None:
        folder = self._model.folder
        name = DARK_PICTURE if current().name == DARK.name else PICTURE
        self.picture.show_file(folder / name if folder is not None else None)

    def _ask(self, name: str) -> None:
        dialog = QFileDialog(self, tr("Save {name}", name=name))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        if name == _VECTOR:
            dialog.setNameFilters(["SVG (*.svg)", "PNG (*.png)"])
        dialog.selectFile(name)

        def give(place: str) -> None:
            chosen = PICTURE if name == _VECTOR and place.endswith(".png") else name
            self.save_wanted.emit(chosen, Path(place))

        dialog.fileSelected.connect(give)
        dialog.open()

    def _arrange(self) -> None:
        inside = inside_of_scroll()
        column = QVBoxLayout(inside)
        column.setContentsMargins(2, 2, 10, 10)
        column.setSpacing(10)
        head = QHBoxLayout()
        head.addWidget(self.headline, 1)
        for made in (self.save_result, self.save_picture):
            made.setIcon(icon("download", "muted"))
            head.addWidget(made)
        column.addLayout(head)
        column.addWidget(self.cautions)
        column.addWidget(self.picture)
        column.addWidget(self.brackets)
        self.tables.setSpacing(4)
        column.addLayout(self.tables)
        below = QHBoxLayout()
        self.side_by_side.setIcon(icon("columns", "muted"))
        self.side_by_side.setToolTip(tr("Replay the episodes of the chosen seed in lock-step"))
        below.addWidget(self.side_by_side)
        below.addStretch(1)
        column.addLayout(below)
        column.addWidget(self.notes)
        column.addStretch(1)
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setWidget(inside)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._scroll)
        layout.addWidget(self._empty)

    def _make_empty(self) -> QWidget:
        made = QWidget()
        column = QVBoxLayout(made)
        column.addStretch(2)
        column.addWidget(IconLabel("compare", "muted", 40), 0, Qt.AlignmentFlag.AlignHCenter)
        for words, kind in (
            (tr("Two to six actors on the same seeds"), "heading"),
            (
                tr(
                    "Each checkpoint is evaluated by a run of its own. The returns are compared seed by seed, with "
                    "bootstrap intervals."
                ),
                "muted",
            ),
        ):
            text = label(words, kind, wraps=True)
            text.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
            column.addWidget(text)
        column.addStretch(3)
        return made


class _Picture(QLabel):
    """A picture as wide as there is room, and never larger than it is."""

    def __init__(self) -> None:
        super().__init__()
        self._whole = QPixmap()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setAccessibleName(tr("Picture of the result"))

    def show_file(self, path: Path | None) -> None:
        """Show a file; without one nothing."""
        self._whole = QPixmap(str(path)) if path is not None else QPixmap()
        self._fit()

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        self.setVisible(not self._whole.isNull())
        if self._whole.isNull():
            return
        ratio = self.devicePixelRatioF()
        width = min(round(self.width() * ratio), self._whole.width())
        size = QSize(width, round(_MOST_HEIGHT * ratio))
        mode = Qt.TransformationMode.SmoothTransformation
        shown = self._whole.scaled(size, Qt.AspectRatioMode.KeepAspectRatio, mode)
        shown.setDevicePixelRatio(ratio)
        self.setPixmap(shown)
        self.setFixedHeight(round(shown.height() / ratio))
