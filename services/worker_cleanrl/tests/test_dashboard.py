"""The verb `dashboard`: a real TensorBoard on a socket, without a port, that ends when nobody asks."""

import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from torch.utils.tensorboard import SummaryWriter

from mosaic_contracts.dashboards import DASHBOARD_SOCKET, DASHBOARDS_PATH, POINTS_PATH, SELECTED_DIR

pytestmark = pytest.mark.timeout(120)
RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
PREFIX = f"{DASHBOARDS_PATH}/{RUN_ID}"
IDLE_S = 4.0


class Over(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("dashboard", timeout=60)
        self._path = path

    def connect(self) -> None:
        """Open the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(30)
        self.sock.connect(str(self._path))


def ask(folder: Path, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
    """Status and JSON of an answer."""
    connection = Over(folder / DASHBOARD_SOCKET)
    try:
        method = "GET" if body is None else "POST"
        connection.request(method, path, None if body is None else json.dumps(body))
        answer = connection.getresponse()
        data = answer.read()
    finally:
        connection.close()
    return answer.status, json.loads(data) if data[:1] in (b"{", b"[") else data


def answers(folder: Path) -> bool:
    """Whether TensorBoard is up."""
    try:
        return ask(folder, f"{PREFIX}/data/environment")[0] == 200
    except (FileNotFoundError, ConnectionRefusedError):
        return False


def ports(pid: int) -> list[str]:
    """Addresses on which a process listens, as the kernel writes them."""
    held = {str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()}
    rows = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]
    ]
    return [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in held]


@pytest.fixture
def board(tmp_path: Path) -> Iterator[tuple[Path, "subprocess.Popen[bytes]"]]:
    """A TensorBoard of a run with event files and one without."""
    files = tmp_path / "other" / "tensorboard"
    with SummaryWriter(str(files / "CartPole__ppo__1")) as writer:
        for step in range(5):
            writer.add_scalar("charts/x", step * 2.0, step)
    folder = tmp_path / "board"
    (folder / "control").mkdir(parents=True)
    (folder / SELECTED_DIR).mkdir()
    (folder / SELECTED_DIR / "with files").symlink_to(files)
    runs = [{"run_id": RUN_ID, "folder": name} for name in ("with files", "without")]
    spec = {
        "worker": "cleanrl", "algorithm": "tensorboard", "environment": "tensorboard", "kind": "dashboard",
        "dashboard": {"runs": runs, "idle_s": IDLE_S},
    }  # fmt: skip
    (folder / "spec.json").write_text(json.dumps({"run_id": RUN_ID, "attempt": 1, "spec": spec}))
    argv = [sys.executable, "-m", "mosaic_worker_cleanrl", "dashboard", "--run-dir", str(folder)]
    with subprocess.Popen(argv) as process:
        yield folder, process
        process.kill()


def test_a_tensorboard_on_a_socket(board: tuple[Path, "subprocess.Popen[bytes]"]) -> None:
    """Both runs are there, points come once, no port is open, and it ends by itself when nobody asks."""
    folder, process = board
    place = folder / DASHBOARD_SOCKET
    while not answers(folder):
        assert process.poll() is None
        time.sleep(0.1)
    assert place.stat().st_mode & 0o777 == 0o600
    assert ports(process.pid) == []
    points = {
        "folder": "without", "cursor": "", "next_cursor": "c1", "names": ["m", "m"], "steps": [1, 2],
        "times": [10.0, 11.0], "values": [0.5, float("nan")], "config": {"arguments": {"lr": 0.1}},
    }  # fmt: skip
    assert ask(folder, POINTS_PATH, points) == (200, {"cursors": {"without": "c1"}})
    assert ask(folder, POINTS_PATH, points) == (200, {"cursors": {"without": "c1"}})  # not twice
    assert ask(folder, POINTS_PATH, {**points, "folder": "../x"})[0] == 400
    assert ask(folder, POINTS_PATH, {**points, "names": ["m"]})[0] == 400
    query = f"run={quote('with files')}&tag={quote('charts/x', safe='')}"
    expected = {query: [(n, n * 2.0) for n in range(5)], "run=without&tag=m": [(1, 0.5), (2, None)]}
    for asked, curve in expected.items():
        while (found := ask(folder, f"{PREFIX}/data/plugin/scalars/scalars?{asked}"))[0] != 200:
            assert process.poll() is None
            time.sleep(0.2)
        got = [
            (step, None if value != value or value == "NaN" else value)
            for _, step, value in found[1]
        ]
        assert got == curve
    asked_at = time.monotonic()
    assert process.wait(timeout=60) == 0
    assert time.monotonic() - asked_at >= IDLE_S / 2
    assert not place.exists()
