"""A run that is followed through the death of its gateway, on a real stack: every value once, and none missing."""

import json
import os
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from mosaic_contracts.stack import STACK_FILE, StackFile
from mosaic_gui.app.client import Client
from mosaic_gui.net.location import Location, local_stack
from mosaic_gui.state.connection import Link
from mosaic_gui.state.curves import EPISODE_RETURN

ROOT = Path(__file__).resolve().parent.parent.parent
VENVS = Path(os.environ.get("MOSAIC_VENVS") or ROOT / "var" / "venvs")
NEEDED = ("cli", "broker", "recorder", "scheduler", "gateway", "workerkit")
WAIT_MS = 60_000
MANIFEST = """
id = "synthetic"
title = "Synthetic"
command = ["{python}", "-m", "mosaic_workerkit.testing.synthetic"]
"""
NAMES = ("losses/m0", "losses/m1", "losses/m2")

pytestmark = [
    pytest.mark.stack,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        not all((VENVS / room / "bin" / "python").exists() for room in NEEDED),
        reason=f"a stack needs the rooms {' '.join(NEEDED)}: ./mosaic sync makes them",
    ),
]


def mosaic(home: Path, *words: str) -> None:
    """One call of the command line."""
    environ = os.environ | {
        "MOSAIC_HOME": str(home),
        "MOSAIC_ROOT": str(ROOT),
        "MOSAIC_VENVS": str(VENVS),
    }
    command: list[str | Path] = [VENVS / "cli" / "bin" / "python", "-m", "mosaic_cli", *words]
    done = subprocess.run(
        command, env=environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def ask(location: Location, path: str, body: dict[str, Any] | None = None) -> Any:
    """One request beside the client, for what it is compared with."""
    request = urllib.request.Request(
        f"{location.url}/api/v1{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {location.token}",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
        request, timeout=30
    ) as r:
        return json.load(r)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data root with a stack of its own that knows the synthetic worker."""
    folder = tmp_path_factory.mktemp("stack")
    (folder / "workers.d").mkdir()
    (folder / "workers.d" / "synthetic.toml").write_text(MANIFEST)
    mosaic(folder, "up", "-d")
    yield folder
    mosaic(folder, "down", "--stop-runs")
    shutil.rmtree(folder)


@pytest.fixture
def client(home: Path, qtbot: QtBot) -> Iterator[Client]:
    """The client, live."""
    made = Client(home)
    made.window.resize(1280, 800)
    made.connect_local()
    qtbot.waitUntil(lambda: made.connection.connection.link is Link.LIVE, timeout=WAIT_MS)
    yield made
    made.window.close()
    made.window.deleteLater()


def submit(home: Path, events: int, rate: float) -> str:
    """A synthetic run of metrics and episodes."""
    parameters = {"rate": rate, "events": events, "metrics": 0.5}
    spec = {"worker": "synthetic", "algorithm": "synthetic", "environment": "Synthetic-v0"}
    made = ask(local_stack(home), "/runs", spec | {"parameters": parameters})
    return str(made["run_id"])


def told(home: Path, run_id: str, name: str) -> list[float]:
    """All points of a metric as the store has them."""
    curve = ask(local_stack(home), f"/runs/{run_id}/curve?name={name}&last=100000")
    return [float(value) for value in curve["values"]]


def assert_equal_to_the_store(home: Path, client: Client, run_id: str) -> None:
    """Value by value, NaN and infinities included."""
    curves = client.store.followed[run_id].curves
    for name in NAMES:
        np.testing.assert_array_equal(curves.series[name].values, told(home, run_id, name))
    episodes = ask(local_stack(home), f"/runs/{run_id}/episodes?limit=1000")["episodes"]
    returns = [float(row["return"]) for row in episodes if row["return"] is not None]
    np.testing.assert_array_equal(curves.series[EPISODE_RETURN].values, returns)


def test_a_gateway_that_is_killed_while_a_run_is_followed(
    qtbot: QtBot, home: Path, client: Client
) -> None:
    """After kill -9 the window says that it is stale, comes back by itself, and has each point exactly once."""
    run_id = submit(home, events=12_000, rate=1_500)
    client.open_runs([run_id])
    series = client.store.followed[run_id].curves.series

    def points() -> int:
        return len(series[NAMES[0]]) if NAMES[0] in series else 0

    qtbot.waitUntil(lambda: points() > 50, timeout=WAIT_MS)
    services = StackFile.model_validate_json((home / STACK_FILE).read_bytes()).services
    (pid,) = (service.pid for service in services if service.name == "gateway")
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: client.connection.connection.link is Link.STALE, timeout=WAIT_MS)
    before = points()
    qtbot.waitUntil(lambda: client.connection.connection.link is Link.LIVE, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: points() > before, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: client.store.followed[run_id].ended, timeout=WAIT_MS)
    assert_equal_to_the_store(home, client, run_id)


def test_a_run_that_is_opened_in_its_middle(qtbot: QtBot, home: Path, client: Client) -> None:
    """What the store has and what comes live join without a gap or a double, and the past's facts come too."""
    run_id = submit(home, events=9_000, rate=1_500)

    def stored() -> int:
        summary = ask(local_stack(home), f"/runs/{run_id}")["summary"]
        return int(summary["events"]) if summary else 0

    qtbot.waitUntil(lambda: stored() > 2_000, timeout=WAIT_MS)
    client.open_runs([run_id])
    followed = client.store.followed[run_id]
    qtbot.waitUntil(lambda: followed.joint is not None, timeout=WAIT_MS)
    assert followed.joint != ""  # it did not read everything as events
    qtbot.waitUntil(lambda: followed.ended, timeout=WAIT_MS)
    assert_equal_to_the_store(home, client, run_id)
    qtbot.waitUntil(lambda: bool(followed.config), timeout=WAIT_MS)
    phases = [event.get("phase") for event in followed.told if event["type"] == "lifecycle"]
    assert "training" in phases
    assert len(phases) == len(set(phases))
