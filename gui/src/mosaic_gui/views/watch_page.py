"""The watch page: state and numbers of a run, its curves, output and end."""

from PyQt6.QtCore import QPoint, Qt, pyqtSignal
from PyQt6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QPlainTextEdit,
    QStackedWidget,
    QTableView,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from mosaic_gui.plots.chart_grid import ChartGrid
from mosaic_gui.state.command_keys import title_of
from mosaic_gui.state.episode_list import Pick
from mosaic_gui.state.episodes import sample_words
from mosaic_gui.state.language import tr
from mosaic_gui.state.run_row import waits_at_engine
from mosaic_gui.theme.apply import mono_font
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.beliefs import BeliefsModel
from mosaic_gui.viewmodels.differences import DifferencesModel
from mosaic_gui.viewmodels.hardware import HardwareModel
from mosaic_gui.viewmodels.log_feed import LogFeed
from mosaic_gui.viewmodels.media import MediaModel
from mosaic_gui.viewmodels.rows import RowsModel
from mosaic_gui.viewmodels.stage import StageModel
from mosaic_gui.viewmodels.sync import SyncModel
from mosaic_gui.viewmodels.watch import WatchModel
from mosaic_gui.views.badge import Badge
from mosaic_gui.views.bases import VisibilityFrame
from mosaic_gui.views.beliefs_panel import BeliefsPanel
from mosaic_gui.views.chart_bar import ChartBar
from mosaic_gui.views.chosen_keys import (
    bind_shortcut,
    keys_of_command,
    on_keys,
    tip_with_keys,
)
from mosaic_gui.views.command import named_shortcut
from mosaic_gui.views.details_panel import DetailsPanel
from mosaic_gui.views.differences_panel import DifferencesPanel
from mosaic_gui.views.dock_area import DockArea
from mosaic_gui.views.external_links import ExternalLinks
from mosaic_gui.views.failure_summary import FailureSummaryView
from mosaic_gui.views.files_panel import FilesPanel
from mosaic_gui.views.hardware_strip import HardwareStrip
from mosaic_gui.views.legend import Legend
from mosaic_gui.views.limits_popup import LimitsPopup
from mosaic_gui.views.log_view import LogView
from mosaic_gui.views.media_panel import MediaPanel
from mosaic_gui.views.note_panel import NotePanel
from mosaic_gui.views.row_menu import Choice, offer_row_menu
from mosaic_gui.views.run_chooser import RunChooser
from mosaic_gui.views.stage import StageView
from mosaic_gui.views.start_stages import StartStages
from mosaic_gui.views.text import ElidedLabel, button, frame, label


