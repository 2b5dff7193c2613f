"""Processes of a sweep that are killed with -9 at any commit of the study, and one as the scheduler starts it."""

import http.client
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import optuna
import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine
from tests.driving import Driver, post, sweep_spec

from mosaic_contracts.launch import SPEC_FILE
from mosaic_contracts.sweep_exchange import SWEEP_SOCKET, SweepNews, SweepOrders
from mosaic_contracts.sweeps import STUDY_FILE
from mosaic_worker_sweep.worker import SweepWorker
from mosaic_workerkit.entry import main
from mosaic_workerkit.testing.recorded import RUN_ID, of_type, read_events

WAIT_S = 60.0
LIVES = 400


def write_run(folder: Path, attempt: int, sweep: dict[str, Any]) -> None:
    """Make the folder of a sweep's attempt."""
    spec = {"worker": "sweep", "algorithm": "optuna", "environment": "optuna", "kind": "sweep"}
    run = {"run_id": RUN_ID, "attempt": attempt, "spec": {**spec, "outbox_bytes": 2**24, "sweep": sweep}}  # fmt: skip
    folder.mkdir(exist_ok=True)
    (folder / SPEC_FILE).write_text(json.dumps(run), encoding="utf-8")


def forked(folder: Path, commits: int) -> int:
    """Run the worker in a child that is killed after so many commits of the study; return its pid."""
    pid = os.fork()
    if pid:
        return pid
    left, writes = [commits], [False]

    def see(*arguments: Any) -> None:
        writes[0] |= str(arguments[2]).startswith(("INSERT", "UPDATE", "CREATE"))

    def count(_connection: object) -> None:
        if writes[0] and not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= writes[0]
        writes[0] = False

    event.listen(Engine, "before_cursor_execute", see)
    event.listen(Engine, "commit", count)
    code = 1
    try:
        code = main(SweepWorker(), ["sweep", "--run-dir", str(folder)])
    finally:
        os._exit(code)


def talk(folder: Path, pid: int, driver: Driver) -> int | None:
    """Exchange with a process until it ends; return its exit code, negative for a signal."""
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        try:
            driver.orders = post(folder, driver.news())
        except (OSError, http.client.HTTPException):
            time.sleep(0.01)  # it has not begun to listen, or is dying; neither has another sign


@pytest.mark.kill
@pytest.mark.timeout(300)
def test_no_trial_is_doubled_or_lost(tmp_path: Path) -> None:
    """The process is killed at commit after commit; the study and the runs are those of an undisturbed sweep."""
    folder, driver = tmp_path / "run", Driver(pace=500)
    sweep = sweep_spec(
        pruner={"name": "asha", "min_steps": 500}, start_with=[{"x": 0.9}], budget={"trials": 3}
    )
    # What the children would each import again, Optuna's part for a new file included.
    importlib.import_module("mosaic_worker_sweep.loop")
    optuna.create_study(storage=f"sqlite:///{tmp_path}/other.db")
    codes = []
    for life in range(1, LIVES):
        write_run(folder, life, sweep)
        driver.orders = SweepOrders()  # the next process says again what it needs
        codes.append(talk(folder, forked(folder, life * 7 % 19 + 2), driver))
        if codes[-1] == 0:
            break
    assert codes[-1] == 0, codes
    assert set(codes[:-1]) == {-signal.SIGKILL}
    assert len(codes) > 5
    (name,) = optuna.get_all_study_names(f"sqlite:///{folder / STUDY_FILE}")
    study = optuna.load_study(study_name=name, storage=f"sqlite:///{folder / STUDY_FILE}")
    assert len(study.trials) == 3
    assert all(trial.state.is_finished() for trial in study.trials)
    assert Counter(driver.submitted) == {f"{number}/CartPole-v1/1": 1 for number in range(3)}
    for trial in study.trials:
        run = driver.runs[f"{trial.number}/CartPole-v1/1"]
        assert run.has_ended
        assert trial.user_attrs["runs"] == {f"{trial.number}/CartPole-v1/1": run.run_id}
        assert run.spec["parameters"] == trial.params
    assert study.trials[0].params == {"x": 0.9}


def test_a_stop_ends_the_runs_first(tmp_path: Path) -> None:
    """SIGTERM makes the process stop its trials' runs, and end when they have."""
    folder, driver = tmp_path / "run", Driver(pace=50)
    write_run(folder, 1, sweep_spec())
    command = [sys.executable, "-m", "mosaic_worker_sweep", "sweep", "--run-dir", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + WAIT_S
        exchanges = 0
        while exchanges < 3:
            try:
                driver.orders = post(folder, driver.news())
                exchanges += 1
            except OSError:
                assert time.monotonic() < deadline, "it does not listen"
                time.sleep(0.05)  # it has no other sign of that
        assert (folder / SWEEP_SOCKET).stat().st_mode & 0o777 == 0o600
        assert len(driver.orders.follow) == 2
        process.send_signal(signal.SIGTERM)
        while not driver.orders.stop:
            driver.orders = post(folder, SweepNews())
        driver.orders = post(folder, driver.news())
        assert driver.orders.is_over
        output, _ = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0
    assert "Trial 0 stopped: The sweep was stopped." in output
    assert {run.state for run in driver.runs.values()} == {"cancelled"}
    phases = [each["phase"] for each in of_type(read_events(folder), "lifecycle")]
    assert phases.count("stopped") == 1
