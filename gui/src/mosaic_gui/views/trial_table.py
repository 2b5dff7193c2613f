"""The table of trials, with a search and a choice of states above it."""

from PyQt6.QtCore import QItemSelectionModel, QModelIndex, QPoint, QRectF, Qt, pyqtSignal
from PyQt6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QPainter
from PyQt6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QMenu,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from mosaic_contracts.sweeps import TrialState
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.state.trial_order import TrialField
from mosaic_gui.state.trial_words import BAD_STATES, STATE_TONES, state_word
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.sweeps import SweepsModel
from mosaic_gui.views.badge import HEIGHT, badge_width, draw_badge
from mosaic_gui.views.form_field import CalmCombo
from mosaic_gui.views.text import button, label

ROW_HEIGHT = 30
_WIDTHS = {
    TrialField.NUMBER: 62,
    TrialField.STATE: 116,
    TrialField.VALUE: 92,
    TrialField.PARAMETER: 112,
    TrialField.STEPS: 76,
    TrialField.TIME: 84,
    TrialField.REASON: 240,
}
_ALL, _RUNNING, _WITHOUT = "all", "running", "without"


class TrialTableView(QTableView):
    """Trials in rows of one height. Ctrl+C copies the selected rows."""

    opened = pyqtSignal(list)
    """Numbers of the trials whose runs are to be watched."""

    def __init__(self, model: SweepsModel) -> None:
        super().__init__()
        self.setObjectName("sweeps.trials")
        self.setAccessibleName(tr("Trials"))
        self._model = model
        self.setModel(model.table)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setItemDelegate(_TrialDelegate(model, self))
        rows, header = self.verticalHeader(), self.horizontalHeader()
        if rows is not None:
            rows.setVisible(False)
            rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
            rows.setDefaultSectionSize(ROW_HEIGHT)
        if header is not None:
            header.setHighlightSections(False)
            header.setStretchLastSection(True)
            header.setSortIndicator(0, Qt.SortOrder.AscendingOrder)
        self.setSortingEnabled(True)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._show_menu)
        self.doubleClicked.connect(lambda _index: self.open())
        model.table.modelReset.connect(self.mark)
        model.chosen_changed.connect(self._begin)
        model.selected_changed.connect(self._follow)
        if (selection := self.selectionModel()) is not None:
            selection.currentRowChanged.connect(self._on_row)
        self._fit()

    @property
    def numbers(self) -> list[int]:
        """Numbers of the selected trials, from top to bottom."""
        return [self._model.table.number_at(row) for row in self._selected_rows]

    def open(self) -> None:
        """Watch the runs of the selected trials."""
        if numbers := self.numbers:
            self.opened.emit(numbers)

    def copy(self) -> None:
        """Copy the selected rows, or all."""
        rows = self._selected_rows or list(range(self._model.table.rowCount()))
        if (clipboard := QGuiApplication.clipboard()) is not None:
            clipboard.setText(self._model.table.as_text(rows))

    def mark(self) -> None:
        """Select the row of the selected trial, where it is not among those that are selected."""
        number, selection = self._model.selected, self.selectionModel()
        row = self._model.table.row_of(number) if number is not None else None
        if selection is None or row is None:
            return
        index = self._model.table.index(row, 0)
        if selection.isSelected(index) and self.currentIndex().row() == row:
            return
        flags = QItemSelectionModel.SelectionFlag
        selection.blockSignals(True)
        selection.setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
        selection.blockSignals(False)
        if (viewport := self.viewport()) is not None:
            viewport.update()

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        """Copy with the system's key."""
        if event is not None and event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        else:
            super().keyPressEvent(event)

    @property
    def _selected_rows(self) -> list[int]:
        selection = self.selectionModel()
        return sorted(i.row() for i in selection.selectedRows()) if selection is not None else []

    def _follow(self) -> None:
        self.mark()
        index = self.currentIndex()
        if index.isValid():
            self.scrollTo(index)

    def _begin(self) -> None:
        """Show another sweep, in the order of the trials' numbers."""
        header = self.horizontalHeader()
        if header is not None:
            header.setSortIndicator(0, Qt.SortOrder.AscendingOrder)
        self._fit()

    def _fit(self) -> None:
        header = self.horizontalHeader()
        for section, column in enumerate(self._model.table.columns):
            if header is not None and column.field is not TrialField.REASON:
                wanted = header.sectionSizeHint(section) + 8
                header.resizeSection(section, max(_WIDTHS[column.field], wanted))

    def _on_row(self, now: QModelIndex, _before: QModelIndex) -> None:
        if now.isValid():
            self._model.select(self._model.table.number_at(now.row()))

    def _show_menu(self, place: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for text, act in ((tr("Watch its runs"), self.open), (tr("Copy rows"), self.copy)):
            action = menu.addAction(text)
            if action is not None:
                action.setEnabled(bool(self.numbers))
                action.triggered.connect(act)
        menu.popup(self.mapToGlobal(place))


class TrialPanel(QWidget):
    """The table with its search."""

    def __init__(self, model: SweepsModel) -> None:
        super().__init__()
        self._model = model
        self.table = TrialTableView(model)
        self._count = label("", "small")
        self.search = QLineEdit()
        self.search.setObjectName("sweeps.search")
        self.search.setAccessibleName(tr("Search trials"))
        self.search.setPlaceholderText(tr("Search trials (/) …"))
        self.search.setClearButtonEnabled(True)
        self.search.setMinimumWidth(90)
        self.search.setMaximumWidth(220)
        self.search.addAction(icon("search", "muted"), QLineEdit.ActionPosition.LeadingPosition)
        self.states = CalmCombo()
        self.states.setObjectName("sweeps.states")
        self.states.setAccessibleName(tr("States"))
        self._offer_states()
        self.unbrush = button(tr("Clear ranges"), "quiet", "sweeps.unbrush")
        self.unbrush.setToolTip(tr("List trials of all parameters again"))
        row = QHBoxLayout()
        row.setContentsMargins(10, 6, 10, 6)
        row.setSpacing(8)
        row.addWidget(self._count)
        row.addWidget(self.unbrush)
        row.addStretch(1)
        row.addWidget(self.search, 2)
        row.addWidget(self.states)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(row)
        layout.addWidget(self.table, 1)
        self.search.textChanged.connect(self._filter)
        self.states.currentIndexChanged.connect(self._filter)
        self.unbrush.clicked.connect(model.clear_brushes)
        for signal in (model.table.modelReset, model.table.rowsInserted, model.table.rowsRemoved):
            signal.connect(self.refresh)
        model.facts_changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show how many trials are listed."""
        shown, total = self._model.table.rowCount(), len(self._model.trials)
        self._count.setText(
            tr_n("{n} trial", "{n} trials", total)
            if shown == total
            else tr_n("{shown} of {n} trial", "{shown} of {n} trials", total, shown=shown)
        )
        self.unbrush.setVisible(bool(self._model.brushes))

    def _offer_states(self) -> None:
        self.states.addItem(tr("All states"), _ALL)
        for state in (TrialState.COMPLETE, TrialState.PRUNED):
            self.states.addItem(state_word(state), state.value)
        self.states.addItem(tr("Running"), _RUNNING)
        self.states.addItem(tr("Without result"), _WITHOUT)

    def _filter(self) -> None:
        key = str(self.states.currentData())
        states = {
            _ALL: frozenset(TrialState),
            _RUNNING: frozenset(state for state in TrialState if not state.is_final),
            _WITHOUT: BAD_STATES,
        }
        self._model.filter(states.get(key) or {TrialState(key)}, self.search.text())


class _TrialDelegate(QStyledItemDelegate):
    """Paints the state as a badge, and leaves all else to Qt."""

    def __init__(self, model: SweepsModel, parent: QTableView) -> None:
        super().__init__(parent)
        self._model = model

    def initStyleOption(self, option: QStyleOptionViewItem | None, index: QModelIndex) -> None:
        super().initStyleOption(option, index)
        is_state = self._model.table.columns[index.column()].field is TrialField.STATE
        if option is not None and is_state:
            option.text = ""  # the badge has it

    def paint(
        self, painter: QPainter | None, option: QStyleOptionViewItem, index: QModelIndex
    ) -> None:
        table = self._model.table
        if painter is None or table.columns[index.column()].field is not TrialField.STATE:
            super().paint(painter, option, index)
            return
        super().paint(painter, option, index)
        trial = table.trial_at(index.row())
        if trial is None:
            return
        word = state_word(trial.state)
        top = option.rect.top() + (option.rect.height() - HEIGHT) / 2
        place = QRectF(option.rect.left() + 8, top, badge_width(word), HEIGHT)
        draw_badge(painter, place, word, STATE_TONES[trial.state])
