"""The menu of the run list's views: saved views, columns, grouping."""

from collections.abc import Callable

from PyQt6.QtCore import QObject, QPoint, Qt, pyqtSignal
from PyQt6.QtWidgets import QMenu, QPushButton, QWidget

from mosaic_gui.state.language import tr, tr_mark
from mosaic_gui.state.run_columns import COLUMN_FIGURES, AddedColumn, AddedKind, added_column
from mosaic_gui.state.run_views import ListArrangement
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.list_views import ListViewsModel
from mosaic_gui.viewmodels.run_list import RunListModel
from mosaic_gui.viewmodels.run_list_columns import ENVIRONMENT_AND_ALGORITHM
from mosaic_gui.viewmodels.run_table import TITLES, Column
from mosaic_gui.views.column_popup import ColumnPopup
from mosaic_gui.views.run_list import RunListView
from mosaic_gui.views.text import button
from mosaic_gui.views.word_popup import WordPopup

_MOST_VARIED = 10
"""Parameters that are no columns and are offered to group by: a longer menu leaves the screen."""
_GROUPABLE = (
    Column.ALGORITHM,
    Column.ENVIRONMENT,
    Column.SEED,
    Column.STATE,
    Column.TAGS,
    Column.KIND,
    Column.WORKER,
    Column.CREATED,
)
"""Built-in columns by whose values runs are grouped; created: by the day."""


