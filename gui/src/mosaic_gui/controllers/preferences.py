"""The saved settings and the last choices, in two readable TOML files."""

from pathlib import Path

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_gui.state.agents import AgentKey
from mosaic_gui.state.chart_page import ChartPage
from mosaic_gui.state.language import tr
from mosaic_gui.state.memory import KnownStack, Memory
from mosaic_gui.state.settings import VERSION, Settings, with_value
from mosaic_gui.state.toml_file import TomlFile
from mosaic_gui.timers import single_shot_timer
from mosaic_gui.viewmodels.agents import AgentsModel
from mosaic_gui.viewmodels.launch import LaunchModel
from mosaic_gui.viewmodels.play_start import PlayStartModel
from mosaic_gui.viewmodels.trained import TrainedModel
from mosaic_gui.viewmodels.watch import WatchModel

MEMORY_VERSION = 1
RUN_PAGE, COMPARE_PAGE = "run", "compare"
SETTLE_MS = 300
"""Time after a change of the charts until it is saved: a drag changes their sizes many times a second."""
SETTINGS_FILE, MEMORY_FILE = "settings.toml", "memory.toml"


class PreferenceStore(QObject):
    """Reads both files at the start and writes them when something is chosen; without a folder neither."""

    settings_changed = pyqtSignal(object)
    """Settings."""

    def __init__(self, folder: Path | None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.folder = folder
        self.problems: list[str] = []
        self.settings, self.memory = Settings(), Memory()
        self._settle = single_shot_timer(self, self._write_memory, SETTLE_MS)
        self.settings_path = folder / SETTINGS_FILE if folder else None
        self._settings_file: TomlFile[Settings] | None = None
        self._memory_file: TomlFile[Memory] | None = None
        if folder is not None:
            self._settings_file = TomlFile(folder / SETTINGS_FILE, Settings, VERSION)
            self._memory_file = TomlFile(folder / MEMORY_FILE, Memory, MEMORY_VERSION)
            settings, memory = self._settings_file.read(), self._memory_file.read()
            self.settings, self.memory = settings.model, memory.model
            self.problems = [one for one in (settings.problem, memory.problem) if one]

    def change(self, name: str, value: object) -> None:
        """Change a setting and write the file."""
        self.settings = with_value(self.settings, name, value)
        if self._settings_file is not None:
            self._write(self._settings_file, self.settings)
        self.settings_changed.emit(self.settings)

    def give(self, agents: AgentsModel, launch: LaunchModel, trained: TrainedModel) -> None:
        """Restore the models' state of the last session, and save changes from now on."""
        agents.mode = self.memory.mode
        for name, agent in self.memory.agents.items():
            key = _key(name)
            agents.ways[key] = agent.way
            if agent.new:
                launch.presets[key] = agent.new
            trained.presets[key] = agent.trained
        agents.remembered.connect(lambda: self._take_choice(agents))
        launch.consents = set(self.memory.consents)
        launch.consents_changed.connect(self._take_consents)

    def give_plays(self, start: PlayStartModel) -> None:
        """Restore what is remembered of plays, and save changes from now on."""
        start.plays = self.memory.plays
        start.remembered.connect(self._write_memory)

    def give_charts(self, watch: WatchModel) -> None:
        """Restore the arrangement of charts whenever runs are shown, and save changes."""

        def use() -> None:
            page = COMPARE_PAGE if watch.overlaid else RUN_PAGE
            watch.view.use_page(self.memory.charts.setdefault(page, ChartPage()))

        use()
        watch.run_replaced.connect(use)
        watch.view.remembered.connect(self._settle.start)

    def remember_found(self, names: list[str]) -> None:
        """Remember what was chosen in the palette, the newest first."""
        self.memory.found = names
        self._write_memory()

    def remember_watched(self, run_ids: list[str]) -> None:
        """Remember which runs are watched."""
        if run_ids != self.memory.watched:
            self.memory.watched = run_ids
            self._write_memory()

    def keep(self, launch: LaunchModel, trained: TrainedModel) -> None:
        """Save what was typed for each agent as its preset."""
        for key, spec in launch.specs().items():
            self.memory.of(key).new = spec
        for key, preset in trained.presets.items():
            self.memory.of(key).trained = preset
        self._write_memory()

    def use_stack(self, stack: KnownStack) -> None:
        """Remember a stack that the user connected to."""
        self.memory.use_stack(stack)
        self._write_memory()

    def forget_stack(self, url: str) -> None:
        """Remove a stack from the list."""
        self.memory.forget_stack(url)
        self._write_memory()

    def _take_consents(self, kinds: list[str]) -> None:
        self.memory.consents = kinds
        self._write_memory()

    def _take_choice(self, agents: AgentsModel) -> None:
        self.memory.mode = agents.mode
        for key, way in agents.ways.items():
            self.memory.of(key).way = way
        self._write_memory()

    def _write_memory(self) -> None:
        if self._memory_file is not None:
            self._write(self._memory_file, self.memory)

    def _write(self, file: TomlFile, model: Settings | Memory) -> None:  # type: ignore[type-arg]
        try:
            file.write(model)
        except OSError as error:
            problem = tr(
                "{file} cannot be written ({why}): this choice ends with the program.",
                file=file.path,
                why=error.strerror,
            )
            self.problems.append(problem)


def _key(name: str) -> AgentKey:
    worker, _, algorithm = name.partition("/")
    return worker, algorithm
