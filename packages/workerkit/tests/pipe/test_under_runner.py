"""The pipe as a run's worker: the runner's truth is the program's."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.pipe.program_run import PIPE, python
from tests.run_folder import RUN_ID, make_run_folder

from mosaic_contracts.wire import Lifecycle, Metric
from mosaic_workerkit.outbox.unshipped import read_unshipped

IDLE = [sys.executable, "-m", "mosaic_workerkit.check_worker.idle_shipper"]


def start(folder: Path, program: list[str], grace_s: float = 10) -> subprocess.Popen[bytes]:
    argv = [*PIPE, "--run-dir", str(folder), "--", *program]
    make_run_folder(folder, worker_argv=argv, shipper_argv=IDLE, grace_s=grace_s, drain_s=2)
    runner = [sys.executable, "-m", "mosaic_workerkit.runner", "--run-dir", str(folder)]
    return subprocess.Popen(runner, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def finish(folder: Path, runner: subprocess.Popen[bytes]) -> tuple[dict[str, Any], str | None]:
    """The runner's report, and the phase of the last event."""
    assert runner.wait(60) == 0
    last = [record for _, record in read_unshipped(folder, RUN_ID)][-1]
    report = json.loads((folder / "control/exit.json").read_text())
    return report, last.phase if isinstance(last, Lifecycle) else None


def wait_for_log(folder: Path, text: bytes) -> None:
    path = folder / "logs/worker.log"
    deadline = time.monotonic() + 60
    while not path.exists() or text not in path.read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.02)  # a file has no event to wait for


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import sys; sys.exit(7)", {"code": 7, "signal": None, "strays": 0}),
        (
            "import os; os.kill(os.getpid(), 11)",
            {"code": None, "signal": signal.SIGSEGV, "strays": 0},
        ),
        (
            "import subprocess; subprocess.Popen(['sleep', '60'], start_new_session=True)",
            {"code": 0, "signal": None, "strays": 1},
        ),
    ],
)
def test_ends(tmp_path: Path, code: str, expected: dict[str, Any]) -> None:
    """Exit code, signal and leftovers of the program are those of the run."""
    folder = tmp_path / "run"
    report, phase = finish(folder, start(folder, python(code)))
    assert {key: report[key] for key in expected} == expected
    assert phase == ("done" if expected["code"] == 0 else "error")


CLEANS = """
import os, pathlib, shutil, sys, time
def clean(folder):
    {clean}
print('{{"step": 1, "m": 1}}')
time.sleep(1.5)  # the runner has begun
clean(os.environ["MOSAIC_RUN_DIR"])
for step in range(2, 12):
    print('{{"step": %d, "m": %d}}' % (step, step)); time.sleep({pause})
sys.exit({code})
"""
WAYS = {
    "all": "shutil.rmtree(folder); os.makedirs(folder)",
    "contents": "[shutil.rmtree(e) if e.is_dir() else e.unlink() for e in pathlib.Path(folder).iterdir()]",
    "files": "[e.unlink() for e in pathlib.Path(folder).rglob('*') if not e.is_dir()]",
    "outbox": "shutil.rmtree(folder + '/outbox')",
    "control": "shutil.rmtree(folder + '/control'); open(folder + '/control', 'w')",
    "logs": "shutil.rmtree(folder + '/logs')",
}


@pytest.mark.nightly(by_day=["all-0-0.3", "outbox-0-0.3", "all-3-0.0"])
@pytest.mark.parametrize("pause", [0.0, 0.3])
@pytest.mark.parametrize(("way", "code"), [(way, 0) for way in WAYS] + [("all", 3)])
def test_a_program_that_deletes_its_folder(
    tmp_path: Path, way: str, code: int, pause: float
) -> None:
    """The run's end is the program's own, and log and events are whole, whatever the program deleted of the folder."""
    folder = tmp_path / "run"
    program = CLEANS.format(clean=WAYS[way], code=code, pause=pause)
    report, phase = finish(folder, start(folder, python(program)))
    assert (report["code"], report["signal"], phase) == (code, None, "error" if code else "done")
    metrics = [r for _, r in read_unshipped(folder, RUN_ID) if isinstance(r, Metric)]
    assert [metric.value for metric in metrics] == list(range(1, 12))
    log = (folder / "logs/worker.log").read_text()
    assert log.count('"step"') == 11
    if pause or way != "outbox":  # that is noticed while the program runs
        assert [note for note in report["notes"] if "deleted files" in note]
    for name in ("control/runner.json", "control/launch.json", "control/runner.lock", "spec.json"):
        assert (folder / name).exists(), name


def test_a_stop(tmp_path: Path) -> None:
    """A polite stop of the run reaches the program, which may save and leave with 0."""
    code = "import signal, time, sys\nsignal.signal(15, lambda *_: sys.exit(0))\nprint('ready'); time.sleep(60)"
    folder = tmp_path / "run"
    runner = start(folder, python(code))
    wait_for_log(folder, b"ready")
    runner.send_signal(signal.SIGTERM)
    report, phase = finish(folder, runner)
    assert (report["code"], report["killed_after_grace"], phase) == (0, False, "stopped")


def test_a_program_that_ignores_the_stop(tmp_path: Path) -> None:
    """After the grace the program is killed with the pipe, and what it emitted before is kept."""
    code = (
        "import signal, time\nsignal.signal(15, signal.SIG_IGN)\n"
        "print('{\"step\": 1, \"m\": 2}'); print('ready'); time.sleep(60)"
    )
    folder = tmp_path / "run"
    runner = start(folder, python(code), grace_s=1)
    wait_for_log(folder, b"ready")
    runner.send_signal(signal.SIGTERM)
    assert runner.wait(60) == 0
    report = json.loads((folder / "control/exit.json").read_text())
    assert report["killed_after_grace"]
    assert report["signal"] == signal.SIGKILL
    kinds = [type(record).__name__ for _, record in read_unshipped(folder, RUN_ID)]
    assert kinds == ["Config", "Lifecycle", "Metric"]
