from collections.abc import Iterator
from typing import Any

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtTest import QSignalSpy
from PyQt6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot
from tests.specimen import run, run_id, summary, worker

from mosaic_contracts.runs import ArtifactRow
from mosaic_contracts.services import WorkerEntries, WorkerEntry
from mosaic_contracts.states import RunState
from mosaic_gui.state.store import Store
from mosaic_gui.viewmodels.agents import AgentsModel
from mosaic_gui.viewmodels.launch import LaunchModel
from mosaic_gui.viewmodels.trained import TrainedModel
from mosaic_gui.views.trained_page import TrainedPage

LEFT = Qt.MouseButton.LeftButton


def able(plays: bool) -> WorkerEntry:
    """The worker, whose algorithms can act without learning, or cannot."""
    entry = worker()
    assert entry.description is not None
    algorithms = [a.model_copy(update={"play": plays}) for a in entry.description.algorithms]
    description = entry.description.model_copy(update={"algorithms": algorithms})
    return entry.model_copy(update={"description": description})


class Shown:
    """The page over a store."""

    def __init__(self) -> None:
        self.store = Store()
        self.launch = LaunchModel()
        self.agents = AgentsModel(self.launch)
        self.model = TrainedModel(self.store, self.agents)
        self.page = TrainedPage(self.model)
        self.page.resize(1000, 700)
        self.page.show()

    def take(self, *runs: Any) -> None:
        """Runs of the stack."""
        self.model.consume(self.store.replace_runs(runs))

    def button(self, name: str) -> QPushButton:
        """A button by its object name."""
        found = self.page.findChild(QPushButton, name)
        assert found is not None, name
        return found


@pytest.fixture
def shown(qtbot: QtBot) -> Iterator[Shown]:
    """The page of an agent that can act without learning."""
    made = Shown()
    qtbot.addWidget(made.page)
    made.launch.take_catalogue(WorkerEntries(workers=[able(True)]))
    yield made
    made.launch._settle.stop()


def trained(n: int, **fields: Any) -> Any:
    """A finished run that left checkpoints."""
    return run(n, RunState.SUCCEEDED, summary=summary(n, checkpoints=2), **fields)


def files(*paths: str) -> list[ArtifactRow]:
    """Files of a run, each at a later step."""
    return [
        ArtifactRow(path=path, kind="checkpoint", bytes=1, step=n) for n, path in enumerate(paths)
    ]


def test_only_finished_runs_of_the_agent_with_checkpoints_are_offered(shown: Shown) -> None:
    """The newest is chosen, and its checkpoints are asked for."""
    wanted = QSignalSpy(shown.model.checkpoints_wanted)
    shown.take(
        trained(0),
        trained(1),
        run(2, RunState.RUNNING, summary=summary(2, checkpoints=1)),
        run(3, RunState.SUCCEEDED),
        trained(4, spec={"algorithm": "dqn"}),
    )
    assert [one.run_id for one in shown.model.runs] == [run_id(1), run_id(0)]
    assert wanted[0] == [run_id(1)]


def test_play_names_run_checkpoint_and_how(qtbot: QtBot, shown: Shown) -> None:
    """The newest checkpoint stands first; what was chosen is this agent's preset from then on."""
    shown.take(trained(0))
    assert not shown.button("trained.play").isEnabled()
    shown.model.take_checkpoints(run_id(0), files("checkpoints/a.pt", "checkpoints/final.pt"))
    shown.page.episodes.setValue(3)
    wanted = QSignalSpy(shown.model.play_wanted)
    qtbot.mouseClick(shown.button("trained.play"), LEFT)
    fields = {"episodes": 3, "seed": 1, "pace": 30.0}
    assert wanted[0] == [run_id(0), "checkpoints/final.pt", fields]
    assert shown.model.preset == {"run": run_id(0), "checkpoint": "checkpoints/final.pt", **fields}


def test_a_page_made_later_offers_the_checkpoints_that_are_known(
    qtbot: QtBot, shown: Shown
) -> None:
    """A page is made when it is first shown; the checkpoints may have been read before."""
    shown.take(trained(0))
    shown.model.take_checkpoints(run_id(0), files("checkpoints/a.pt", "checkpoints/final.pt"))
    page = TrainedPage(shown.model)
    qtbot.addWidget(page)
    assert page.checkpoint.currentText() == "final.pt"
    assert page.checkpoint.currentData() == "checkpoints/final.pt"
    assert page.checkpoint.toolTip() == "checkpoints/final.pt"


def test_an_agent_that_cannot_act_says_so(shown: Shown) -> None:
    """The trained agent is still shown, and the reason stands next to the button."""
    shown.launch.take_catalogue(WorkerEntries(workers=[able(False)]))
    shown.take(trained(0))
    shown.model.take_checkpoints(run_id(0), files("checkpoints/a.pt"))
    assert not shown.button("trained.play").isEnabled()
    assert "can act without learning" in shown.page._why.text()


def test_no_button_promises_what_the_worker_does_not_offer(shown: Shown) -> None:
    """An agent that cannot act without learning has no Play, no pace, and no word that it acts again."""
    page = shown.page
    shown.launch.take_catalogue(WorkerEntries(workers=[able(False)]))
    assert "act again" not in page._hero_words.text()
    shown.take(trained(0))
    shown.model.take_checkpoints(run_id(0), files("checkpoints/a.pt"))
    assert not page.play.isVisible()
    assert not page.pace.isVisible()
    assert not any(shortcut.isEnabled() for shortcut in page._play_keys)
    assert shown.button("trained.watch").isVisible()
    shown.launch.take_catalogue(WorkerEntries(workers=[able(True)]))
    shown.page.refresh()
    assert page.play.isVisible()
    assert page.pace.isVisible()
    assert all(shortcut.isEnabled() for shortcut in page._play_keys)


def test_an_agent_without_runs_leads_to_training(qtbot: QtBot, shown: Shown) -> None:
    """No empty table: what is missing, and the way to it."""
    wanted = QSignalSpy(shown.page.train_wanted)
    assert "has not been trained here yet" in shown.page._hero.text()
    qtbot.mouseClick(shown.button("trained.train"), LEFT)
    assert len(wanted) == 1
