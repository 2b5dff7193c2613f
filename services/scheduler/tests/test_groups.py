"""Groups: all runs or none, progress by the newest run of each combination, retry of what failed, stop and delete."""

from typing import Any

import pytest
from tests.stack import SPEC, Stack

from mosaic_contracts.group_words import GroupKind
from mosaic_contracts.groups import GroupPlan, GroupView
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import (
    GroupDeleteRequest,
    GroupListRequest,
    GroupOrder,
    GroupRequest,
    GroupRetryOrder,
    GroupViews,
    ListRequest,
    PatchRequest,
    RunRecords,
    RunRequest,
)
from mosaic_contracts.states import RunState
from mosaic_scheduler.queue.makespan import Job, makespan_s

pytestmark = [pytest.mark.broker, pytest.mark.shared_stack]
RUN: dict[str, Any] = {**SPEC, "record": "metrics", "steps": 20, "tags": ["grid"]}
GROUP: dict[str, Any] = {"run": RUN, "seeds": [1, 2], "parameters": {"fail": [False, True]}}


async def ask(stack: Stack, verb: str, request: Any, model: Any = GroupView) -> Any:
    """Ask for a group."""
    return await stack.bus.request("scheduler", verb, request, model, timeout_s=30)


async def start(stack: Stack, key: str | None = None, **changes: Any) -> GroupView:
    """Start a group."""
    order = GroupOrder(group={**GROUP, **changes}, idempotency_key=key)
    found: GroupView = await ask(stack, "group", order)
    return found


async def now(stack: Stack, group: GroupView) -> GroupView:
    """The group as it is."""
    found: GroupView = await ask(stack, "get_group", GroupRequest(group_id=group.group_id))
    return found


async def ended(stack: Stack, group: GroupView) -> GroupView:
    """The group after the end of its runs."""
    for run_id in group.run_ids:
        await stack.wait_end(run_id)
    return await now(stack, group)


async def runs_of(stack: Stack, group: GroupView) -> list[RunRecord]:
    """All runs of a group, newest first."""
    request = ListRequest(group=group.group_id)
    found: RunRecords = await ask(stack, "list", request, RunRecords)
    return found.runs


@pytest.mark.nightly
async def test_a_group_makes_all_combinations_and_tries_again_what_failed(stack: Stack) -> None:
    """Its runs are in the queue with tags and place; the newest run of a place counts."""
    group = await start(stack, name="does it fail")
    assert (group.kind, group.name, group.total) == (GroupKind.GROUP, "does it fail", 4)
    assert (group.algorithm, group.environments) == ("synthetic", ["Synthetic-v0"])
    runs = [await stack.get(run_id) for run_id in group.run_ids]
    chosen = [(run.spec.seed, run.spec.parameters["fail"]) for run in runs]
    assert chosen == [(1, False), (1, True), (2, False), (2, True)]
    assert [run.group.place for run in runs if run.group] == [0, 1, 2, 3]
    assert all(run.tags == ["grid"] and run.spec.name is None for run in runs)
    group = await ended(stack, group)
    assert group.counts == {RunState.SUCCEEDED: 2, RunState.FAILED: 2}
    assert (group.done, group.failed, group.live) == (2, 2, 0)

    order = GroupRetryOrder(group_id=group.group_id)
    again = await ended(stack, await ask(stack, "retry_group", order))
    assert again.counts == group.counts
    assert [new == old for new, old in zip(again.run_ids, group.run_ids, strict=True)] == [
        True, False, True, False,
    ]  # fmt: skip
    assert (await stack.get(again.run_ids[1])).spec.parent == group.run_ids[1]
    assert len(await runs_of(stack, group)) == 6
    single = await stack.ask("retry", RunRequest(run_id=again.run_ids[0]))
    assert (await now(stack, group)).run_ids[0] == single.run_id
    await stack.wait_end(single.run_id)


async def test_no_run_is_made_if_one_is_refused(stack: Stack) -> None:
    """Everything that is wrong is said once, and the list of runs is as before."""
    before = await ask(stack, "list", ListRequest(), RunRecords)
    wrong = {"rate": [100.0, "fast", "slow"], "sav_every": [1]}
    with pytest.raises(ProblemError) as caught:
        await start(stack, parameters=wrong)
    said = [(field["where"], field["message"]) for field in caught.value.problem.fields]
    assert len(said) == len(set(said)) == 3
    assert {where for where, _ in said} == {"parameters.rate", "parameters.sav_every"}
    plan = await ask(
        stack, "group", GroupOrder(group={**GROUP, "parameters": wrong}, dry_run=True), GroupPlan
    )
    assert (plan.ok, plan.runs, len(plan.findings)) == (False, 6, 3)
    for changes, where in (
        ({"seeds": [1, 1]}, "group"),
        ({"seeds": [-1]}, "seeds.0"),
        ({"seeds": list(range(600))}, "group"),
        ({"parameters": {"rate": []}}, "parameters.rate"),
        ({"extra": 1}, "extra"),
    ):
        with pytest.raises(ProblemError) as caught:
            await start(stack, **changes)
        assert caught.value.problem.fields[0]["where"] == where
    after = await ask(stack, "list", ListRequest(), RunRecords)
    assert [run.run_id for run in after.runs] == [run.run_id for run in before.runs]


