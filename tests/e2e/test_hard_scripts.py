"""Scripts that are hard on the machine they run on: their end is true, nothing of them is left, the stack goes on."""

import json
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from stack_under_test import REPEAT, VENVS, StackUnderTest, until

from mosaic_contracts.runs import RunView
from mosaic_contracts.states import EndCause, RunState, StopStep

LOOP = """
import gymnasium as gym
env = gym.make("CartPole-v1")
def play(steps):
    env.reset(seed=1)
    for _ in range(steps):
        if any(env.step(0)[2:4]):
            env.reset()
play(200)
"""
STEPS = 200
DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        # It ignores what is polite, closes its files, and its environment names no run.
        code = "import os, signal, time\\n" \\
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\\n" \\
            "os.chdir('/')\\nos.closerange(0, 100)\\n" \\
            f"open({os.getcwd()!r} + '/daemon', 'w').write(str(os.getpid()))\\ntime.sleep(3600)\\n"
        os.execve(sys.executable, [sys.executable, "-c", code], {})
    os._exit(0)
os.wait()
while not os.path.exists("daemon") or not open("daemon").read():
    time.sleep(0.01)
"""
DEAF_TO_SIGTERM = """
import signal, sys, time
def asked(*_):
    time.sleep(8)
    open("saved", "w").close()
    sys.exit(0)
signal.signal(signal.SIGTERM, asked)
open("ready", "w").close()
while True:
    time.sleep(1)
"""
FIVE_GB = 5 * 10**9
LARGE_FILE = f"""
import os
for path in ("large.bin", os.path.join(os.environ["MOSAIC_RUN_DIR"], "large.bin")):
    with open(path, "wb") as file:
        file.truncate({FIVE_GB})
        file.seek(-1, 2)
        file.write(b"x")
"""
MEGABYTES = 250 * REPEAT
MUCH_OUTPUT = f"""
import os
line = b"x" * 999 + b"\\n"
for _ in range({MEGABYTES}):
    left = memoryview(line * 1000)
    while left:
        left = left[os.write(1, left):]
play(200)
"""


@dataclass(frozen=True)
class HardScripts:
    """Runs scripts in folders of their own below one folder."""

    stack: StackUnderTest
    folder: Path

    def begin(self, name: str, script: str, *options: str) -> str:
        """Start a script and return the run's id."""
        own = self.folder / name
        own.mkdir()
        (own / "train.py").write_text(script)
        python = str(VENVS / "worker_play" / "bin" / "python")
        words = ["run", "train.py", "--python", python, "--yes", "--json", "-d", *options]
        made = self.stack.cli(*words, cwd=own)
        assert made.returncode == 0, made.stderr
        return str(json.loads(made.stdout)["run_id"])

    def end(self, run_id: str, steps: int = STEPS) -> RunView:
        """Wait for the run's end; all steps are stored, and no process of it is left."""
        view = self.stack.wait_final(run_id, within_s=150)
        assert self.stack.processes_of(run_id) == []
        assert view.summary is not None
        assert (view.summary.steps, view.summary.gaps) == (steps, 0), view.end
        return view


@pytest.fixture
def scripts(stack: StackUnderTest, tmp_path: Path) -> HardScripts:
    """Runs scripts on the stack."""
    return HardScripts(stack, tmp_path)


@pytest.mark.nightly(
    by_day=[
        "deletes-folder-import os, shutil; shutil.rmtree(os.getcwd()); play(0)-succeeded-0",
    ]
)
@pytest.mark.parametrize(
    ("name", "ending", "state", "code"),
    [
        ("closes-stdout", "import os; os.close(1); os.close(2)", RunState.SUCCEEDED, 0),
        ("changes-folder", "import os; os.chdir('/')", RunState.SUCCEEDED, 0),
        (
            "deletes-folder",
            "import os, shutil; shutil.rmtree(os.getcwd()); play(0)",
            RunState.SUCCEEDED,
            0,
        ),
        ("exits-at-once", "import os; os._exit(3)", RunState.FAILED, 3),
        (
            "raises-in-a-thread",
            "import threading; t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()",
            RunState.SUCCEEDED,
            0,
        ),
    ],
)
def test_an_end_is_true(
    scripts: HardScripts, name: str, ending: str, state: RunState, code: int
) -> None:
    """However a script ends, its run has its state and exit code, and every step is stored."""
    view = scripts.end(scripts.begin(name, LOOP + ending))
    assert view.end is not None
    assert (view.state, view.end.exit_code) == (state, code)


def test_a_daemon_ends_with_its_run(scripts: HardScripts) -> None:
    """A daemon that hides from its parent, ignores SIGTERM and has an empty environment is killed with the run."""
    view = scripts.end(scripts.begin("daemon", LOOP + DAEMON))
    assert view.state is RunState.SUCCEEDED
    pid = int((scripts.folder / "daemon" / "daemon").read_text())
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


@pytest.mark.nightly
def test_a_script_that_takes_its_time_to_stop(scripts: HardScripts) -> None:
    """SIGTERM may be answered after 8 s, when the run's grace is longer; with a grace of 1 s the script is killed."""
    patient = scripts.begin("patient", LOOP + DEAF_TO_SIGTERM)
    hasty = scripts.begin("hasty", LOOP + DEAF_TO_SIGTERM, "--set", "grace_s=1")
    for name, run_id in (("patient", patient), ("hasty", hasty)):
        until((scripts.folder / name / "ready").exists, f"{name} waits for a signal", 120)
        assert scripts.stack.cli("stop", run_id).returncode == 0
    for name, run_id, step in (
        ("patient", patient, StopStep.ASKED),
        ("hasty", hasty, StopStep.KILLED),
    ):
        view = scripts.end(run_id)
        assert view.state is RunState.CANCELLED, view.end
        assert view.end is not None
        assert (view.end.cause, view.end.stop_step) == (EndCause.STOPPED_BY_USER, step)
        assert (scripts.folder / name / "saved").exists() == (name == "patient")


@pytest.mark.nightly
def test_a_large_file(scripts: HardScripts) -> None:
    """A file of 5 GB in the folder of the run is in its manifest with its size."""
    run_id = scripts.begin("large", LOOP + LARGE_FILE)
    view = scripts.end(run_id)
    assert view.state is RunState.SUCCEEDED
    listed = scripts.stack.cli("artifacts", run_id, "--all", "--json").stdout
    assert FIVE_GB in [entry["bytes"] for entry in json.loads(listed)["entries"]], listed
    large = scripts.stack.run_dir(run_id) / "large.bin"
    large.unlink()  # other tests read all files of the stack


@pytest.mark.nightly
def test_much_output(scripts: HardScripts) -> None:
    """A script that prints hundreds of megabytes has all of them in its log, and its steps in the store."""
    run_id = scripts.begin("much", LOOP + MUCH_OUTPUT)
    view = scripts.end(run_id, 2 * STEPS)
    assert view.state is RunState.SUCCEEDED
    log = scripts.stack.run_dir(run_id) / "logs" / "worker.log"
    assert log.stat().st_size >= MEGABYTES * 10**6
    log.unlink()  # the other tests of this stack need the room
    assert scripts.stack.is_ready()
