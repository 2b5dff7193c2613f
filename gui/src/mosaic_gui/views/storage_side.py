"""The chosen run on the page `Storage`: its files by kind, what is kept, what goes next, and its pin."""

from PyQt6.QtCore import QPoint, Qt, pyqtSignal
from PyQt6.QtWidgets import QFrame, QHBoxLayout, QMenu, QPushButton, QVBoxLayout

from mosaic_gui.state import wording
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.state.storage import kind_rows, profile_words, removal_words
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.rows import RowsModel
from mosaic_gui.viewmodels.storage import StorageModel
from mosaic_gui.views.plain_table import PlainTable
from mosaic_gui.views.text import ElidedLabel, button, snug_label

WIDTH, ROW_HEIGHT, MARGIN = 318, 27, 14


class StorageSide(QFrame):
    """Facts of one run, actions below them. Its texts are replaced, never its widgets."""

    archive_wanted = pyqtSignal(list)
    """Ids of runs that are to become a file."""

    def __init__(self, model: StorageModel) -> None:
        super().__init__()
        self.setProperty("kind", "panel")
        self.setObjectName("storage.side")
        self.setFixedWidth(WIDTH)
        self._model = model
        self._title, self._about = ElidedLabel("", "heading"), ElidedLabel("", "muted")
        self._rows = RowsModel((tr("Kind"), tr("Files"), tr("Size")), (1, 2), self)
        self.table = PlainTable(self._rows, "storage.of_run")
        self.table.setProperty("kind", "dense")
        self.table.setAccessibleName(tr("Files of the run by kind"))
        rows = self.table.verticalHeader()
        if rows is not None:
            rows.setDefaultSectionSize(ROW_HEIGHT)
        self._words = snug_label("", "small")
        self.pin = button("", "", "storage.pin")
        self.show_run = button(tr("Show the run"), "quiet", "storage.run")
        self.show_run.setIcon(icon("watch", "muted"))
        self.archive = button("", "quiet", "storage.archive")
        self.archive.setIcon(icon("files", "muted"))
        self.archive.setAccessibleName(tr("Archive …"))
        self.archive.setToolTip(
            tr("Archive: everything of the run in one file, which import brings back")
        )
        self.profile = button("", "quiet", "storage.profile")
        self.profile.setIcon(icon("settings", "muted"))
        self.profile.setMaximumWidth(WIDTH - 2 * MARGIN)
        self.profile.setToolTip(tr("Choose another storage profile for this run"))
        self.prune = button("", "", "storage.prune_run")
        self._arrange()
        self.pin.clicked.connect(model.toggle_pin)
        self.show_run.clicked.connect(model.show_run)
        self.prune.clicked.connect(lambda: model.prune([model.chosen]))
        self.profile.clicked.connect(model.want_profiles)
        model.profiles_known.connect(self._offer_profiles)
        self.archive.clicked.connect(lambda: self.archive_wanted.emit([model.chosen]))
        model.changed.connect(self.refresh)
        model.chosen_changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the chosen run, or what to do to see one."""
        model, run = self._model, self._model.run
        is_there = run is not None
        for part in (self.table, self.pin, self.show_run, self.archive, self.profile):
            part.setVisible(is_there)
        if run is None:
            self._title.set_whole(tr("No run chosen"))
            self._about.set_whole("")
            self._words.setText(
                tr(
                    "Choose a tile to see what a run keeps, and what goes next. Arrow keys move between tiles."
                )
            )
            self.prune.setVisible(False)
            return
        self._title.set_whole(model.run_name)
        about = f"{run.algorithm} · {run.environment} · {wording.bytes_text(run.bytes)}"
        self._about.set_whole(about if run.algorithm else wording.bytes_text(run.bytes))
        self._rows.replace(kind_rows(run))
        self._words.setText("\n\n".join(removal_words(run, model.now)))
        self.pin.setText(tr("Unpin") if run.pinned else tr("Pin"))
        self.pin.setIcon(icon("pin", "accent" if run.pinned else "muted"))
        self.pin.setToolTip(
            tr("Let its storage profile apply again (P)")
            if run.pinned
            else tr("Keep all of its files, whatever its storage profile says (P)")
        )
        self.profile.setText(profile_words(run))
        self.profile.setVisible(bool(run.profile))
        files, size = model.planned_of(run.run_id)
        self.prune.setVisible(files > 0)
        self.prune.setEnabled(model.may_prune)
        words = wording.bytes_text(size)
        self.prune.setText(
            tr_n("Remove {n} file now: {size}", "Remove {n} files now: {size}", files, size=words)
        )

    def show_menu(self, place: QPoint) -> None:
        """Everything that can be done with the chosen run."""
        if self._model.run is None:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for made in (self.show_run, self.pin, self.profile, self.archive, self.prune):
            if not made.isHidden():
                _add(menu, made)
        menu.popup(place)

    def _offer_profiles(self, names: list[str]) -> None:
        """Let the user choose a profile; the first one is what runs have without a choice."""
        run = self._model.run
        if run is None:
            return
        menu = QMenu(self)
        menu.setObjectName("storage.profiles")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for place, name in enumerate(names):
            words = tr("{name} (the default profile)", name=name) if place == 0 else name
            action = menu.addAction(words)
            if action is not None:
                action.setCheckable(True)
                action.setChecked(name == run.profile)
                chosen = name if place else None
                action.triggered.connect(
                    lambda _on, chosen=chosen: self._model.choose_profile(chosen)
                )
        menu.popup(self.profile.mapToGlobal(QPoint(0, self.profile.height())))

    def _arrange(self) -> None:
        acts = QHBoxLayout()
        acts.setSpacing(8)
        acts.addWidget(self.pin)
        acts.addWidget(self.show_run)
        acts.addStretch(1)
        acts.addWidget(self.archive)
        column = QVBoxLayout(self)
        column.setContentsMargins(MARGIN, 12, MARGIN, 12)
        column.setSpacing(8)
        column.addWidget(self._title)
        column.addWidget(self._about)
        column.addWidget(self.table, 1)
        column.addWidget(self._words)
        column.addStretch(0)
        column.addWidget(self.profile, 0, Qt.AlignmentFlag.AlignLeft)
        column.addLayout(acts)
        column.addWidget(self.prune)


def _add(menu: QMenu, made: QPushButton) -> None:
    action = menu.addAction(made.text() or made.accessibleName())
    if action is not None:
        action.setEnabled(made.isEnabled())
        action.triggered.connect(made.click)
