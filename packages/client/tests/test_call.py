"""Requests and answers, against a transport that answers as the gateway."""

import json
import math
from collections.abc import Callable

import httpx
import pytest

from mosaic_client import (
    AnswerInvalid,
    AsyncClient,
    Client,
    Location,
    MosaicProblem,
    StackUnreachable,
)
from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RunSpec

LOCATION = Location("http://127.0.0.1:9", "secret")
RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
SPEC = RunSpec(worker="cleanrl", algorithm="ppo", environment="CartPole-v1")
VIEW = {
    "run_id": RUN_ID,
    "name": "a run",
    "spec": {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1"},
    "state": "queued",
    "revision": 1,
    "created_at": "2026-01-01T00:00:00Z",
    "run_dir": f"runs/{RUN_ID}",
}


def client(answer: Callable[[httpx.Request], httpx.Response], patience_s: float = 0.0) -> Client:
    return Client(LOCATION, transport=httpx.MockTransport(answer), patience_s=patience_s)


def test_a_request_carries_token_and_query() -> None:
    """Every request names the token, and only the parameters that were given."""
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"runs": []})

    client(answer).runs(limit=5)
    assert seen[0].headers["Authorization"] == "Bearer secret"
    assert str(seen[0].url) == "http://127.0.0.1:9/api/v1/runs?limit=5"


def test_a_spec_is_sent_as_it_was_given() -> None:
    """The stack fills in the defaults, so the body holds only what the person set."""

    def answer(request: httpx.Request) -> httpx.Response:
        assert json.loads(request.content) == {
            "worker": "cleanrl",
            "algorithm": "ppo",
            "environment": "CartPole-v1",
        }
        return httpx.Response(201, json=VIEW)

    assert client(answer).submit(SPEC).run_id == RUN_ID


def test_a_problem_becomes_an_error_with_its_code() -> None:
    """A refusal keeps the code, the detail and the findings of the gateway."""
    problem = {
        "code": "algorithm_unknown",
        "title": "cleanrl has no algorithm pp0",
        "detail": "Did you mean ppo?",
        "fields": [{"where": "algorithm", "message": "unknown", "nearest": ["ppo"]}],
    }
    with pytest.raises(MosaicProblem, match=r"no algorithm pp0\. Did you mean ppo\?") as caught:
        client(lambda _: httpx.Response(422, json=problem)).submit(SPEC)
    assert caught.value.problem.code is ProblemCode.ALGORITHM_UNKNOWN
    assert caught.value.problem.fields[0]["nearest"] == ["ppo"]


@pytest.mark.parametrize(
    ("status", "code"),
    [(401, ProblemCode.UNAUTHORIZED), (404, ProblemCode.NOT_FOUND), (500, ProblemCode.INTERNAL)],
)
def test_an_error_without_a_problem_still_has_a_code(status: int, code: ProblemCode) -> None:
    """Whatever stands between us and the gateway, its status decides."""
    with pytest.raises(MosaicProblem) as caught:
        client(lambda _: httpx.Response(status, text="<html>")).stack()
    assert caught.value.problem.code is code


def test_an_answer_of_something_else_is_named_as_such() -> None:
    """A page that is no JSON is an error that says so, not a traceback of the parser."""
    with pytest.raises(AnswerInvalid, match="mosaic doctor"):
        client(lambda _: httpx.Response(200, text="<html>hello")).stack()


def test_a_stack_that_never_answered_is_unreachable_at_once() -> None:
    """Nobody waits for a stack that is not up; the error says how to start one."""
    calls: list[int] = []

    def answer(request: httpx.Request) -> httpx.Response:
        calls.append(1)
        raise httpx.ConnectError("refused", request=request)

    with pytest.raises(StackUnreachable, match="mosaic up -d"):
        client(answer, patience_s=5).stack()
    assert len(calls) == 1


def test_a_stack_that_comes_back_is_waited_for() -> None:
    """A gateway that answered before and is restarted does not fail a reader."""
    answers = iter(["ok", "gone", "gone", "ok"])

    def answer(request: httpx.Request) -> httpx.Response:
        if next(answers) == "gone":
            raise httpx.ReadError("reset", request=request)
        return httpx.Response(200, json={"runs": []})

    mosaic = client(answer, patience_s=5)
    mosaic.runs()
    assert mosaic.runs().runs == []
    assert next(answers, None) is None


