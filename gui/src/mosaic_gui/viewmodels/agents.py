"""The agents panel: who acts, which agent, and whether a new one is trained or a trained one used."""

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.services import WorkerEntry
from mosaic_gui.state.agents import (
    Agent,
    AgentGroup,
    AgentKey,
    Mode,
    Way,
    agent_groups,
    groups_for,
    offered_modes,
)
from mosaic_gui.viewmodels.launch import LaunchModel


class AgentsModel(QObject):
    """Mode, and for each agent the way that was chosen last."""

    changed = pyqtSignal()
    """Mode, agent or way changed."""
    groups_changed = pyqtSignal()
    remembered = pyqtSignal()
    """The user chose something that is saved for the next start."""
    install_wanted = pyqtSignal(str)
    """The environment of a worker is to be made, by its component."""
    installs_changed = pyqtSignal()

    def __init__(self, launch: LaunchModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._launch = launch
        self.mode: Mode | None = None
        """None until the user has chosen one; agents are hidden until then."""
        self.ways: dict[AgentKey, Way] = {}
        self.groups: list[AgentGroup] = []
        self.can_install = False
        """Whether environments of workers can be made from here."""
        self.installs: dict[str, str] = {}
        """Last words of each installation that goes on, by component."""
        self.install_problems: dict[str, str] = {}
        """Why the last installation failed, by component."""
        launch.catalogue_changed.connect(self._on_catalogue)
        launch.draft_replaced.connect(self.changed)

    @property
    def workers(self) -> list[WorkerEntry]:
        """The workers of this stack."""
        return self._launch.workers

    @property
    def key(self) -> AgentKey | None:
        """Worker and algorithm that are chosen."""
        draft = self._launch.draft
        return (draft.worker.manifest.id, draft.algorithm.id) if draft else None

    @property
    def agent(self) -> Agent | None:
        """The chosen agent."""
        return next((a for m in self.groups for a in m.agents if a.key == self.key), None)

    @property
    def way(self) -> Way:
        """What is done with the chosen agent."""
        key = self.key
        return self.ways.get(key, Way.NEW) if key else Way.NEW

    @property
    def offered(self) -> list[AgentGroup]:
        """Groups whose workers offer the chosen mode."""
        return groups_for(self.groups, self.mode) if self.mode else []

    @property
    def modes(self) -> set[Mode]:
        """The modes that some worker of this stack offers."""
        return offered_modes(self.groups)

    def set_installable(self, on: bool) -> None:
        """Note whether environments of workers can be made from here."""
        self.can_install = on
        self.installs_changed.emit()

    def install(self, component: str) -> None:
        """Request that the environment of a worker is made."""
        self.install_problems.pop(component, None)
        self.install_wanted.emit(component)

    def take_install(self, component: str, words: str) -> None:
        """Take what an installation says."""
        self.installs[component] = words
        self.installs_changed.emit()

    def take_installed(self, component: str, problem: str) -> None:
        """Note that an installation ended; `problem`: why it failed."""
        self.installs.pop(component, None)
        if problem:
            self.install_problems[component] = problem
        self.installs_changed.emit()

    def set_mode(self, mode: Mode) -> None:
        """Choose the mode of play."""
        if mode is not self.mode:
            self.mode = mode
            self.changed.emit()
            self.remembered.emit()

    def want_training(self) -> None:
        """Choose a mode with agents, unless one is chosen."""
        if self.mode is None or not self.mode.trains:
            self.set_mode(Mode.AGENT)

    def choose(self, key: AgentKey) -> None:
        """Choose an agent; its own way and form are restored."""
        self._launch.choose(*key)

    def set_way(self, way: Way) -> None:
        """Choose another way for the chosen agent."""
        key = self.key
        if key is not None and way is not self.way:
            self.ways[key] = way
            self.changed.emit()
            self.remembered.emit()

    def view_profile(self, worker_id: str) -> str:
        """The view profile of a worker; empty where this stack does not know it."""
        return next((m.view_profile for m in self.groups if m.worker == worker_id), "")

    def levels(self, worker_id: str) -> tuple[str, ...]:
        """The levels of recording that a worker has."""
        return next((m.levels for m in self.groups if m.worker == worker_id), ())

    def _on_catalogue(self) -> None:
        self.groups = agent_groups(self._launch.workers)
        self.groups_changed.emit()
        self.changed.emit()
