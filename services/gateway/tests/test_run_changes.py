"""What can be done to runs, over a real gateway process with a stand-in for the scheduler."""

from typing import Any

import pytest

from mosaic_store.testing import RUN_ID, messages

pytestmark = pytest.mark.broker
SPEC = {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1"}
NEW_RUN = "01JGXSBMTTED00000000000000"


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("PATCH", "", {"tags": ["a"], "note": "ä\nb"}, {"patch": {"tags": ["a"], "note": "ä\nb"}}),
        ("PATCH", "/queue", {"hold": True}, {"move": {"hold": True}}),
        ("DELETE", "", None, {"now": False, "force": False}),
        ("DELETE", "?now", None, {"now": True, "force": False}),
        ("DELETE", "?now=true", None, {"now": True, "force": False}),
        ("DELETE", "?now=false&force", None, {"now": False, "force": True}),
    ],
)
async def test_changes_reach_the_scheduler(
    gateway: Any, peers: Any, record: Any, method: str, path: str, body: Any, expected: Any
) -> None:
    """A change is passed on as it was sent, and the reply is the run with its summary."""
    peers.records[RUN_ID] = record(RUN_ID)
    await peers.commit(list(messages(101, 100)))
    options = {} if body is None else {"json": body}
    reply = await gateway.ask(method, f"/runs/{RUN_ID}{path}", **options)
    assert reply.status_code == 200
    assert reply.json()["summary"]["events"] == 101
    assert peers.asked[-1].model_dump() == {"run_id": RUN_ID, **expected}


async def test_what_a_deletion_frees(gateway: Any, peers: Any, record: Any) -> None:
    """The scheduler's report is passed on, and an unknown run is refused."""
    peers.records[RUN_ID] = record(RUN_ID)
    reply = await gateway.ask("GET", f"/runs/{RUN_ID}/deletion")
    assert (reply.status_code, reply.json()["bytes_by_kind"]) == (200, {"events": 7})
    assert (await gateway.ask("GET", f"/runs/{NEW_RUN}/deletion")).status_code == 404


async def test_a_new_run_like_another(gateway: Any, peers: Any, record: Any) -> None:
    """Retry, resume, clone and play answer 201 with the new run's address; overrides and key reach the scheduler."""
    peers.records[RUN_ID] = record(RUN_ID, "failed")
    retried = await gateway.ask("POST", f"/runs/{RUN_ID}/retry")
    resumed = await gateway.ask("POST", f"/runs/{RUN_ID}/resume")
    clone = {"overrides": {"seed": 2, "parameters": {"lr": None}}}
    headers = {"Idempotency-Key": "k-1"}
    cloned = await gateway.ask("POST", f"/runs/{RUN_ID}/clone", json=clone, headers=headers)
    for reply in (retried, resumed, cloned):
        assert (reply.status_code, reply.json()["run_id"]) == (201, NEW_RUN)
        assert reply.headers["location"] == f"/api/v1/runs/{NEW_RUN}"
    asked = peers.asked[-1]
    assert (asked.run_id, asked.clone, asked.idempotency_key) == (RUN_ID, clone, "k-1")
    play = {"checkpoint": "checkpoints/a.npz", "overrides": {"episodes": 3}}
    played = await gateway.ask("POST", f"/runs/{RUN_ID}/play", json=play, headers=headers)
    assert (played.status_code, played.json()["run_id"]) == (201, NEW_RUN)
    asked = peers.asked[-1]
    assert (asked.run_id, asked.play, asked.idempotency_key) == (RUN_ID, play, "k-1")
    restored = await gateway.ask("POST", f"/runs/{RUN_ID}/restore")
    assert (restored.status_code, restored.json()["run_id"]) == (200, RUN_ID)


async def test_a_repeated_key_gives_the_same_run(gateway: Any, peers: Any) -> None:
    """The first submit with a key is 201, the same again 200 with the same run; without a key each is 201."""
    headers = {"Idempotency-Key": "one-two/3"}
    first = await gateway.ask("POST", "/runs", json=SPEC, headers=headers)
    again = await gateway.ask("POST", "/runs", json=SPEC, headers=headers)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["run_id"] == again.json()["run_id"]
    assert [request.idempotency_key for request in peers.asked] == ["one-two/3"] * 2
    assert (await gateway.ask("POST", "/runs", json=SPEC)).status_code == 201
    for key in ("", "a b", "x" * 201, "\xe9".encode("latin-1")):
        refused = await gateway.ask("POST", "/runs", json=SPEC, headers={"Idempotency-Key": key})
        assert (refused.status_code, refused.json()["code"]) == (422, "request_invalid"), key


async def test_gpus_are_told_with_who_uses_them(gateway: Any, peers: Any) -> None:
    """State, devices and everybody on them, as the scheduler says it."""
    told = (await gateway.get("/gpus")).json()
    (device,) = told["devices"]
    assert (told["state"], device["state"], device["temperature_c"]) == ("ok", "foreign", None)
    assert device["foreign"][0]["name"] == "Xorg"


async def test_preflight_queue_and_machine(gateway: Any, peers: Any, record: Any) -> None:
    """Each is the scheduler's answer, with what was asked for."""
    peers.records[RUN_ID] = record(RUN_ID, "queued", position=1)
    report = (await gateway.ask("POST", "/preflight", json=SPEC)).json()
    assert (report["ok"], report["lines"][0]["id"]) == (True, "disk")
    assert peers.asked[-1].spec == SPEC
    queue = (await gateway.get("/queue")).json()
    assert [run["run_id"] for run in queue["runs"]] == [RUN_ID]
    machine = (await gateway.get("/machine", params={"last": 60})).json()
    assert (machine["interval_s"], peers.asked[-1].last) == (2.0, 60)
    assert (await gateway.get("/machine", params={"last": 0})).status_code == 422


async def test_an_ended_run_whose_telemetry_is_gone_says_so(
    gateway: Any, peers: Any, record: Any
) -> None:
    """When the store has no event of a run that had some, run, list and stack tell; the stack stays ready."""
    began = {"first_event_at": "2026-01-01T00:00:00Z"}
    peers.records[RUN_ID] = record(RUN_ID, "succeeded", **began)
    other = "01JGXSYNTHET1CRVN000000001"
    peers.records[other] = record(other, "failed")
    run = (await gateway.get(f"/runs/{RUN_ID}")).json()
    assert "store" in run["notes"][-1]
    listed = (await gateway.get("/runs")).json()["runs"]
    assert [len(run["notes"]) for run in listed] == [0, 1]
    stack = (await gateway.get("/stack")).json()
    assert stack["ready"]
    assert len(stack["findings"]) == 1
    assert RUN_ID in stack["findings"][0]
    await peers.commit(list(messages(101, 100)))
    assert (await gateway.get(f"/runs/{RUN_ID}")).json()["notes"] == []
    assert (await gateway.get("/stack")).json()["findings"] == []
    peers.records[RUN_ID] = record(RUN_ID, "running", **began)
    assert (await gateway.get(f"/runs/{RUN_ID}")).json()["notes"] == []
