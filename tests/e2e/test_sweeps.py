"""A sweep of real trainings: its trials are runs, the best is one more, and its study is Optuna's own file."""

import csv
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from stack_under_test import StackUnderTest, until

from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState
from mosaic_contracts.sweeps import SweepSpec, TrialState

METRIC = "charts/episodic_return"
SWEEP = SweepSpec.model_validate(
    {
        "run": {
            "worker": "cleanrl",
            "algorithm": "ppo",
            "environment": "CartPole-v1",
            "steps": 512,
            "record": "metrics",
            "parameters": {"num_envs": 2, "num_steps": 64, "update_epochs": 1},
        },
        "parameters": {
            "learning_rate": {"type": "float", "low": 1e-4, "high": 1e-2, "log": True},
            "anneal_lr": {"type": "categorical", "choices": [True, False]},
        },
        "start_with": [{"learning_rate": 0.00025}],
        "sampler": {"seed": 1},
        "budget": {"trials": 2},
        "name": "Search",
    }
)


@pytest.fixture(scope="module")
def searched(stack: StackUnderTest) -> RunView:
    """A sweep that has ended."""
    stack.wait_ready()
    with stack.client() as client:
        report = client.check_sweep(SWEEP)
        assert report.ok, report.findings
        assert (report.plan["trials"], report.plan["runs"]) == (2, 2)
        made = client.start_sweep(SWEEP)
    view = stack.wait_final(made.run_id, within_s=240)
    assert view.state is RunState.SUCCEEDED, view.end
    return view


@pytest.mark.nightly
def test_every_trial_is_a_run_whose_curve_gives_its_value(
    stack: StackUnderTest, searched: RunView
) -> None:
    """Each run has its key and its parameters; the value is the mean of the last points of its stored curve."""
    with stack.client() as client:
        trials = {one.number: one for one in client.trials(searched.run_id).trials}
        runs = client.runs(parent=searched.run_id).runs
        assert sorted(trials) == [0, 1]
        assert {run.trial for run in runs} == {f"{n}/CartPole-v1/1" for n in trials}
        assert {one.state for one in trials.values()} == {TrialState.COMPLETE}
        for run in runs:
            trial = trials[int(str(run.trial).partition("/")[0])]
            assert trial.runs == {run.trial: run.run_id}
            assert trial.parameters == {
                name: run.spec.parameters[name] for name in SWEEP.parameters
            }
            values = client.curve(run.run_id, METRIC, last=20).values
            assert values is not None
            assert trial.values == pytest.approx([sum(values) / len(values)])
            assert trial.steps == 512
        assert trials[0].parameters["learning_rate"] == 0.00025
        view = client.sweep(searched.run_id)
        best = max(trials.values(), key=lambda one: (one.values or [0.0])[0])
        assert (view.counts, view.best[0].number) == ({TrialState.COMPLETE: 2}, best.number)
        (progress,) = {(run.step, run.total_steps) for run in client.runs(kind="sweep").runs}
        assert progress == (2, 2)


@pytest.mark.nightly
def test_the_best_runs_from_its_file_and_an_export_holds_the_study(
    stack: StackUnderTest, searched: RunView, tmp_path: Path
) -> None:
    """`sweep best` writes what `run -f` takes; the exported study is an SQLite file with all trials."""
    said = stack.cli("sweep", "best", searched.run_id)
    assert said.returncode == 0, said.stderr
    (tmp_path / "best.yaml").write_text(said.stdout)
    checked = stack.cli("check", "-f", str(tmp_path / "best.yaml"))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    out = tmp_path / "out"
    done = stack.cli("sweep", "export", searched.run_id, "--to", str(out))
    assert done.returncode == 0, done.stderr
    assert len(list(csv.DictReader((out / "trials.csv").read_text().splitlines()))) == 2
    with closing(sqlite3.connect(out / "study.db")) as study:
        states = study.execute("SELECT number, state FROM trials ORDER BY number").fetchall()
    assert states == [(0, "COMPLETE"), (1, "COMPLETE")]


def test_a_stopped_sweep_leaves_no_trial_running_and_goes_on_later(stack: StackUnderTest) -> None:
    """Its trials end with it. Resumed, it takes the study over, and no trial is made twice."""
    run = {
        "worker": "synthetic",
        "algorithm": "synthetic",
        "environment": "Synthetic-v0",
        "record": "metrics",
        "parameters": {"rate": 400.0, "events": 40_000},
    }
    sweep = SweepSpec.model_validate(
        {
            "run": run,
            "parameters": {"pad": {"type": "int", "low": 0, "high": 64}},
            "objectives": [{"metric": "losses/m0", "value": "best"}],
            "budget": {"trials": 3},
        }
    )
    with stack.client() as client:
        first = client.start_sweep(sweep)

        def trials_run() -> bool:
            states = [run.state for run in client.runs(parent=first.run_id).runs]
            return states.count(RunState.RUNNING) == 2

        until(trials_run, "two trials run", 60)
        client.stop_sweep(first.run_id)
        assert stack.wait_final(first.run_id).state is RunState.CANCELLED
        left = client.runs(parent=first.run_id).runs
        assert {stack.wait_final(one.run_id).state for one in left} == {RunState.CANCELLED}
        ended = {one.number: one.state for one in client.trials(first.run_id).trials}
        assert set(ended.values()) == {TrialState.STOPPED}
        second = client.resume_sweep(first.run_id, parallel=1)
        until(lambda: client.runs(parent=second.run_id).runs, "a trial of the next sweep", 60)

        def are_taken_over() -> bool:
            taken = {one.number: one.state for one in client.trials(second.run_id).trials}
            return taken.items() >= ended.items()

        until(are_taken_over, "the trials of the first sweep are stored with the second", 60)
        client.stop_sweep(second.run_id)
        stack.wait_final(second.run_id)
