from collections.abc import Iterator
from pathlib import Path

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot
from tests.specimen import run, run_id, worker

from mosaic_contracts.runs import ArtifactRow
from mosaic_contracts.services import WorkerEntries
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.views.main_window import TRAIN
from mosaic_gui.views.profile_banner import ProfileBanner

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def client(qtbot: QtBot, tmp_path: Path) -> Iterator[DesktopClient]:
    """A client that is connected."""
    made = DesktopClient(tmp_path)
    made.window.resize(1280, 800)
    made.window.show()
    made.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    yield made
    made.launch._settle.stop()
    made.window.close()
    made.window.deleteLater()


def watch(client: DesktopClient, profile: str, record: str) -> ProfileBanner:
    """Open a run of a worker with that view profile, recorded so."""
    manifest = worker().manifest.model_copy(update={"lane": profile})
    client.launch.take_catalogue(WorkerEntries(workers=[worker(manifest=manifest.model_dump())]))
    client.table.consume(client.store.replace_runs([run(0, spec={"record": record})]))
    client.watch.watch(run_id(0))
    client.navigator.open_runs([run_id(0)])
    banner = client.window.findChild(ProfileBanner)
    assert banner is not None
    return banner


@pytest.mark.parametrize(
    ("profile", "record", "shown"),
    [
        ("analytics", "metrics", True),
        ("analytics", "replay", False),
        ("telemetry", "metrics", False),
    ],
)
def test_the_banner_is_there_where_something_is_missing(
    client: DesktopClient, profile: str, record: str, shown: bool
) -> None:
    """Only a run of the analytics profile that keeps no steps has it, and it names what is not kept."""
    banner = watch(client, profile, record)
    assert banner.isVisible() is shown
    if shown:
        assert "not episodes, steps, observations" in banner.words.whole()


def test_its_button_fills_the_form_with_a_level_that_records(
    qtbot: QtBot, client: DesktopClient
) -> None:
    """The run's own values, and steps kept: one press from launching it."""
    watch(client, "analytics", "metrics")
    found = client.window.findChild(QPushButton, "profile_banner.record")
    assert found is not None
    qtbot.mouseClick(found, LEFT)
    assert client.window.page == TRAIN
    assert client.launch.text("run", "record") == "replay"


def test_a_run_of_the_analytics_lane_opens_on_its_files(client: DesktopClient) -> None:
    """Curves stand on the right as ever; next to them the files, as soon as there is one."""
    watch(client, "analytics", "metrics")
    client.watch.take_files([ArtifactRow(path="a.pt", kind="checkpoint", bytes=1)])
    assert client.window.watch.side == "side.files"
    watch(client, "telemetry", "replay")
    assert client.window.watch.side == "side.log"
