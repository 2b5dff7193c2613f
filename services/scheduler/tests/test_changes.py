"""What users change of runs, asked of a real scheduler over a real broker."""

import asyncio
from typing import Any

import pytest
from tests.stack import SPEC, Stack, until

from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import (
    CloneOrder,
    DeleteRequest,
    ListRequest,
    MoveRequest,
    PatchRequest,
    RunIds,
    RunRecords,
    RunRequest,
    SubmitRequest,
)
from mosaic_contracts.states import RunState

pytestmark = [pytest.mark.broker, pytest.mark.shared_stack, pytest.mark.timeout(120)]
LONG = {"parameters": {"rate": 200.0, "events": 1_000_000}}


async def refusal(stack: Stack, verb: str, request: Any) -> ProblemError:
    """The problem that a request is answered with."""
    with pytest.raises(ProblemError) as caught:
        await stack.ask(verb, request)
    return caught.value


async def names_in_queue(stack: Stack) -> list[str]:
    """Names of what waits, in the queue's order."""
    queue = await stack.bus.request("scheduler", "queue", None, RunRecords)
    return [run.name for run in queue.runs]


async def listed(stack: Stack, **filters: Any) -> list[str]:
    """Ids that a brief list gives."""
    request = ListRequest(brief=True, **filters)
    return (await stack.bus.request("scheduler", "list", request, RunIds)).run_ids


async def completed(stack: Stack, **spec: Any) -> RunRecord:
    """A short run that has ended, with everything stored."""
    run = await stack.submit(**{"parameters": {"events": 20}, **spec})
    return await stack.wait(run.run_id, lambda r: r.state.is_final and not r.telemetry_pending)


async def test_the_queue_is_what_its_user_makes_of_it(stack: Stack) -> None:
    """Priority first, then place; before and after take over the other's priority; hold stands aside."""
    runs = {name: await stack.submit(name=name, hold=True, cpus=2, steps=20) for name in "abcd"}
    assert await names_in_queue(stack) == list("abcd")

    async def move(name: str, **patch: Any) -> RunRecord:
        return await stack.ask("move", MoveRequest(run_id=runs[name].run_id, move=patch))

    assert (await move("d", priority=5)).priority == 5
    assert await names_in_queue(stack) == list("dabc")
    await move("c", before=runs["a"].run_id)
    assert await names_in_queue(stack) == list("dcab")
    assert (await move("b", after=runs["d"].run_id)).priority == 5
    assert await names_in_queue(stack) == list("dbca")
    await stack.submit(name="e", hold=True)
    assert await names_in_queue(stack) == list("dbcae")
    for run in runs.values():
        record = await stack.get(run.run_id)
        assert (record.state, record.held) == (RunState.QUEUED, True)
    assert record.waiting_reason == "held until it is released"
    assert not (await move("a", hold=False)).held
    assert (await stack.wait_end(runs["a"].run_id)).state is RunState.SUCCEEDED
    again = await refusal(stack, "move", MoveRequest(run_id=runs["a"].run_id, move={"hold": True}))
    assert again.problem.code == ProblemCode.RUN_NOT_QUEUED
    wrong = await refusal(stack, "move", MoveRequest(run_id=runs["b"].run_id, move={"rank": 1}))
    assert wrong.problem.code == ProblemCode.REQUEST_INVALID
    assert "rank" in wrong.problem.detail


async def test_name_tags_and_note_change_while_a_run_lives(stack: Stack) -> None:
    """A patch changes what it names, is announced, and costs the run nothing."""
    run = await stack.submit(**LONG, tags=["x", "x"], note="first")
    assert (run.tags, run.note) == (["x"], "first")
    live = await stack.wait_state(run.run_id, RunState.RUNNING)
    patch = PatchRequest(run_id=run.run_id, patch={"name": "né", "tags": ["ü", "two words"]})
    changed = await stack.ask("patch", patch)
    assert (changed.name, changed.tags, changed.note) == ("né", ["ü", "two words"], "first")
    assert changed.revision > live.revision
    await stack.wait(run.run_id, lambda record: record.name == "né")
    await stack.stop(run.run_id)
    assert (await stack.wait_end(run.run_id)).state is RunState.CANCELLED
    bad = await refusal(stack, "patch", PatchRequest(run_id=run.run_id, patch={"tags": ["a,b"]}))
    assert bad.problem.code == ProblemCode.REQUEST_INVALID
    unknown = PatchRequest(run_id="7ZZZZZZZZZZZZZZZZZZZZZZZZZ", patch={})
    assert (await refusal(stack, "patch", unknown)).problem.code == ProblemCode.RUN_UNKNOWN


