"""Sweeps: what is refused, the runs of their trials, what a kill leaves, and a sweep that goes on with another one."""

from typing import Any

import pytest
from tests.records import make_record
from tests.script_worker import script_worker
from tests.stack import SPEC, Stack, until

from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord, StoredSpec
from mosaic_contracts.services import (
    DeleteRequest,
    ListRequest,
    RunRecords,
    RunRequest,
    SweepOrder,
    SweepResumption,
    TrialOrder,
)
from mosaic_contracts.spec import RunKind
from mosaic_contracts.states import RunState
from mosaic_contracts.sweeps import STUDY_INPUT
from mosaic_contracts.worker import CheckReport
from mosaic_scheduler.executors.run_folder import RUNNER_MODULE
from mosaic_scheduler.reconcile.left_trials import left_trials
from mosaic_scheduler.runs.parsed import StoredRun

pytestmark = [pytest.mark.broker, pytest.mark.shared_stack]
SEARCHES = """\
study = pathlib.Path("study")
study.mkdir(exist_ok=True)
with (study / "study.db").open("a") as file:
    file.write("began\\n")
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
while True:
    time.sleep(0.02)
"""
"""A worker that notes each start in its study and ends when it is asked to."""
SWEEP: dict[str, Any] = {
    "run": {**SPEC, "record": "metrics", "steps": 2_000, "parameters": {"rate": 100.0}},
    "parameters": {"save_every": {"type": "int", "low": 100, "high": 1_000}},
    "budget": {"trials": 6},
    "seeds": [1, 2],
}
TRIAL: dict[str, Any] = {
    "seed": 2,
    "parameters": {"rate": 100.0, "save_every": 200},
    "name": "s #0",
}


def install(stack: Stack) -> None:
    """Give the stack a worker of sweeps."""
    answer = {"ok": True, "findings": [], "plan": {"sampler": "tpe"}}
    script_worker(stack, "sweep", answer, SEARCHES, {"id": "optuna"}, modes=("sweep",))


async def start(stack: Stack, **changes: Any) -> RunRecord:
    """Start a sweep, and wait until its worker is there."""
    install(stack)
    made = await stack.ask("sweep", SweepOrder(sweep={**SWEEP, **changes}))
    await wait_begun(stack, made.run_id, 1)
    return made


async def wait_begun(stack: Stack, run_id: str, times: int) -> None:
    """Wait until the worker of a sweep has begun so often."""
    study = stack.worker_file(run_id, "study/study.db")

    async def has_begun() -> bool:
        return study.exists() and study.read_text().count("began") == times

    await until(has_begun)


async def trial(stack: Stack, sweep: str, key: str, **changes: Any) -> RunRecord:
    """Order a run of a trial."""
    return await stack.ask("trial", TrialOrder(run_id=sweep, key=key, spec={**TRIAL, **changes}))


async def refused(stack: Stack, **changes: Any) -> ProblemError:
    """Why a sweep is refused."""
    with pytest.raises(ProblemError) as caught:
        await stack.ask("sweep", SweepOrder(sweep={**SWEEP, **changes}))
    return caught.value