class ListViewMenu(QObject):
    """A button with the menu. It arranges the list; the page knows search and filter."""

    arrangement_wanted = pyqtSignal(object)
    """A ListArrangement."""
    metrics_wanted = pyqtSignal()
    """The names of all metrics are needed."""

    def __init__(
        self,
        owner: QWidget,
        table: RunListView,
        model: RunListModel,
        views: ListViewsModel,
        arrangement: Callable[[], ListArrangement],
    ) -> None:
        """`arrangement`: how the list is shown now."""
        super().__init__(owner)
        self._owner, self._table, self._model, self._views = owner, table, model, views
        self._arrangement = arrangement
        self.metrics: list[str] = []
        """Names of metrics that columns can have."""
        self._popup: ColumnPopup | None = None
        self.button: QPushButton = button(tr("View"), "toggle", "runs.view")
        self.button.setIcon(icon("columns", "muted", "accent"))
        self.button.setToolTip(tr("Columns, grouping and saved views"))
        self.button.clicked.connect(self.open)
        table.header_menu_wanted.connect(self._open_header_menu)

    def open(self) -> QMenu:
        """Open the menu below its button."""
        menu = _menu(self._owner)
        self._add_views(menu)
        menu.addSeparator()
        columns = menu.addAction(tr("Columns …"))
        if columns is not None:
            columns.triggered.connect(self.choose_columns)
        self._add_groupings(menu)
        menu.addSeparator()
        reset = menu.addAction(tr("Reset the list"))
        if reset is not None:
            reset.triggered.connect(lambda: self.arrangement_wanted.emit(ListArrangement()))
        menu.popup(self.button.mapToGlobal(QPoint(0, self.button.height() + 4)))
        return menu

    def choose_columns(self) -> None:
        """Open the popup of columns."""
        self.metrics_wanted.emit()
        popup = self._popup = ColumnPopup(self._owner)
        popup.toggled.connect(self._table.show_column)
        popup.destroyed.connect(self._forget_popup)
        self._fill_popup()
        popup.show_at(self.button.mapToGlobal(QPoint(0, self.button.height() + 4)))

    def take_metrics(self, names: list[str]) -> None:
        """Take the names of all metrics."""
        self.metrics = names
        if self._popup is not None:
            self._fill_popup()

    def _forget_popup(self) -> None:
        self._popup = None

    def _fill_popup(self) -> None:
        if self._popup is None:
            return
        shown = {place.key for place in self._table.columns()}
        offered = [
            (column.key, tr_mark(TITLES[column]), column.key in shown)
            for column in Column
            if column is not Column.RUN
        ]
        added = [AddedColumn(AddedKind.PARAMETER, name) for name in self._model.known_parameters]
        added += [AddedColumn(AddedKind.TAG, tag) for tag in self._model.known_tags]
        added += [
            AddedColumn(AddedKind.METRIC, name, figure)
            for name in self.metrics
            for figure in COLUMN_FIGURES
        ]
        offered += [(one.key, one.tip, one.key in shown) for one in added]
        # a column whose metric or parameter no run in sight has can still be hidden
        known = {key for key, _, _ in offered}
        others = [one for one in self._model.added if one.key not in known]
        offered += [(one.key, one.tip, True) for one in others]
        self._popup.offer(
            offered, "" if self.metrics else tr("Metrics appear once a run has some.")
        )

    # --- saved views

    def _add_views(self, menu: QMenu) -> None:
        views, now = self._views, self._arrangement()
        for name in views.names:
            shown = tr("{view}  ·  at start", view=name) if name == views.saved.default else name
            action = menu.addAction(shown.replace("&", "&&"))
            if action is not None:
                action.setCheckable(True)
                action.setChecked(name == views.current)
                action.triggered.connect(lambda _on, name=name: self.show_view(name))
        if views.names:
            menu.addSeparator()
        current = views.current
        if current and views.is_changed(now):
            keep = menu.addAction(tr("Save the changes to {view}", view=current))
            if keep is not None:
                keep.triggered.connect(lambda: views.save(current, self._arrangement()))
        save = menu.addAction(tr("Save as a view …"))
        if save is not None:
            save.triggered.connect(self._ask_for_name)
        if not current:
            return
        is_default = views.saved.default == current
        first = menu.addAction(tr("Start with {view}", view=current))
        if first is not None:
            first.setCheckable(True)
            first.setChecked(is_default)
            first.triggered.connect(lambda on: views.start_with(current if on else ""))
        remove = menu.addAction(tr("Remove {view}", view=current))
        if remove is not None:
            remove.triggered.connect(lambda: views.remove(current))

    def show_view(self, name: str) -> None:
        """Show a saved view."""
        known = self._views.saved.find(name)
        if known is not None:
            self._views.current = name
            self.arrangement_wanted.emit(known.arrangement)

    def _ask_for_name(self) -> None:
        popup = WordPopup(self._owner, tr("Name of the view"), tr("Learning rates"), tr("Save"))
        popup.field.setMaxLength(60)
        popup.given.connect(lambda name: self._views.save(name, self._arrangement()))
        popup.show_at(self.button.mapToGlobal(QPoint(0, self.button.height() + 4)))

    # --- grouping

    def _add_groupings(self, menu: QMenu) -> None:
        inner = menu.addMenu(tr("Group by"))
        if inner is None:
            return
        model = self._model
        choices = [
            ("", tr("Runs started together")),
            (ENVIRONMENT_AND_ALGORITHM, tr("Environment and algorithm")),
        ]
        choices += [(column.key, tr_mark(TITLES[column])) for column in _GROUPABLE]
        varied = [AddedColumn(AddedKind.PARAMETER, name) for name in model.varied_parameters()]
        others = [one for one in varied if one not in model.added]
        choices += [(one.key, one.title) for one in (*model.added, *others[:_MOST_VARIED])]
        for key, title in choices:
            action = inner.addAction(title.replace("&", "&&"))
            if action is None:
                continue
            action.setCheckable(True)
            action.setChecked(key == model.grouped_by and not (model.is_flat and not key))
            action.triggered.connect(lambda _on, key=key: self.group_by(key))
        flat = inner.addAction(tr("Nothing: each run is a row"))
        if flat is not None:
            flat.setCheckable(True)
            flat.setChecked(model.is_flat and not model.grouped_by)
            flat.triggered.connect(lambda: self.group_by("", is_flat=True))

    def group_by(self, key: str, *, is_flat: bool = False) -> None:
        """Group the list by the values of a column; empty: by the groups that started the runs."""
        now = self._arrangement()
        wanted = now.model_copy(update={"grouped_by": key, "flat": is_flat})
        self.arrangement_wanted.emit(wanted)

    # --- the header

    def _open_header_menu(self, column: int, place: QPoint) -> None:
        menu, table, model = _menu(self._owner), self._table, self._model
        if column >= 0:
            key, title = model.column_keys()[column], model.title_of(column).replace("&", "&&")
            is_pinned = table.pinned_header.is_pinned(column)
            pin = menu.addAction(
                tr("Unpin {column}", column=title)
                if is_pinned
                else tr("Pin {column}", column=title)
            )
            if pin is not None:
                pin.triggered.connect(lambda: table.pin_column(column, not is_pinned))
            if column != Column.RUN:
                hide = menu.addAction(tr("Hide {column}", column=title))
                if hide is not None:
                    hide.triggered.connect(lambda: table.show_column(key, False))
            if added_column(key) is not None or Column(column) in _GROUPABLE:
                group = menu.addAction(tr("Group by {column}", column=title))
                if group is not None:
                    group.triggered.connect(lambda: self.group_by(key))
            menu.addSeparator()
        columns = menu.addAction(tr("Columns …"))
        if columns is not None:
            columns.triggered.connect(self.choose_columns)
        menu.popup(place)


def _menu(owner: QWidget) -> QMenu:
    menu = QMenu(owner)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    return menu
