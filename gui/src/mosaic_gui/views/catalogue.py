"""What can be trained here: workers with their readiness, and their algorithms."""

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QScrollArea, QVBoxLayout

from mosaic_contracts.services import WorkerEntry
from mosaic_gui.viewmodels.launch import LaunchModel
from mosaic_gui.views.badge import Badge
from mosaic_gui.views.text import button, inside_of_scroll, label

WIDTH = 216


class Catalogue(QScrollArea):
    """One button for each algorithm; the chosen one is pressed."""

    def __init__(self, model: LaunchModel) -> None:
        super().__init__()
        self.setObjectName("catalogue")
        self.setFixedWidth(WIDTH)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._model = model
        self._group = QButtonGroup(self)
        model.catalogue_changed.connect(self.rebuild)
        model.draft_replaced.connect(self._press)
        self.rebuild()

    def rebuild(self) -> None:
        """Another catalogue."""
        self._group = QButtonGroup(self)
        inside = inside_of_scroll()
        layout = QVBoxLayout(inside)
        layout.setContentsMargins(0, 0, 4, 0)
        layout.setSpacing(2)
        for worker in self._model.workers:
            self._add_worker(layout, worker)
        if not self._model.workers:
            layout.addWidget(
                label(self.tr("Asking the stack for its workers …"), "muted", wraps=True)
            )
        layout.addStretch(1)
        self.setWidget(inside)
        self._press()

    def _add_worker(self, layout: QVBoxLayout, worker: WorkerEntry) -> None:
        row = QHBoxLayout()
        row.setContentsMargins(6, 6, 0, 4)
        row.addWidget(label(worker.manifest.title, "heading"))
        row.addStretch(1)
        badge = Badge("Ready", "ok") if worker.ready else Badge("Not ready", "warn")
        badge.setToolTip("\n".join(f.message for f in worker.findings) or worker.manifest.hint)
        row.addWidget(badge)
        layout.addLayout(row)
        if not worker.ready:
            reason = "\n".join(f.message for f in worker.findings) or worker.manifest.hint
            layout.addWidget(label(reason, "small", wraps=True))
        for algorithm in worker.description.algorithms if worker.description else []:
            key = f"{worker.manifest.id}.{algorithm.id}"
            made = button(algorithm.title, "nav", f"catalogue.{key}")
            made.setCheckable(True)
            made.setToolTip(algorithm.summary)
            made.setEnabled(worker.ready)
            made.clicked.connect(
                lambda _on, w=worker.manifest.id, a=algorithm.id: self._model.choose(w, a)
            )
            self._group.addButton(made)
            layout.addWidget(made)
        layout.addSpacing(10)

    def _press(self) -> None:
        draft = self._model.draft
        if draft is None:
            return
        name = f"catalogue.{draft.worker.manifest.id}.{draft.algorithm.id}"
        for made in self._group.buttons():
            made.setChecked(made.objectName() == name)
