"""Sweeps: news and orders between the worker's socket and the scheduler, and what clients see of the trials."""

import asyncio
import json
import re
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from tests.run_records import make_record

from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.runs import Resumption, RunEnd
from mosaic_contracts.services import SweepOrder, SweepResumption, TrialOrder
from mosaic_contracts.states import EndCause
from mosaic_contracts.sweep_exchange import FollowedRun, SweepNews, SweepOrders, TrialRunOrder
from mosaic_contracts.sweeps import Objective, TrialRecord
from mosaic_contracts.wire import (
    ENCODING_IDENTITY,
    BatchHead,
    Extra,
    Metric,
    encode_record,
    join_batch,
)
from mosaic_gateway.sweeps.best import best_trials
from mosaic_gateway.sweeps.study_copy import copy_recovered
from mosaic_store import StreamCursor, Writer, read_batch

pytestmark = pytest.mark.broker
SWEEP_ID, KILLED_ID = "01JGXSWEEP0000000000000000", "01JGXSWEEP0000000000000001"
FIRST, SECOND = "01JGXTRA000000000000000001", "01JGXTRA000000000000000002"
METRIC = "charts/episodic_return"
SWEEP: dict[str, Any] = {
    "run": {
        "worker": "cleanrl",
        "algorithm": "ppo",
        "environment": "CartPole-v1",
        "parameters": {"gamma": 0.99},
    },
    "parameters": {"learning-rate": {"type": "float", "low": 1e-4, "high": 1e-2, "log": True}},
    "seeds": [3, 4],
}
SPEC = {"worker": "sweep", "algorithm": "optuna", "environment": "CartPole-v1"}


class WorkerStandIn:
    """A sweep's worker: keeps the news that it gets, and answers with the orders of the test."""

    def __init__(self) -> None:
        self.news: asyncio.Queue[SweepNews] = asyncio.Queue()
        self.orders = SweepOrders()
        self.stops: list[Any] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request."""
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        body = await reader.readexactly(int(length[1])) if length is not None else b""
        if head.startswith(b"POST /stop"):
            self.stops.append(json.loads(body))
        else:
            self.news.put_nowait(SweepNews.model_validate_json(body))
        answer = self.orders.model_dump_json().encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)
        writer.close()

    async def next_news(self, *keys: str) -> dict[str, Any]:
        """The next news that name these runs."""
        async with asyncio.timeout(60):
            while True:
                runs = {run.key: run for run in (await self.news.get()).runs}
                if runs.keys() >= set(keys):
                    return runs


@asynccontextmanager
async def worker(home: Path) -> AsyncIterator[WorkerStandIn]:
    """A worker's socket in the sweep's folder."""
    folder = home / "runs" / SWEEP_ID / "control"
    folder.mkdir(parents=True, exist_ok=True)
    stand_in = WorkerStandIn()
    place = folder / "sweep.sock"
    server = await asyncio.start_unix_server(stand_in.serve, place)
    async with server:
        yield stand_in
    place.unlink()


def sweep_record(state: str = "running", **more: Any) -> Any:
    """The record of the sweep's run."""
    spec = {**SPEC, "kind": "sweep", "sweep": SWEEP}
    return make_record(SWEEP_ID, state, spec=spec, name="Search", **more)


def trial_run(run_id: str, key: str, state: str = "running", **more: Any) -> Any:
    """The record of a run of a trial."""
    spec = {**SPEC, "worker": "cleanrl", "algorithm": "ppo", "parent": SWEEP_ID}
    return make_record(run_id, state, spec=spec, trial=key, **more)


def store(writer: Writer, run_id: str, records: list[Any], attempt: int = 1) -> None:
    """Store records of one attempt of a run."""
    head = BatchHead(run_id, attempt, "worker", records[0].seq, len(records))
    raw = join_batch(head, 10**15, b"".join(encode_record(record) for record in records))
    writer.apply([read_batch(raw, ENCODING_IDENTITY)], StreamCursor("one", records[-1].seq + 1))


