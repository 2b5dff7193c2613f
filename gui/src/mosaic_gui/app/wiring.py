"""The window and its pages, connected to the parts of the client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from PyQt6.QtCore import QObject, QUrl

from mosaic_contracts.file_jobs import ImportJob
from mosaic_contracts.groups import GroupView
from mosaic_contracts.runs import RunView
from mosaic_gui.app.palette_contents import PaletteContents
from mosaic_gui.app.parts import ClientParts
from mosaic_gui.controllers.navigator import RunNavigator
from mosaic_gui.state.dropped import Dropped, kind_of_dropped
from mosaic_gui.state.episode_list import Pick
from mosaic_gui.state.episodes import newest_replayable
from mosaic_gui.state.language import tr
from mosaic_gui.state.memory import KnownStack
from mosaic_gui.state.settings import Settings
from mosaic_gui.viewmodels.run_list_columns import ENVIRONMENT_AND_ALGORITHM
from mosaic_gui.views.chosen_keys import use_keys
from mosaic_gui.views.connection_page import ConnectionPage
from mosaic_gui.views.file_actions import FileActions
from mosaic_gui.views.job_strip import JobStrip
from mosaic_gui.views.main_window import (
    CHECKPOINTS,
    COMPARE,
    PLAY,
    RUNS,
    SETTINGS,
    STORAGE,
    SWEEPS,
    TRAIN,
    WATCH,
    MainWindow,
)
from mosaic_gui.views.runs_page import RunsPage

if TYPE_CHECKING:
    from mosaic_gui.views.alerts_page import AlertsPage
    from mosaic_gui.views.checkpoints_page import CheckpointsPage
    from mosaic_gui.views.compare_page import ComparePage
    from mosaic_gui.views.play_page import PlayPage
    from mosaic_gui.views.replay_page import ReplayPage
    from mosaic_gui.views.settings_page import SettingsPage
    from mosaic_gui.views.storage_page import StoragePage
    from mosaic_gui.views.sweeps_page import SweepsPage
    from mosaic_gui.views.train_page import TrainPage
    from mosaic_gui.views.trained_page import TrainedPage
    from mosaic_gui.views.watch_page import WatchPage


class Wiring(QObject):
    """Makes the window, connects signals, and makes each further page when it is first shown."""

    def __init__(self, parts: ClientParts, languages: Mapping[str, str]) -> None:
        """`languages`: those that the settings offer, by code."""
        super().__init__(parts)
        self._parts, self._languages = parts, languages
        use_keys(parts.preferences.settings.keys)
        self.window = self._make_window()
        self.navigator = RunNavigator(
            self.window,
            parts.store,
            parts.agents,
            parts.launch,
            parts.play_start,
            parts.sweeps,
            parts.watch_controller,
            parts.replay_controller,
            parts.layouts,
            parts.say,
        )
        contents = PaletteContents(parts, self.window, self.navigator, languages)
        self.window.make_palette = contents.open
        self.files = FileActions(self.window, self._runs_in_hand, lambda: parts.stack.is_local)
        self._connect_connection_page()
        self._connect_runs_page()
        self._connect_files()
        self._connect_controllers()
        parts.layouts.attach(self.window)

    def make_train(self) -> TrainPage:
        """The form of a new run."""
        from mosaic_gui.views.train_page import TrainPage

        page = TrainPage(self._parts.launch)
        page.preflight.sweep.clicked.connect(self._on_sweep_wanted)
        page.said.connect(self._parts.say)
        return page

    def make_trained(self) -> TrainedPage:
        """What trained agents can do."""
        from mosaic_gui.views.trained_page import TrainedPage

        page = TrainedPage(self._parts.trained)
        page.watch_wanted.connect(lambda run_id: self.navigator.open_runs([run_id]))
        page.train_wanted.connect(lambda: self.window.show_page(TRAIN))
        return page

    def make_play(self) -> PlayPage:
        """The start of a play."""
        from mosaic_gui.views.play_page import PlayPage

        page = PlayPage(self._parts.play_start)
        page.reload_wanted.connect(self._parts.launch_controller.read_workers)
        return page

    def make_checkpoints(self) -> CheckpointsPage:
        """Checkpoints of all runs."""
        from mosaic_gui.views.checkpoints_page import CheckpointsPage

        page = CheckpointsPage(self._parts.all_checkpoints)
        page.train_wanted.connect(lambda: self.window.show_page(TRAIN))
        return page

    def make_compare(self) -> ComparePage:
        """Policies and trainings that are compared."""
        from mosaic_gui.views.compare_page import ComparePage

        page = ComparePage(self._parts.comparison)
        page.result.save_wanted.connect(self._parts.comparison_controller.save)
        return page

    def make_sweeps(self) -> SweepsPage:
        """Sweeps, with their trials and charts."""
        from mosaic_gui.views.sweeps_page import SweepsPage

        page = SweepsPage(self._parts.sweeps, self._parts.sweep_form)
        page.said.connect(self._parts.say)
        page.new_wanted.connect(self._on_sweep_wanted)
        page.form.load_wanted.connect(self._parts.sweep_starter.load)
        page.form.save_wanted.connect(self._parts.sweep_starter.save)
        return page

    def make_storage(self) -> StoragePage:
        """What fills the disks."""
        from mosaic_gui.views.storage_page import StoragePage

        page = StoragePage(self._parts.storage)
        page.train_wanted.connect(lambda: self.window.show_page(TRAIN))
        page.import_wanted.connect(self.files.show_imports)
        page.back_up_wanted.connect(self.files.ask_backup)
        page.side.archive_wanted.connect(self._on_archive_wanted)
        return page

    def make_alerts(self) -> AlertsPage:
        """Rules and alerts."""
        from mosaic_gui.views.alerts_page import AlertsPage

        page = AlertsPage(self._parts.alerts)
        page.settings_wanted.connect(lambda: self.window.show_page(SETTINGS))
        return page

    def make_settings(self) -> SettingsPage:
        """What the user may choose."""
        from mosaic_gui.views.settings_page import SettingsPage

        preferences = self._parts.preferences
        where = str(preferences.settings_path or "")
        page = SettingsPage(preferences.settings, where, self._languages)
        page.changed.connect(self._on_setting)
        return page

    def make_replay(self) -> ReplayPage:
        """Recorded episodes that are replayed."""
        from mosaic_gui.views.replay_page import ReplayPage

        parts = self._parts
        page = ReplayPage(
            parts.episodes, parts.player, parts.exports, parts.takeover, parts.branches
        )
        page.shown.connect(self._on_replay_shown)
        page.back_wanted.connect(self.navigator.leave_replay)
        page.export_wanted.connect(parts.export_controller.start)
        page.export_strip.cancel_wanted.connect(parts.export_controller.cancel)
        page.branches.open_wanted.connect(parts.branches.open)
        page.list.replay_wanted.connect(parts.replay_controller.open)
        page.list.run_wanted.connect(parts.replay_controller.choose_run)
        page.list.add_wanted.connect(parts.replay_controller.add)
        page.list.pick_wanted.connect(
            lambda which: parts.replay_controller.pick(parts.episodes.run_id, Pick(which))
        )
        return page

    def make_watch(self) -> WatchPage:
        """The page of a watched run."""
        from mosaic_gui.views.profile_banner import ProfileBanner
        from mosaic_gui.views.watch_page import WatchPage

        parts = self._parts
        page = WatchPage(
            parts.watch,
            parts.feed,
            parts.stage,
            parts.beliefs,
            parts.hardware,
            parts.sync,
            parts.differences,
            parts.media,
        )
        banner = ProfileBanner(parts.watch, parts.agents)
        banner.record_wanted.connect(self.navigator.record_more)
        page.add_banner(banner)
        self._connect_watch_page(page)
        if parts.watch.run_id:
            page.charts.rebuild()
        return page

    def _connect_watch_page(self, page: WatchPage) -> None:
        parts = self._parts
        page.stop_wanted.connect(self._on_stop_wanted)
        page.again_wanted.connect(parts.run_actions.again)
        page.resume_wanted.connect(parts.run_actions.resume)
        page.copy_wanted.connect(self.navigator.edit_copy)
        page.back_wanted.connect(lambda: self.window.show_page(RUNS))
        page.shown.connect(parts.watch_controller.show_page)
        page.shown.connect(parts.manifest_controller.show_page)
        page.shown.connect(parts.run_storage.show_page)
        page.shown.connect(parts.media_controller.show_page)
        page.media.shown.connect(parts.media_controller.show_panel)
        page.details.pin_wanted.connect(parts.run_actions.pin)
        page.note.note_wanted.connect(parts.run_actions.note)
        page.log.shown.connect(parts.watch_controller.show_log)
        page.beliefs.shown.connect(parts.beliefs_controller.show)
        page.stage.shown.connect(parts.stage_controller.show)
        page.stage.shown.connect(parts.live_frames.show)
        page.stage.shown.connect(self._on_stage_shown)
        page.stage.offer_replay()
        page.stage.offer_play(parts.play)
        page.stage.replay_wanted.connect(lambda: self.navigator.replay_run(parts.watch.run_id))
        page.stage.play_wanted.connect(lambda: self.window.show_page(PLAY))
        page.stage.runs_wanted.connect(lambda: self.window.show_page(RUNS))
        page.replay_wanted.connect(self.navigator.replay)
        page.pick_wanted.connect(self.navigator.replay_run)
        page.look_wanted.connect(parts.watch_controller.look_at)
        page.differences.shown.connect(parts.differences_controller.show)
        page.details.open_wanted.connect(lambda run_id: self.navigator.open_runs([run_id]))
        page.links.open_wanted.connect(parts.open_page)
        page.links.tensorboard_wanted.connect(parts.dashboards.open)
        page.files.save_wanted.connect(parts.downloads.fetch)
        page.files.cancel_wanted.connect(parts.downloads.cancel)
        page.files.show_wanted.connect(parts.downloads.show_video)
        page.files.train_on_wanted.connect(self.navigator.train_on)
        page.files.play_wanted.connect(parts.trained.play_now)
        page.files.said.connect(parts.say)
        page.charts.said.connect(parts.say)
        parts.run_actions.stop_refused.connect(page.stop_refused)

    def _make_window(self) -> MainWindow:
        parts = self._parts
        start = ConnectionPage(
            parts.connection, parts.stack.start.is_possible, parts.preferences.memory.stacks
        )
        runs = RunsPage(parts.table, parts.watch, parts.trash_runs, parts.list_views)
        runs.set_read(parts.run_list.is_read)
        window = MainWindow(parts.connection, parts.hardware, parts.agents, start, runs, self)
        window.notices.stay_s = parts.preferences.settings.notice_s
        window.theme_wanted.connect(parts.theme.toggle)
        window.entry_wanted.connect(parts.desktop_entry.install)
        window.no_entry_wanted.connect(parts.desktop_entry.remove)
        parts.said.connect(lambda *notice: window.notices.say(*notice))
        return window

    def _connect_connection_page(self) -> None:
        start, stack = self.window.start, self._parts.stack
        start.start_wanted.connect(stack.start_stack)
        start.retry_wanted.connect(stack.retry)
        start.connect_wanted.connect(stack.connect_typed)
        start.local_wanted.connect(stack.connect_local)
        start.forget_wanted.connect(self._on_forget_wanted)
        stack.said.connect(self._parts.say)
        stack.stopped.connect(self._on_stopped)
        stack.live.connect(self._on_live)

    def _on_stopped(self, words: str) -> None:
        """Offer to start the stack again; without `./mosaic` there is nothing to offer."""
        stack = self._parts.stack
        offer = (tr("Start it"), stack.start_stack) if stack.start.is_possible else ()
        self._parts.say(words + ".", *offer)

    def _connect_runs_page(self) -> None:
        parts, runs, notices = self._parts, self.window.runs, self.window.notices
        runs.undo.setEnabled(False)
        parts.run_actions.undo_changed.connect(
            lambda: runs.undo.setEnabled(parts.run_actions.can_undo)
        )
        runs.undo_wanted.connect(parts.run_actions.undo)
        runs.undo_wanted.connect(notices.clear)
        runs.tensorboard_wanted.connect(parts.dashboards.open)
        runs.rename_wanted.connect(parts.run_actions.rename)
        runs.metrics_wanted.connect(parts.run_figures.read_names)
        parts.run_figures.names_read.connect(runs.view_menu.take_metrics)
        parts.run_figures.unclear.connect(runs.search.refuse_metric)
        arranged = parts.list_views.saved.at_start
        if parts.preferences.settings.grouped and not arranged.columns:
            arranged = arranged.model_copy(update={"grouped_by": ENVIRONMENT_AND_ALGORITHM})
        runs.arrange(arranged)
        runs.train_wanted.connect(lambda: self.window.show_page(TRAIN))
        parts.run_list.read_changed.connect(runs.set_read)
        for changed in (parts.watch.compared_changed, parts.watch.charts_changed):
            changed.connect(lambda: parts.table.show_curve_colours(parts.watch.colours))
        self._connect_run_commands()

    def _connect_run_commands(self) -> None:
        parts, commands = self._parts, self.window.runs.commands
        commands.open_wanted.connect(self.navigator.open_runs)
        commands.replay_wanted.connect(self.navigator.replay_run)
        commands.compare_wanted.connect(self._on_compare_wanted)
        commands.stop_wanted.connect(parts.run_actions.stop)
        commands.delete_wanted.connect(parts.run_actions.delete)
        commands.tags_wanted.connect(parts.run_actions.add_tags)
        commands.note_wanted.connect(parts.run_actions.note)
        commands.tag_removal_wanted.connect(parts.run_actions.remove_tag)
        commands.retry_wanted.connect(parts.run_actions.retry)
        commands.pin_wanted.connect(parts.run_actions.pin_all)
        commands.groups_stop_wanted.connect(parts.run_actions.stop_groups)
        commands.groups_retry_wanted.connect(parts.run_actions.retry_groups)
        commands.groups_delete_wanted.connect(parts.run_actions.delete_groups)
        commands.differences_wanted.connect(self.navigator.show_differences)
        commands.folder_wanted.connect(self._open_run_folder)
        commands.said.connect(parts.say)
        commands.copy_wanted.connect(self.navigator.edit_copy)

    def _connect_files(self) -> None:
        parts, window, files = self._parts, self.window, self.files
        strip = JobStrip(parts.file_jobs)
        window.add_strip(strip)
        strip.cancel_wanted.connect(parts.file_job_controller.cancel)
        window.files_menu_wanted.connect(files.show_menu)
        window.dropped.connect(self._on_dropped)
        files.job_wanted.connect(parts.file_job_controller.start)
        files.said.connect(parts.say)
        window.runs.commands.archive_wanted.connect(self._on_archive_wanted)
        window.runs.commands.report_wanted.connect(self._on_report_wanted)
        parts.file_job_controller.runs_wanted.connect(self._on_imported_wanted)

    def _runs_in_hand(self) -> list[RunView]:
        """The selected runs; on the page of a watched run, those whose curves are shown."""
        if self.window.page == WATCH:
            return self._runs_of(self._parts.watch.shown_ids)
        if self.window.page == STORAGE:
            return self._runs_of([self._parts.storage.chosen])
        return self.window.runs.selected if self.window.page == RUNS else []

    def _runs_of(self, run_ids: Iterable[str]) -> list[RunView]:
        runs = self._parts.store.runs
        return [runs[run_id] for run_id in run_ids if run_id in runs]

    def _on_archive_wanted(self, run_ids: list[str]) -> None:
        self.files.ask_archive(self._runs_of(run_ids))

    def _on_report_wanted(self, run_ids: list[str]) -> None:
        self.files.ask_report(self._runs_of(run_ids))

    def _on_imported_wanted(self, run_ids: list[str]) -> None:
        """Watch an imported run; of several, select the first in the list."""
        if len(run_ids) == 1:
            self.navigator.open_runs(run_ids)
        else:
            self.window.show_page(RUNS)
            self.window.runs.select_run(run_ids[0])

    def _on_dropped(self, paths: list[Path]) -> None:
        """Do what fits what was dropped: import runs, or a checkpoint."""
        path = paths[0]
        try:
            kind = kind_of_dropped(path)
        except OSError as error:
            self._parts.say(tr("{file} cannot be read: {why}.", file=path, why=error.strerror))
            return
        forms = self._parts.dropped_forms
        forms.is_local = self._parts.stack.is_local
        if kind is Dropped.UNKNOWN and not forms.takes(path):
            words = tr(
                "{file} is no archive, checkpoint or specification, and no file of TensorBoard, W&B or mlflow.",
                file=path.name,
            )
            self._parts.say(words)
        elif len(paths) > 1:
            self._parts.say(tr("Drop one file or one folder at a time."))
        elif kind is Dropped.UNKNOWN:
            forms.open_file(path)
        elif kind is Dropped.SPEC:
            forms.open_spec(path)
        elif kind is Dropped.CHECKPOINT:
            self.window.show_page(CHECKPOINTS)
            self._parts.all_checkpoints.import_wanted.emit(str(path), {})
        else:
            self._parts.file_job_controller.start(ImportJob(path=str(path.absolute())))

    def _on_form_filled(self, where: str) -> None:
        """Show the form that a dropped file has filled."""
        self._parts.agents.want_training()
        self.window.show_page(TRAIN)
        if where:
            self.window.train.form.show_field(where)

    def _on_dropped_sweep(self, path: str) -> None:
        _ = self.window.sweeps  # made first, so that it receives what the model emits
        self._parts.sweep_starter.load(path)
        self._on_sweep_wanted()

    def _open_run_folder(self, run_id: str) -> None:
        """Open a run's folder in the desktop's file manager; the stack is on this machine."""
        run = self._parts.store.runs.get(run_id)
        if run is not None:
            folder = self._parts.home / run.run_dir
            if not self._parts.open_externally(QUrl.fromLocalFile(str(folder))):
                self._parts.say(tr("No program here opens folders. It is {folder}", folder=folder))

    def _connect_controllers(self) -> None:
        parts = self._parts
        parts.dropped_forms.filled.connect(self._on_form_filled)
        parts.dropped_forms.sweep_wanted.connect(self._on_dropped_sweep)
        parts.launch.catalogue_changed.connect(self._on_catalogue)
        parts.beliefs.place_changed.connect(self._on_beliefs_place)
        parts.watch.finer_wanted.connect(parts.curve_refiner.want)
        parts.launch_controller.launched.connect(self._on_launched)
        parts.installer.installed.connect(parts.launch_controller.read_workers)
        self.window.page_shown.connect(self._on_page_shown)
        parts.launch_controller.group_launched.connect(self._on_group_launched)
        parts.launch_controller.said.connect(parts.say)
        parts.run_actions.made.connect(lambda run: self.navigator.open_runs([run.run_id]))
        parts.trash_runs.restore_wanted.connect(parts.run_actions.restore)
        parts.trained.play_wanted.connect(parts.run_actions.play)
        parts.play_starter.started.connect(self._on_play_started)
        parts.play_starter.failed.connect(self._on_play_failed)
        self._connect_checkpoints()
        parts.watch.run_changed.connect(self._on_run_changed)
        parts.play_start.said.connect(parts.say)
        parts.sweep_starter.started.connect(self._on_sweep_started)
        parts.sweeps.runs_wanted.connect(self.navigator.open_runs)
        parts.alerts.run_wanted.connect(lambda run_id: self.navigator.open_runs([run_id]))
        parts.storage.run_wanted.connect(lambda run_id: self.navigator.open_runs([run_id]))
        parts.comparison.episodes_wanted.connect(self.navigator.replay_together)
        parts.takeover_controller.opened.connect(self._on_taken_over)
        parts.branches.open_wanted.connect(parts.replay_controller.open)
        parts.branches.watch_wanted.connect(lambda run_id: self.navigator.open_runs([run_id]))
        parts.downloads.video_here.connect(self._on_video)
        parts.preferences.settings_changed.connect(self._on_settings)

    def _connect_checkpoints(self) -> None:
        model = self._parts.all_checkpoints
        model.play_wanted.connect(self.navigator.play_checkpoint)
        model.train_wanted.connect(self.navigator.train_on)
        model.run_wanted.connect(lambda run_id: self.navigator.open_runs([run_id]))
        model.comparison_wanted.connect(self._on_comparison_wanted)
        model.export_wanted.connect(self._parts.downloads.export_checkpoint)
        model.said.connect(self._parts.say)

    def _on_stage_shown(self, shown: bool) -> None:
        """A play that is not shown stands still, and ends after a while."""
        parts = self._parts
        is_left = not shown and self.window.page != WATCH
        if is_left and parts.play.is_played and parts.play.person_acts:
            parts.say(
                tr("Play paused; it ends in a minute."),
                tr("Back to the play"),
                lambda: self.window.show_page(WATCH),
            )

    def _on_replay_shown(self, shown: bool) -> None:
        """A page without a run shows the episodes of the watched one, else of the newest that recorded steps."""
        parts = self._parts
        if shown and not parts.episodes.run_id:
            run_id = parts.watch.run_id or newest_replayable(parts.store.runs)
            if run_id:
                parts.replay_controller.choose_run(run_id)
        parts.replay_controller.show(shown)
        parts.branch_controller.show(shown)

    def _on_setting(self, name: str, value: object) -> None:
        if name == "theme":
            self._parts.theme.fixed = None
        self._parts.preferences.change(name, value)

    def _on_settings(self, settings: Settings) -> None:
        use_keys(settings.keys)
        self.window.notices.stay_s = settings.notice_s
        if self.window.has_settings:
            self.window.settings.show_settings(settings)
        self._parts.theme.follow()

    def _on_page_shown(self, name: str) -> None:
        """Read the workers again for the form: one may have been added, or a script edited, in a terminal."""
        if name == TRAIN:
            self._parts.launch_controller.read_workers()

    def _on_catalogue(self) -> None:
        workers = self._parts.launch.workers
        self._parts.beliefs_controller.take_workers(workers)
        self._parts.watch.take_workers(workers)
        self._parts.play_start.take_workers(workers)
        self._parts.all_checkpoints.take_workers(workers)
        self._parts.takeover.take_workers(workers)
        self._parts.comparison.take_workers(workers)

    def _on_video(self, video: Path) -> None:
        """Play a video in a window of its own, or in the desktop's player where this one cannot."""
        from mosaic_gui.views.video_window import VideoWindow, load_multimedia

        multimedia = load_multimedia()
        if multimedia is None:
            self._parts.downloads.play_externally(video)
            return
        window = VideoWindow(multimedia, video, self.window)
        window.failed.connect(self._parts.downloads.play_externally)
        window.show()

    def _on_beliefs_place(self) -> None:
        """The picture in the middle shows the step that is looked at."""
        beliefs = self._parts.beliefs
        decision = beliefs.decision
        if decision is not None:
            is_newest = beliefs.following and beliefs.at_end
            self._parts.stage.take_place(beliefs.run_id, decision.cell, is_newest)

    def _on_live(self, named: KnownStack | None) -> None:
        if named is not None:
            self._parts.preferences.use_stack(named)
            self._show_stacks()

    def _on_forget_wanted(self, url: str) -> None:
        self._parts.preferences.forget_stack(url)
        self._show_stacks()

    def _show_stacks(self) -> None:
        self.window.start.elsewhere.show_stacks(self._parts.preferences.memory.stacks)

    def _on_stop_wanted(self, run_id: str) -> None:
        self.window.watch.stop_asked(run_id)
        self._parts.run_actions.stop([run_id])

    def _on_play_started(self, run: RunView) -> None:
        self.navigator.open_play(run.run_id)
        self._parts.play.capture_soon()

    def _on_play_failed(self, run: RunView, goes_on: str) -> None:
        """A play that could not begin leaves the one before it on the screen, and says why."""
        why = run.end.message if run.end is not None else ""
        if not goes_on or self._parts.watch.run_id != run.run_id or self.window.page != WATCH:
            return  # its own page says why it ended
        self.navigator.open_play(goes_on)
        self._parts.say(
            tr("The new play could not begin, so the one before it goes on. {why}", why=why),
            tr("Show the run"),
            lambda: self.navigator.open_runs([run.run_id]),
        )

    def _on_run_changed(self) -> None:
        """A play that has ended gives the layout back: its log and episodes are in panels."""
        run = self._parts.watch.run
        if run is not None and run.state.is_final:
            self._parts.layouts.take_back()

    def _on_comparison_wanted(self, run_id: str, path: str) -> None:
        self._parts.comparison.add_checkpoint(run_id, path)
        self.window.show_page(COMPARE)

    def _on_sweep_wanted(self) -> None:
        """Open the form of a sweep; without an algorithm, the form in which one is chosen."""
        _ = self.window.sweeps  # made first, so that it receives what the model emits
        self.window.show_page(SWEEPS if self._parts.sweep_form.open() else TRAIN)

    def _on_sweep_started(self, run: RunView) -> None:
        self.window.show_page(SWEEPS)
        self._parts.sweeps.open(run.run_id)

    def _on_compare_wanted(self, run_ids: list[str]) -> None:
        self._parts.comparison.begin(run_ids)
        self.window.show_page(COMPARE)

    def _on_taken_over(self, run: RunView, by_person: bool) -> None:
        if by_person:
            self._on_play_started(run)
        else:
            self.navigator.open_runs([run.run_id])

    def _on_launched(self, run: RunView) -> None:
        self._parts.preferences.keep(self._parts.launch, self._parts.trained)
        self._open_launched([run.run_id])

    def _on_group_launched(self, group: GroupView) -> None:
        self._parts.preferences.keep(self._parts.launch, self._parts.trained)
        self._open_launched(group.run_ids)

    def _open_launched(self, run_ids: list[str]) -> None:
        self.navigator.open_runs(run_ids)
        self.window.watch.show_curves()