class WatchPage(VisibilityFrame):
    """The page. Its signals are what the user wants."""

    stop_wanted = pyqtSignal(str)
    again_wanted = pyqtSignal(str, dict)
    resume_wanted = pyqtSignal(str)
    copy_wanted = pyqtSignal(str, str)
    """Run id for the form, and the field to open; empty: none."""
    back_wanted = pyqtSignal()
    replay_wanted = pyqtSignal(object)
    """EpisodeAddress that is to be replayed."""
    look_wanted = pyqtSignal(str)
    """Another one of the compared runs is to be looked at."""
    pick_wanted = pyqtSignal(str, str)
    """Run id, and which of its episodes is to be replayed; empty: they are listed."""

    def __init__(
        self,
        model: WatchModel,
        feed: LogFeed,
        stage: StageModel,
        beliefs: BeliefsModel,
        hardware: HardwareModel,
        sync: SyncModel,
        differences: DifferencesModel,
        media: MediaModel,
    ) -> None:
        super().__init__()
        self.setObjectName("page.watch")
        self._model, self._hardware = model, hardware
        self._stopping = ""
        self._wanted_side = ""
        self._chosen_side = ""
        """Name of the tab that the user chose last; empty: none yet."""
        self._card_hidden_for = ""
        self._title = label("", "title")
        self._subtitle = ElidedLabel("", "muted")
        self.badge = Badge()
        self.stop = button(tr("Stop"), "stop", "watch.stop")
        self.copy = button(tr("Clone and edit"), "", "watch.copy")
        self.links = ExternalLinks(model, sync)
        self.card = FailureSummaryView()
        self.charts = ChartGrid(model)
        self.stage = StageView(stage)
        self.area = DockArea(self.stage)
        self._beliefs = beliefs
        self.beliefs = BeliefsPanel(beliefs)
        self.beliefs.setParent(self)  # it has no tab yet
        self.beliefs.hide()
        self.log = LogView(feed)
        self.tabs, self.views = QTabWidget(), QTabWidget()
        self._differences = differences
        self.differences = DifferencesPanel(differences)
        self.differences.setParent(self)  # it has no tab yet
        self.differences.hide()
        self._media = media
        self.media = MediaPanel(media)
        self.media.setParent(self)  # it has no tab yet
        self.media.hide()
        self.chooser = RunChooser(model)
        self._facts = QHBoxLayout()
        self._facts.addStretch(1)
        self.machine = HardwareStrip("watch.machine", tr("What the run uses"))
        self._facts.addWidget(self.machine)
        self._fact_views: list[_Fact] = []
        self.legend = Legend(model)
        self._charts_or_words = QStackedWidget()
        self._waiting = label("", "muted", wraps=True)
        self.stages = StartStages()
        self._to_list = button(tr("Show the runs"), "", "watch.choose")
        self._to_list.clicked.connect(self.back_wanted)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 14, 20, 14)
        layout.setSpacing(10)
        layout.addLayout(self._head())
        figures = QHBoxLayout()
        figures.addWidget(self.chooser)
        figures.addLayout(self._facts, 1)
        layout.addLayout(figures)
        layout.addWidget(self.card)
        layout.addWidget(self.area, 1)
        self._fill_area()
        self._connect()
        self.refresh()

    @property
    def side(self) -> str:
        """Name of the tab on the right that is chosen."""
        widget = self.tabs.currentWidget()
        return widget.objectName() if widget is not None else ""

    def add_banner(self, banner: QWidget) -> None:
        """Add a banner between the run's numbers and its curves."""
        layout = self.layout()
        if isinstance(layout, QVBoxLayout):
            layout.insertWidget(2, banner)

    def open_side(self, name: str) -> None:
        """Show a tab of the run's own panel as soon as it has something; one that the user chose comes first."""
        self._wanted_side = self._chosen_side or name
        for at in range(self.tabs.count()):
            if self.tabs.isTabVisible(at):
                self._take_wanted(self.tabs.widget(at))

    def show_curves(self) -> None:
        """Show the curves, whatever of the runs before was looked at."""
        self.views.setCurrentIndex(0)

    def show_differences(self) -> None:
        """Show what the compared runs differ in, where several are."""
        if self.views.indexOf(self.differences) >= 0:
            self.views.setCurrentWidget(self.differences)

    def _on_tab_clicked(self, at: int) -> None:
        page = self.tabs.widget(at)
        self._chosen_side = page.objectName() if page is not None else ""

    def _take_wanted(self, page: QWidget | None) -> None:
        if page is not None and page.objectName() == self._wanted_side:
            self._wanted_side = ""
            self.tabs.setCurrentWidget(page)

    def search_log(self) -> bool:
        """Focus the search of the output; False where the log is not shown."""
        if not self.area.docks["run"].isVisible():
            return False
        self.tabs.setCurrentWidget(self.log)
        self.log.search.setFocus()
        self.log.search.selectAll()
        return True

    def write_note(self) -> None:
        """Show the note of the run and focus it; without a run nothing."""
        if self._model.run is not None:
            self.area.docks["run"].show()
            self.tabs.setCurrentWidget(self.note)
            self.note.write()

    def stop_asked(self, run_id: str) -> None:
        """Show that the stop was requested."""
        self._stopping = run_id
        self.refresh()

    def stop_refused(self) -> None:
        """Enable the stop button again after a refusal."""
        self._stopping = ""
        self.refresh()

    def refresh(self) -> None:
        """State and numbers as they are now."""
        model, run = self._model, self._model.run
        self._title.setText(model.title)
        self._subtitle.set_whole(model.subtitle)
        self._title.setToolTip(model.run.name if model.run else "")
        self.chooser.refresh()
        self.badge.set_state(*model.badge)
        is_compared = bool(model.compared)
        self.badge.setVisible(run is not None and not is_compared)
        name = model.label(model.run_id) if is_compared else ""
        self.copy.setToolTip(tr("Clone and edit {run}", run=name) if name else "")
        stops = (
            tr("Stop {run} at the next safe point and save a checkpoint", run=name)
            if name
            else tr("Stop at the next safe point and save a checkpoint")
        )
        self.stop.setToolTip(f"{stops} ({keys_of_command('watch.stop')})")
        self.links.setVisible(run is not None)
        self.copy.setVisible(run is not None)
        self._to_list.setVisible(run is None)
        live = run is not None and not run.state.is_final
        asked = run is not None and self._stopping == run.run_id
        self.stop.setVisible(live)
        self.stop.setEnabled(live and not asked)
        self.stop.setText(tr("Stopping …") if asked else tr("Stop"))
        self.log.set_state(has_run=run is not None, ended=not live)
        self._fill_facts()
        self._show_sample()
        self._show_plan()
        self._show_machine()
        self._show_card()
        self._show_charts()

    def _make_episodes(self) -> QWidget:
        self.sample = label("", "small", wraps=True)
        self.sample.setContentsMargins(12, 8, 12, 6)
        self.episodes = QWidget()
        self.episodes.setObjectName("side.episodes")
        layout = QVBoxLayout(self.episodes)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(self._make_picks())
        layout.addWidget(self.sample)
        layout.addWidget(self._episodes, 1)
        self._episodes.activated.connect(lambda index: self._replay(index.row()))
        self._episodes.doubleClicked.connect(lambda index: self._replay(index.row()))
        offer_row_menu(self._episodes, self._choices_of_episode)
        return self.episodes

    def _choices_of_episode(self, row: int) -> list[Choice]:
        """What the menu of an episode offers in addition to copies."""
        listed = tr("List all episodes"), lambda: self.pick_wanted.emit(self._model.run_id, "")
        if self._model.episode_at(row) is None:
            return [listed]
        return [(tr("Replay"), lambda: self._replay(row)), listed]

    def _make_picks(self) -> QHBoxLayout:
        """Make the buttons that replay an episode."""
        row = QHBoxLayout()
        row.setContentsMargins(8, 6, 8, 0)
        row.setSpacing(2)
        all_of_them = button(tr("Replay …"), "quiet", "episodes.replay")
        all_of_them.setIcon(icon("replay", "muted"))
        all_of_them.setToolTip(tr("List all episodes, to see one again step by step"))
        all_of_them.clicked.connect(lambda: self.pick_wanted.emit(self._model.run_id, ""))
        row.addWidget(all_of_them)
        for which, word in (
            (Pick.WORST, tr("Worst")),
            (Pick.MEDIAN, tr("Median")),
            (Pick.BEST, tr("Best")),
        ):
            made = button(word, "quiet", f"episodes.{which.value}")
            made.setToolTip(tr("Replay the episode with this return"))
            made.clicked.connect(
                lambda _on, which=which: self.pick_wanted.emit(self._model.run_id, which.value)
            )
            row.addWidget(made)
        row.addStretch(1)
        return row

    def _replay(self, row: int) -> None:
        address = self._model.episode_at(row)
        if address is not None:
            self.replay_wanted.emit(address)

    def _make_plan(self) -> QPlainTextEdit:
        self.plan = QPlainTextEdit()
        self.plan.setObjectName("side.dry_run")
        self.plan.setAccessibleName(tr("The dry run that was viewed before the launch"))
        self.plan.setReadOnly(True)
        self.plan.setTabChangesFocus(True)
        self.plan.setFont(mono_font(11))
        return self.plan

    def _show_plan(self) -> None:
        """Show a tab for the run's dry run, where it has one."""
        run = self._model.run
        text = run.dry_run if run is not None else ""
        if text != self.plan.toPlainText():
            self.plan.setPlainText(text)
        self.tabs.setTabVisible(self.tabs.indexOf(self.plan), bool(text))

    def _show_sample(self) -> None:
        """Show the number of episodes above the table, where not all were recorded."""
        words = sample_words(self._model.run) if self._model.run is not None else ""
        self.sample.setText(words)
        self.sample.setVisible(bool(words))

    def _show_machine(self) -> None:
        hardware = self._hardware
        self.machine.show_meters(hardware.of_run(self._model.run), hardware.age_words)

    def _show_charts(self) -> None:
        model, run = self._model, self._model.run
        self.legend.refresh()
        self._charts_or_words.setCurrentIndex(0 if model.charts else 1)
        if run is None:
            words = tr("No run is watched. Choose one in the list.")
        elif run.state.value == "queued" or waits_at_engine(run):
            words = tr(
                "Waiting: {why}", why=run.waiting_reason or tr("it starts when its turn comes")
            )
        elif run.state.is_final and not model.is_loading:
            words = tr("It ended before it had anything to draw.")
        else:
            words = tr("Curves appear here with the first point.")
        self._waiting.setText(words)
        self.stages.show_stages(model.start_stages)

    def _show_card(self) -> None:
        card = self._model.card
        shown = card is not None and self._card_hidden_for != self._model.run_id
        self.card.setVisible(shown)
        if card is not None:
            self.card.show_summary(card)

    def _head(self) -> QHBoxLayout:
        back = button(tr("Runs"), "quiet", "watch.back")
        back.setIcon(icon("arrow_left", "muted"))
        tip_with_keys(back, tr("Back to the list"), "back")
        back.clicked.connect(self.back_wanted)
        self.copy.setIcon(icon("copy", "text"))
        self.stop.setIcon(icon("stop", "bad"))
        row = QHBoxLayout()
        row.setSpacing(10)
        row.addWidget(back)
        row.addWidget(self._title)
        row.addWidget(self._subtitle, 1)
        row.addWidget(self.badge)
        row.addSpacing(4)
        row.addWidget(self.links)
        row.addWidget(self.copy)
        row.addWidget(self.stop)
        return row

    def _fill_area(self) -> None:
        """Add curves on the right of the environment, what the run wrote below it."""
        area = self.area
        right, below = Qt.DockWidgetArea.RightDockWidgetArea, Qt.DockWidgetArea.BottomDockWidgetArea
        area.add("curves", tr("Curves"), self.views, right)
        self._fill_views()
        side = frame("panel")
        area.add("run", tr("Run"), side, below)
        self._fill_side(side)

    def _fill_views(self) -> None:
        """Make the tabs of curves and beliefs; the tab bar is hidden while there is only one."""
        views = self.views
        views.setDocumentMode(True)
        views.setTabBarAutoHide(True)
        views.addTab(self._curves(), tr("Curves"))
        _hand_focus_to_bar(views, tr("Views of the run"))

    def _curves(self) -> QWidget:
        made = QWidget()
        column = QVBoxLayout(made)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        self.bar = ChartBar(self._model)
        column.addWidget(self.bar)
        column.addWidget(self.legend)
        words = frame("panel")
        inside = QVBoxLayout(words)
        inside.addStretch(1)
        inside.addWidget(self.stages, 0, Qt.AlignmentFlag.AlignHCenter)
        inside.addSpacing(6)
        self._waiting.setAlignment(Qt.AlignmentFlag.AlignCenter)
        inside.addWidget(self._waiting)
        inside.addWidget(self._to_list, 0, Qt.AlignmentFlag.AlignHCenter)
        inside.addStretch(1)
        self._charts_or_words.addWidget(self.charts)
        self._charts_or_words.addWidget(words)
        column.addWidget(self._charts_or_words, 1)
        return made

    def _fill_side(self, side: QWidget) -> None:
        layout = QVBoxLayout(side)
        layout.setContentsMargins(1, 1, 1, 1)
        layout.addWidget(self.tabs)
        self.tabs.setDocumentMode(True)
        self.details = DetailsPanel(self._model, _table(self._model.details, "details.table"))
        self._episodes = _table(self._model.episodes, "episodes.table")
        self._episodes.setAccessibleName(tr("Episodes of the run"))
        self.files = FilesPanel(self._model)
        self.note = NotePanel(self._model)
        self.log.setObjectName("side.log")
        self.tabs.addTab(self.log, tr("Log"))
        self.tabs.addTab(self.details, tr("Details"))
        self.tabs.addTab(self.note, tr("Note"))
        self.tabs.addTab(self._make_episodes(), tr("Episodes"))
        self.tabs.addTab(self.files, tr("Files"))
        self.tabs.addTab(self._make_plan(), tr("Dry run"))
        _hand_focus_to_bar(self.tabs, tr("About the run"))
        side.setMinimumWidth(280)

    def _connect(self) -> None:
        model = self._model
        model.run_replaced.connect(self._on_replaced)
        model.run_changed.connect(self.refresh)
        model.charts_changed.connect(self._show_charts)
        for name, act in (
            ("watch.follow", self.bar.follow.click),
            ("watch.note", self.write_note),
            ("watch.stop", self.stop.click),
        ):
            bind_shortcut(named_shortcut(self, "", title_of(name), act), name)
        on_keys(self, self.refresh)
        named_shortcut(self, "Ctrl+Z", tr("Undo the zoom of the charts"), model.view.undo_zoom)
        named_shortcut(
            self, "Backspace", "", model.view.undo_zoom
        )  # one line in the palette is enough
        self.stop.clicked.connect(lambda: self.stop_wanted.emit(model.run_id))
        self.copy.clicked.connect(lambda: self.copy_wanted.emit(model.run_id, ""))
        self.card.again_wanted.connect(lambda over: self.again_wanted.emit(model.run_id, over))
        self.card.resume_wanted.connect(lambda: self.resume_wanted.emit(model.run_id))
        self.card.edit_wanted.connect(lambda where: self.copy_wanted.emit(model.run_id, where))
        self.card.closed.connect(self._hide_card)
        self.charts.chart_removed.connect(lambda name: model.set_chart(name, False))
        self.charts.limits_wanted.connect(self._ask_limits)
        self._beliefs.offered_changed.connect(self._show_beliefs)
        self._differences.changed.connect(self._show_differences)
        self._media.offered_changed.connect(self._show_media)
        self.chooser.chosen.connect(self.look_wanted)
        self.tabs.tabBarClicked.connect(self._on_tab_clicked)
        self._hardware.changed.connect(self._show_machine)
        self._show_beliefs()
        self._show_differences()
        self._show_media()
        model.episodes.modelReset.connect(self._show_tabs)
        model.files.modelReset.connect(self._show_tabs)
        self._show_tabs()

    def _ask_limits(self, name: str) -> None:
        """Open the fields for the limits of a chart's vertical axis below its menu."""
        chart = next((one for one in self.charts.charts if one.name == name), None)
        if chart is not None:
            more = chart.heading.more
            place = more.mapToGlobal(QPoint(more.width(), more.height() + 4))
            LimitsPopup(chart, self._model, name).open_at(place)

    def _show_beliefs(self) -> None:
        """Show the tab of beliefs while the run has some."""
        self._offer_view(self.beliefs, tr("Beliefs"), self._beliefs.is_offered)

    def _show_differences(self) -> None:
        """Show the tab of differences while runs are compared."""
        self._offer_view(self.differences, tr("Differences"), self._differences.is_offered)

    def _show_media(self) -> None:
        """Show the tab of texts, histograms and images while the run has some."""
        self._offer_view(self.media, tr("Media"), self._media.is_offered)

    def _offer_view(self, page: QWidget, title: str, is_offered: bool) -> None:
        at = self.views.indexOf(page)
        if is_offered and at < 0:
            self.views.addTab(page, title)
        elif not is_offered and at >= 0:
            self.views.removeTab(at)
            page.hide()

    def _show_tabs(self) -> None:
        self._show_tab(self.episodes, self._model.episodes)
        self._show_tab(self.files, self._model.files)

    def _show_tab(self, page: QWidget, rows: RowsModel) -> None:
        """Show a tab while the run has content for it."""
        self.tabs.setTabVisible(self.tabs.indexOf(page), rows.rowCount() > 0)
        if rows.rowCount() > 0:
            self._take_wanted(page)

    def _on_replaced(self) -> None:
        self._card_hidden_for = ""
        self.refresh()

    def _hide_card(self) -> None:
        self._card_hidden_for = self._model.run_id
        self.card.setVisible(False)

    def _fill_facts(self) -> None:
        facts = self._model.facts
        while len(self._fact_views) < len(facts):
            made = _Fact()
            self._facts.insertWidget(len(self._fact_views), made)
            self._fact_views.append(made)
        for n, view in enumerate(self._fact_views):
            view.setVisible(n < len(facts))
            if n < len(facts):
                view.show_fact(*facts[n])


