"""The page `Compare`: what is chosen, what is refused, and what a result offers."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtTest import QSignalSpy
from PyQt6.QtWidgets import QComboBox, QPushButton
from pytestqt.qtbot import QtBot
from tests.comparison_specimen import policies
from tests.specimen import run, run_id, summary

from mosaic_contracts.comparison_orders import ComparerLine
from mosaic_contracts.runs import ArtifactRow
from mosaic_contracts.states import RunState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.state.episode_list import EpisodeAddress
from mosaic_gui.views.compare_page import ComparePage
from mosaic_gui.views.main_window import COMPARE

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def client(qtbot: QtBot, tmp_path: Path) -> Iterator[DesktopClient]:
    """A client with trained runs, and a play."""
    made = DesktopClient(tmp_path)
    made.window.resize(1280, 800)
    made.window.show()
    made.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    trained = [
        run(n, RunState.SUCCEEDED, summary=summary(n, checkpoints=1), spec={"seed": n})
        for n in range(3)
    ]
    made._on_tick(made.store.replace_runs(trained))
    yield made
    made.launch._settle.stop()
    made.window.close()
    made.window.deleteLater()


@pytest.fixture
def page(client: DesktopClient, qtbot: QtBot) -> ComparePage:
    """The page with the runs that were selected in the list."""
    client.window.runs.table.selectAll()
    qtbot.waitUntil(lambda: len(client.window.runs.selected) == 3)
    client.window.runs.commands.compare_action.trigger()
    assert client.window.page == COMPARE
    return client.window.compare


def test_selected_runs_are_compared_on_seeds(
    qtbot: QtBot, client: DesktopClient, page: ComparePage
) -> None:
    """Each by one of its checkpoints; an actor is removed and added."""
    wanted = QSignalSpy(client.comparison.start_wanted)
    rows = [ArtifactRow(path="checkpoints/a.pt", kind="checkpoint", bytes=9, step=5)]
    client.comparison.take_files(run_id(2), rows)
    place = [actor.run_id for actor in client.comparison.draft.actors].index(run_id(2))
    chosen = page.findChild(QComboBox, f"compare.checkpoint.{place}")
    assert chosen is not None
    chosen.setCurrentIndex(2)
    chosen.activated.emit(2)
    away = page.findChild(QPushButton, "compare.remove.1")
    assert away is not None
    qtbot.mouseClick(away, LEFT)
    qtbot.mouseClick(page.add_random, LEFT)
    page.episodes.setValue(5)
    assert "Too few seeds for a verdict" in page.caution.text()
    page.seed.setValue(7)
    assert page.words.text() == "Seeds 7 to 11"
    qtbot.keySequence(page, "Ctrl+Return")
    plan = wanted[0][0].plan
    assert (plan.episodes, plan.seed, len(plan.actors)) == (5, 7, 3)
    assert "checkpoints/a.pt" in [actor.checkpoint for actor in plan.actors]
    assert page.cancel.isVisible()
    client.comparison.take_end("It is full.")
    assert page.words.text() == "It is full."


def test_what_cannot_be_compared_says_why(client: DesktopClient, page: ComparePage) -> None:
    """The button is off, and the words are next to it."""
    client.comparison.begin([run_id(0)])
    assert (page.start.isEnabled(), page.words.text()) == (False, "Add at least two actors.")
    picker = page.open_picker()
    picker.chosen.emit(run_id(1))
    assert page.start.isEnabled()
    page.kind.choose("trainings")
    assert page.words.text() == "Add at least two trainings."
    client.comparison.add(run_id(1))
    page.threshold.setText("x")
    assert page.words.text() == "The threshold is no number."
    page.threshold.setText("475")
    assert (page.start.isEnabled(), client.comparison.threshold) == (True, 475.0)
    assert page.groups.text() == "ppo in CartPole-v1: 2 runs"


def test_a_result_has_its_verdict_and_leads_to_episodes(
    qtbot: QtBot, client: DesktopClient, page: ComparePage, tmp_path: Path
) -> None:
    """Tables in words; a seed is shown side by side."""
    wanted = QSignalSpy(client.comparison.episodes_wanted)
    client.comparison.take_line(ComparerLine(policies=policies()), tmp_path)
    result = page.result
    assert result.headline.text().startswith("ppo is higher than random")
    assert result.cautions.text() == "Too few seeds: take more."
    assert [table.model().rowCount() for table in result._tables] == [3, 3, 24]  # type: ignore[union-attr]
    assert result.seeds is not None
    result.seeds.selectRow(4)
    qtbot.mouseClick(result.side_by_side, LEFT)
    expected = [EpisodeAddress(run_id(50 + n), 1, 0, 4) for n in range(3)]
    assert wanted[0][0] == expected
    assert client.player.addresses == expected


def test_checkpoints_of_the_browser_are_added_one_by_one(client: DesktopClient) -> None:
    """Each once, and those of one environment."""
    other = run(
        5, RunState.SUCCEEDED, summary=summary(5, checkpoints=1), spec={"environment": "Taxi-v3"}
    )
    client._on_tick(client.store.take_runs([other]))
    wanted, draft = client.all_checkpoints.comparison_wanted, client.comparison.draft
    for n, path in ((0, "a.pt"), (1, "b.pt"), (0, "a.pt"), (0, "c.pt")):
        wanted.emit(run_id(n), path)
    assert client.window.page == COMPARE
    found = [(actor.run_id, actor.checkpoint) for actor in draft.actors]
    assert found == [(run_id(0), "a.pt"), (run_id(1), "b.pt"), (run_id(0), "c.pt")]
    assert client.comparison.obstacle == ""
    wanted.emit(run_id(5), "a.pt")
    assert [actor.run_id for actor in draft.actors] == [run_id(5)]