def points(*values: float) -> list[Metric]:
    """Points of the objective's metric, ten steps apart."""
    return [Metric(i + 1, i, METRIC, 10 * i, value) for i, value in enumerate(values)]


async def test_runs_are_started_followed_and_stopped_as_the_worker_orders(
    gateway: Any, peers: Any
) -> None:
    """A run is answered with its id, a refused one with why; points come once, at steps of the whole run."""
    peers.trials["0/a"] = peers.records[FIRST] = trial_run(FIRST, "0/a")
    no = Problem(code=ProblemCode.PARAMETER_INVALID, title="no", detail="gamma: must be below 1")
    peers.trials["1/a"] = ProblemError(no)
    low = Problem(code=ProblemCode.DISK_LOW, title="full", detail="Free some space.")
    peers.trials["2/a"] = ProblemError(low)
    async with worker(gateway.home) as stand_in:
        orders = [TrialRunOrder(key=f"{n}/a", spec={"seed": n}) for n in range(3)]
        stand_in.orders = SweepOrders(start=orders)
        await peers.change(sweep_record())
        news = await stand_in.next_news("0/a", "1/a")
        assert news["0/a"].run_id == FIRST
        assert (news["1/a"].run_id, news["1/a"].state) == (None, "failed")
        assert "gamma" in news["1/a"].message
        assert "2/a" not in news
        asked = [one for one in peers.asked if isinstance(one, TrialOrder)]
        assert {(one.run_id, one.key, one.spec["seed"]) for one in asked} == {
            (SWEEP_ID, f"{n}/a", n) for n in range(3)
        }
        await asyncio.to_thread(store, peers.writer, FIRST, points(1.0, float("nan"), 3.0))
        stand_in.orders = SweepOrders(follow=[FollowedRun(key="0/a", run_id=FIRST)])
        while not (run := (await stand_in.next_news("0/a"))["0/a"]).points:
            pass
        (curve,) = run.points
        assert (curve.metric, curve.steps) == (METRIC, [0, 10, 20])
        assert curve.values[1] != curve.values[1]
        assert not run.is_complete
        # The attempt that follows an interruption counts its own steps from 0.
        await asyncio.to_thread(store, peers.writer, FIRST, points(7.0), 2)
        stand_in.orders = SweepOrders(
            follow=[
                FollowedRun(key="0/a", run_id=FIRST, cursor=run.cursor),
                FollowedRun(key="3/a", run_id=SECOND),
            ]
        )
        end = RunEnd(cause=EndCause.COMPLETED, message="Completed.")
        ended = trial_run(
            FIRST, "0/a", "succeeded", revision=2, end=end, attempt=2, telemetry_pending=True,
            resumptions=[Resumption(attempt=2, step=500)],
        )  # fmt: skip
        await peers.change(ended)
        while not (run := (await stand_in.next_news("0/a", "3/a"))["0/a"]).points:
            pass
        assert (run.points[0].steps, run.is_complete) == ([500], False)
        await peers.change(ended.model_copy(update={"telemetry_pending": False, "revision": 3}))
        while not (runs := await stand_in.next_news("0/a"))["0/a"].is_complete:
            pass
        assert (runs["0/a"].message, runs["0/a"].metrics) == ("Completed.", [METRIC])
        assert (runs["3/a"].state, runs["3/a"].is_complete) == ("cancelled", True)
        # It stops runs of its own only.
        peers.records[SECOND] = trial_run(SECOND, "3/a")
        foreign = peers.records["01JGXTRA000000000000000003"] = trial_run(
            "01JGXTRA000000000000000003", "0/a"
        ).model_copy(update={"trial": None})
        stand_in.orders = SweepOrders(stop=[SECOND, FIRST, foreign.run_id])
        async with asyncio.timeout(60):
            while not peers.stopped:
                await stand_in.next_news()
        assert set(peers.stopped) == {SECOND}
        reply = await gateway.ask("POST", f"/sweeps/{SWEEP_ID}/stop", json={"let_finish": True})
        assert (reply.status_code, stand_in.stops) == (202, [{"let_finish": True}])
        await peers.change(sweep_record("succeeded", revision=9))
    reply = await gateway.ask("POST", f"/sweeps/{SWEEP_ID}/stop", json={})
    assert (reply.status_code, reply.json()["state"]) == (202, "succeeded")


