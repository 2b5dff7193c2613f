"""The command line of a worker, the control socket and the stop flag, with the synthetic worker as a process."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.run_folder import make_run_folder
from tests.test_telemetry import written

from mosaic_contracts.spec import RunSpec
from mosaic_contracts.wire import Lifecycle
from mosaic_contracts.worker import CheckReport, WorkerDescription
from mosaic_workerkit.control import StopFlag, StopForced, TrainerControl, ask_trainer
from mosaic_workerkit.errors import TrainerUnreachable
from mosaic_workerkit.pace import Pace

WORKER = [sys.executable, "-m", "mosaic_workerkit.testing.synthetic"]


def call(*argv: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*WORKER, *argv], input=given, capture_output=True, text=True, check=False, timeout=30
    )


def test_describe() -> None:
    """`describe` prints one description and nothing else."""
    made = call("describe")
    assert made.returncode == 0
    assert WorkerDescription.model_validate_json(made.stdout).worker == "synthetic"


def test_check() -> None:
    """`check` answers a spec; one that is none is a blocking finding at its field, with exit code 0."""
    spec = RunSpec(worker="synthetic", algorithm="synthetic", environment="e")
    made = call("check", given=spec.model_dump_json())
    assert CheckReport.model_validate_json(made.stdout).ok
    bad = json.loads(spec.model_dump_json()) | {"seed": -1, "sed": 2}
    made = call("check", given=json.dumps(bad))
    assert made.returncode == 0
    report = CheckReport.model_validate_json(made.stdout)
    assert not report.ok
    assert {finding.where for finding in report.findings} == {"seed", "sed"}


def test_prints_go_to_stderr() -> None:
    """What a worker, its C libraries or its children print does not spoil the JSON."""
    code = (
        "import os, sys\n"
        "from mosaic_workerkit.entry import main\n"
        "from mosaic_workerkit.testing.synthetic import SyntheticWorker\n"
        "class Loud(SyntheticWorker):\n"
        "    def describe(self):\n"
        "        print('from python'); os.system('echo from a child')\n"
        "        return super().describe()\n"
        "sys.exit(main(Loud(), ['describe']))"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(made.stdout)["worker"] == "synthetic"
    assert "from python" in made.stderr
    assert "from a child" in made.stderr


@pytest.mark.parametrize(
    ("parameters", "code", "phase"),
    [
        ({}, 0, "done"),
        ({"exit_code": 3}, 3, "done"),
        ({"fail": True}, 1, "error"),
        ({"crash": True}, -signal.SIGSEGV, None),
    ],
)
def test_ends(tmp_path: Path, parameters: dict[str, Any], code: int, phase: str | None) -> None:
    """Each way to end gives its exit code and the terminal lifecycle that can still be written."""
    folder = make_run_folder(tmp_path / "run", parameters={"events": 10, "rate": 0, **parameters})
    made = call("train", "--run-dir", str(folder))
    assert made.returncode == code
    last = written(folder)[-1]
    if phase is None:
        assert last.seq == 12
        return
    assert isinstance(last, Lifecycle)
    assert last.phase == phase
    if phase == "error":
        assert last.data == {"message": "RuntimeError: asked to fail"}
        assert "Traceback" in made.stderr


def test_a_worker_that_cannot_play_says_so(tmp_path: Path) -> None:
    """`play` of a worker without such a method fails with its reason as the terminal event, and trains nothing."""
    folder = make_run_folder(tmp_path / "run", parameters={"events": 10})
    made = call("play", "--run-dir", str(folder))
    assert made.returncode == 1
    (last,) = written(folder)
    assert isinstance(last, Lifecycle)
    assert last.phase == "error"
    assert "PlayUnsupported: This worker cannot play" in last.data["message"]


def test_a_pace_is_kept_and_a_stop_ends_the_wait() -> None:
    """No step comes sooner than its pace allows, nothing waits without one, and a stop lets the next one through."""
    stop = StopFlag()
    pace, began = Pace(50, stop), time.monotonic()
    for _ in range(5):
        pace.stepped()
        pace.wait()
    assert time.monotonic() - began >= 0.1
    slow = Pace(0.001, stop)
    slow.stepped()
    assert slow.early_s() > 100
    assert Pace(None, stop).early_s() == 0
    stop.request("test")
    slow.wait()


def test_control_socket_below_a_long_path(tmp_path: Path) -> None:
    """The socket works below a folder whose path is longer than a socket address may be."""
    folder = tmp_path / ("x" * 120)
    flag = StopFlag()
    with TrainerControl(folder, flag, lambda: {"last_seq": 4}):
        assert ask_trainer(folder, {"op": "ping"}) == {"ok": True, "pid": os.getpid()}
        status = ask_trainer(folder, {"op": "status"})
        assert status == {"ok": True, "stopping": False, "last_seq": 4}
        assert not ask_trainer(folder, {"op": "dance"})["ok"]
        assert not ask_trainer(folder, {})["ok"]
        assert not flag.requested
        assert ask_trainer(folder, {"op": "stop"})["ok"]
        assert flag.reason == "control"
    with pytest.raises(TrainerUnreachable):
        ask_trainer(folder, {"op": "ping"})


def test_stop_flag() -> None:
    """The first signal only sets the flag, the second raises what no `except Exception` keeps."""
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    try:
        flag = StopFlag().install()
        os.kill(os.getpid(), signal.SIGTERM)
        assert flag.reason == "SIGTERM"
        with pytest.raises(StopForced):
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])
    assert not issubclass(StopForced, Exception)
