"""Every operation of the HTTP interface, sync and async: what is sent, and what comes back."""

import copy
import inspect
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import mosaic_client
from mosaic_client import AsyncClient, Client, Location, MosaicProblem
from mosaic_client.errors import problem_error
from mosaic_contracts import frames
from mosaic_contracts.problems import Problem, ProblemCode
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.stored import BatchPage, encode_page
from mosaic_contracts.sweeps import SweepSpec

LOCATION = Location("http://127.0.0.1:9", "secret")
RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
RUN = f"/api/v1/runs/{RUN_ID}"
SPEC = RunSpec(worker="cleanrl", algorithm="ppo", environment="CartPole-v1")
SPEC_SENT = {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1"}
SWEEP_PATH = f"/api/v1/sweeps/{RUN_ID}"
SWEEP_SENT = {
    "run": SPEC_SENT,
    "parameters": {"gamma": {"type": "float", "low": 0.9, "high": 0.99}},
}
SWEEP = SweepSpec.model_validate(SWEEP_SENT)
VIEW = {
    "run_id": RUN_ID,
    "name": "a run",
    "spec": SPEC_SENT,
    "state": "queued",
    "revision": 1,
    "created_at": "2026-01-01T00:00:00Z",
    "run_dir": f"runs/{RUN_ID}",
}
PAGE = {"runs": [VIEW], "next_cursor": None}
SECRET = {"name": "WANDB_KEY", "updated_at": "2026-01-01T00:00:00Z"}
TICKET = {"url": "/t/abc", "expires_at": "2026-01-01T00:00:00Z"}
STACK = {"version": "1", "ready": True, "broker": True}
CHECK = {"ok": True, "findings": [], "plan": {}}
PLAN: dict[str, Any] = {
    "run_id": RUN_ID, "way": "store", "address": "https://a", "project": "p", "entity": None, "files": 1,
    "file_bytes": 2,
}  # fmt: skip
AT = {"checked_at": "2026-01-01T00:00:00Z"}
PRUNE_PLAN = {"items": [], "planned_at": "2026-01-01T00:00:00Z"}
PROFILES = {"path": "storage_profiles.yaml", "exists": False, "content": {}}
ALERTS: dict[str, Any] = {"rules": [], "alerts": [], "targets": []}
RULE = {"rule_id": "r1", "rule": "nan", "plain": "x", "created_at": "2026-01-01T00:00:00Z"}
EVENTS: dict[str, Any] = {"events": [], "cursor": "", "has_more": False}

FRAMES = frames.encode_page(frames.EpisodeFrames([b"frame"], 6, 9))
BATCHES = encode_page(BatchPage({}, [b"frame"], "1.worker.9", True))

Act = Callable[[Any], Any]
OPERATIONS: list[tuple[Act, str, str, Any, Any]] = [
    (lambda c: c.ready(), "GET", "/readyz", None, {"ready": True}),
    (lambda c: c.prometheus(), "GET", "/metrics", None, "text"),
    (lambda c: c.stack(), "GET", "/api/v1/stack", None, STACK),
    (lambda c: c.workers(), "GET", "/api/v1/workers", None, {"workers": []}),
    (lambda c: c.machine(60), "GET", "/api/v1/machine?last=60", None, {"interval_s": 1, "samples": []}),
    (lambda c: c.gpus(), "GET", "/api/v1/gpus", None, {"state": "ok", "share_limit": 4}),
    (lambda c: c.secrets(), "GET", "/api/v1/secrets", None, {"secrets": [SECRET]}),
    (lambda c: c.set_secret("WANDB_KEY", "é"), "PUT", "/api/v1/secrets/WANDB_KEY", {"value": "é"}, SECRET),
    (lambda c: c.delete_secret("WANDB_KEY"), "DELETE", "/api/v1/secrets/WANDB_KEY", None, None),
    (lambda c: c.ticket("/stack", 9), "POST", "/api/v1/tickets", {"path": "/stack", "ttl_s": 9}, TICKET),
    (lambda c: c.submit(SPEC), "POST", "/api/v1/runs", SPEC_SENT, VIEW),
    (lambda c: c.check(SPEC), "POST", "/api/v1/runs/check", SPEC_SENT, CHECK),
    (lambda c: c.preflight(SPEC), "POST", "/api/v1/preflight", SPEC_SENT, {"ok": True, "lines": []}),
    (
        lambda c: c.runs("c", 5, ["running", "queued"], tag=["a", "b"], sort="best_return", order="asc"),
        "GET",
        "/api/v1/runs?cursor=c&limit=5&state=running&state=queued&tag=a&tag=b&sort=best_return&order=asc",
        None,
        PAGE,
    ),
    (lambda c: c.runs(deleted=True, text="ä"), "GET", "/api/v1/runs?deleted=true&text=%C3%A4", None, PAGE),
    (lambda c: c.run(RUN_ID), "GET", RUN, None, VIEW),
    (lambda c: c.run("../x"), "GET", "/api/v1/runs/..%2Fx", None, VIEW),
    (lambda c: c.queue(), "GET", "/api/v1/queue", None, PAGE),
    (lambda c: c.patch(RUN_ID, tags=[], note=""), "PATCH", RUN, {"tags": [], "note": ""}, VIEW),
    (lambda c: c.patch(RUN_ID, pinned=True), "PATCH", RUN, {"pinned": True}, VIEW),
    (lambda c: c.storage(), "GET", "/api/v1/storage", None, AT),
    (lambda c: c.storage(RUN_ID, 5), "GET", f"/api/v1/storage?run={RUN_ID}&limit=5", None, AT),
    (lambda c: c.plan_prune(), "POST", "/api/v1/storage/plan", {}, PRUNE_PLAN),
    (
        lambda c: c.plan_prune([RUN_ID], ["video"], 5),
        "POST",
        "/api/v1/storage/plan",
        {"run_ids": [RUN_ID], "kinds": ["video"], "limit": 5},
        PRUNE_PLAN,
    ),
    (
        lambda c: c.prune(kinds=["video"], empty_trash=True),
        "POST",
        "/api/v1/storage/prune",
        {"kinds": ["video"], "empty_trash": True},
        {"left": 3},
    ),
    (lambda c: c.undo_prune(items=[4]), "POST", "/api/v1/storage/undo", {"items": [4]}, {"files": 1}),
    (lambda c: c.storage_profiles(), "GET", "/api/v1/storage/profiles", None, PROFILES),
    (lambda c: c.patch(RUN_ID, pinned_files=["a"]), "PATCH", RUN, {"pinned_files": ["a"]}, VIEW),
    (lambda c: c.alerts(), "GET", "/api/v1/alerts", None, ALERTS),
    (lambda c: c.alerts(RUN_ID, 5), "GET", f"/api/v1/alerts?run={RUN_ID}&limit=5", None, ALERTS),
    (
        lambda c: c.add_alert_rule("return < 50 for 50k steps", "env:X"),
        "POST",
        "/api/v1/alerts/rules",
        {"rule": "return<50 for 50k steps", "runs": "env:X"},
        RULE,
    ),
    (lambda c: c.remove_alert_rule("r1"), "DELETE", "/api/v1/alerts/rules/r1", None, RULE),
    (lambda c: c.restore_alert_rule("r1"), "POST", "/api/v1/alerts/rules/r1/restore", None, RULE),
    (
        lambda c: c.test_alert("nan", RUN_ID),
        "POST",
        "/api/v1/alerts/test",
        {"rule": "nan", "run_id": RUN_ID},
        {"rule": "nan", "plain": "A value of a loss is NaN"},
    ),
    (
        lambda c: c.set_alert_target("chat", "https://a/b", authorization="Bearer x", consent=True),
        "PUT",
        "/api/v1/alerts/targets/chat",
        {"webhook": "https://a/b", "authorization": "Bearer x", "consent": True},
        {"name": "chat", "kind": "webhook", "shown": "https://a/***", "created_at": "2026-01-01T00:00:00Z"},
    ),
    (lambda c: c.delete_alert_target("chat"), "DELETE", "/api/v1/alerts/targets/chat", None, None),
    (
        lambda c: c.test_alert_target("chat"),
        "POST",
        "/api/v1/alerts/targets/chat/test",
        None,
        {"target": "chat", "state": "delivered"},
    ),
    (lambda c: c.move(RUN_ID, hold=False), "PATCH", f"{RUN}/queue", {"hold": False}, VIEW),
    (lambda c: c.move(RUN_ID, before=RUN_ID), "PATCH", f"{RUN}/queue", {"before": RUN_ID}, VIEW),
    (
        lambda c: c.plan_sync(RUN_ID, project="p", again=True),
        "POST",
        f"{RUN}/syncs/check",
        {"project": "p", "again": True},
        PLAN,
    ),
    (
        lambda c: c.sync(RUN_ID, "digest", videos=False),
        "POST",
        f"{RUN}/syncs",
        {"consent": "digest", "videos": False},
        VIEW,
    ),
    (lambda c: c.syncs(RUN_ID), "GET", f"{RUN}/syncs", None, {"syncs": [VIEW]}),
    (lambda c: c.stop(RUN_ID), "POST", f"{RUN}/stop", None, VIEW),
    (lambda c: c.retry(RUN_ID), "POST", f"{RUN}/retry", None, VIEW),
    (lambda c: c.resume(RUN_ID), "POST", f"{RUN}/resume", None, VIEW),
    (
        lambda c: c.clone(RUN_ID, seed=2, parameters={"gamma": None}),
        "POST",
        f"{RUN}/clone",
        {"overrides": {"seed": 2, "parameters": {"gamma": None}}},
        VIEW,
    ),
    (
        lambda c: c.play(RUN_ID, "checkpoints/a.npz", episodes=5),
        "POST",
        f"{RUN}/play",
        {"checkpoint": "checkpoints/a.npz", "overrides": {"episodes": 5}},
        VIEW,
    ),
    (
        lambda c: c.fork(RUN_ID, 3, 40, checkpoint="last", seed=2),
        "POST",
        f"{RUN}/fork",
        {
            "episode": 3,
            "step": 40,
            "env": 0,
            "attempt": None,
            "actor": "human",
            "checkpoint": "last",
            "overrides": {"seed": 2},
        },
        VIEW,
    ),
    (
        lambda c: c.replay(RUN_ID, 3, env=2, draws=False),
        "POST",
        f"{RUN}/replays",
        {"episode": 3, "env": 2, "attempt": None, "draws": False},
        VIEW,
    ),
    (lambda c: c.replays(RUN_ID), "GET", f"{RUN}/replays", None, [{"run": VIEW}]),
    (
        lambda c: c.episode_frames(RUN_ID, 4, every=2),
        "GET",
        f"{RUN}/frames?first=4&every=2",
        None,
        FRAMES,
    ),
    (lambda c: c.delete(RUN_ID), "DELETE", RUN, None, VIEW),
    (lambda c: c.delete(RUN_ID, now=True), "DELETE", f"{RUN}?now=true", None, VIEW),
    (lambda c: c.restore(RUN_ID), "POST", f"{RUN}/restore", None, VIEW),
    (lambda c: c.metrics(RUN_ID), "GET", f"{RUN}/metrics", None, []),
    (
        lambda c: c.curve(RUN_ID, "losses/a", buckets=9, from_step=0),
        "GET",
        f"{RUN}/curve?name=losses%2Fa&buckets=9&from_step=0",
        None,
        {"run_id": RUN_ID, "name": "losses/a", "points": 0},
    ),
    (lambda c: c.episodes(RUN_ID, order="newest"), "GET", f"{RUN}/episodes?order=newest", None, {"episodes": []}),
    (lambda c: c.steps(RUN_ID, 1, 0, 3), "GET", f"{RUN}/episodes/1/0/3/steps", None, EVENTS),
    (lambda c: c.events(RUN_ID, types=["metric", "*.*"]), "GET", f"{RUN}/events?types=metric%2C%2A.%2A", None, EVENTS),
    (lambda c: c.batches(RUN_ID, "", ["step"]), "GET", f"{RUN}/batches?cursor=&types=step", None, BATCHES),
    (lambda c: c.log(RUN_ID, 5), "GET", f"{RUN}/log?offset=5", None, "text"),
    (lambda c: c.log_tail(RUN_ID, 5), "GET", f"{RUN}/log?tail=5", None, "text"),
    (
        lambda c: c.checkpoints(limit=5, environment="CartPole-v1", sort="return"),
        "GET",
        "/api/v1/checkpoints?limit=5&environment=CartPole-v1&sort=return",
        None,
        {"checkpoints": []},
    ),
    (
        lambda c: c.verify_checkpoints(RUN_ID, "a.pt"),
        "POST",
        f"{RUN}/checkpoints/verify?path=a.pt",
        None,
        [],
    ),
    (lambda c: c.start_sweep(SWEEP), "POST", "/api/v1/sweeps", SWEEP.model_dump(mode="json"), VIEW),
    (lambda c: c.check_sweep(SWEEP), "POST", "/api/v1/sweeps/check", SWEEP.model_dump(mode="json"), CHECK),
    (
        lambda c: c.sweep(RUN_ID),
        "GET",
        SWEEP_PATH,
        None,
        {"run_id": RUN_ID, "sweep": SWEEP_SENT, "counts": {}, "best": [], "steps": 0},
    ),
    (
        lambda c: c.trials(RUN_ID, "1.4", 9),
        "GET",
        f"{SWEEP_PATH}/trials?after=1.4&limit=9",
        None,
        {"trials": [], "cursor": "1.4", "has_more": False},
    ),
    (lambda c: c.best_of_sweep(RUN_ID, 3), "GET", f"{SWEEP_PATH}/best?trial=3", None, SPEC_SENT),
    (lambda c: c.stop_sweep(RUN_ID, let_finish=True), "POST", f"{SWEEP_PATH}/stop", {"let_finish": True}, VIEW),
    (lambda c: c.resume_sweep(RUN_ID, parallel=3), "POST", f"{SWEEP_PATH}/resume", {"parallel": 3}, VIEW),
    (lambda c: c.artifacts(RUN_ID), "GET", f"{RUN}/artifacts", None, []),
    (lambda c: c.manifest(RUN_ID), "GET", f"{RUN}/manifest", None, {"run_id": RUN_ID, "entries": []}),
    (lambda c: c.quarantine(RUN_ID), "GET", f"{RUN}/quarantine", None, []),
]  # fmt: skip


def gateway(seen: list[httpx.Request], given: Any) -> httpx.MockTransport:
    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        if given is None:
            return httpx.Response(204)
        if isinstance(given, str | bytes):
            return httpx.Response(200, content=given)
        return httpx.Response(200, json=given)

    return httpx.MockTransport(answer)


@pytest.mark.parametrize(("act", "method", "url", "body", "given"), OPERATIONS)
async def test_an_operation_is_sent_as_the_interface_says(
    act: Act, method: str, url: str, body: Any, given: Any
) -> None:
    """Both clients send the method, path, query and body that the gateway takes, and read the same answer."""
    seen: list[httpx.Request] = []
    with Client(LOCATION, transport=gateway(seen, given)) as client:
        answer = act(client)
    async with AsyncClient(LOCATION, transport=gateway(seen, given)) as async_client:
        assert await act(async_client) == answer
    for request in seen:
        assert (request.method, request.url.raw_path.decode()) == (method, url)
        assert (json.loads(request.content) if request.content else None) == body
        takes_key = url.endswith(("/sweeps", "/runs", "/clone", "/play", "/fork", "/replays"))
        assert ("Idempotency-Key" in request.headers) == (takes_key and method == "POST")


def test_both_clients_have_the_same_methods() -> None:
    """What one client can, the other can, with the same parameters."""

    def signatures(client: type) -> dict[str, list[str]]:
        return {
            name: [str(p) for p in inspect.signature(found).parameters.values()]
            for name, found in inspect.getmembers(client)
            if callable(found) and not name.startswith("_")
        }

    assert signatures(Client) == signatures(AsyncClient)


def test_a_method_says_what_it_takes() -> None:
    """A notebook's tooltip shows the signature and the words of the request."""
    signature = inspect.signature(Client.patch)
    assert list(signature.parameters)[:5] == ["self", "run_id", "name", "tags", "note"]
    assert "the whole list" in (Client.patch.__doc__ or "")


@pytest.mark.parametrize("code", list(ProblemCode))
def test_every_problem_has_a_class_that_can_be_caught(code: ProblemCode) -> None:
    """Each code raises a class of its own kind, which the package exports; a copy keeps its problem."""
    error = problem_error(Problem(code=code, title="No", detail="Do this."))
    kind = type(error)
    assert kind is not MosaicProblem
    assert getattr(mosaic_client, kind.__name__) is kind
    again = copy.copy(error)
    assert (type(again), str(again), again.problem) == (kind, "No. Do this.", error.problem)
