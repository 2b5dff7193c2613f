"""Dashboards: one for a selection, four at once, what each is given."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.records import make_record
from tests.script_worker import script_worker
from tests.stack import Stack, until

from mosaic_contracts.dashboards import MAX_DASHBOARDS
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import DashboardOrder
from mosaic_contracts.spec import RunKind
from mosaic_contracts.states import RunState
from mosaic_scheduler.admission.dashboards import IN_USE_S, find_unused

pytestmark = [pytest.mark.broker, pytest.mark.shared_stack]
WAITS = """\
pathlib.Path("verb").write_text(sys.argv[1])
if sys.argv[1] == "dashboard":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    while True:
        time.sleep(0.02)
"""
"""A worker that ends its trainings at once and its dashboards when it is asked to."""


async def open_board(stack: Stack, *run_ids: str) -> RunRecord:
    """Ask for a dashboard."""
    order = DashboardOrder(dashboard={"runs": list(run_ids)})
    return await stack.ask("dashboard", order)


async def refused(stack: Stack, *run_ids: str) -> ProblemError:
    """Why a dashboard is not possible."""
    with pytest.raises(ProblemError) as caught:
        await open_board(stack, *run_ids)
    return caught.value


async def ended_runs(stack: Stack, count: int, **fields: Any) -> list[str]:
    """Runs that have ended, of a worker that has TensorBoard."""
    answer = {"ok": True, "findings": []}
    script_worker(stack, "boards", answer, WAITS, {}, modes=("train", "dashboard"))
    runs = [
        await stack.submit(algorithm="a", environment="E-v0", worker="boards", **fields)
        for _ in range(count)
    ]
    for run in runs:
        await stack.wait_end(run.run_id)
    return [run.run_id for run in runs]


@pytest.mark.nightly
async def test_one_dashboard_for_a_selection(stack: Stack) -> None:
    """Its worker gets the verb and a link to the event files of each run, under names that are unique."""
    first, second = await ended_runs(stack, 2, name="a/b")
    made = await open_board(stack, first, second)
    again = await open_board(stack, second, first, second)
    assert again.run_id == made.run_id
    assert (made.spec.kind, made.spec.worker) == (RunKind.DASHBOARD, "boards")

    async def has_begun() -> bool:
        verb = stack.worker_file(made.run_id, "verb")
        return verb.exists() and verb.read_text() == "dashboard"

    await until(has_begun)
    selected = stack.worker_file(made.run_id, "selected")
    links = {place.name: place.readlink() for place in selected.iterdir()}
    assert links == {
        f"a-b {run_id[-6:]}": selected.parent.parent / run_id / "tensorboard"
        for run_id in (first, second)
    }
    given = json.loads(stack.worker_file(made.run_id, "spec.json").read_text())["spec"]
    assert [one["run_id"] for one in given["dashboard"]["runs"]] == [first, second]
    await stack.stop(made.run_id)
    assert (await stack.wait_end(made.run_id)).state is RunState.CANCELLED
    other = await open_board(stack, first, second)
    assert other.run_id != made.run_id
    await stack.stop(other.run_id)
    await stack.wait_end(other.run_id)


def test_the_unused_one_gives_way() -> None:
    """The one that was unused for the longest time; one without a request counts from its start; none in use."""
    now = datetime(2026, 1, 1, 12, tzinfo=UTC)
    ages = {"a": 7200.0, "b": 5400.0, "c": 3600.0, "new": IN_USE_S - 1}
    living = [
        make_record(run_id=name, created_at=now - timedelta(seconds=age))
        for name, age in ages.items()
    ]

    def found(**unused_s: float) -> str | None:
        record = find_unused(living, unused_s, now)
        return None if record is None else record.run_id

    assert found() == "a"
    assert found(a=100.0, b=90.0) == "c"
    assert found(a=100.0, b=90.0, c=80.0) == "a"
    assert found(a=1.0, b=IN_USE_S - 1, c=5.0) is None


@pytest.mark.nightly
async def test_a_fifth_waits_where_four_are_in_use(stack: Stack) -> None:
    """It says so."""
    run_ids = await ended_runs(stack, MAX_DASHBOARDS + 1)
    boards = [await open_board(stack, run_id) for run_id in run_ids[:-1]]
    for board in boards:
        await stack.wait_state(board.run_id, RunState.STARTING)
    waiting = await open_board(stack, run_ids[-1])  # they are all new
    assert f"behind other TensorBoards, of which {MAX_DASHBOARDS} run at once" in (
        await _reason(stack, waiting.run_id)
    )
    await stack.stop(waiting.run_id)
    for board in boards:
        await stack.stop(board.run_id)
        await stack.wait_end(board.run_id)


async def _reason(stack: Stack, run_id: str) -> str:
    found: list[str] = []

    async def waits() -> bool:
        found[:] = [(await stack.get(run_id)).waiting_reason or ""]
        return bool(found[0])

    await until(waits)
    return found[0]


@pytest.mark.nightly
async def test_what_cannot_be_opened(stack: Stack) -> None:
    """Unknown runs, no run, a dashboard of a dashboard, and a stack in which no worker has TensorBoard."""
    assert (await refused(stack)).problem.code is ProblemCode.REQUEST_INVALID
    unknown = await refused(stack, "01JGXSYNTHET1CRVN00000000D")
    assert unknown.problem.code is ProblemCode.RUN_UNKNOWN
    (run_id,) = await ended_runs(stack, 1)
    board = await open_board(stack, run_id)
    assert (await refused(stack, board.run_id)).problem.code is ProblemCode.DASHBOARD_IMPOSSIBLE
    await stack.stop(board.run_id)
    await stack.wait_end(board.run_id)
    script_worker(stack, "boards", {"ok": True, "findings": []}, WAITS, {}, modes=("train",))
    impossible = (await refused(stack, run_id)).problem
    assert impossible.code is ProblemCode.DASHBOARD_IMPOSSIBLE
    assert "./mosaic sync worker_cleanrl" in impossible.detail
    with pytest.raises(ProblemError) as caught:
        await stack.submit(algorithm="a", environment="E-v0", worker="boards", kind="dashboard")
    assert "./mosaic tensorboard" in caught.value.problem.detail + str(caught.value.problem.fields)
