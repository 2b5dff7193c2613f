from collections.abc import Iterator
from pathlib import Path

import pytest
from PyQt6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot
from tests.specimen import run, run_id
from tests.views.test_files_panel import CHECKPOINT, able

from mosaic_contracts.services import WorkerEntries
from mosaic_contracts.states import RunState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.views.main_window import TRAIN


@pytest.fixture
def client(qtbot: QtBot, tmp_path: Path) -> Iterator[DesktopClient]:
    """A client that watches a finished run with a checkpoint."""
    made = DesktopClient(tmp_path)
    made.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    able_one = able(play=True, warm_start=True)
    made.launch.take_catalogue(WorkerEntries(workers=[able_one]))
    finished = run(0, RunState.SUCCEEDED, spec={"parameters": {"gamma": 0.5}})
    made.table.consume(made.store.replace_runs([finished]))
    made.watch.watch(run_id(0))
    made.watch.take_files([CHECKPOINT])
    yield made
    made.launch._settle.stop()
    made.window.close()
    made.window.deleteLater()


def test_the_form_opens_with_the_checkpoint(client: DesktopClient) -> None:
    """The run's own values, its checkpoint to begin with, and the run as its parent."""
    client.window.watch.files.train_on.click()
    assert client.window.page == TRAIN
    assert client.launch.draft is not None
    spec = client.launch.draft.spec()
    assert spec["parameters"] == {"gamma": 0.5, "start": f"{run_id(0)}/{CHECKPOINT.path}"}
    assert spec["parent"] == run_id(0)
    row = client.window.train.form.rows["parameters", "start"]
    assert row.input.property("text") == f"{run_id(0)}/{CHECKPOINT.path}"


def test_play_is_as_it_was_chosen_last(client: DesktopClient) -> None:
    """One click, with what stands under `Use trained` for that agent: a pace that was left out stays so."""
    wanted = QSignalSpy(client.trained.play_wanted)
    client.window.watch.files.play.click()
    client.trained.presets["cleanrl", "ppo"] = {"run": "x", "episodes": 3, "seed": 7}
    client.window.watch.files.play.click()
    fields = [wanted[n][2] for n in range(len(wanted))]
    assert fields == [{"episodes": 10, "pace": 30.0, "seed": 1}, {"episodes": 3, "seed": 7}]
    assert wanted[0][:2] == [run_id(0), CHECKPOINT.path]
