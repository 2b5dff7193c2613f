"""A script ends as it would without MOSAIC, nothing that was heard is lost, and the run says what was not heard."""

import json
import os
import signal
import time
from pathlib import Path

import pytest
from tests.script_run import begin, finish, run_script

from mosaic_contracts.launch import KEPT_NOTES_FILE

LOOP = (
    "import gymnasium as gym\n"
    "env = gym.make('CartPole-v1')\n"
    "def play(steps):\n"
    "    env.reset(seed=1)\n"
    "    for _ in range(steps):\n"
    "        if any(env.step(0)[2:4]):\n"
    "            env.reset()\n"
)


@pytest.mark.nightly(by_day=["import os; os._exit(3)-3-error"])
@pytest.mark.parametrize(
    ("ending", "code", "phase"),
    [
        ("import os; os._exit(3)", 3, "error"),
        ("raise ValueError('no')", 1, "error"),
        ("import os; os.kill(os.getpid(), 9)", -9, "error"),
        ("import sys; sys.stdout.close()", 0, "done"),
        ("import os; os.close(1); os.close(2)", 0, "done"),
        ("import os; os.chdir('/')", 0, "done"),
        ("import os, shutil; shutil.rmtree(os.getcwd())", 0, "done"),
        (
            "import threading; t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()",
            0,
            "done",
        ),
    ],
)
def test_endings(tmp_path: Path, ending: str, code: int, phase: str) -> None:
    """Whatever ends a script, its steps are recorded, and its exit code or signal is the run's."""
    made = run_script(tmp_path, f"{LOOP}play(200)\n{ending}\n")
    assert made.code == code, made.output
    assert made.phases[-1] == phase
    assert len(made.of("step")) == 200


def test_a_process_left_behind(tmp_path: Path) -> None:
    """A daemon that keeps the output open is not waited for."""
    script = (
        LOOP
        + "play(20)\nimport os, time\n"
        + "if os.fork() == 0:\n    os.setsid()\n    open('daemon', 'w').write(str(os.getpid()))\n    time.sleep(600)\n"
        + "while not os.path.exists('daemon'):\n    time.sleep(0.01)\n"
    )
    made = finish(begin(tmp_path, script), tmp_path)
    os.kill(int((tmp_path / "own" / "daemon").read_text()), signal.SIGKILL)
    assert made.code == 0, made.output
    assert len(made.of("step")) == 20


def test_a_stop_reaches_the_script(tmp_path: Path) -> None:
    """SIGTERM of the worker is the script's, which ends in its own way; the run ends as stopped."""
    process = begin(
        tmp_path,
        LOOP + "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n"
        "play(50)\nopen('ready', 'w').close()\n"
        "while True:\n    time.sleep(0.1)\n",
    )
    deadline = time.monotonic() + 60
    while not (tmp_path / "own" / "ready").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    made = finish(process, tmp_path)
    assert made.code == 0, made.output
    assert made.phases[-1] == "stopped"
    assert len(made.of("step")) == 50


@pytest.mark.nightly
def test_much_output(tmp_path: Path) -> None:
    """A script that prints 200 MB while it is heard loses neither steps nor its end."""
    made = run_script(
        tmp_path,
        LOOP
        + "line = 'x' * 999\nfor _ in range(200):\n    print('\\n'.join([line] * 1000))\n    play(10)\n",
    )
    assert made.code == 0
    assert len(made.of("step")) == 2000


@pytest.mark.parametrize(
    ("options", "words"), [(["-I"], "was not listened to"), ([], "Nothing was heard")]
)
def test_what_is_not_heard_is_said(tmp_path: Path, options: list[str], words: str) -> None:
    """A run whose script was not heard, or did nothing that is listened to, has a note that says so."""
    made = run_script(tmp_path, "print('hello')", options=options)
    assert made.code == 0, made.output
    notes = json.loads((tmp_path / "run" / KEPT_NOTES_FILE).read_text("utf-8"))
    assert any(words in note for note in notes.values())


def test_printed_lines_count_until_more_is_heard(tmp_path: Path) -> None:
    """A script with a world of its own that prints JSON lines has them as events."""
    made = run_script(
        tmp_path,
        'print(\'{"global_step": 5, "loss": 0.5}\')\nprint("global_step=9, episodic_return=3.0")\n',
    )
    assert next((m["name"], m["step"], m["value"]) for m in made.of("metric")) == ("loss", 5, 0.5)
    assert [episode["episode_return"] for episode in made.of("episode")] == [3.0]