async def test_plan_that_was_looked_at_is_neither_searched_nor_cloned(stack: Stack) -> None:
    """`dry_run` stays with its run: no search finds the run by it, and a clone begins without one."""
    run = await stack.submit(hold=True, note="mine")
    patch = PatchRequest(run_id=run.run_id, patch={"dry_run": "# Command\nunheard-of"})
    changed = await stack.ask("patch", patch)
    assert (changed.note, changed.dry_run) == ("mine", "# Command\nunheard-of")
    assert await listed(stack, text="unheard-of") == []
    assert await listed(stack, text="mine") == [run.run_id]
    order = CloneOrder(run_id=run.run_id, clone={"overrides": {"hold": True}})
    clone = await stack.ask("clone", order)
    assert clone.dry_run == ""


@pytest.mark.nightly
@pytest.mark.own_stack
async def test_lists_show_what_is_asked_for(stack: Stack) -> None:
    """Each filter narrows by itself and with others; brief gives all ids at once, newest first."""
    one = await stack.submit(hold=True, tags=["red", "big"], name="Älter")
    two = await stack.submit(hold=True, tags=["red"], note="about 100% of it", parent=one.run_id)
    ids = [two.run_id, one.run_id]
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({"limit": 1}, ids),
        ({"states": ["queued"], "workers": ["synthetic"], "kinds": ["train"]}, ids),
        ({"workers": ["cleanrl"]}, []),
        ({"algorithms": ["synthetic"], "environments": ["Synthetic-v0"]}, ids),
        ({"environments": []}, []),
        ({"tags": ["red"]}, ids),
        ({"tags": ["big", "red"]}, [one.run_id]),
        ({"tags": ["big", "blue"]}, []),
        ({"text": "äLT"}, [one.run_id]),
        ({"text": "100%"}, [two.run_id]),
        ({"text": "BIG"}, [one.run_id]),
        ({"text": two.run_id.lower()}, [two.run_id]),
        ({"parent": one.run_id, "tags": ["red"], "text": "of it"}, [two.run_id]),
        ({"run_ids": [one.run_id]}, [one.run_id]),
        ({"before": two.run_id}, [one.run_id]),
        ({"deleted": True}, []),
    ]
    for filters, expected in cases:
        assert await listed(stack, **filters) == expected, filters


async def test_a_clone_differs_in_what_is_given(stack: Stack) -> None:
    """Parameters are merged, null takes one away, other fields are replaced, and the parent is set."""
    first = await stack.submit(hold=True, parameters={"rate": 9.0, "events": 7}, tags=["t"])
    overrides = {"seed": 4, "parameters": {"rate": None, "events": 8}, "hold": True}
    order = CloneOrder(run_id=first.run_id, clone={"overrides": overrides}, idempotency_key="again")
    clone = await stack.ask("clone", order)
    assert (clone.spec.seed, clone.spec.parameters) == (4, {"events": 8})
    assert (clone.spec.parent, clone.tags) == (first.run_id, ["t"])
    assert (await stack.ask("clone", order)).run_id == clone.run_id
    other = order.model_copy(update={"clone": {"overrides": {"seed": 5}}})
    conflict = await refusal(stack, "clone", other)
    assert conflict.problem.code == ProblemCode.IDEMPOTENCY_CONFLICT
    wrong = CloneOrder(run_id=first.run_id, clone={"overrides": {"sed": 5}})
    assert (await refusal(stack, "clone", wrong)).problem.code == ProblemCode.SPEC_INVALID


async def test_a_retry_is_a_new_run_of_an_ended_one(stack: Stack) -> None:
    """Refused while the run lives; afterwards a run with the same spec and the first as its parent."""
    run = await stack.submit(hold=True, parameters={"events": 20}, seed=9)
    live = await refusal(stack, "retry", RunRequest(run_id=run.run_id))
    assert live.problem.code == ProblemCode.RUN_LIVE
    await stack.stop(run.run_id)
    again = await stack.ask("retry", RunRequest(run_id=run.run_id))
    assert again.run_id != run.run_id
    assert (again.spec.parent, again.spec.seed) == (run.run_id, 9)
    ended = await stack.wait_end(again.run_id)
    assert ended.state is RunState.SUCCEEDED


