"""What the palette finds in one client, and what each entry opens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from PyQt6.QtCore import QObject

from mosaic_contracts.run_search import parameter_text, short_parameter
from mosaic_contracts.runs import RunView
from mosaic_gui.controllers.navigator import RunNavigator
from mosaic_gui.state import run_row
from mosaic_gui.state.help_pages import docs_folder, help_pages
from mosaic_gui.state.language import tr
from mosaic_gui.state.palette import EntryKind, PaletteEntry, PaletteSearch, chained, remembered
from mosaic_gui.state.settings import entries as setting_entries
from mosaic_gui.views.command import Command
from mosaic_gui.views.command_palette import CommandPalette
from mosaic_gui.views.main_window import SETTINGS, TRAIN, WATCH, MainWindow

if TYPE_CHECKING:
    from mosaic_gui.app.parts import ClientParts

_SHOWN_PARAMETERS = 4
_SHORT_ID = 10


class PaletteContents(QObject):
    """Opens the palette over the window."""

    def __init__(
        self,
        parts: ClientParts,
        window: MainWindow,
        navigator: RunNavigator,
        languages: Mapping[str, str],
    ) -> None:
        super().__init__(window)
        self._parts, self._window, self._navigator = parts, window, navigator
        self._languages = languages
        self._docs = docs_folder()

    def open(self, commands: list[Command]) -> CommandPalette:
        """Open the palette with these commands, and everything that can be found."""
        recent = self._parts.preferences.memory.found
        acts = {_command_key(command): command for command in commands}
        source = chained(
            map(_of_command, acts.values()),
            self._runs(),
            self._catalogue(),
            self._curves(),
            self._files(),
            self._settings(),
            self._help(),
        )
        palette = CommandPalette(self._window, PaletteSearch(source, recent))

        def give(entry: PaletteEntry) -> None:
            self._parts.preferences.remember_found(remembered(recent, entry.name))
            if entry.kind is EntryKind.COMMAND:
                acts[entry.key].act()
            else:
                self._open(entry)

        palette.chosen.connect(give)
        palette.open_over(self._window)
        return palette

    def _runs(self) -> Iterator[PaletteEntry]:
        """All runs, the newest first."""
        if self._parts.connection.shows_data:
            runs = self._parts.store.runs
            for run_id in sorted(runs, reverse=True):
                if (run := runs.get(run_id)) is not None:
                    yield _of_run(run)

    def _catalogue(self) -> Iterator[PaletteEntry]:
        environments: dict[str, list[str]] = {}
        for worker in self._parts.launch.workers:
            if worker.description is None:
                continue
            name = worker.manifest.title or worker.manifest.id
            for algorithm in worker.description.algorithms:
                key = f"{worker.manifest.id}/{algorithm.id}"
                about = " · ".join(filter(None, (name, algorithm.summary)))
                yield PaletteEntry(EntryKind.ALGORITHM, key, algorithm.title or algorithm.id, about)
            for environment in worker.description.environments:
                environments.setdefault(environment.id, []).append(name)
        for key, workers in environments.items():
            yield PaletteEntry(EntryKind.ENVIRONMENT, key, key, ", ".join(dict.fromkeys(workers)))

    def _curves(self) -> Iterator[PaletteEntry]:
        watch = self._parts.watch
        if watch.run_id:
            for name in watch.names:
                yield PaletteEntry(EntryKind.CURVE, name, name, watch.title)

    def _files(self) -> Iterator[PaletteEntry]:
        watch = self._parts.watch
        if watch.run_id:
            for file in watch.files.files:
                yield PaletteEntry(EntryKind.FILE, file.path, file.path, watch.title)

    def _settings(self) -> Iterator[PaletteEntry]:
        for entry in setting_entries(self._languages):
            about = " · ".join(filter(None, (entry.section, entry.help)))
            yield PaletteEntry(EntryKind.SETTING, entry.name, entry.title, about)

    def _help(self) -> Iterator[PaletteEntry]:
        for page in [] if self._docs is None else help_pages(self._docs):
            yield PaletteEntry(EntryKind.HELP, page.name, page.title, page.name)

    def _open(self, entry: PaletteEntry) -> None:
        match entry.kind:
            case EntryKind.RUN:
                self._navigator.open_runs([entry.key])
            case EntryKind.ALGORITHM:
                worker, _, algorithm = entry.key.partition("/")
                self._parts.agents.choose((worker, algorithm))
                self._window.show_page(TRAIN)
            case EntryKind.ENVIRONMENT:
                self._train_in(entry.key)
            case EntryKind.CURVE:
                self._show_curve(entry.key)
            case EntryKind.FILE:
                self._window.show_page(WATCH)
                self._window.watch.open_side("side.files")
                self._window.watch.files.choose(entry.key)
            case EntryKind.SETTING:
                self._window.show_page(SETTINGS)
                self._window.settings.fields[entry.key].setFocus()
            case _:
                self._show_help(entry.key)

    def _train_in(self, environment: str) -> None:
        """Fill the form with an environment, where its algorithm's worker has it; else choose one that has."""
        launch = self._parts.launch
        workers = [
            worker
            for worker in launch.workers
            if worker.description is not None
            and any(known.id == environment for known in worker.description.environments)
        ]
        chosen = self._parts.agents.key
        if workers and (chosen is None or chosen[0] not in [w.manifest.id for w in workers]):
            description = workers[0].description
            if description is not None and description.algorithms:
                self._parts.agents.choose((workers[0].manifest.id, description.algorithms[0].id))
        self._window.show_page(TRAIN)
        if launch.draft is not None:
            launch.set_environment(environment)
            launch.typed_replaced.emit()

    def _show_curve(self, name: str) -> None:
        curves = self._parts.watch
        self._window.show_page(WATCH)
        if name not in curves.charts:
            curves.set_chart(name, True)
        self._window.watch.charts.show_chart(name)

    def _show_help(self, name: str) -> None:
        from mosaic_gui.views.help_window import HelpWindow

        if self._docs is None:
            return
        window = HelpWindow(self._window, self._docs)
        try:
            window.show_page(name)
        except OSError as error:
            window.deleteLater()
            self._parts.say(tr("{file} cannot be read: {why}.", file=name, why=error.strerror))


def _command_key(command: Command) -> str:
    return f"{command.text} {command.keys}".rstrip()


def _of_command(command: Command) -> PaletteEntry:
    key = _command_key(command)
    return PaletteEntry(
        EntryKind.COMMAND, key, command.text, "", command.keys, enabled=command.enabled
    )


def _of_run(run: RunView) -> PaletteEntry:
    """A run by its name, what it was given, its tags and its id."""
    given = [
        f"{short_parameter(name)}={parameter_text(value)}"
        for name, value in list(run.spec.parameters.items())[:_SHOWN_PARAMETERS]
    ]
    state = run_row.badge(run)[0]
    about = " · ".join([run_row.subtitle(run), *given, *run.tags, state, run.run_id[:_SHORT_ID]])
    return PaletteEntry(EntryKind.RUN, run.run_id, run_row.title(run), about)
