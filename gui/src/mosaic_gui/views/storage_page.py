"""The page `Storage`: disks, a picture of what fills them, the chosen run, what goes next, and the trash."""

from PyQt6.QtCore import QPoint, Qt, pyqtSignal
from PyQt6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QProgressBar,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from mosaic_gui.state import wording
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.state.storage_map import MapGrouping
from mosaic_gui.viewmodels.storage import StorageModel
from mosaic_gui.views.bases import VisibilityFrame, list_and_panel
from mosaic_gui.views.command import named_shortcut
from mosaic_gui.views.kind_legend import KindLegend
from mosaic_gui.views.segments import Segments
from mosaic_gui.views.storage_lists import StorageLists
from mosaic_gui.views.storage_map import StorageMapView
from mosaic_gui.views.storage_side import StorageSide
from mosaic_gui.views.text import ElidedLabel, button, frame, label
from mosaic_gui.views.volume_strip import VolumeStrip

EMPTY_WIDTH = 520
SHARES = (620, 260)
"""Heights of picture and lists at the beginning, in relation to each other."""


class StoragePage(VisibilityFrame):
    """The page. It sends no requests."""

    train_wanted = pyqtSignal()
    import_wanted = pyqtSignal(QPoint)
    """Position of a menu."""
    back_up_wanted = pyqtSignal()

    def __init__(self, model: StorageModel) -> None:
        super().__init__()
        self.setObjectName("page.storage")
        self._model = model
        self._count = label("", "muted")
        self.groupings = Segments(
            {
                MapGrouping.ORIGIN.value: tr("By algorithm"),
                MapGrouping.KIND.value: tr("By kind"),
                MapGrouping.RUN.value: tr("By run"),
            },
            "storage.grouping",
        )
        self.volumes, self.legend = VolumeStrip(), KindLegend()
        self.map, self.side = StorageMapView(model), StorageSide(model)
        self.lists = StorageLists(model)
        self.back_up = button(tr("Back up …"), "", "storage.back_up")
        self.back_up.setToolTip(tr("Copy everything to one file, while runs go on"))
        self.bring = button(tr("Import …"), "", "storage.import")
        self.bring.setToolTip(tr("Archives, and runs of TensorBoard, W&B or mlflow"))
        self._problem = label("", "warn", wraps=True)
        self._strip = self._make_strip()
        self._stack = QStackedWidget()
        self._arrange()
        self._filled, self._empty, self._other = (
            self._make_filled(),
            self._make_empty(),
            self._make_other(),
        )
        for part in (self._empty, self._other):
            self._stack.addWidget(part)
        self._connect()
        self.refresh()

    def refresh(self) -> None:
        """Show the picture, how to begin, or why nothing is there."""
        model, report = self._model, self._model.report
        if report is None:
            self._stack.setCurrentWidget(self._other)
            self._words.setText(
                tr("The sizes could not be read. {why}", why=model.problem)
                if model.problem
                else tr("Reading the sizes …")
            )
            self._again.setVisible(bool(model.problem))
        else:
            self._stack.setCurrentWidget(self._empty if model.is_empty else self._filled)
            self.volumes.show_volumes(report.volumes)
            self.legend.show_totals(model.totals)
        runs = report.run_count if report is not None else 0
        size = wording.bytes_text(model.total)
        self._count.setText(tr_n("{size} in {n} run", "{size} in {n} runs", runs, size=size))
        self._count.setVisible(report is not None and not model.is_empty)
        self.groupings.setVisible(report is not None and not model.is_empty)
        notes = [
            *(report.notes if report is not None else ()),
            *(model.plan.notes if model.plan else ()),
        ]
        problem = [model.problem] if report is not None and model.problem else []
        self._problem.setText("\n".join(dict.fromkeys([*problem, *notes])))
        self._problem.setVisible(bool(self._problem.text()))
        self._show_progress()

    def _show_progress(self) -> None:
        progress = self._model.progress
        self._strip.setVisible(progress is not None)
        if progress is None:
            return
        words, done, total = progress
        self._progress.set_whole(
            tr(
                "{what} {n} of {total}",
                what=words,
                n=wording.count(done),
                total=wording.count(total),
            )
            if total
            else words
        )
        self._bar.setRange(0, total)
        self._bar.setValue(done)

    def _connect(self) -> None:
        model = self._model
        model.changed.connect(self.refresh)
        self.shown.connect(model.set_shown)
        self.groupings.chosen.connect(model.group_by)
        self.map.run_wanted.connect(model.show_run)
        self.map.menu_wanted.connect(self.side.show_menu)
        for keys, text in (("Return", tr("Show the run")), ("Enter", "")):
            named_shortcut(self._filled, keys, text, model.show_run)
        named_shortcut(self._filled, "P", tr("Pin or unpin the run"), model.toggle_pin)
        self.first.clicked.connect(self.train_wanted)
        self._again.clicked.connect(model.wanted)
        self.back_up.clicked.connect(self.back_up_wanted)
        self.bring.clicked.connect(self._on_import)

    def _on_import(self) -> None:
        self.import_wanted.emit(self.bring.mapToGlobal(QPoint(0, self.bring.height() + 4)))

    def _make_strip(self) -> QWidget:
        made = QWidget()
        self._progress = ElidedLabel("", "small")
        self._bar = QProgressBar()
        self._bar.setObjectName("storage.progress")
        self._bar.setTextVisible(False)
        self._bar.setFixedHeight(6)
        row = QHBoxLayout(made)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        row.addWidget(self._progress, 1)
        row.addWidget(self._bar, 1)
        return made

    def _make_filled(self) -> QWidget:
        split = QSplitter(Qt.Orientation.Vertical)
        split.setObjectName("storage.split")
        split.setChildrenCollapsible(False)
        split.setHandleWidth(10)
        made = QWidget()
        self._stack.addWidget(made)
        column = QVBoxLayout(made)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(10)
        column.addWidget(self.volumes)
        column.addWidget(self.legend)
        column.addWidget(split, 1)
        split.addWidget(list_and_panel(self.map, self.side))
        split.addWidget(self.lists)
        split.setStretchFactor(0, 3)
        split.setStretchFactor(1, 1)
        split.setSizes([SHARES[0], SHARES[1]])
        return made

    def _make_empty(self) -> QFrame:
        """Say how to begin."""
        panel = frame("panel")
        layout = QVBoxLayout(panel)
        words = label(
            tr(
                "Runs fill the disk with checkpoints, videos and events. This page shows how much, "
                "what is kept, and what goes next. Train an agent, or run ./mosaic demo in a terminal."
            ),
            "muted",
            wraps=True,
        )
        words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        words.setFixedWidth(EMPTY_WIDTH)
        self.first = button(tr("Train new"), "primary", "storage.first")
        layout.addStretch(2)
        hero = label(tr("Nothing stored yet"), "hero")
        layout.addWidget(hero, 0, Qt.AlignmentFlag.AlignHCenter)
        middle = QHBoxLayout()
        middle.addStretch(1)
        middle.addWidget(words)
        middle.addStretch(1)
        layout.addLayout(middle)
        layout.addSpacing(10)
        layout.addWidget(self.first, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(3)
        return panel

    def _make_other(self) -> QFrame:
        panel = frame("panel")
        layout = QVBoxLayout(panel)
        self._words = label("", "heading", wraps=True)
        self._words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._again = button(tr("Try again"), "", "storage.again")
        layout.addStretch(2)
        layout.addWidget(self._words)
        layout.addWidget(self._again, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(3)
        return panel

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(10)
        head.addWidget(label(tr("Storage"), "title"))
        head.addWidget(self._count)
        head.addStretch(1)
        head.addWidget(self.groupings)
        head.addWidget(self.bring)
        head.addWidget(self.back_up)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 16, 20, 16)
        layout.setSpacing(12)
        layout.addLayout(head)
        layout.addWidget(self._problem)
        layout.addWidget(self._strip)
        layout.addWidget(self._stack, 1)