async def test_a_plan_says_how_many_runs_and_how_long(stack: Stack) -> None:
    """Without a past run there is no estimate; afterwards it follows from durations and cores."""
    request = GroupOrder(group=GROUP, dry_run=True)
    plan = await ask(stack, "group", request, GroupPlan)
    assert (plan.ok, plan.runs) == (True, 4)
    assert plan.name == "synthetic Synthetic-v0: 2 fail × 2 seeds"
    assert plan.names[1] == "synthetic fail=true · seed 1"
    done = await stack.submit(record="metrics", steps=20)
    await stack.wait_end(done.run_id)
    plan = await ask(stack, "group", request, GroupPlan)
    assert plan.expected_s is not None
    assert plan.expected_s > 0


async def test_a_key_makes_one_group(stack: Stack) -> None:
    """The same key and request again give the same group; another request under it is refused."""
    group = await start(stack, key="mine", parameters={})
    again = await start(stack, key="mine", parameters={})
    assert (again.group_id, again.run_ids) == (group.group_id, group.run_ids)
    with pytest.raises(ProblemError) as caught:
        await start(stack, key="mine", parameters={}, seeds=[7])
    assert caught.value.problem.code is ProblemCode.IDEMPOTENCY_CONFLICT
    await ended(stack, group)


async def test_a_group_is_stopped_deleted_and_restored_as_a_unit(stack: Stack) -> None:
    """While a run of it goes on, no run is deleted. A group without runs is not listed."""
    slow = {**RUN, "steps": 100_000, "parameters": {"rate": 20.0}}
    group = await start(stack, run=slow, parameters={}, seeds=[1, 2, 3])
    delete = GroupDeleteRequest(group_id=group.group_id)
    with pytest.raises(ProblemError) as caught:
        await ask(stack, "delete_group", delete)
    assert caught.value.problem.code is ProblemCode.RUN_LIVE
    await ask(stack, "stop_group", GroupRequest(group_id=group.group_id))
    group = await ended(stack, group)
    assert group.counts == {RunState.CANCELLED: 3}
    assert (group.failed, group.stopped) == (0, 3)
    with pytest.raises(ProblemError, match="`--stopped` starts those that"):
        await ask(stack, "retry_group", GroupRetryOrder(group_id=group.group_id))

    pinned = PatchRequest(run_id=group.run_ids[2], patch={"pinned": True})
    await ask(stack, "patch", pinned, RunRecord)
    with pytest.raises(ProblemError) as caught:
        await ask(stack, "delete_group", delete)
    assert caught.value.problem.code is ProblemCode.RUN_NEEDED
    assert (await now(stack, group)).run_ids == group.run_ids, "none of them was archived"
    delete = delete.model_copy(update={"force": True})

    async def listed() -> list[str]:
        page = await ask(stack, "groups", GroupListRequest(limit=1), GroupViews)
        return [view.group_id for view in page.groups]

    assert await listed() == [group.group_id]
    assert (await ask(stack, "delete_group", delete)).deleted
    assert group.group_id not in await listed()
    assert await runs_of(stack, group) == []
    restored = await ask(stack, "restore_group", GroupRequest(group_id=group.group_id))
    assert (restored.deleted, restored.counts) == (False, {RunState.CANCELLED: 3})
    assert await listed() == [group.group_id]


async def test_an_unknown_group_is_refused(stack: Stack) -> None:
    with pytest.raises(ProblemError) as caught:
        await ask(stack, "get_group", GroupRequest(group_id="g01ARZ3NDEKTSV4RRFFQ69G5FAV"))
    assert caught.value.problem.code is ProblemCode.RUN_UNKNOWN


@pytest.mark.parametrize(
    ("jobs", "cores", "gpus", "seconds"),
    [
        ([], 2, 0, 0),
        ([Job(10)] * 5, 2, 0, 30),
        ([Job(10), Job(20), Job(5)], 2, 0, 20),
        ([Job(10, cpus=2), Job(10)], 2, 0, 20),
        ([Job(10, cpus=8)], 2, 0, 10),
        ([Job(10, gpus=1)] * 3, 8, 1, 30),
        ([Job(10, gpus=1), Job(10)], 8, 0, 10),
    ],
)
def test_how_long_runs_take_together(
    jobs: list[Job], cores: int, gpus: int, seconds: float
) -> None:
    assert makespan_s(jobs, cores, gpus) == seconds