def trial(number: int, state: str, **more: Any) -> dict[str, Any]:
    """A trial as its worker records it."""
    chosen = {"parameters": {"learning-rate": 0.001 * (number + 1)}, "started": 1.0, "steps": 100}
    return TrialRecord.model_validate(
        {"number": number, "state": state, **chosen, **more}
    ).model_dump(mode="json")


async def test_the_trials_of_a_sweep_are_read_from_its_events(gateway: Any, peers: Any) -> None:
    """The newest record of each, pages by their last change, the best with its spec, and the study's file."""
    peers.records[SWEEP_ID] = sweep_record()
    said = [
        trial(0, "running"),
        trial(1, "running"),
        trial(0, "complete", values=[10.0]),
        trial(2, "running"),
        trial(1, "complete", values=[30.0]),
        trial(2, "failed", reason="no finite value"),
    ]
    records = [Extra(i + 1, i, "sweep.trial", one) for i, one in enumerate(said)]
    share = {"trials": 2, "importances": {"learning-rate": 1.0}}
    records.append(Extra(7, 7, "sweep.importance", share))
    await asyncio.to_thread(store, peers.writer, SWEEP_ID, records[:5])
    first = (await gateway.get(f"/sweeps/{SWEEP_ID}/trials?limit=2")).json()
    assert [(one["number"], one["state"]) for one in first["trials"]] == [
        (0, "complete"),
        (2, "running"),
    ]
    assert first["has_more"]
    await asyncio.to_thread(store, peers.writer, SWEEP_ID, records[5:])
    rest = (await gateway.get(f"/sweeps/{SWEEP_ID}/trials?after={first['cursor']}")).json()
    assert [(one["number"], one["state"]) for one in rest["trials"]] == [
        (1, "complete"),
        (2, "failed"),
    ]
    assert not rest["has_more"]
    view = (await gateway.get(f"/sweeps/{SWEEP_ID}")).json()
    assert (view["counts"], view["steps"]) == ({"complete": 2, "failed": 1}, 300)
    assert ([one["number"] for one in view["best"]], view["importance"]["trials"]) == ([1], 2)
    best = (await gateway.get(f"/sweeps/{SWEEP_ID}/best")).json()
    assert best["parameters"] == {"gamma": 0.99, "learning-rate": 0.002}
    assert (best["seed"], best["name"], best["kind"]) == (3, "Search #1", "train")
    other = (await gateway.get(f"/sweeps/{SWEEP_ID}/best?trial=0")).json()
    assert other["parameters"]["learning-rate"] == 0.001
    assert (await gateway.get(f"/sweeps/{SWEEP_ID}/best?trial=9")).status_code == 404
    bad = await gateway.get(f"/sweeps/{SWEEP_ID}/trials?after=x")
    assert (bad.status_code, bad.json()["code"]) == (422, "cursor_invalid")
    assert (await gateway.get(f"/sweeps/{SWEEP_ID}/study")).status_code == 404
    place = gateway.home / "runs" / SWEEP_ID / "study"
    place.mkdir(parents=True)
    with sqlite3.connect(place / "study.db") as study:
        study.execute("CREATE TABLE trials (number)")
    study.close()
    file = await gateway.get(f"/sweeps/{SWEEP_ID}/study")
    assert file.content.startswith(b"SQLite format 3\0")
    assert 'filename="study.db"' in file.headers["content-disposition"]


