"""A sweep in containers: its trials are containers, its study is read while it runs, and it goes on after a stop."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from containers.compose_stack import ComposeStack, engine_answers
from stack_under_test import until

from mosaic_client import Client
from mosaic_contracts.states import RunState
from mosaic_contracts.sweeps import SweepSpec, TrialState

pytestmark = [
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not engine_answers(), reason="no container engine answers here"),
]
SHORT, LONG = 500, 1_000_000
SWEEP = SweepSpec.model_validate(
    {
        "run": {
            "worker": "synthetic",
            "algorithm": "synthetic",
            "environment": "Synthetic-v0",
            "record": "metrics",
            "parameters": {"rate": 1000.0},
        },
        "parameters": {"events": {"type": "categorical", "choices": [SHORT, LONG]}},
        "start_with": [{"events": SHORT}, {"events": LONG}],
        "objectives": [{"metric": "losses/m0", "value": "best"}],
        "budget": {"trials": 2},
        "parallel": 2,
    }
)
WRITE_AHEAD_ALONE = (
    "import sqlite3, sys, pathlib\n"
    "path = pathlib.Path('runs') / sys.argv[1] / 'study' / 'study.db'\n"
    "study = sqlite3.connect(path)\n"
    "study.execute('PRAGMA journal_mode=WAL')\n"
    "study.close()\n"
    "print([each.name for each in path.parent.iterdir()])"
)
"""The study as a worker leaves it that is killed while it closes it."""


def test_a_sweep_is_stopped_and_goes_on(compose: ComposeStack, tmp_path: Path) -> None:
    """The gateway reaches the sweep's socket and its study over the volume, which it has read-only."""
    compose.build_worker("worker_sweep")
    with compose.client() as client:
        first = client.start_sweep(SWEEP).run_id
        wait_for(client, first, [TrialState.COMPLETE, TrialState.RUNNING])
        assert study_states(client, first, tmp_path) == ["COMPLETE", "RUNNING"]
        assert len(compose.run_containers()) == 2
        assert client.best_of_sweep(first).parameters["events"] == SHORT
        client.stop_sweep(first)
        assert compose.wait_final(first).state is RunState.CANCELLED
        assert compose.run_containers() == []
        assert study_states(client, first, tmp_path) == ["COMPLETE", "FAIL"]
        left = compose.compose(
            "exec", "-T", "scheduler", "python", "-c", WRITE_AHEAD_ALONE, first
        ).strip()
        assert left == "['study.db']"
        assert study_states(client, first, tmp_path) == ["COMPLETE", "FAIL"]
        second = client.resume_sweep(first).run_id
        again = [TrialState.COMPLETE, TrialState.STOPPED, TrialState.RUNNING]
        wait_for(client, second, again)
        assert study_states(client, second, tmp_path) == ["COMPLETE", "FAIL", "RUNNING"]
        client.stop_sweep(second)
    assert compose.wait_final(second).state is RunState.CANCELLED
    assert compose.run_containers() == []


def wait_for(client: Client, sweep_id: str, states: list[TrialState]) -> None:
    """Wait until the trials have these states, and a container runs for each that runs."""

    def reached() -> bool:
        trials = sorted(client.trials(sweep_id).trials, key=lambda one: one.number)
        running = [run.state for run in client.runs(parent=sweep_id).runs]
        return [one.state for one in trials] == states and running.count(RunState.RUNNING) == 1

    until(reached, f"the trials of {sweep_id} are {states}", 120)


def study_states(client: Client, sweep_id: str, folder: Path) -> list[str]:
    """States of the trials in a copy of the study."""
    client.download_study(sweep_id, folder / "study.db")
    with closing(sqlite3.connect(folder / "study.db")) as study:
        rows = study.execute("SELECT state FROM trials ORDER BY number").fetchall()
    return [state for (state,) in rows]
