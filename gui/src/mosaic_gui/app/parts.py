"""The parts of one client: its store, its view models, and the controllers that fill them."""

from collections.abc import Callable
from pathlib import Path

from PyQt6.QtCore import QObject, QUrl, pyqtSignal
from PyQt6.QtGui import QDesktopServices, QGuiApplication

from mosaic_gui.controllers.alert_targets import AlertTargetsController
from mosaic_gui.controllers.alerts import AlertsController
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.beliefs import BeliefsController
from mosaic_gui.controllers.branches import BranchController
from mosaic_gui.controllers.checkpoint_browser import CheckpointBrowserController
from mosaic_gui.controllers.checkpoint_import import CheckpointImportController
from mosaic_gui.controllers.checkpoints import CheckpointController
from mosaic_gui.controllers.comparisons import ComparisonController
from mosaic_gui.controllers.connection import ConnectionController
from mosaic_gui.controllers.curve_refiner import CurveRefiner
from mosaic_gui.controllers.dashboards import DashboardController
from mosaic_gui.controllers.desktop_entry import DesktopEntryController
from mosaic_gui.controllers.differences import DifferencesController
from mosaic_gui.controllers.downloads import DownloadController
from mosaic_gui.controllers.dropped_forms import DroppedForms
from mosaic_gui.controllers.exports import ExportController
from mosaic_gui.controllers.file_jobs import FileJobController
from mosaic_gui.controllers.gamepad import GamepadController
from mosaic_gui.controllers.keyring_client import KeyringClient
from mosaic_gui.controllers.launch import LaunchController
from mosaic_gui.controllers.layouts import LayoutController
from mosaic_gui.controllers.list_views import ListViewsController
from mosaic_gui.controllers.live_frames import LiveFramesController
from mosaic_gui.controllers.manifest import ManifestController
from mosaic_gui.controllers.media import MediaController
from mosaic_gui.controllers.play import PlayController
from mosaic_gui.controllers.play_start import PlayStartController
from mosaic_gui.controllers.preferences import PreferenceStore
from mosaic_gui.controllers.replay import ReplayController
from mosaic_gui.controllers.run_actions import RunActions
from mosaic_gui.controllers.run_figures import RunFiguresController
from mosaic_gui.controllers.run_list import RunListController
from mosaic_gui.controllers.run_storage import RunStorageController
from mosaic_gui.controllers.stage import StageController
from mosaic_gui.controllers.storage import StorageController
from mosaic_gui.controllers.sweep_form import SweepFormController
from mosaic_gui.controllers.sweeps import SweepsController
from mosaic_gui.controllers.syncs import SyncController
from mosaic_gui.controllers.takeover import TakeoverController
from mosaic_gui.controllers.theme import ThemeController
from mosaic_gui.controllers.trash import TrashController
from mosaic_gui.controllers.watch import WatchController
from mosaic_gui.controllers.worker_install import WorkerInstaller
from mosaic_gui.state.language import tr
from mosaic_gui.state.store import Store
from mosaic_gui.viewmodels.agents import AgentsModel
from mosaic_gui.viewmodels.alerts import AlertsModel
from mosaic_gui.viewmodels.beliefs import BeliefsModel
from mosaic_gui.viewmodels.branches import BranchTreeModel
from mosaic_gui.viewmodels.checkpoints import CheckpointsModel
from mosaic_gui.viewmodels.comparison import ComparisonModel
from mosaic_gui.viewmodels.connection import ConnectionModel
from mosaic_gui.viewmodels.differences import DifferencesModel
from mosaic_gui.viewmodels.episodes import EpisodesModel
from mosaic_gui.viewmodels.exports import ExportModel
from mosaic_gui.viewmodels.file_jobs import FileJobModel
from mosaic_gui.viewmodels.frame_clock import FrameClock
from mosaic_gui.viewmodels.hardware import HardwareModel
from mosaic_gui.viewmodels.launch import LaunchModel
from mosaic_gui.viewmodels.list_views import ListViewsModel
from mosaic_gui.viewmodels.log_feed import LogFeed
from mosaic_gui.viewmodels.media import MediaModel
from mosaic_gui.viewmodels.play import PlayModel
from mosaic_gui.viewmodels.play_start import PlayStartModel
from mosaic_gui.viewmodels.player import PlayerModel
from mosaic_gui.viewmodels.run_list import RunListModel
from mosaic_gui.viewmodels.stage import StageModel
from mosaic_gui.viewmodels.storage import StorageModel
from mosaic_gui.viewmodels.sweep_form import SweepFormModel
from mosaic_gui.viewmodels.sweeps import SweepsModel
from mosaic_gui.viewmodels.sync import SyncModel
from mosaic_gui.viewmodels.takeover import TakeoverModel
from mosaic_gui.viewmodels.trained import TrainedModel
from mosaic_gui.viewmodels.trash import TrashModel
from mosaic_gui.viewmodels.watch import WatchModel

