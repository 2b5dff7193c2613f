"""`/groups`: what is asked of the scheduler, and the returns that are added from the store."""

import math
from typing import Any

import pytest
import zstandard

from mosaic_contracts.services import (
    GroupDeleteRequest,
    GroupListRequest,
    GroupOrder,
    GroupRequest,
    GroupRetryOrder,
    ListRequest,
)
from mosaic_contracts.wire import ENCODING_ZSTD, BatchHead, Episode, encode_record, join_batch
from mosaic_store.testing import Message

pytestmark = pytest.mark.broker
GROUP_ID = "g01JGXSYNTHET1CRVN000000099"
OF_GROUP = f"/groups/{GROUP_ID}"
SPEC = {"run": {"worker": "cleanrl"}, "seeds": [1, 2]}


def episode_of(run_id: str, value: float) -> Message:
    """One episode with that return."""
    head = BatchHead(run_id, 1, "worker", 1, 1)
    raw = join_batch(head, 0, encode_record(Episode(1, 0, 0, 0, 5, value, 0, 0.1, 5)))
    return Message(head, zstandard.compress(raw, 1), ENCODING_ZSTD)


async def test_a_group_is_started_once_for_a_key(gateway: Any, peers: Any) -> None:
    """A group that was there before the request is answered with 200; a check starts nothing."""
    headers = {"Idempotency-Key": "mine"}
    old = await gateway.ask("POST", "/groups", json=SPEC, headers=headers)
    assert (old.status_code, old.headers["location"]) == (200, f"/api/v1{OF_GROUP}")
    assert peers.asked[-1] == GroupOrder(group=SPEC, idempotency_key="mine")
    assert (await gateway.ask("POST", "/groups", json=SPEC)).status_code == 201
    plan = await gateway.ask("POST", "/groups/check", json=SPEC)
    assert (plan.json()["runs"], plan.json()["expected_s"]) == (4, 9.0)
    assert peers.asked[-1] == GroupOrder(group=SPEC, dry_run=True)


async def test_groups_have_the_returns_of_their_runs(gateway: Any, peers: Any, record: Any) -> None:
    """The best of all, and the mean of their means; NaN and runs without episodes count in neither."""
    ids = [f"01JGXSYNTHET1CRVN00000008{n}" for n in range(4)]
    returns = [2.0, 6.0, math.nan]
    for run_id in ids:
        peers.records[run_id] = record(run_id)
    await peers.commit(
        [episode_of(run_id, value) for run_id, value in zip(ids, returns, strict=False)]
    )
    view = (await gateway.get(OF_GROUP)).json()
    assert (view["best_return"], view["mean_return"]) == (6.0, 4.0)
    page = (await gateway.get("/groups", params={"limit": 7, "cursor": "x"})).json()
    assert (page["groups"][0]["best_return"], page["next_cursor"]) == (6.0, "0")
    assert peers.asked[-1] == GroupListRequest(before="x", limit=7)


async def test_a_group_is_changed_as_a_unit(gateway: Any, peers: Any) -> None:
    """Each request reaches the scheduler as it came."""
    for method, path, body, status, request in (
        ("POST", "/stop", None, 202, GroupRequest(group_id=GROUP_ID)),
        (
            "POST",
            "/retry",
            {"cancelled": True},
            201,
            GroupRetryOrder(group_id=GROUP_ID, retry={"cancelled": True}),
        ),
        (
            "DELETE",
            "?now&force",
            None,
            200,
            GroupDeleteRequest(group_id=GROUP_ID, now=True, force=True),
        ),
        ("DELETE", "", None, 200, GroupDeleteRequest(group_id=GROUP_ID)),
        ("POST", "/restore", None, 200, GroupRequest(group_id=GROUP_ID)),
    ):
        reply = await gateway.ask(method, f"{OF_GROUP}{path}", **({"json": body} if body else {}))
        assert reply.status_code == status, reply.text
        assert peers.asked[-1].model_dump() == request.model_dump()


async def test_an_unknown_group_is_a_404(gateway: Any, peers: Any) -> None:
    """Also an id of another form, which reaches no scheduler."""
    for group_id in ("nothing", "g01JGXSYNTHET1CRVN000000000"):
        reply = await gateway.get(f"/groups/{group_id}")
        assert (reply.status_code, reply.json()["code"]) == (404, "run_unknown")


async def test_the_run_list_takes_a_group(gateway: Any, peers: Any) -> None:
    """By the id of a group or of a sweep; anything else is refused."""
    assert (
        await gateway.get("/runs", params={"group": GROUP_ID, "members": "false"})
    ).status_code == 200
    asked: ListRequest = peers.asked[-1]
    assert (asked.group, asked.members) == (GROUP_ID, False)
    assert (await gateway.get("/runs", params={"group": "x"})).status_code == 422