async def test_a_sweep_is_refused_with_the_paths_of_its_fields(stack: Stack) -> None:
    """Everything that is wrong is said at once, where the user wrote it; what is right is counted."""
    install(stack)
    run = {**SWEEP["run"], "parameters": {"rate": -1.0, "save_every": 3}, "internet": "maybe"}
    error = await refused(stack, run=run)
    assert [field["where"] for field in error.problem.fields] == ["sweep.run.internet"]
    run.pop("internet")
    parameters = {
        "save_every": {"type": "float", "low": 10, "high": 100},
        "sav_every": {"type": "int", "low": 1, "high": 2},
        "rate": {"type": "categorical", "choices": [1.0, "fast"]},
    }
    error = await refused(
        stack,
        run={**run, "cpus": 1_000},
        parameters=parameters,
        environments=["Nowhere-v0"],
    )
    said = {field["where"]: field["message"] for field in error.problem.fields}
    assert set(said) == {
        "sweep.environments.0",
        "sweep.run.cpus",
        "sweep.run.parameters.save_every",
        "sweep.run.parameters.rate",
        "sweep.parameters.save_every",
        "sweep.parameters.sav_every",
        "sweep.parameters.rate.choices.1",
    }
    assert "did you mean 'save_every'" in said["sweep.parameters.sav_every"]
    error = await refused(stack, run={**run, "worker": "nobody"})
    assert error.problem.fields[0]["where"] == "sweep.run.worker"
    error = await refused(stack, parameters={"a": {"type": "float", "low": 2, "high": 1}})
    assert error.problem.fields[0]["where"].startswith("sweep.parameters.a")
    order = SweepOrder(sweep=SWEEP, dry_run=True)
    report = await stack.bus.request("scheduler", "sweep", order, CheckReport, timeout_s=20)
    assert report.ok
    assert report.plan == {
        "sampler": "tpe",
        "trials": 6,
        "runs": 12,
        "trials_at_once": 2,
        "steps_at_most": 24_000,
    }


@pytest.mark.nightly
async def test_a_run_of_a_trial_is_made_once_and_ends_with_its_sweep(stack: Stack) -> None:
    """It takes its own fields from the order and all else from the sweep; a run that a user adds goes on."""
    sweep = await start(stack)
    assert (sweep.spec.kind, sweep.name) == (RunKind.SWEEP, "Sweep of synthetic on Synthetic-v0")
    slow = {"rate": 20.0, "save_every": 200}
    made = await trial(stack, sweep.run_id, "0/Synthetic-v0/2", parameters=slow, cpus=64)
    again = await trial(stack, sweep.run_id, "0/Synthetic-v0/2", seed=9)
    assert again.run_id == made.run_id
    assert (made.spec.parent, made.trial) == (sweep.run_id, "0/Synthetic-v0/2")
    assert (made.spec.seed, made.spec.cpus, made.spec.steps) == (2, 1, 2_000)
    own = await stack.submit(parent=sweep.run_id, parameters=slow)
    await stack.wait_state(made.run_id, RunState.RUNNING)
    asked = ListRequest(parent=sweep.run_id, trials=False)
    alone = await stack.bus.request("scheduler", "list", asked, RunRecords)
    assert [one.run_id for one in alone.runs] == [own.run_id]
    await stack.stop(sweep.run_id)
    assert (await stack.wait_end(sweep.run_id)).state is RunState.CANCELLED
    assert (await stack.wait_end(made.run_id)).state is RunState.CANCELLED
    assert not (await stack.get(own.run_id)).state.is_final
    with pytest.raises(ProblemError) as caught:
        await trial(stack, sweep.run_id, "1/Synthetic-v0/2")
    assert caught.value.problem.code == ProblemCode.RUN_ENDED
    await stack.ask("delete", DeleteRequest(run_id=made.run_id, now=True))

    async def is_gone() -> bool:
        return not stack.worker_file(made.run_id, "").exists()

    await until(is_gone)


@pytest.mark.nightly
async def test_a_sweep_has_the_consent_of_its_trials(stack: Stack) -> None:
    """What the trials need is agreed to once, in the run of the sweep; no trial asks its worker again."""
    install(stack)
    needs = {"ok": True, "findings": [], "needs": ["sends to W&B"]}
    properties = {"lr": {"type": "number", "minimum": 0}}
    schema = {"parameters": {"type": "object", "properties": properties}}
    script_worker(stack, "needy", needs, "time.sleep(60)", schema)
    run = {"worker": "needy", "algorithm": "a", "environment": "E-v0", "consent": "no"}
    search = {"parameters": {"lr": {"type": "float", "low": 0.1, "high": 0.9}}, "seeds": []}
    field, *others = (await refused(stack, run=run, **search)).problem.fields
    assert (field["where"], others) == ("sweep.run.consent", [])
    (digest,) = field["nearest"]
    sweep = await start(stack, run={**run, "consent": digest}, **search)
    made = await trial(stack, sweep.run_id, "0/E-v0/1", parameters={"lr": 0.3}, seed=1)
    assert (made.spec.consent, made.spec.parameters) == (digest, {"lr": 0.3})
    high = {"lr": {"type": "float", "low": -1, "high": 0.9}}
    error = await refused(stack, run={**run, "consent": digest}, **{**search, "parameters": high})
    assert "sweep.parameters.lr.low" in {field["where"] for field in error.problem.fields}


