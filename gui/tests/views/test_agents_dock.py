from collections.abc import Iterator

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtTest import QSignalSpy
from PyQt6.QtWidgets import QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot
from tests.specimen import worker

from mosaic_contracts.services import WorkerEntries, WorkerEntry
from mosaic_contracts.worker import Finding
from mosaic_gui.state.agents import Mode, Way
from mosaic_gui.viewmodels.agents import AgentsModel
from mosaic_gui.viewmodels.launch import LaunchModel
from mosaic_gui.views.agents_dock import FOLDED_WIDTH, AgentsDock

LEFT = Qt.MouseButton.LeftButton


class Shown:
    """The dock over a catalogue."""

    def __init__(self) -> None:
        self.launch = LaunchModel()
        self.model = AgentsModel(self.launch)
        self.dock = AgentsDock(self.model, ["runs"])
        self.dock.resize(224, 700)
        self.dock.show()
        self.dock.agent_wanted.connect(self.model.choose)
        self.dock.way_wanted.connect(self.model.set_way)

    def take(self, *workers: WorkerEntry) -> None:
        """Pass on the workers that the stack sent."""
        self.launch.take_catalogue(WorkerEntries(workers=list(workers)))

    def button(self, name: str) -> QPushButton:
        """A button by its object name."""
        found = self.dock.findChild(QPushButton, name)
        assert found is not None, name
        return found

    def texts(self) -> str:
        """Everything that can be read in it."""
        return "\n".join(one.text() for one in self.dock.findChildren(QLabel) if one.isVisible())


@pytest.fixture
def shown(qtbot: QtBot) -> Iterator[Shown]:
    """The dock with one worker, before a mode was chosen."""
    made = Shown()
    qtbot.addWidget(made.dock)
    made.take(worker())
    yield made
    made.launch._settle.stop()


def test_what_trains_is_hidden_until_a_mode_is_chosen(qtbot: QtBot, shown: Shown) -> None:
    """At first three choices in words; Agent and Hybrid show the agents, Human does not."""
    agent = shown.button("catalogue.cleanrl.ppo")
    assert not agent.isVisible()
    assert not shown.button("agents.way.new").isVisible()
    qtbot.mouseClick(shown.button("agents.card.agent"), LEFT)
    assert shown.model.mode is Mode.AGENT
    assert agent.isVisible()
    qtbot.mouseClick(shown.button("agents.mode.human"), LEFT)
    assert not agent.isVisible()
    qtbot.mouseClick(shown.button("agents.mode.hybrid"), LEFT)
    assert agent.isVisible()


def test_human_play_says_what_it_needs(qtbot: QtBot, shown: Shown) -> None:
    """No worker offers it: what would be needed, and what to do now; with one that does it is ready."""
    shown.model.set_mode(Mode.HUMAN)
    assert "Human-Only" in shown.texts()
    assert "needs a worker that lists it in its modes" in shown.texts()
    entry = worker()
    assert entry.description is not None
    description = entry.description.model_copy(update={"modes": ["train", "human"]})
    shown.take(entry.model_copy(update={"description": description}))
    assert "You act by keys" in shown.texts()
    wanted = QSignalSpy(shown.dock.page_wanted)
    qtbot.mouseClick(shown.button("agents.play"), LEFT)
    assert wanted[0] == ["play"]


def test_a_worker_for_people_is_no_agent(shown: Shown) -> None:
    """Nothing can be trained with it: it is in the human mode alone, and a person is never an agent."""
    entry = worker()
    assert entry.description is not None
    ppo, *others = entry.description.algorithms
    person = ppo.model_copy(update={"human": True})
    for algorithms, listed in (([person, *others], True), ([person], False)):
        description = entry.description.model_copy(update={"algorithms": algorithms})
        shown.take(entry.model_copy(update={"description": description}))
        shown.model.set_mode(Mode.AGENT)
        assert (entry.manifest.title in shown.texts()) is listed
        assert shown.dock.findChild(QPushButton, "catalogue.cleanrl.ppo") is None


def test_another_algorithm_is_one_click(qtbot: QtBot, shown: Shown) -> None:
    """The list changes the draft, and shows which one it is."""
    shown.model.set_mode(Mode.AGENT)
    qtbot.mouseClick(shown.button("catalogue.cleanrl.dqn"), LEFT)
    assert shown.model.key == ("cleanrl", "dqn")
    assert shown.button("catalogue.cleanrl.dqn").isChecked()
    assert not shown.button("catalogue.cleanrl.ppo").isChecked()


def test_the_way_is_remembered_for_each_agent(qtbot: QtBot, shown: Shown) -> None:
    """A user who used one agent as trained finds it so, and the other agent as it was."""
    shown.model.set_mode(Mode.AGENT)
    qtbot.mouseClick(shown.button("agents.way.trained"), LEFT)
    assert shown.model.way is Way.TRAINED
    shown.model.choose(("cleanrl", "dqn"))
    assert shown.button("agents.way.new").isChecked()
    shown.model.choose(("cleanrl", "ppo"))
    assert shown.button("agents.way.trained").isChecked()


def test_a_worker_that_is_not_ready_says_what_it_lacks(shown: Shown) -> None:
    """Its algorithms cannot be chosen, and the reason stands next to them."""
    words = "Its environment is missing. `./mosaic sync worker_cleanrl` makes it."
    finding = Finding(level="blocking", where="room", message=words)
    shown.model.set_mode(Mode.AGENT)
    shown.take(worker(ready=False, findings=[finding]))
    tips = "".join(one.toolTip() for one in shown.dock.findChildren(QWidget))
    assert "./mosaic sync worker_cleanrl makes it." in tips
    assert "`" not in tips + shown.texts()
    assert not shown.button("catalogue.cleanrl.ppo").isEnabled()
    assert "Its environment is missing." in shown.texts()


def test_each_worker_says_what_its_runs_record(shown: Shown) -> None:
    """It is read before one is started, in words that need no explanation."""
    shown.model.set_mode(Mode.AGENT)
    assert "Records steps" in shown.texts()
    manifest = worker().manifest.model_copy(update={"lane": "analytics"})
    shown.take(worker(manifest=manifest.model_dump()))
    assert "Records curves" in shown.texts()


def test_the_dock_folds_to_icons(qtbot: QtBot, shown: Shown) -> None:
    """Folded it keeps the way to the pages, whose names are then in the tool tips."""
    qtbot.mouseClick(shown.button("agents.fold"), LEFT)
    assert shown.dock.folded
    assert shown.dock.width() == FOLDED_WIDTH
    page = shown.button("nav.runs")
    assert (page.text(), page.toolTip(), page.isVisible()) == ("", "Runs (Ctrl+1)", True)
    qtbot.mouseClick(shown.button("agents.fold"), LEFT)
    assert page.text() == "Runs"


def test_modes_that_no_worker_offers_are_no_choices(shown: Shown) -> None:
    """One sentence replaces them; they appear with the first worker that offers them."""
    assert shown.button("agents.card.agent").isVisible()
    assert not shown.button("agents.card.human").isVisible()
    assert not shown.button("agents.card.hybrid").isVisible()
    assert "install a worker that offers it" in shown.texts()
    shown.model.set_mode(Mode.AGENT)
    assert not shown.button("agents.mode.human").isVisible()
    description = worker().description
    assert description is not None
    playable = description.model_copy(update={"modes": ["train", "human", "hybrid", "agent"]})
    shown.take(worker(description=playable))
    assert shown.button("agents.mode.human").isVisible()
    assert shown.button("agents.mode.hybrid").isVisible()
