"""The list of a run's episodes, with a click to the worst, the median and the best one."""

import math

from PyQt6.QtCore import QItemSelection, QItemSelectionModel, QModelIndex, Qt, pyqtSignal
from PyQt6.QtGui import QAction, QFont, QFontMetricsF, QResizeEvent
from PyQt6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QStackedWidget,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from mosaic_gui.state import wording
from mosaic_gui.state.episode_list import EpisodeAddress, EpisodeColumn, Pick
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.theme.apply import ui_font
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.episodes import COLUMNS, EpisodesModel
from mosaic_gui.views.bases import was_in_sight
from mosaic_gui.views.row_menu import Choice, offer_row_menu
from mosaic_gui.views.text import ElidedLabel, button, frame, label

ROW_HEIGHT = 28
_PADDING = 16
"""Pixels next to the text of a cell."""
_MEASURED_ROWS = 60
_LEAST_END = 84
_COLUMN = {column: n for n, (column, _) in enumerate(COLUMNS)}


class EpisodeListView(QWidget):
    """Sorted by a click on a title. Its signals are what the user wants."""

    replay_wanted = pyqtSignal(object)
    """EpisodeAddress to show alone."""
    add_wanted = pyqtSignal(object)
    """EpisodeAddress to show next to the others."""
    pick_wanted = pyqtSignal(str)
    export_wanted = pyqtSignal()
    """The selected episodes, or the one that is shown, are to be exported."""
    run_wanted = pyqtSignal(str)
    """Run id whose episodes are to be listed; what is shown stays."""

    def __init__(self, model: EpisodesModel) -> None:
        super().__init__()
        self.setObjectName("replay.episodes")
        self._model = model
        self._marked: EpisodeAddress | None = None
        self._is_sought = False
        """Whether it was not in sight yet: the list may be read after it is shown."""
        self._several: list[EpisodeAddress] = []
        """Episodes that the user selected, if there are several."""
        self._mixed_run = ""
        """Run of which some episodes cannot be replayed, as its newest one cannot before its first step."""
        self._top: tuple[int, int, int] | None = None
        """The uppermost row while rows change."""
        self.table = self._make_table()
        self.picks = {
            Pick.WORST: self._make_pick(Pick.WORST, tr("Worst"), tr("The lowest return")),
            Pick.MEDIAN: self._make_pick(Pick.MEDIAN, tr("Median"), tr("The return in the middle")),
            Pick.BEST: self._make_pick(Pick.BEST, tr("Best"), tr("The highest return")),
        }
        self.add = button("", "quiet", "replay.add")
        self.add.setIcon(icon("columns", "muted"))
        self.add.setAccessibleName(tr("Show next to the others"))
        self.add.setToolTip(tr("Show the selected episode next to the others, up to six"))
        self.add.clicked.connect(self._add_selected)
        self.runs = QComboBox()
        self.runs.setObjectName("replay.runs")
        self.runs.setAccessibleName(tr("Run"))
        self.runs.setToolTip(
            tr("List the episodes of another run in this environment, to show them next to these")
        )
        self.runs.setMinimumContentsLength(12)
        self.runs.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self._words = label("", "muted", wraps=True)
        self._words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._count = ElidedLabel("", "small")
        self.all = button(tr("Show all"), "segment", "replay.all")
        self.all.setCheckable(True)
        self.all.setToolTip(
            tr("Also episodes whose steps were not recorded. A run may record a sample of them.")
        )
        self.all.clicked.connect(lambda on: model.set_shows_all(bool(on)))
        self._parts = QStackedWidget()
        self._parts.addWidget(self.table)
        self._parts.addWidget(self._make_empty())
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(self.runs)
        layout.addLayout(self._make_bar())
        layout.addWidget(self._make_panel(), 1)
        offer_row_menu(self.table, self._choices_of)
        model.filled.connect(self.refresh)
        model.choices_changed.connect(self._show_choices)
        model.modelAboutToBeReset.connect(self._note_top)
        model.modelReset.connect(self._restore_top)
        self.runs.activated.connect(lambda n: self.run_wanted.emit(str(self.runs.itemData(n))))
        self._show_choices()
        self.refresh()

    def mark(self, address: EpisodeAddress | None) -> None:
        """Select the episode that is shown, and bring it into sight once. Several that the user selected stay."""
        is_new = address != self._marked
        self._is_sought = is_new or self._is_sought
        self._marked = address
        place = self._model.place_of(address)
        if not is_new and len(self._several) > 1:
            self._select_again()
            return
        self.table.blockSignals(True)
        self.table.setAutoScroll(self._is_sought)
        if place >= 0:
            self._select(place)
            self._is_sought = False
        else:
            self.table.clearSelection()
        self.table.setAutoScroll(True)
        self.table.blockSignals(False)

    @property
    def selected(self) -> EpisodeAddress | None:
        """The selected episode, where it can be replayed."""
        selection = self.table.selectionModel()
        rows = selection.selectedRows() if selection is not None else []
        return self._model.address_at(rows[0].row()) if rows else None

    @property
    def selected_ones(self) -> list[EpisodeAddress]:
        """All selected episodes that can be replayed."""
        selection = self.table.selectionModel()
        rows = selection.selectedRows() if selection is not None else []
        return [a for row in rows if (a := self._model.address_at(row.row())) is not None]

    def _choices_of(self, row: int) -> list[Choice]:
        """What the menu of an episode offers in addition to copies."""
        address = self._model.address_at(row)
        if address is None:
            return []
        return [
            (tr("Replay"), lambda: self.replay_wanted.emit(address)),
            (tr("Show next to the others"), lambda: self.add_wanted.emit(address)),
            (tr("Export …"), self.export_wanted.emit),
        ]

    def _select(self, place: int) -> None:
        """Select one row. `selectRow` would do what the keys that are held ask for, such as toggle it with Ctrl."""
        selection = self.table.selectionModel()
        if selection is not None:
            flags = QItemSelectionModel.SelectionFlag
            index = self._model.index(place, max(0, self.table.columnAt(0)))
            selection.setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)

    def _select_again(self) -> None:
        selection = self.table.selectionModel()
        places = [self._model.place_of(address) for address in self._several]
        chosen = QItemSelection()
        for place in filter(lambda n: n >= 0, places):
            first, last = self._model.index(place, 0), self._model.index(place, len(COLUMNS) - 1)
            chosen.select(first, last)
        if selection is not None:
            flag = QItemSelectionModel.SelectionFlag.ClearAndSelect
            selection.select(chosen, flag)

    def refresh(self) -> None:
        """Show the rows, or why there are none."""
        model = self._model
        has = model.rowCount() > 0
        self._parts.setCurrentIndex(0 if has else 1)
        self.table.setColumnHidden(_COLUMN[EpisodeColumn.ENV], not model.has_several_envs)
        self.table.setColumnHidden(_COLUMN[EpisodeColumn.ATTEMPT], not model.has_several_attempts)
        if model.problem:
            words = model.problem
        elif model.is_reading:
            words = tr("Reading the episodes …")
        elif not model.run_id:
            words = tr(
                "Recorded episodes of a run are listed here. Start a training or a play first."
            )
        else:
            words = tr("This run has recorded no episode yet.")
        self._words.setText(words)
        self._show_count()
        self._mark_run()
        self._fit_columns()
        for which, made in self.picks.items():
            made.setEnabled(model.pick(which) is not None)
        self.add.setEnabled(has)
        self.mark(self._marked)

    def _show_count(self) -> None:
        model = self._model
        count = tr_n("{n} episode", "{n} episodes", model.count)
        if model.replayable:
            count = tr(
                "{n} of {total} can be replayed",
                n=wording.count(model.replayable),
                total=wording.count(model.count),
            )
        self._count.set_whole(count + " …" if model.is_reading else count)
        self._count.setVisible(model.count > 0)
        if 0 < model.replayable < model.count:
            self._mixed_run = model.run_id
        self.all.setVisible(bool(model.run_id) and self._mixed_run == model.run_id)
        self.all.setChecked(model.shows_all)

    def _show_choices(self) -> None:
        self.runs.clear()
        for run_id, name in self._model.choices:
            self.runs.addItem(name, run_id)
        self.runs.setVisible(len(self._model.choices) > 1)
        self._mark_run()

    def _mark_run(self) -> None:
        self.runs.setCurrentIndex(self.runs.findData(self._model.run_id))

    def _note_top(self) -> None:
        """Note the uppermost row, unless the list is at its beginning and shows what is new."""
        bar = self.table.verticalScrollBar()
        row = self.table.rowAt(0)
        is_moved = bar is not None and bar.value() > 0
        self._top = self._model.key_at(row) if is_moved else None

    def _restore_top(self) -> None:
        if self._top is not None and (place := self._model.place_of_key(self._top)) >= 0:
            top = QAbstractItemView.ScrollHint.PositionAtTop
            self.table.scrollTo(self._model.index(place, 0), top)

    def _add_selected(self) -> None:
        address = self.selected
        if address is not None:
            self.add_wanted.emit(address)

    def _make_bar(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(2)
        for made in self.picks.values():
            row.addWidget(made)
        row.addStretch(1)
        row.addWidget(self.add)
        return row

    def _make_pick(self, which: Pick, word: str, help_text: str) -> QWidget:
        made = button(word, "segment", f"replay.{which.value}")
        made.setToolTip(help_text)
        made.clicked.connect(lambda: self.pick_wanted.emit(which.value))
        return made

    def _make_panel(self) -> QWidget:
        panel = frame("panel")
        column = QVBoxLayout(panel)
        column.setContentsMargins(1, 1, 1, 1)
        column.setSpacing(0)
        column.addWidget(self._parts, 1)
        below = QHBoxLayout()
        below.setContentsMargins(12, 2, 6, 4)
        below.addWidget(self._count, 1)
        below.addWidget(self.all)
        column.addLayout(below)
        return panel

    def _make_empty(self) -> QWidget:
        made = QWidget()
        column = QVBoxLayout(made)
        column.setContentsMargins(16, 12, 16, 12)
        column.addWidget(self._words)
        return made

    def _make_table(self) -> QTableView:
        table = _EpisodeTable()
        table.setObjectName("replay.episode_table")
        table.setAccessibleName(tr("Episodes of the run"))
        table.setModel(self._model)
        table.setProperty("kind", "dense")
        table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        table.setShowGrid(False)
        table.setWordWrap(False)
        table.setTabKeyNavigation(False)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        table.setToolTip(
            tr("A click replays an episode. Ctrl and Shift select several, for a dataset.")
        )
        rows, header = table.verticalHeader(), table.horizontalHeader()
        if rows is not None:
            rows.setVisible(False)
            rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
            rows.setDefaultSectionSize(ROW_HEIGHT)
        if header is not None:
            header.setHighlightSections(False)
            header.setMinimumSectionSize(32)
            header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
            end = _COLUMN[EpisodeColumn.END]
            header.setSectionResizeMode(end, QHeaderView.ResizeMode.Stretch)
            header.setSortIndicator(_COLUMN[EpisodeColumn.TIME], Qt.SortOrder.DescendingOrder)
        table.setSortingEnabled(True)
        table.clicked.connect(self._on_clicked)
        table.activated.connect(self._on_clicked)
        table.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        export = QAction(tr("Export …"), table)
        export.triggered.connect(lambda: self.export_wanted.emit())
        table.addAction(export)
        return table

    def _fit_columns(self) -> None:
        """Give each column what its texts need. Qt would reserve room for a sort arrow in all of them."""
        end, time = _COLUMN[EpisodeColumn.END], _COLUMN[EpisodeColumn.TIME]
        viewport = self.table.viewport()
        inside = viewport.width() if viewport is not None else self.table.width()
        self.table.setColumnHidden(time, False)
        self._model.rounds_steps = False
        used = self._size_columns()
        if used > inside:
            self._model.rounds_steps = True
            used = self._size_columns()
        is_narrow = used > inside
        used -= self.table.columnWidth(time) if is_narrow else 0
        self.table.setColumnHidden(time, is_narrow)
        # a cut word says nothing; the tool tip has it
        spare = inside - used
        self.table.setColumnHidden(end, spare < _LEAST_END)
        if 0 < spare < _LEAST_END:
            wide = _COLUMN[EpisodeColumn.RETURN]
            self.table.setColumnWidth(wide, self.table.columnWidth(wide) + spare)

    def _size_columns(self) -> int:
        """Size the columns by their texts, and return the width of those that are shown."""
        used = 0
        title, cell = QFontMetricsF(ui_font(12, QFont.Weight.DemiBold)), QFontMetricsF(ui_font())
        for n in range(len(COLUMNS)):
            if COLUMNS[n][0] is EpisodeColumn.END:
                continue
            words = str(self._model.headerData(n, Qt.Orientation.Horizontal))
            texts = (
                str(self._model.index(row, n).data())
                for row in range(min(self._model.rowCount(), _MEASURED_ROWS))
            )
            widest = max((cell.horizontalAdvance(text) for text in texts), default=0.0)
            needed = math.ceil(max(title.horizontalAdvance(words), widest))
            self.table.setColumnWidth(n, needed + _PADDING)
            used += 0 if self.table.isColumnHidden(n) else needed + _PADDING
        return used

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self._fit_columns()

    def _on_clicked(self, index: QModelIndex) -> None:
        self._several = self.selected_ones
        if len(self._several) > 1:
            return  # more are being selected
        address = self._model.address_at(index.row())
        if address is not None:
            self.replay_wanted.emit(address)


def episode_words(address: EpisodeAddress, *, with_env: bool, with_attempt: bool) -> str:
    """What an episode is called; its sub-environment and attempt where there are several."""
    parts = [tr("Episode {n}", n=wording.count(address.episode))]
    if with_env:
        parts.append(tr("env {n}", n=address.env))
    if with_attempt:
        parts.append(tr("attempt {n}", n=address.attempt))
    return " · ".join(parts)


class _EpisodeTable(QTableView):
    """Keeps the selected row in sight when it gets lower: the tree of branches comes below it."""

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        was_seen = was_in_sight(self, event)
        super().resizeEvent(event)
        if was_seen:
            self.scrollTo(self.currentIndex())
