"""The verb `sync`: a run that never used W&B, and an offline W&B folder, sent by the real wandb to a local stand-in."""

import hashlib
import http.client
import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from mosaic_contracts.syncs import (
    FEED_FILE_PATH,
    FEED_PATH,
    SYNC_RESULT_FILE,
    SYNC_SOCKET,
    WANDB_DIR,
)
from mosaic_contracts.tracking import WANDB_SECRET
from mosaic_workerkit.testing.wandb_server import WandbServer

pytestmark = pytest.mark.timeout(400)
RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
KEY = "c" * 40
ROWS = 3_000
STEP_BEFORE = 100
"""Steps of the first attempt before the second one began."""


@pytest.fixture
def server() -> Iterator[WandbServer]:
    """The stand-in of W&B."""
    with WandbServer(key=KEY) as made:
        yield made


class Sync:
    """One run of kind `sync`, and its gateway."""

    def __init__(self, folder: Path, server: WandbServer, way: str, **more: Any) -> None:
        self.folder = folder
        (folder / "control").mkdir(parents=True)
        (folder / "control" / "secrets").mkdir()
        self.key = folder / "control" / "secrets" / WANDB_SECRET
        self.key.write_text(KEY)
        source = {"run_id": RUN_ID, "way": way, "address": server.url, **more}
        spec = {
            "worker": "cleanrl", "algorithm": "wandb", "environment": "wandb", "kind": "sync", "sync": source,
        }  # fmt: skip
        file = {"run_id": RUN_ID[:-1] + "W", "attempt": 1, "spec": spec}
        (folder / "spec.json").write_text(json.dumps(file))
        argv = [sys.executable, "-m", "mosaic_worker_cleanrl", "sync", "--run-dir", str(folder)]
        environment = {
            **os.environ,
            "MOSAIC_SECRET_WANDB_API_KEY_FILE": str(self.key),
            "WANDB_API_KEY": "d" * 40,
            "WANDB_MODE": "disabled",
        }
        with (folder / "log").open("wb") as log:
            self.process = subprocess.Popen(argv, env=environment, stderr=log, stdout=log)

    def ask(self, method: str, path: str, body: bytes | None = None) -> dict[str, Any]:
        """Send one request as the gateway does."""
        connection = http.client.HTTPConnection("run", timeout=30)
        connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        while connection.sock.connect_ex(str(self.folder / SYNC_SOCKET)):
            assert self.process.poll() is None, self.said
            time.sleep(0.05)  # it does not listen yet, and has no other sign of that
        connection.request(method, path, body)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        assert answer.status == 200, data
        found: dict[str, Any] = json.loads(data)
        return found

    def send_file(self, path: str, data: bytes) -> None:
        """Send a file of the run."""
        self.ask("PUT", f"{FEED_FILE_PATH}?{urlencode({'path': path})}", data)

    def feed(self, pages: list[list[dict[str, Any]]], files: dict[str, tuple[str, bytes]]) -> None:
        """Send everything. Each page is sent twice, as a gateway does that did not see the answer."""
        cursor = ""
        for number, events in enumerate(pages):
            page = {"cursor": cursor, "next_cursor": f"c{number}", "events": events}
            for _ in range(2):
                cursor = self.ask("POST", FEED_PATH, json.dumps(page).encode())["cursor"]
        for path, (_, data) in files.items():
            self.send_file(path, data)
        about = {
            "name": "my run", "kind": "train", "worker": "cleanrl", "state": "succeeded", "started_at": 1.7e9,
            "tags": ["a tag"], "note": "words", "step_offsets": {"2": STEP_BEFORE},
        }  # fmt: skip
        listed = [{"path": path, "kind": kind, "step": 7} for path, (kind, _) in files.items()]
        last = {"cursor": cursor, "next_cursor": cursor, "is_last": True, "about": about}
        self.ask("POST", FEED_PATH, json.dumps({**last, "files": listed}).encode())

    def end(self) -> int:
        """Wait for its end; its exit code."""
        return self.process.wait(timeout=180)

    def processes(self) -> dict[int, str]:
        """Variables and command line of each of its processes, wandb's own too."""
        found = {}
        for folder in Path("/proc").iterdir():
            try:
                if folder.name.isdigit():
                    found[int(folder.name)] = "".join(
                        (folder / name).read_text(errors="replace")
                        for name in ("environ", "cmdline")
                    )
            except OSError:
                continue  # it has ended
        return {pid: text for pid, text in found.items() if str(self.folder) in text}

    def kill(self) -> None:
        """Kill -9 everything of it, as a runner does."""
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
        self.process.wait()

    @property
    def said(self) -> str:
        """What it printed."""
        return (self.folder / "log").read_text()


def metric(n: int, name: str = "m", attempt: int = 1) -> dict[str, Any]:
    """One stored event."""
    return {
        "type": "metric",
        "attempt": attempt,
        "name": name,
        "step": n,
        "t": 1.7e9 + n,
        "value": n / 2,
    }