KEPT_IN = "gui"
"""Folder of the data root for what the client keeps for itself."""


class ClientParts(QObject):
    """Everything but the window, without connections between the parts."""

    said = pyqtSignal(str, str, object)
    """A notice, the label of its button, and what the button does."""

    def __init__(
        self,
        home: Path,
        preferences: PreferenceStore | None = None,
        parent: QObject | None = None,
    ) -> None:
        """`preferences`: settings and choices; None: those of this data root."""
        super().__init__(parent)
        self.home = home
        self.preferences = preferences or PreferenceStore(home / KEPT_IN)
        self.preferences.setParent(self)
        self.store = Store()
        self.clock = FrameClock(self)
        self.open_externally: Callable[[QUrl], bool] = QDesktopServices.openUrl
        self._make_models()
        self._make_controllers()

    def say(self, text: str, act: str = "", then: Callable[[], None] | None = None) -> None:
        """Show a notice to the user."""
        self.said.emit(text, act, then)

    def open_page(self, url: str) -> bool:
        """Open a page in the system's browser, or offer to copy its address. Return whether it was opened."""
        if self.open_externally(QUrl(url)):
            return True
        clipboard = QGuiApplication.clipboard()
        if clipboard is None:
            self.say(tr("No program here opens web pages. The address: {url}", url=url))
        else:
            self.say(
                tr("No program here opens web pages."),
                tr("Copy the address"),
                lambda: clipboard.setText(url),
            )
        return False

    def _make_models(self) -> None:
        self.connection = ConnectionModel(self)
        self.hardware = HardwareModel(self)
        self.table = RunListModel(self.store, self)
        self.list_views = ListViewsModel(self)
        self.launch = LaunchModel(self, self.store)
        self.agents = AgentsModel(self.launch, self)
        self.watch = WatchModel(self.store, self)
        self.differences = DifferencesModel(self.store, self.watch, self)
        self.media = MediaModel(self.watch, self)
        self.stage = StageModel(self.store, self.watch, self)
        self.play = PlayModel(self.store, self.watch, self.stage, self)
        self.beliefs = BeliefsModel(self.store, self.watch, self)
        self.episodes, self.player = EpisodesModel(self), PlayerModel(self)
        self.takeover = TakeoverModel(self.store, self.player, self)
        self.branches = BranchTreeModel(self.store, self.player, self)
        self.exports, self.file_jobs = ExportModel(self), FileJobModel(self)
        self.comparison = ComparisonModel(self.store, self)
        self.sweeps = SweepsModel(self.store, self)
        self.sweep_form = SweepFormModel(self.launch, self.store, self)
        self.storage = StorageModel(self.store, self)
        self.alerts = AlertsModel(self.store, self)
        self.sync = SyncModel(self.store, self)
        self.trained = TrainedModel(self.store, self.agents, self)
        self.play_start = PlayStartModel(self.store, self)
        self.all_checkpoints = CheckpointsModel(self.store, self)
        self.trash_runs = TrashModel(self)
        self.feed = LogFeed(self)

    def _make_controllers(self) -> None:
        self.stack = ConnectionController(self.home, self.connection, self.store, self.clock, self)
        self.keyring = KeyringClient(self.launch, self)
        self.dropped_forms = DroppedForms(self.launch, self.say, self)
        self.installer = WorkerInstaller(self.agents, self.home, parent=self)
        self.theme = ThemeController(self.preferences, self)
        self.layouts = LayoutController(self.preferences.folder, self.say, self)
        self.list_views_controller = ListViewsController(
            self.preferences.folder, self.list_views, self.say, self
        )
        self.run_list = RunListController(self.store, self.table, self)
        self.run_figures = RunFiguresController(self.store, self.table, self)
        self.launch_controller = LaunchController(self.launch, self)
        self.watch_controller = WatchController(self.watch, self.feed, self)
        self.differences_controller = DifferencesController(self.differences, self)
        self.media_controller = MediaController(self.media, self)
        self.manifest_controller = ManifestController(self.watch, self)
        self.run_storage = RunStorageController(self.watch, self)
        self.beliefs_controller = BeliefsController(self.beliefs, self)
        self.stage_controller = StageController(self.stage, self.watch, self)
        self.live_frames = LiveFramesController(self.stage, self)
        self.play_controller = PlayController(self.play, self)
        self.gamepad = GamepadController(self.play, self)
        self.play_starter = PlayStartController(self.play_start, self.play, self)
        self.replay_controller = ReplayController(self.episodes, self.player, self)
        self.takeover_controller = TakeoverController(self.takeover, self.say, self)
        self.branch_controller = BranchController(self.branches, self)
        self.checkpoints = CheckpointController(self.launch, (self.trained, self.play_start), self)
        self.checkpoint_browser = CheckpointBrowserController(self.all_checkpoints, self.say, self)
        self.checkpoint_import = CheckpointImportController(self.all_checkpoints, self.say, self)
        self.trash_controller = TrashController(self.trash_runs, self)
        self.curve_refiner = CurveRefiner(self)
        self.run_actions = RunActions(self.say, self)
        self.desktop_entry = DesktopEntryController(self.say)
        self.downloads = DownloadController(
            self.watch.files, self.say, lambda url: self.open_externally(url), self
        )
        self.export_controller = ExportController(
            self.exports, self.say, lambda url: self.open_externally(url), parent=self
        )
        self.file_job_controller = FileJobController(
            self.file_jobs, self.say, lambda url: self.open_externally(url), parent=self
        )
        self.comparison_controller = ComparisonController(
            self.comparison, self.home / KEPT_IN, self.say, parent=self
        )
        self.sweeps_controller = SweepsController(self.sweeps, self.say, self)
        self.sweep_starter = SweepFormController(self.sweep_form, self.say, self)
        self.storage_controller = StorageController(self.storage, self.say, self)
        self.alerts_controller = AlertsController(self.alerts, self.say, self)
        self.alert_targets = AlertTargetsController(
            self.alerts, self.home, lambda: self.stack.is_local, self
        )
        self.dashboards = DashboardController(self.watch, self.say, self.open_page, self)
        self.sync_controller = SyncController(self.sync, self.say, self.open_page, self)

    @property
    def attached(self) -> tuple[Controller, ...]:
        """Controllers that use the session, in the order in which they take changes."""
        return (
            self.run_list,
            self.run_figures,
            self.launch_controller,
            self.watch_controller,
            self.differences_controller,
            self.media_controller,
            self.manifest_controller,
            self.run_storage,
            self.beliefs_controller,
            self.stage_controller,
            self.live_frames,
            self.play_controller,
            self.play_starter,
            self.replay_controller,
            self.takeover_controller,
            self.branch_controller,
            self.checkpoints,
            self.checkpoint_browser,
            self.checkpoint_import,
            self.trash_controller,
            self.curve_refiner,
            self.run_actions,
            self.downloads,
            self.export_controller,
            self.file_job_controller,
            self.comparison_controller,
            self.sweeps_controller,
            self.sweep_starter,
            self.storage_controller,
            self.alerts_controller,
            self.alert_targets,
            self.dashboards,
            self.sync_controller,
        )