async def test_a_killed_sweep_goes_on_in_its_folder(stack: Stack) -> None:
    """After a kill its next attempt finds its study, and its trials go on meanwhile."""
    sweep = await start(stack)
    made = await trial(stack, sweep.run_id, "0", parameters={"rate": 20.0, "save_every": 200})
    stack.kill(stack.process(sweep.run_id, RUNNER_MODULE))
    await wait_begun(stack, sweep.run_id, 2)
    record = await stack.get(sweep.run_id)
    assert (record.attempt, record.state.is_final) == (2, False)
    assert "goes on with the study" in record.notes[-1]
    assert not (await stack.get(made.run_id)).state.is_final


@pytest.mark.nightly
async def test_an_ended_sweep_is_resumed_with_its_study(stack: Stack) -> None:
    """A new run takes the study over. Resumed once more, the first one leads to the newest."""
    first = await start(stack)
    with pytest.raises(ProblemError) as caught:
        await stack.ask("resume", RunRequest(run_id=first.run_id))
    assert caught.value.problem.code == ProblemCode.RUN_LIVE
    await stack.stop(first.run_id)
    await stack.wait_end(first.run_id)
    order = SweepResumption(run_id=first.run_id, resume={"budget": {"trials": 9}})
    second = await stack.ask("resume_sweep", order)
    assert second.spec.sweep is not None
    assert (second.spec.parent, second.spec.sweep.continues) == (first.run_id, first.run_id)
    assert second.spec.sweep.budget.trials == 9
    await wait_begun(stack, second.run_id, 1)
    assert stack.worker_file(second.run_id, STUDY_INPUT).read_text() == "began\n"
    assert (await stack.ask("resume", RunRequest(run_id=first.run_id))).run_id == second.run_id
    await stack.stop(second.run_id)
    await stack.wait_end(second.run_id)
    error = await refused(stack, continues=first.run_id, objectives=[{"metric": "other"}])
    said = {field["where"]: field["message"] for field in error.problem.fields}
    assert set(said) == {"sweep.continues", "sweep.objectives"}
    assert second.run_id in said["sweep.continues"]
    copy = await stack.ask("retry", RunRequest(run_id=second.run_id))
    assert copy.spec.sweep is not None
    assert copy.spec.sweep.continues is None


def test_trials_are_left_where_their_sweep_stops_has_ended_or_is_gone() -> None:
    """It is read from the records alone."""
    sweep = {"kind": "sweep", "sweep": SWEEP}
    running = _record("0" * 26, RunState.RUNNING, sweep)
    stopping = _record("1" * 26, RunState.STOPPING, sweep)
    queued = _record("2" * 26, RunState.QUEUED, sweep)
    trials = [
        _record(f"3{place}" + "0" * 24, RunState.RUNNING, {"parent": parent}, trial="0")
        for place, parent in enumerate(("0" * 26, "1" * 26, "2" * 26, "7" * 26))
    ]
    own = _record("4" * 26, RunState.RUNNING, {"parent": "7" * 26})
    records = [running, stopping, queued, *trials, own]
    left = left_trials([StoredRun(record, "") for record in records])
    assert left == [trials[1], trials[3]]


def _record(run_id: str, state: RunState, spec: dict[str, Any], **fields: Any) -> RunRecord:
    record = make_record(state)
    whole = StoredSpec.model_validate({**record.spec.model_dump(), **spec})
    return record.model_copy(update={"run_id": run_id, "spec": whole, **fields})
