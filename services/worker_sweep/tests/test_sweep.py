"""A sweep's decisions, from the news of runs to orders, study and events."""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import optuna
import pytest
from tests.driving import METRIC, STEPS, Driver, sweep_spec
from tests.sweeping import Swept

from mosaic_contracts.sweep_exchange import SweepOrders
from mosaic_contracts.sweeps import STUDY_FILE, TrialState
from mosaic_workerkit.testing.recorded import of_type, read_events


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_sweep_from_the_first_trial_to_the_last(tmp_path: Path) -> None:
    """Never more trials than permitted at once; values, steps, curves and study agree."""
    swept, driver = Swept(tmp_path, sweep_spec(seeds=[1, 2])), Driver()
    orders = swept.exchange()
    assert [order.key for order in orders.start] == [
        f"{trial}/CartPole-v1/{seed}" for trial in (0, 1) for seed in (1, 2)
    ]
    first = orders.start[0].spec
    assert first["parameters"].keys() == {"x"}
    assert first["name"] == "a sweep #0 seed 1"
    assert first["parent"]
    swept.drive(driver)
    records = swept.records()
    assert list(records) == list(range(6))
    assert set(swept.states()) == {TrialState.COMPLETE}
    assert all(record.steps == 2 * STEPS and len(record.runs) == 2 for record in records.values())
    study = optuna.load_study(study_name="a sweep", storage=f"sqlite:///{STUDY_FILE}")
    assert [trial.values for trial in study.trials] == [records[at].values for at in range(6)]
    assert swept.recorder.best == records[study.best_trial.number]
    metrics = of_type(read_events(tmp_path), "metric")
    curve = [each["value"] for each in metrics if each["name"] == "sweep/best_value"]
    assert curve == sorted(curve)
    assert len(curve) == 6
    swept.close()


def test_a_killed_sweep_goes_on_with_the_same_trials(tmp_path: Path) -> None:
    """What ran is stale until something is heard of it; then it ends as if nothing had been."""
    driver = Driver()
    swept = Swept(tmp_path, sweep_spec())
    swept.drive(driver, until=lambda orders: any(f.cursor == "500" for f in orders.follow))
    swept.close()
    again = Swept(tmp_path, sweep_spec())
    assert again.states().count(TrialState.STALE) == 2
    orders = again.sweep.orders()
    assert [each.cursor for each in orders.follow] == ["", ""]
    assert not orders.start
    again.drive(driver)
    assert again.states() == [TrialState.COMPLETE] * 6
    assert Counter(driver.submitted) == {f"{number}/CartPole-v1/1": 1 for number in range(6)}
    assert [again.records()[n].steps for n in range(6)] == [STEPS] * 6
    again.close()


def test_news_that_come_twice_count_once(tmp_path: Path) -> None:
    """An answer that was lost makes the gateway send the same points again."""
    swept, driver = Swept(tmp_path, sweep_spec(parallel=1)), Driver()
    driver.orders = swept.exchange()
    first = driver.news()
    swept.sweep.exchange(first)
    driver.orders = swept.sweep.exchange(first)
    assert driver.orders.follow[0].cursor == "250"
    swept.drive(
        driver, until=lambda orders: "0/CartPole-v1/1" not in {f.key for f in orders.follow}
    )
    x = swept.records()[0].parameters["x"]
    expected = x * sum(range(50, 1050, 50)) / STEPS / 20
    assert swept.records()[0].values == pytest.approx([expected])
    swept.close()