@pytest.mark.nightly
def test_a_run_that_never_used_wandb_is_sent_once(tmp_path: Path, server: WandbServer) -> None:
    """Config, metrics, video and checkpoint; killed in the middle and sent again, nothing is doubled or lost."""
    config = {"algorithm": "ppo", "seed": 3, "arguments": {"lr": 0.1}}
    events = [{"type": "config", "attempt": 1, "data": config}]
    events += [metric(n) for n in range(ROWS)]
    events += [metric(1, "loss", 2), metric(1, "m", 2), {**metric(2, "m", 2), "value": "NaN"}]
    pages = [events[:1000], events[1000:]]
    checkpoint, video = os.urandom(100_000), os.urandom(5_000)
    files = {
        "checkpoints/step-7.pt": ("checkpoint", checkpoint),
        "videos/ep-1.mp4": ("video", video),
    }
    server.held = "CommitArtifact"
    first = Sync(tmp_path / "first", server, "store", project="p", group="g")
    first.feed(pages, files)
    assert server.wait_for(lambda: bool(server.runs) and bool(server.run.history), 150)
    shown = "".join(first.processes().values())
    assert ("wandb-core" in shown, KEY in shown) == (True, False)
    first.kill()
    server.release()
    assert not (first.folder / SYNC_RESULT_FILE).exists()
    assert server.run.exit_code is None
    second = Sync(tmp_path / "second", server, "store", project="p", group="g")
    second.feed(pages, files)
    assert second.end() == 0, second.said
    run = server.run
    assert (run.id, run.project, run.exit_code) == (RUN_ID.lower(), "p", 0)
    assert (run.fields["displayName"], run.fields["groupName"]) == ("my run", "g")
    assert (run.fields["tags"], run.config["lr"], run.config["seed"]) == (["a tag"], 0.1, 3)
    assert run.config["mosaic"]["run_id"] == RUN_ID
    assert sorted(run.history) == list(range(len(run.history)))
    rows = [row for _, row in sorted(run.history.items())]
    metrics = [row for row in rows if "m" in row]
    assert [row["m"] for row in metrics[:-1]] == [n / 2 for n in range(ROWS)] + [0.5]
    assert (metrics[-2]["loss"], metrics[-2]["global_step"]) == (0.5, STEP_BEFORE + 1)
    assert math.isnan(metrics[-1]["m"])
    assert metrics[5]["_timestamp"] == pytest.approx(1.7e9 + 5)
    assert [data for name, data in run.files.items() if name.endswith(".mp4")] == [video]
    (row,) = [row for row in rows if "videos" in row]
    assert (row["videos"]["_type"], row["global_step"]) == ("video-file", 7)
    sent = [data for name, data in server.artifact_files.items() if name.endswith("step-7.pt")]
    assert {hashlib.sha256(data).hexdigest() for data in sent} == {
        hashlib.sha256(checkpoint).hexdigest()
    }
    assert [each["state"] for each in server.artifacts.values()].count("COMMITTED") == 1
    result = json.loads((second.folder / SYNC_RESULT_FILE).read_text())
    assert result["url"] == f"{server.url}/{run.entity}/p/runs/{run.id}"
    named = (result["entity"], result["project"], result["id"], result["name"])
    assert named == (run.entity, "p", run.id, "my run")
    assert server.keys - {""} == {KEY}  # files go to addresses that need none
    kept = [
        path
        for path in second.folder.rglob("*")
        if path.is_file() and path.parent != second.key.parent
    ]
    assert not [path for path in kept if KEY.encode() in path.read_bytes()]


@pytest.mark.nightly
def test_an_offline_folder_is_sent_and_a_refused_key_is_said(
    tmp_path: Path, server: WandbServer
) -> None:
    """A real offline run, in another folder than where it was written; with a wrong key nothing of it is sent."""
    program = (
        "import wandb; run = wandb.init(project='offline', id='abc', mode='offline')\n"
        "for n in range(50): run.log({'x': n})\nrun.finish()"
    )
    environment = {**os.environ, "WANDB_DIR": str(tmp_path), "WANDB_SILENT": "true"}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=120)
    (folder,) = (tmp_path / WANDB_DIR).glob("offline-run-*")
    files = {
        str(path.relative_to(tmp_path)): ("wandb", path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file() and "logs" not in path.parts
    }
    server.key = "d" * 40
    refused = Sync(tmp_path / "refused", server, "folder")
    refused.feed([[]], files)
    assert refused.end() == 1
    assert "does not accept the key" in refused.said
    assert not (refused.folder / SYNC_RESULT_FILE).exists()
    server.key = KEY
    # One attempt was killed before its W&B run began, the other while it wrote.
    log = next(name for name in files if name.endswith(".wandb"))
    files |= {
        f"{WANDB_DIR}/offline-run-2-x/run-x.wandb": ("wandb", files[log][1][:7]),
        log: ("wandb", files[log][1][:-700]),
    }
    sync = Sync(tmp_path / "sync", server, "folder", entity="team")
    sync.feed([[]], files)
    assert sync.end() == 0, sync.said
    run = server.run
    assert (run.id, run.project, run.entity) == ("abc", "offline", "team")
    assert run.curve("x") == list(range(len(run.history)))
    assert 10 < len(run.history) <= 50
    assert "offline-run-2-x is left out" in sync.said
    result = json.loads((sync.folder / SYNC_RESULT_FILE).read_text())
    assert (result["folder"], result["mode"]) == (f"{WANDB_DIR}/{folder.name}", "offline")
    assert not (sync.folder / "sent").exists()