@pytest.mark.own_stack
async def test_a_key_makes_one_run_however_often_it_comes(stack: Stack) -> None:
    """Five submits at once with one key are one run, also across a kill -9 of the scheduler."""
    request = SubmitRequest(spec={**SPEC, "hold": True}, idempotency_key="once")
    runs = await asyncio.gather(*(stack.ask("submit", request) for _ in range(5)))
    assert len({run.run_id for run in runs}) == 1
    await stack.kill_scheduler()
    await stack.start_scheduler()
    assert (await stack.ask("submit", request)).run_id == runs[0].run_id
    other = request.model_copy(update={"spec": {**SPEC, "hold": True, "seed": 2}})
    conflict = await refusal(stack, "submit", other)
    assert conflict.problem.code == ProblemCode.IDEMPOTENCY_CONFLICT
    assert len(await listed(stack)) == 1


@pytest.mark.own_stack
async def test_a_run_is_put_away_and_brought_back(stack: Stack) -> None:
    """Hidden from the list, shown among the deleted, and back as it was after `restore`."""
    held = await stack.submit(hold=True)
    live = await refusal(stack, "delete", DeleteRequest(run_id=held.run_id))
    assert live.problem.code == ProblemCode.RUN_LIVE
    run = await completed(stack)
    gone = await stack.ask("delete", DeleteRequest(run_id=run.run_id))
    assert gone.deleted_at is not None
    assert await stack.ask("delete", DeleteRequest(run_id=run.run_id)) == gone
    assert await listed(stack) == [held.run_id]
    assert await listed(stack, deleted=True) == [run.run_id]
    back = await stack.ask("restore", RunRequest(run_id=run.run_id))
    assert back == run.model_copy(update={"revision": back.revision})
    assert await listed(stack) == [run.run_id, held.run_id]
    assert stack.recorder.of(run.run_id, "worker")


async def gone_for_good(stack: Stack, run_id: str) -> None:
    """Wait until neither record, folder nor event is left, and see that none comes back."""

    async def is_gone() -> bool:
        return await listed(stack, deleted=True) == []

    await until(is_gone)
    assert not await asyncio.to_thread((stack.home / "runs" / run_id).exists)
    unknown = await refusal(stack, "get", RunRequest(run_id=run_id))
    assert unknown.problem.code == ProblemCode.RUN_UNKNOWN
    assert run_id not in stack.recorder.events


@pytest.mark.own_stack
async def test_delete_now_takes_everything(stack: Stack) -> None:
    """Events, folder and record go, and the run that it was the parent of stays."""
    run = await completed(stack)
    child = await stack.submit(hold=True, parent=run.run_id)
    await stack.ask("delete", DeleteRequest(run_id=run.run_id))
    await stack.ask("delete", DeleteRequest(run_id=run.run_id, now=True))
    await gone_for_good(stack, run.run_id)
    assert (await stack.get(child.run_id)).spec.parent == run.run_id


@pytest.mark.own_stack
async def test_a_deletion_outlasts_kills_and_outages(stack: Stack) -> None:
    """The recorder is away and the scheduler is killed meanwhile: the next one finishes, and nothing comes back."""
    run = await completed(stack)
    await stack.recorder.close()
    await stack.ask("delete", DeleteRequest(run_id=run.run_id, now=True))
    restore = await refusal(stack, "restore", RunRequest(run_id=run.run_id))
    assert "deleted permanently" in str(restore)
    await stack.kill_scheduler()
    await stack.recorder.open()
    await stack.start_scheduler()
    await gone_for_good(stack, run.run_id)


@pytest.mark.own_stack
async def test_a_run_that_still_ships_is_silenced_first(stack: Stack) -> None:
    """Ended while nothing could be stored, then deleted at once: what waits is dropped, and nothing comes back."""
    run = await stack.submit(**LONG)
    await stack.wait_state(run.run_id, RunState.RUNNING)
    await stack.recorder.close()
    runner = stack.process(run.run_id, "mosaic_workerkit.runner")
    stack.kill(runner)
    ended = await stack.wait_end(run.run_id)
    assert ended.telemetry_pending
    await stack.ask("delete", DeleteRequest(run_id=run.run_id, now=True))
    await stack.recorder.open()
    await gone_for_good(stack, run.run_id)
    assert stack.processes(run.run_id) == []


async def test_the_storage_profile_is_changed_and_taken_away(stack: Stack) -> None:
    """A profile that there is not is refused; null is the default one again."""
    run = await completed(stack)
    for value in ("lean", None):
        request = PatchRequest(run_id=run.run_id, patch={"storage_profile": value})
        assert (await stack.ask("patch", request)).storage_profile == value
    unknown = PatchRequest(run_id=run.run_id, patch={"storage_profile": "leann"})
    assert "lean" in str(await refusal(stack, "patch", unknown))
    odd = PatchRequest(run_id=run.run_id, patch={"pinned_files": ["a\0b"]})
    assert (await refusal(stack, "patch", odd)).problem.code is ProblemCode.REQUEST_INVALID