@pytest.mark.nightly(by_day=["median"])
@pytest.mark.parametrize("pruner", ["asha", "median", "hyperband"])
def test_pruned_trials_stop_their_runs(tmp_path: Path, pruner: str) -> None:
    """A trial that is pruned stops its runs, and ends when they have."""
    spec = sweep_spec(
        pruner={"name": pruner, "min_steps": 100, "startup_trials": 2}, budget={"trials": 12}
    )
    swept, driver = Swept(tmp_path, spec), Driver(pace=100)
    swept.drive(driver)
    states = Counter(swept.states())
    assert states[TrialState.PRUNED] > 0
    assert states[TrialState.COMPLETE] > 0
    assert sum(states.values()) == 12
    for number, record in swept.records().items():
        run = driver.runs[f"{number}/CartPole-v1/1"]
        assert run.state == ("cancelled" if record.state is TrialState.PRUNED else "succeeded")
        assert record.steps == run.step
        assert record.reason.startswith(pruner) == (record.state is TrialState.PRUNED)
    swept.close()


FAILED, CRASHED = TrialState.FAILED, TrialState.CRASHED
COMPLETE_RUN = {"state": "succeeded", "is_complete": True, "metrics": ["a", "b"]}
NAN = [{"metric": METRIC, "steps": [1], "values": ["NaN"]}]


@pytest.mark.parametrize(
    ("news", "state", "reason"),
    [
        ({"state": "failed", "message": "exit code 1"}, FAILED, "ended as failed: exit code 1"),
        ({"state": "failed", "run_id": None, "message": "no game"}, FAILED, "was refused: no game"),
        ({"state": "crashed"}, CRASHED, "ended as crashed"),
        ({"state": "interrupted"}, CRASHED, "ended as interrupted"),
        ({"state": "timed_out"}, CRASHED, "ended as timed_out"),
        ({"state": "cancelled"}, TrialState.STOPPED, "ended as cancelled"),
        (COMPLETE_RUN, FAILED, f"no metric {METRIC!r}. It recorded: a, b."),
        ({**COMPLETE_RUN, "points": NAN}, FAILED, "is nan"),
    ],
)
def test_how_a_run_ends_decides_its_trial(
    tmp_path: Path, news: dict[str, Any], state: TrialState, reason: str
) -> None:
    """Only this trial is affected: the other one goes on, and a further one begins."""
    swept = Swept(tmp_path, sweep_spec(seeds=[1, 2], parallel=1))
    swept.exchange()
    keys = ["0/CartPole-v1/1", "0/CartPole-v1/2"]
    running = [{"key": key, "run_id": f"r{key}", "state": "running"} for key in keys]
    ended = [{**running[0], **news}, running[1]]
    orders = swept.exchange(runs=ended)
    if news["state"] == "succeeded":
        assert not orders.stop
        orders = swept.exchange(runs=[{**running[1], **news, "run_id": "r2"}])
    else:
        assert orders.stop == [f"r{keys[1]}"]
        orders = swept.exchange(runs=[{**running[1], "state": "cancelled"}])
    record = swept.records()[0]
    assert record.state is state
    assert reason in record.reason
    assert [order.key[:2] for order in orders.start] == ["1/", "1/"]
    swept.close()


def test_trials_that_all_fail_alike_end_the_sweep(tmp_path: Path) -> None:
    """The budget is not spent on what cannot work. A trial that still runs is stopped."""
    swept = Swept(tmp_path, sweep_spec(parallel=3, budget={"trials": 50}))
    orders = swept.exchange()
    for _ in range(4):
        running, *rest = orders.start
        failed = [{"key": e.key, "state": "failed", "message": "No game."} for e in rest]
        orders = swept.exchange(runs=failed)
        orders.start.sort(key=lambda each: each.key != running.key)
    assert "The first 6 trials failed" in swept.sweep.hopeless
    assert "was refused: No game." in swept.sweep.hopeless
    assert [order.key for order in orders.start] == ["0/CartPole-v1/1"]
    assert swept.exchange(
        runs=[{"key": "0/CartPole-v1/1", "run_id": "r", "state": "running"}]
    ).stop == ["r"]
    assert swept.exchange(
        runs=[{"key": "0/CartPole-v1/1", "run_id": "r", "state": "cancelled"}]
    ).is_over
    assert swept.states() == [TrialState.STOPPED, *[FAILED] * 6]
    swept.close()


