"""How runs end: stopped, failed, refused."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.cases import CASES
from tests.real_run import finish, finish_child, run, start_child, start_run, wait_for_event
from tests.scripts.odd import add_odd_script

from mosaic_contracts.worker import CheckReport, WorkerDescription
from mosaic_workerkit.testing.recorded import of_type

pytestmark = pytest.mark.timeout(240)


@pytest.mark.nightly(by_day=["ppo", "dqn"])
@pytest.mark.parametrize("algorithm", CASES)
def test_a_stop_in_training_saves_and_ends_well(
    tmp_path: Path, make_spec: Any, algorithm: str
) -> None:
    """SIGTERM in training: a checkpoint of that moment, lifecycle `stopped` as the last word, exit code 0."""
    folder = tmp_path / "run"
    fields = CASES[algorithm].fields | {"steps": 1_000_000, "record": "episodes"}
    child = start_child(folder, make_spec(**fields))
    wait_for_event(folder, "episode", child.is_alive)
    assert child.pid is not None
    os.kill(child.pid, signal.SIGTERM)
    finished = finish_child(child, folder)
    assert finished.code == 0, finished.stderr
    assert finished.events[-1]["type"] == "lifecycle"
    assert finished.events[-1]["phase"] == "stopped"
    checkpoint = of_type(finished.events, "checkpoint")[-1]
    assert checkpoint["reason"] == "stop"
    state = torch.load(folder / checkpoint["path"], weights_only=True)
    assert 0 < state["global_step"] == checkpoint["step"] < 1_000_000
    assert tuple(state["networks"]) == CASES[algorithm].networks


def test_a_stop_during_imports_ends_well(tmp_path: Path, make_spec: Any) -> None:
    """SIGTERM while torch is still being imported: no training begins, and the end is a clean stop."""
    folder = tmp_path / "run"
    process = start_run(folder, make_spec(steps=1_000_000))
    wait_for_event(folder, "config", lambda: process.poll() is None)
    process.send_signal(signal.SIGTERM)
    finished = finish(process, folder)
    assert finished.code == 0, finished.stderr
    assert finished.events[0]["type"] == "config"
    assert finished.events[-1]["phase"] == "stopped"
    assert of_type(finished.events, "step") == []
    assert of_type(finished.events, "checkpoint") == []


def test_a_failing_script_is_reported(tmp_path: Path, make_spec: Any) -> None:
    """A script that raises: the traceback is in a log event and in the worker's log, exit code 1."""
    folder = tmp_path / "run"
    spec = make_spec(algorithm="odd", environment="Endless-v0", parameters={"fail": True})
    finished = run(folder, spec, add_odd_script)
    assert finished.code == 1
    log = [e for e in of_type(finished.events, "log") if e["level"] == "error"]
    assert len(log) == 1
    assert log[0]["message"] == "ArithmeticError: the odd script was made to fail"
    assert "odd_script.py" in log[0]["data"]["traceback"]
    assert "odd_script.py" in finished.stderr
    assert finished.events[-1]["phase"] == "error"


def test_a_refusing_disk_costs_checkpoints_and_not_the_training(
    tmp_path: Path, make_spec: Any
) -> None:
    """A periodic checkpoint that cannot be written is a warning; a final one that cannot is a failed run."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "checkpoints").write_text("a file where the folder should be")
    finished = run(folder, make_spec(steps=1024, checkpoint_every_steps=512, record="episodes"))
    warnings = [e for e in of_type(finished.events, "log") if e["level"] == "warning"]
    periodic = [e for e in warnings if "best" not in e["message"]]
    assert [e["data"]["global_step"] for e in periodic] == [512]
    assert len(warnings) < 8
    assert of_type(finished.events, "metric")[-1]["step"] == 1024
    assert finished.code == 1
    assert finished.events[-1]["phase"] == "error"


def test_a_full_disk_costs_a_checkpoint_and_not_the_training(
    small_disk: Path, make_spec: Any
) -> None:
    """A checkpoint that finds no space is a warning that says so; the next one is written once there is room."""
    folder = small_disk.parent
    (small_disk / "filler").write_bytes(bytes(2**20 - 40 * 2**10))
    spec = make_spec(steps=1_024_000, checkpoint_every_steps=256, record="metrics")
    child = start_child(folder, spec)
    wait_for_event(folder, "log", child.is_alive, lambda event: event["level"] == "warning")
    assert list(small_disk.iterdir()) == [small_disk / "filler"]
    (small_disk / "filler").unlink()
    wait_for_event(folder, "checkpoint", child.is_alive)
    assert child.pid is not None
    os.kill(child.pid, signal.SIGTERM)
    finished = finish_child(child, folder)
    assert finished.code == 0, finished.stderr
    warnings = [e for e in of_type(finished.events, "log") if e["level"] == "warning"]
    assert "No space left on device" in warnings[0]["message"]
    assert "the next one is tried at step" in warnings[0]["message"]
    written = of_type(finished.events, "checkpoint")[0]
    assert written["step"] > warnings[0]["data"]["global_step"]
    torch.load(folder / written["path"], weights_only=True)


def test_a_refused_spec_does_not_train(tmp_path: Path, make_spec: Any) -> None:
    """A run that `check` blocks ends at once, in words and with a non-zero code, when it is started all the same."""
    finished = run(tmp_path / "run", make_spec(environment="Pendulum-v1"))
    assert finished.code == 1
    assert finished.stderr.startswith("PPO acts in discrete spaces only")
    assert "Traceback" not in finished.stderr
    assert [event["phase"] for event in finished.events] == ["error"]
    assert "acts in discrete spaces only" in finished.events[0]["data"]["message"]


def test_describe_and_check_answer_in_json(make_spec: Any) -> None:
    """Both print one model as JSON and nothing else."""
    command = [sys.executable, "-m", "mosaic_worker_cleanrl"]
    described = subprocess.run([*command, "describe"], check=True, capture_output=True)
    assert WorkerDescription.model_validate_json(described.stdout).worker == "cleanrl"
    checked = subprocess.run(
        [*command, "check"],
        check=True,
        capture_output=True,
        input=make_spec(algorithm="dqm").model_dump_json().encode(),
    )
    report = CheckReport.model_validate_json(checked.stdout)
    assert not report.ok
    assert report.findings[0].nearest == ["dqn"]
    assert json.loads(checked.stdout)["ok"] is False
