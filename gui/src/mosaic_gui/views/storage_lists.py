"""Lists below the picture of the page `Storage`: what goes next, the trash, and what the stack itself has."""

from PyQt6.QtWidgets import QAbstractItemView, QFrame, QHBoxLayout, QStackedWidget, QVBoxLayout

from mosaic_gui.state import wording
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.state.storage import kept_tip, plan_words
from mosaic_gui.viewmodels.rows import RowsModel
from mosaic_gui.viewmodels.storage import StorageModel
from mosaic_gui.views.plain_table import PlainTable
from mosaic_gui.views.segments import Segments
from mosaic_gui.views.text import ElidedLabel, button

NEXT, TRASH, STACK = "next", "trash", "stack"


class StorageLists(QFrame):
    """Three tables, one at a time, with the button that belongs to it."""

    def __init__(self, model: StorageModel) -> None:
        super().__init__()
        self.setProperty("kind", "panel")
        self.setObjectName("storage.lists")
        self._model = model
        self.choices = Segments(
            {NEXT: tr("Goes next"), TRASH: tr("Trash"), STACK: tr("Stack")}, "storage.lists"
        )
        self._words = ElidedLabel("", "small")
        self.prune = button(tr("Remove now"), "", "storage.prune")
        self.prune.setToolTip(
            tr("Move these files to the trash, from which they can be brought back")
        )
        self.restore = button(tr("Bring back"), "", "storage.restore")
        self.restore.setToolTip(tr("Bring the selected files back; without a selection, all"))
        self.next = _table(model.next_rows, "storage.next", tr("Files that go next"))
        self.trash = _table(model.trash_rows, "storage.trash", tr("Removed files"))
        self.trash.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.stack = _table(model.stack_rows, "storage.stack", tr("Parts of the stack"))
        self._tables = QStackedWidget()
        for table in (self.next, self.trash, self.stack):
            self._tables.addWidget(table)
        self._arrange()
        self.choices.chosen.connect(lambda _key: self.refresh())
        self.prune.clicked.connect(lambda: model.prune())
        self.restore.clicked.connect(self._restore)
        model.changed.connect(self.refresh)
        self.refresh()

    def show_list(self, key: str) -> None:
        """Show one of NEXT, TRASH and STACK."""
        self.choices.choose(key)

    def refresh(self) -> None:
        """Show the chosen list with its words."""
        model, key = self._model, self.choices.key
        self._tables.setCurrentWidget({NEXT: self.next, TRASH: self.trash}.get(key, self.stack))
        self.prune.setVisible(key == NEXT)
        self.prune.setEnabled(model.may_prune)
        trash = model.report.trash if model.report is not None else None
        self.restore.setVisible(key == TRASH)
        self.restore.setEnabled(bool(trash and trash.files) and model.progress is None)
        self._words.set_whole(self._about(key))
        if key == NEXT:
            self._words.setToolTip(kept_tip(model.plan))

    def _about(self, key: str) -> str:
        model = self._model
        if key == NEXT:
            return plan_words(model.plan)
        trash = model.report.trash if model.report is not None else None
        if key == TRASH and trash is not None:
            if not trash.files:
                return tr("The trash is empty. Removed files rest in it before they are deleted.")
            size = wording.bytes_text(trash.bytes)
            return tr_n("{n} file, {size}", "{n} files, {size}", trash.files, size=size)
        if key == STACK:
            return tr("./mosaic disk counts environments, images and uv's cache, too.")
        return ""

    def _restore(self) -> None:
        selection = self.trash.selectionModel()
        rows = [] if selection is None else sorted(i.row() for i in selection.selectedRows())
        self._model.undo(rows)

    def _arrange(self) -> None:
        bar = QHBoxLayout()
        bar.setContentsMargins(10, 8, 10, 6)
        bar.setSpacing(10)
        bar.addWidget(self.choices)
        bar.addWidget(self._words, 1)
        bar.addWidget(self.prune)
        bar.addWidget(self.restore)
        column = QVBoxLayout(self)
        column.setContentsMargins(1, 1, 1, 1)
        column.setSpacing(0)
        column.addLayout(bar)
        column.addWidget(self._tables, 1)


def _table(rows: RowsModel, name: str, title: str) -> PlainTable:
    made = PlainTable(rows, name)
    made.setAccessibleName(title)
    header = made.horizontalHeader()
    if header is not None:
        header.setStretchLastSection(True)
    return made