def test_budgets_and_stops(tmp_path: Path) -> None:
    """Steps and wall time of all attempts count; a stop ends trials at once, or lets them finish."""
    now = [0.0]
    swept = Swept(tmp_path / "a", sweep_spec(budget={"trials": 50, "steps": 3_000}), clock=lambda: now[0])  # fmt: skip
    swept.drive(Driver())
    assert sum(record.steps for record in swept.records().values()) == 4_000
    swept.close()

    spec = sweep_spec(budget={"trials": 50, "wall_time_s": 100})
    driver = Driver()
    swept = Swept(tmp_path / "b", spec, clock=lambda: now[0])
    swept.exchange()
    now[0] = 60.0
    swept.sweep.tick()
    swept.close()
    now[0] = 0.0
    swept = Swept(tmp_path / "b", spec, clock=lambda: now[0])
    now[0] = 41.0
    swept.drive(driver)
    assert len(swept.records()) == 2
    swept.close()

    swept, driver = Swept(tmp_path / "c", sweep_spec()), Driver()
    swept.drive(driver, until=lambda orders: len(orders.follow) == 2)
    swept.sweep.stop(let_finish=True)
    swept.drive(driver)
    assert swept.states() == [TrialState.COMPLETE] * 2
    swept.close()

    swept, driver = Swept(tmp_path / "d", sweep_spec()), Driver()
    swept.drive(driver, until=lambda orders: len(orders.follow) == 2)
    swept.sweep.stop(let_finish=False)
    assert len(swept.sweep.orders().stop) == 2
    swept.drive(driver)
    assert swept.states() == [TrialState.STOPPED] * 2
    swept.close()

    swept = Swept(tmp_path / "e", sweep_spec())
    assert len(swept.exchange().start) == 2
    assert len(swept.exchange(waits="The sweep starts no more trials.").start) == 2
    swept.sweep.stop(let_finish=False)
    assert swept.exchange(waits="The sweep starts no more trials.").is_over
    assert swept.states() == [TrialState.STOPPED] * 2
    swept.close()


def test_a_sweep_goes_on_with_the_study_of_another(tmp_path: Path) -> None:
    """What was stopped or crashed is tried again, what ran is begun again, and all else counts."""
    swept, driver = Swept(tmp_path / "first", sweep_spec()), Driver()
    swept.drive(driver, until=lambda orders: {f.key[0] for f in orders.follow} == {"2", "3"})
    driver.runs["2/CartPole-v1/1"].state = "crashed"
    swept.drive(driver, until=lambda orders: {f.key[0] for f in orders.follow} == {"3", "4"})
    parameters = {number: each.parameters for number, each in swept.records().items()}
    values = [swept.records()[number].values for number in (0, 1)]
    swept.close()
    for name in ("study.db", "study.db-wal"):
        given = tmp_path / "second" / "inputs" / "study"
        given.mkdir(parents=True, exist_ok=True)
        (given / name).write_bytes((tmp_path / "first" / "study" / name).read_bytes())
    other = "01ARZ3NDEKTSV4RRFFQ69G5FAW"
    again, driver = Swept(tmp_path / "second", sweep_spec(), sweep_id=other), Driver()
    again.drive(driver)
    complete, crashed = TrialState.COMPLETE, TrialState.CRASHED
    assert again.states() == [complete, complete, crashed, *[complete] * 4]
    records = again.records()
    assert [records[number].values for number in (0, 1)] == values
    assert records[5].parameters == parameters[2]
    assert [records[number].parameters for number in (3, 4)] == [parameters[3], parameters[4]]
    assert sorted(driver.submitted) == [f"{number}/CartPole-v1/1" for number in (3, 4, 5, 6)]
    assert (again.recorder.ended, again.recorder.completed) == (6, 6)
    again.close()


