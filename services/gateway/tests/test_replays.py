"""Replays of a run's episodes over HTTP."""

import json
from typing import Any

import pytest

from mosaic_contracts.live import SUBPROTOCOL_JSON
from mosaic_contracts.replays import REPLAY_RESULT, ReplayResult, ReplaySource
from mosaic_contracts.services import ReplayOrder
from mosaic_contracts.spec import RunKind
from mosaic_contracts.wire import (
    ENCODING_IDENTITY,
    SOURCE_WORKER,
    BatchHead,
    Config,
    Extra,
    encode_record,
    join_batch,
)
from mosaic_store.testing import RUN_ID, Message

pytestmark = pytest.mark.broker
OLDER, NEWER = "01JGXSYNTHET1CRVN00000000A", "01JGXSYNTHET1CRVN00000000B"
LISTED = "01JGXSYNTHET1CRVN00000000C"
SOURCE = ReplaySource(run_id=RUN_ID, attempt=1, env=0, episode=3)
RESULT = ReplayResult(source=SOURCE, way="generator", steps=512, equal=512)


def make_replay(record: Any, run_id: str, state: str = "running", **more: Any) -> Any:
    """Record of a replay."""
    made = record(run_id, state, **more)
    spec = made.spec.model_copy(update={"kind": RunKind.REPLAY, "parent": RUN_ID, "replay": SOURCE})
    return made.model_copy(update={"spec": spec})


def recorded(run_id: str, *data: Any) -> Message:
    """Events of a replay with these results."""
    extras = [Extra(2 + n, 0, REPLAY_RESULT, one) for n, one in enumerate(data)]
    records = [Config(1, 0, {}), *extras]
    head = BatchHead(run_id, 1, SOURCE_WORKER, 1, len(records))
    body = b"".join(encode_record(one) for one in records)
    return Message(head, join_batch(head, 0, body), ENCODING_IDENTITY)


async def test_an_episode_is_replayed_once_for_all_who_ask(
    gateway: Any, peers: Any, record: Any
) -> None:
    """A new run is 201 with its address; one that is there already is 200. The scheduler gets the body as it came."""
    peers.records[RUN_ID] = record(RUN_ID)
    path, body = f"/runs/{RUN_ID}/replays", {"episode": 3, "env": 1}
    first = await gateway.ask("POST", path, json=body)
    assert first.status_code == 201
    assert first.headers["location"] == f"/api/v1/runs/{first.json()['run_id']}"
    again = await gateway.ask("POST", path, json=body, headers={"Idempotency-Key": "k"})
    assert (again.status_code, again.json()["run_id"]) == (200, first.json()["run_id"])
    orders = [one for one in peers.asked if isinstance(one, ReplayOrder)]
    assert [one.replay for one in orders] == [body, body]
    assert [one.idempotency_key for one in orders] == [None, "k"]


async def test_replays_are_listed_with_their_results(gateway: Any, peers: Any, record: Any) -> None:
    """Newest first; one that has not compared every step yet, or recorded nonsense, has none."""
    peers.records[RUN_ID] = record(RUN_ID, "succeeded")
    for run_id in (OLDER, NEWER):
        peers.records[run_id] = make_replay(record, run_id)
    await peers.commit([recorded(OLDER, RESULT.model_dump())])
    await peers.commit([recorded(NEWER, {"steps": "many"})])
    found = (await gateway.get(f"/runs/{RUN_ID}/replays")).json()
    assert [one["run"]["run_id"] for one in found] == [NEWER, OLDER]
    assert found[0]["result"] is None
    assert ReplayResult.model_validate(found[1]["result"]).is_verified


async def test_the_run_list_leaves_replays_out(gateway: Any, peers: Any, record: Any) -> None:
    """Unless they are asked for; one of them can be looked at."""
    peers.records[RUN_ID] = record(RUN_ID)
    peers.records[NEWER] = make_replay(record, NEWER)

    async def listed(query: str) -> list[str]:
        runs = (await gateway.get(f"/runs?{query}")).json()["runs"]
        return [run["run_id"] for run in runs]

    for order in ("", "&sort=name", "&order=asc"):
        assert await listed(order) == [RUN_ID]
        assert await listed(f"kind=replay{order}") == [NEWER]
    assert (await gateway.get(f"/runs/{NEWER}")).json()["spec"]["kind"] == "replay"


async def test_who_follows_the_list_hears_of_no_replay(
    gateway: Any, peers: Any, record: Any, frames: Any
) -> None:
    """A client that follows the replay does."""
    replay = make_replay(record, NEWER)
    peers.records |= {LISTED: record(LISTED), NEWER: replay}
    async with gateway.live(SUBPROTOCOL_JSON) as follower, gateway.live(SUBPROTOCOL_JSON) as viewer:
        for socket in (follower, viewer):
            assert (await frames(socket))["op"] == "hello"
        await follower.send('{"op": "subscribe_runs"}')
        await follower.send('{"op": "ping"}')
        assert (await frames(follower))["op"] == "pong"
        await viewer.send(json.dumps({"op": "subscribe", "run_id": NEWER}))
        assert (await frames(viewer))["op"] == "snapshot"
        await peers.change(make_replay(record, NEWER, "stopping", revision=2))
        await peers.change(record(LISTED, "stopping", 2))
        said = await frames(follower)
        assert (said["op"], said["run"]["run_id"]) == ("run", LISTED)
        said = await frames(viewer)
        while said["op"] != "run":
            said = await frames(viewer)
        assert said["run"]["run_id"] == NEWER