class _Fact(QWidget):
    """A number with its name below."""

    def __init__(self) -> None:
        super().__init__()
        self._name, self._value = label("", "small"), label("", "fact")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 22, 0)
        layout.setSpacing(0)
        layout.addWidget(self._value)
        layout.addWidget(self._name)

    def show_fact(self, name: str, value: str) -> None:
        self._name.setText(name)
        self._value.setText(value)
        # it keeps its widest width, so that its neighbours do not move
        self.setMinimumWidth(max(self.minimumWidth(), self.sizeHint().width()))


def _hand_focus_to_bar(tabs: QTabWidget, name: str) -> None:
    """Make the tab bar the only Tab stop: passing focus to a hidden bar would trap the Tab key."""
    tabs.setFocusProxy(None)
    tabs.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    if (bar := tabs.tabBar()) is not None:
        bar.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        bar.setAccessibleName(name)


def _table(model: RowsModel, name: str) -> QTableView:
    table = QTableView()
    table.setObjectName(name)
    table.setModel(model)
    table.setShowGrid(False)
    table.setWordWrap(False)
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    rows, header = table.verticalHeader(), table.horizontalHeader()
    if rows is not None:
        rows.setVisible(False)
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setDefaultSectionSize(28)
    if header is not None:
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setResizeContentsPrecision(50)
        header.setStretchLastSection(model.columnCount() == 2)
    return table