def test_a_sweep_that_was_interrupted_tries_again_what_it_stopped(tmp_path: Path) -> None:
    """SIGTERM of a shutdown stops the trials; the next process in the folder begins them once more."""
    swept, driver = Swept(tmp_path, sweep_spec()), Driver()
    swept.drive(driver, until=lambda orders: len(orders.follow) == 2)
    driver.runs["0/CartPole-v1/1"].state = "interrupted"
    swept.sweep.stop(let_finish=False)
    driver.orders = SweepOrders(
        follow=[each for each in driver.orders.follow if each.key[0] == "0"]
    )
    swept.sweep.exchange(driver.news())
    assert swept.states() == [TrialState.STOPPED, TrialState.RUNNING]
    swept.close()
    again = Swept(tmp_path, sweep_spec())
    again.drive(driver)
    stopped = [TrialState.STOPPED] * 2
    assert again.states() == [*stopped, *[TrialState.COMPLETE] * 6]
    first, second = (again.records()[number].parameters for number in (0, 1))
    assert {str(again.records()[number].parameters) for number in (2, 3)} == {
        str(first),
        str(second),
    }
    assert again.recorder.ended == 6
    again.close()


@pytest.mark.nightly(by_day=["tpe"])
@pytest.mark.parametrize("name", ["tpe", "cmaes", "nsga2", "grid"])
def test_samplers_repeat_nothing_after_restarts(tmp_path: Path, name: str) -> None:
    """Each trial draws something else, whenever the process began. A grid has each point once, and ends."""
    spec = sweep_spec(
        sampler={"name": name, "seed": 5, "startup_trials": 3, "population": 3},
        parameters={
            "x": {"type": "float", "low": 0, "high": 1, **({"step": 0.5} if name == "grid" else {})},
            "y": {"type": "int", "low": 0, "high": 1 if name == "grid" else 1000},
        },
        start_with=[{"x": 0.5, "y": 1}],
        budget={"trials": 7},
        parallel=1,
    )  # fmt: skip
    driver = Driver(pace=STEPS)
    for _ in range(2):
        swept = Swept(tmp_path, spec)
        for _ in range(3):
            driver.orders = swept.sweep.exchange(driver.news())
        swept.close()
    swept = Swept(tmp_path, spec)
    swept.drive(driver)
    points = [tuple(record.parameters.values()) for record in swept.records().values()]
    assert points[0] == (0.5, 1)
    assert swept.states() == [TrialState.COMPLETE] * 7
    # A grid may begin with one of its points; NSGA-II takes parents over as they are.
    assert len(set(points)) == {"grid": 6}.get(name, 7) or name == "nsga2"
    assert len(set(points)) > 4
    swept.close()


def test_two_objectives(tmp_path: Path) -> None:
    """Both have a value, and there is no single best trial."""
    spec = sweep_spec(
        objectives=[{}, {"direction": "minimize", "value": "area"}], sampler={"name": "nsga2"}
    )
    swept = Swept(tmp_path, spec)
    swept.drive(Driver())
    assert all(len(record.values or []) == 2 for record in swept.records().values())
    assert swept.recorder.best is None
    swept.close()


def test_a_sweep_begins_without_what_its_end_needs() -> None:
    """The estimate of importances brings scikit-learn, which takes longer to import than all the rest."""
    code = "import sys, mosaic_worker_sweep.loop\nassert not {'sklearn', 'scipy.stats'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_importance_of_parameters(tmp_path: Path) -> None:
    """The parameter that decides has nearly all of it."""
    spec = sweep_spec(
        parameters={name: {"type": "float", "low": 0, "high": 1} for name in "xyz"},
        budget={"trials": 16},
        parallel=8,
    )
    swept = Swept(tmp_path, spec)
    swept.drive(Driver(pace=STEPS))
    swept.sweep.close(30)
    (event,) = of_type(read_events(tmp_path), "sweep.importance")
    assert event["data"]["trials"] == 16
    assert event["data"]["importances"]["x"] > 0.7
    swept.close()