def test_a_submit_whose_answer_was_lost_is_asked_for_again_by_its_key() -> None:
    """The stack gives the same run for the same key, so a lost answer starts no second run; the next submit is new."""
    keys: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers["Idempotency-Key"])
        if len(keys) == 1:
            raise httpx.ReadError("reset", request=request)
        return httpx.Response(200, json=VIEW)

    mosaic = client(answer, patience_s=5)
    mosaic.submit(SPEC)
    mosaic.submit(SPEC)
    mosaic.submit(SPEC, idempotency_key="my-own")
    first, again, second, named = keys
    assert first == again != second
    assert named == "my-own"


async def test_a_stack_that_hung_up_gets_its_time_to_come_back() -> None:
    """The first request of a client reaches a gateway that is killed: it is sent again once the next one listens."""
    faults = [httpx.ReadError, httpx.ConnectError, None] * 2

    def answer(request: httpx.Request) -> httpx.Response:
        fault = faults.pop(0)
        if fault is not None:
            raise fault("gone", request=request)
        return httpx.Response(200, json=VIEW)

    assert client(answer, patience_s=5).submit(SPEC).run_id == RUN_ID
    async with AsyncClient(LOCATION, transport=httpx.MockTransport(answer), patience_s=5) as mosaic:
        assert (await mosaic.submit(SPEC)).run_id == RUN_ID
    assert not faults


@pytest.mark.parametrize("act", ["stop", "retry", "restore", "delete"])
def test_what_may_act_twice_is_never_sent_twice(act: str) -> None:
    """A connection that broke after such a request was sent may have done it, so it is not repeated."""
    sent: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.method)
        if request.method != "GET":
            raise httpx.ReadError("reset", request=request)
        return httpx.Response(200, json={"runs": []})

    mosaic = client(answer, patience_s=5)
    mosaic.runs()
    with pytest.raises(StackUnreachable):
        getattr(mosaic, act)(RUN_ID)
    assert len(sent) == 2


def test_a_curve_keeps_what_is_not_finite() -> None:
    """NaN and infinities come out as the floats they were."""
    curve = {
        "run_id": RUN_ID,
        "name": "loss",
        "points": 3,
        "steps": [1, 2, 3],
        "values": ["NaN", "-Infinity", 1.5],
    }
    values = client(lambda _: httpx.Response(200, json=curve)).curve(RUN_ID, "loss", last=3).values
    assert values is not None
    assert math.isnan(values[0])
    assert values[1:] == [-math.inf, 1.5]


def test_all_runs_are_read_page_by_page() -> None:
    """The run list follows the cursor to its end."""
    pages = {None: ([VIEW], "next"), "next": ([VIEW | {"name": "second"}], None)}

    def answer(request: httpx.Request) -> httpx.Response:
        runs, cursor = pages[request.url.params.get("cursor")]
        return httpx.Response(200, json={"runs": runs, "next_cursor": cursor})

    assert [run.name for run in client(answer).each_run()] == ["a run", "second"]


def test_ready_reads_a_503_as_an_answer() -> None:
    """Not ready is an answer with its findings, not an error."""
    body = {"ready": False, "findings": ["the recorder is away"]}
    ready, findings = client(lambda _: httpx.Response(503, json=body)).ready()
    assert (ready, findings) == (False, ["the recorder is away"])


async def test_the_async_client_reads_the_same() -> None:
    """The awaited methods give the same models and errors."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/stop"):
            return httpx.Response(409, json={"code": "run_ended", "title": "It has ended"})
        return httpx.Response(200, json=VIEW)

    async with AsyncClient(LOCATION, transport=httpx.MockTransport(answer)) as mosaic:
        assert (await mosaic.run(RUN_ID)).name == "a run"
        with pytest.raises(MosaicProblem, match="It has ended"):
            await mosaic.stop(RUN_ID)
