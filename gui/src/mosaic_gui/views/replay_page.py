"""The replay page: episodes of a run on the left, the player in the middle, recorded steps on the right."""

from pathlib import Path

from PyQt6.QtCore import QPoint, QStandardPaths, Qt, pyqtSignal
from PyQt6.QtGui import QResizeEvent
from PyQt6.QtWidgets import (
    QFileDialog,
    QGridLayout,
    QHBoxLayout,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from mosaic_contracts.exports import (
    DatasetExport,
    StepsExport,
    VideoExport,
    VideoForm,
    export_file_name,
)
from mosaic_gui.discard import discard
from mosaic_gui.state.export_words import (
    ExportKind,
    ExportOffer,
    dataset_words,
    export_ref,
    ranges_of,
    suggested_dataset,
)
from mosaic_gui.state.language import tr
from mosaic_gui.state.playback import DEFAULT_FPS
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.branches import BranchTreeModel
from mosaic_gui.viewmodels.episodes import EpisodesModel
from mosaic_gui.viewmodels.exports import ExportModel
from mosaic_gui.viewmodels.player import PlayerModel
from mosaic_gui.viewmodels.replay import ReplayModel
from mosaic_gui.viewmodels.steps_table import StepsTableModel
from mosaic_gui.viewmodels.takeover import TakeoverModel
from mosaic_gui.views.bases import VisibilityFrame
from mosaic_gui.views.branch_tree import BranchTreePanel
from mosaic_gui.views.command import named_shortcut
from mosaic_gui.views.episode_list import EpisodeListView, episode_words
from mosaic_gui.views.export_popup import ExportPopup
from mosaic_gui.views.export_strip import ExportStrip
from mosaic_gui.views.player_keys import PlayerKeys
from mosaic_gui.views.replay_pane import ReplayPane
from mosaic_gui.views.replay_timeline import ReplayTimeline
from mosaic_gui.views.steps_table import StepsTable
from mosaic_gui.views.takeover_popup import TakeoverPopup
from mosaic_gui.views.text import ElidedLabel, IconLabel, button, frame, label
from mosaic_gui.views.transport import TransportBar

_COLUMNS, _MOST_COLUMNS = 2, 3
"""Columns of up to four episodes side by side, and of more."""
_LIST_WIDTH, _STEPS_WIDTH, _PANE_WIDTH = 312, 300, 330
"""Widths of list and table at first, and the width that an episode wants."""


class ReplayPage(VisibilityFrame):
    """The page. Its signals are what the user wants."""

    back_wanted = pyqtSignal(str)
    """Run id to watch; empty: the list of runs."""
    export_wanted = pyqtSignal(object)
    """VideoExport, StepsExport or DatasetExport."""

    def __init__(
        self,
        episodes: EpisodesModel,
        player: PlayerModel,
        exports: ExportModel,
        takeover: TakeoverModel,
        branches: BranchTreeModel,
    ) -> None:
        super().__init__()
        self.setObjectName("page.replay")
        self._episodes, self._player, self._takeover = episodes, player, takeover
        self._panes: dict[ReplayModel, ReplayPane] = {}
        self.back = button(tr("Run"), "quiet", "replay.back")
        self.take_over = button(tr("Take over"), "", "replay.take_over")
        self.export = button(tr("Export"), "", "replay.export")
        self.export_strip = ExportStrip(exports)
        self._export_folder = ""
        """Where the last file was saved."""
        self.subtitle = ElidedLabel("", "muted")
        self.show_list = self._make_toggle("list", tr("Episodes"), tr("The list of episodes"))
        self.show_steps = self._make_toggle("rows", tr("Steps"), tr("The table of steps"))
        self._wanted: dict[QWidget, bool] = {}
        """Columns that the user has shown or hidden; others give way where there is little room."""
        self.list = EpisodeListView(episodes)
        self.branches = BranchTreePanel(branches)
        self._rows = StepsTableModel(self)
        self.steps = StepsTable(self._rows)
        self._steps_or_words = QStackedWidget()
        self.timeline = ReplayTimeline(player)
        self.transport = TransportBar(player)
        self._grid = QGridLayout()
        self._empty = self._make_empty()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 14, 20, 14)
        layout.setSpacing(10)
        layout.addLayout(self._make_head())
        layout.addWidget(self.export_strip)
        split = QSplitter(Qt.Orientation.Horizontal)
        layout.addWidget(split, 1)
        self._fill_body(split)
        layout.addWidget(self._make_player())
        self._keys = PlayerKeys(self, player)
        named_shortcut(self, "T", tr("Take over"), self.open_takeover)
        self._connect()
        self._on_panes()

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self.branches.set_room(self.height())
        self._fit()

    @property
    def _columns(self) -> int:
        return _COLUMNS if len(self._player.panes) <= _COLUMNS**2 else _MOST_COLUMNS

    def panes(self) -> list[ReplayPane]:
        """The episodes that are shown, in their order."""
        return [self._panes[model] for model in self._player.panes]

    def open_takeover(self) -> TakeoverPopup:
        """Ask who goes on from the step that is looked at."""
        self._takeover.begin()
        popup = TakeoverPopup(self, self._takeover)
        popup.show_at(self.take_over.mapToGlobal(QPoint(0, self.take_over.height() + 4)))
        return popup

    def open_export(self) -> ExportPopup:
        """Ask what the episode, or the selected ones, are exported as."""
        popup = ExportPopup(self, self._offer())
        popup.wanted.connect(self._on_kind)
        popup.show_at(self.export.mapToGlobal(QPoint(0, self.export.height() + 4)))
        return popup

    def _offer(self) -> ExportOffer:
        main, episodes = self._player.main, self._episodes
        words = ""
        if main is not None:
            address = main.address
            words = episode_words(address, with_env=True, with_attempt=address.attempt > 1)
        selected = self.list.selected_ones
        return ExportOffer(
            words,
            dataset_words(selected, episodes.replayable),
            suggested_dataset(episodes.run),
            main.last if main is not None else 0,
            main.track.fps if main is not None else DEFAULT_FPS,
        )

    def _on_kind(self, kind: str, speed: float, name: str) -> None:
        if ExportKind(kind) is ExportKind.DATASET:
            selected = self.list.selected_ones
            ranges = ranges_of(selected) if len(selected) > 1 else []
            run_id = self._episodes.run_id
            self.export_wanted.emit(DatasetExport(run_id=run_id, name=name, ranges=ranges))
        elif self._player.main is not None:
            self._ask_where(self._player.main, ExportKind(kind), speed)

    def _ask_where(self, shown: ReplayModel, kind: ExportKind, speed: float) -> None:
        episode = export_ref(shown.address)
        suggested = export_file_name(episode, kind.value)
        dialog = QFileDialog(self, tr("Save {name}", name=suggested))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(kind.value)
        standard = QStandardPaths.StandardLocation.DownloadLocation
        dialog.setDirectory(self._export_folder or QStandardPaths.writableLocation(standard))
        dialog.selectFile(suggested)
        title = f"{shown.title}: {self._offer().episode}"

        def give(place: str) -> None:
            self._export_folder = str(Path(place).parent)
            if kind.is_video:
                form: VideoForm = "gif" if kind is ExportKind.GIF else "mp4"
                made: object = VideoExport(
                    episode=episode, target=place, form=form, speed=speed, title=title
                )
            else:
                made = StepsExport(episode=episode, target=place)
            self.export_wanted.emit(made)

        dialog.fileSelected.connect(give)
        dialog.open()

    def _make_toggle(self, name: str, text: str, help_text: str) -> QPushButton:
        made = button(text, "segment", f"replay.show_{name}")
        made.setCheckable(True)
        made.setChecked(True)
        made.setToolTip(help_text)
        made.clicked.connect(lambda on: self._want(made, bool(on)))
        return made

    def _want(self, toggle: QWidget, on: bool) -> None:
        self._wanted[toggle] = on
        self._fit()

    def _fit(self) -> None:
        """Hide the table of steps where the episodes would have too little width."""
        columns = min(self._columns, max(1, len(self._player.panes)))
        room = self.width() - _LIST_WIDTH - _STEPS_WIDTH
        has_room = room >= columns * _PANE_WIDTH
        for toggle, part, fits in (
            (self.show_list, self._left, True),
            (self.show_steps, self._table, has_room),
        ):
            on = self._wanted.get(toggle, fits)
            toggle.setChecked(on)
            part.setVisible(on)

    def _make_head(self) -> QHBoxLayout:
        self.back.setIcon(icon("arrow_left", "muted"))
        self.back.setToolTip(tr("Back to the run (Escape)"))
        row = QHBoxLayout()
        row.setSpacing(10)
        row.addWidget(self.back)
        row.addWidget(label(tr("Replay"), "title"))
        row.addWidget(self.subtitle, 1)
        for made in (self.show_list, self.show_steps):
            row.addWidget(made)
        self.export.setIcon(icon("download", "muted"))
        self.export.setShortcut("Ctrl+E")
        self.export.setToolTip(
            tr("Save the episode as a video or file, or episodes as a dataset (Ctrl+E)")
        )
        self.take_over.setIcon(icon("hybrid", "muted"))
        self.take_over.setToolTip(
            tr("Go on from this step: you, the same policy, or another checkpoint (T)")
        )
        row.addWidget(self.take_over)
        row.addWidget(self.export)
        return row

    def _fill_body(self, split: QSplitter) -> None:
        self._left, middle = QWidget(), QWidget()
        table = self._table = self._make_steps()
        split.setObjectName("replay.split")
        split.setHandleWidth(10)
        split.setChildrenCollapsible(False)
        for part, least in ((self._left, 250), (middle, 300), (table, 220)):
            part.setMinimumWidth(least)
            split.addWidget(part)
        left = QVBoxLayout(self._left)
        left.setContentsMargins(0, 0, 0, 0)
        left.setSpacing(8)
        left.addWidget(self.list, 1)
        left.addWidget(self.branches)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(8)
        column = QVBoxLayout(middle)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(self._grid, 1)
        column.addWidget(self._empty, 1)
        for at, share in enumerate((0, 1, 0)):
            split.setStretchFactor(at, share)
        split.setSizes([_LIST_WIDTH, 900, _STEPS_WIDTH])

    def _make_steps(self) -> QWidget:
        made = frame("panel")
        words = label(tr("The recorded steps are listed here."), "muted", wraps=True)
        words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        words.setContentsMargins(16, 12, 16, 12)
        self._steps_or_words.addWidget(self.steps)
        self._steps_or_words.addWidget(words)
        inside = QVBoxLayout(made)
        inside.setContentsMargins(1, 1, 1, 1)
        inside.addWidget(self._steps_or_words)
        return made

    def _make_player(self) -> QWidget:
        made = frame("panel")
        column = QVBoxLayout(made)
        column.setContentsMargins(12, 8, 12, 10)
        column.setSpacing(4)
        column.addWidget(self.timeline)
        column.addWidget(self.transport)
        return made

    def _make_empty(self) -> QWidget:
        made = frame("panel")
        column = QVBoxLayout(made)
        column.setContentsMargins(28, 20, 28, 20)
        column.setSpacing(10)
        column.addStretch(2)
        column.addWidget(IconLabel("replay", "muted", 40), 0, Qt.AlignmentFlag.AlignHCenter)
        self._what, self._how = label("", "heading", wraps=True), label("", "muted", wraps=True)
        for text in (self._what, self._how):
            text.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
            column.addWidget(text)
        column.addStretch(3)
        return made

    def _connect(self) -> None:
        player = self._player
        self.back.clicked.connect(lambda: self.back_wanted.emit(self._episodes.run_id))
        self.take_over.clicked.connect(self.open_takeover)
        self.export.clicked.connect(self.open_export)
        self.list.export_wanted.connect(self.open_export)
        self.steps.step_chosen.connect(self._on_step)
        self.steps.takeover_wanted.connect(self.open_takeover)
        player.panes_changed.connect(self._on_panes)
        player.moved.connect(self._on_moved)
        self._episodes.filled.connect(self._show_run)

    def _on_step(self, step: int) -> None:
        self._player.step_by(step - self._player.playback.step)

    def _on_moved(self) -> None:
        main = self._player.main
        self._rows.show_steps(main)
        self._steps_or_words.setCurrentIndex(0 if self._rows.rowCount() > 0 else 1)
        if main is not None:
            self.steps.mark(main.step)

    def _on_panes(self) -> None:
        shown = self._player.panes
        for model in [model for model in self._panes if model not in shown]:
            discard(self._panes.pop(model))
        for model in shown:
            if model not in self._panes:
                self._panes[model] = self._make_pane(model)
        columns = self._columns
        for n, model in enumerate(shown):
            pane = self._panes[model]
            self._grid.addWidget(pane, n // columns, n % columns)
            pane.show()
            pane.set_alone(len(shown) == 1)
            pane.refresh()
        for at in range(_MOST_COLUMNS):
            # panes have equal sizes, and rows without panes none
            self._grid.setRowStretch(at, int(at * columns < len(shown)))
            self._grid.setColumnStretch(at, int(at < min(columns, len(shown))))
        self._empty.setVisible(not shown)
        self._fit()
        self.list.mark(shown[0].address if shown else None)
        self._show_run()
        self.transport.refresh()
        self._on_moved()

    def _make_pane(self, model: ReplayModel) -> ReplayPane:
        pane = ReplayPane(model, self._player)
        pane.setParent(self)
        pane.close_wanted.connect(lambda: self._player.close(model))
        return pane

    def _show_run(self) -> None:
        """Show which run it is, and what to do while no episode is shown."""
        obstacle = self._episodes.obstacle
        if obstacle:
            self._what.setText(tr("No episode of this run can be replayed"))
            self._how.setText(obstacle)
        else:
            self._what.setText(tr("Choose an episode to see it again, step by step."))
            self._how.setText(
                tr(
                    "It is rebuilt in a fresh process from what was recorded, and each step is compared with the "
                    "record."
                )
            )
        run = self._episodes.run
        names = dict(self._episodes.choices)
        name = names.get(run.run_id, run.name) if run else ""
        parts = [run.spec.environment] if run and run.spec.environment not in name else []
        self.subtitle.set_whole(" · ".join([*parts, name]))