async def test_a_trial_that_an_ended_sweep_left_running_is_stale(gateway: Any, peers: Any) -> None:
    """A sweep that was killed, and stopped before it was started again, records no end of its trials."""
    said = [trial(0, "complete", values=[1.0]), trial(1, "running")]
    records = [Extra(i + 1, i, "sweep.trial", one) for i, one in enumerate(said)]
    await asyncio.to_thread(store, peers.writer, KILLED_ID, records)
    for state, last in (("running", "running"), ("cancelled", "stale")):
        peers.records[KILLED_ID] = sweep_record(state).model_copy(update={"run_id": KILLED_ID})
        page = (await gateway.get(f"/sweeps/{KILLED_ID}/trials")).json()
        assert [one["state"] for one in page["trials"]] == ["complete", last]
        view = (await gateway.get(f"/sweeps/{KILLED_ID}")).json()
        assert view["counts"] == {"complete": 1, last: 1}


def test_a_study_is_recovered_from_what_a_killed_worker_left(tmp_path: Path) -> None:
    """A copy of file and log without the `-shm` file has every commit, and the folder stays as it is."""
    writing = tmp_path / "writing"
    run_dir = tmp_path / "run"
    for folder in (writing, run_dir / "study"):
        folder.mkdir(parents=True)
    with closing(sqlite3.connect(writing / "study.db")) as study:
        study.execute("PRAGMA journal_mode=WAL")
        with study:
            study.execute("CREATE TABLE trials (number)")
            study.execute("INSERT INTO trials VALUES (7)")
        for name in ("study.db", "study.db-wal"):
            shutil.copyfile(writing / name, run_dir / "study" / name)
    (tmp_path / "copy.db").write_bytes(copy_recovered(run_dir))
    with closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
        assert copy.execute("SELECT number FROM trials").fetchall() == [(7,)]
    left = sorted(each.name for each in (run_dir / "study").iterdir())
    assert left == ["study.db", "study.db-wal"]


async def test_sweeps_are_started_checked_listed_and_resumed(gateway: Any, peers: Any) -> None:
    """What the scheduler is asked for, and a run that is no sweep."""
    peers.records[SWEEP_ID] = sweep_record("cancelled")
    peers.records[FIRST] = trial_run(FIRST, "0/a")
    made = await gateway.ask("POST", "/sweeps", json=SWEEP, headers={"Idempotency-Key": "k"})
    assert made.status_code == 201
    check = await gateway.ask("POST", "/sweeps/check", json=SWEEP)
    assert check.json()["plan"] == {"trials": 20}
    listed = (await gateway.get("/sweeps")).json()
    assert [one["run_id"] for one in listed["runs"]] == [SWEEP_ID]
    alone = (await gateway.get("/runs?trials=false")).json()
    assert [one["run_id"] for one in alone["runs"]] == [SWEEP_ID]
    asked = {"budget": {"trials": 90}}
    resumed = await gateway.ask("POST", f"/sweeps/{SWEEP_ID}/resume", json=asked)
    assert resumed.status_code == 201
    orders = [one for one in peers.asked if isinstance(one, SweepOrder | SweepResumption)]
    assert isinstance(orders[0], SweepOrder)
    assert (orders[0].sweep, orders[0].idempotency_key) == (SWEEP, "k")
    assert isinstance(orders[1], SweepResumption)
    assert (orders[1].run_id, orders[1].resume) == (SWEEP_ID, asked)
    for path in ("", "/trials", "/best", "/study"):
        reply = await gateway.get(f"/sweeps/{FIRST}{path}")
        assert (reply.status_code, reply.json()["title"]) == (404, "This run is no sweep")


@pytest.mark.parametrize(
    ("directions", "best"),
    [(["maximize"], [2]), (["minimize"], [0]), (["maximize", "minimize"], [2, 0])],
)
def test_the_best_trials_are_complete_and_beaten_by_no_other(
    directions: list[str], best: list[int]
) -> None:
    """One objective: the best, the first of equal ones. Two: those of the front."""
    values = [[1.0, 1.0], [1.0, 2.0], [3.0, 5.0], [3.0, 5.0], [9.0, 0.0]]
    trials = [
        TrialRecord.model_validate(
            trial(n, "complete" if n < 4 else "pruned", values=one[: len(directions)])
        )
        for n, one in enumerate(values)
    ]
    objectives = [Objective.model_validate({"direction": one}) for one in directions]
    assert [one.number for one in best_trials(trials, objectives)] == best
