"""Bodies of requests, on every operation that takes one: their nesting and their media type."""

import json
from typing import Any

import pytest

from mosaic_store.testing import RUN_ID

pytestmark = pytest.mark.broker
JSON = "application/json"
SPEC = {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1"}


async def operations(gateway: Any) -> list[tuple[str, str]]:
    """Method and path of every operation with a JSON body, by the published document."""
    document = (await gateway.get("/openapi.json")).json()
    found = [
        (method.upper(), path.removeprefix("/api/v1"))
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if JSON in operation.get("requestBody", {}).get("content", {})
    ]
    assert len(found) >= 9
    return [
        (method, path.format(run_id=RUN_ID, group_id=f"g{RUN_ID}", name="key"))
        for method, path in found
    ]


def nested(depth: int, form: str) -> bytes:
    """A JSON object of `depth` levels in all."""
    inner = depth - 1
    if form == "lists":
        return b'{"parameters":' + b"[" * inner + b"]" * inner + b"}"
    if form == "objects":
        return b'{"parameters":' + b'{"a":' * inner + b"1" + b"}" * inner + b"}"
    return b'{"parameters":' + b'[{"a":' * (inner // 2) + b"1" + b"}]" * (inner // 2) + b"}"


@pytest.mark.nightly(by_day=["both"])
@pytest.mark.parametrize("form", ["lists", "objects", "both"])
async def test_a_body_of_any_depth_is_refused_in_words(
    gateway: Any, peers: Any, record: Any, form: str
) -> None:
    """Every operation with a body answers 422 to each depth above the limit and asks the scheduler nothing."""
    peers.records[RUN_ID] = record(RUN_ID)
    depths = (67, 201, 257, 401, 701, 951, 1_001, 20_001)
    for method, path in await operations(gateway):
        for depth in depths if path == "/runs" else (67, 951, 20_001):
            reply = await gateway.ask(
                method, path, content=nested(depth, form), headers={"Content-Type": JSON}
            )
            told = reply.json()
            assert (reply.status_code, told["code"]) == (422, "request_invalid"), (path, depth)
            # A body that may hold a secret is described by no word of its own.
            is_secret = "/secrets/" in path or "/alerts/targets/" in path
            assert "nested deeper than 64 levels" in told["detail"] or is_secret
    assert peers.asked == []


async def test_a_spec_as_deep_as_is_allowed_reaches_the_scheduler(gateway: Any, peers: Any) -> None:
    """A body of 64 levels passes the broker on every way to the scheduler; what it means is judged there."""
    headers = {"Content-Type": JSON}
    for path in ("/runs", "/runs/check", "/preflight"):
        reply = await gateway.ask("POST", path, content=nested(64, "lists"), headers=headers)
        assert reply.status_code in (200, 201)
    assert peers.submitted == [json.loads(nested(64, "lists"))]


@pytest.mark.nightly(by_day=["headers0", "headers4"])
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": ""},
        {"Content-Type": "text/plain"},
        {"Content-Type": "text/plain; charset=utf-8"},
        {"Content-Type": "text/plain; x=application/json"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "multipart/form-data; boundary=application/json"},
        {"Content-Type": "application/octet-stream"},
        {"Content-Type": "application/jsonp"},
        {"Content-Type": "application/json; charset=iso-8859-1"},
        {"Content-Type": JSON, "Content-Encoding": "gzip"},
    ],
)
async def test_a_body_that_is_not_said_to_be_json_is_refused(
    gateway: Any, peers: Any, record: Any, headers: dict[str, str]
) -> None:
    """Every operation with a body answers 415 to another media type or none, before the body is looked at."""
    peers.records[RUN_ID] = record(RUN_ID)
    for method, path in await operations(gateway):
        for body in (json.dumps(SPEC).encode(), b"", b"no JSON"):
            reply = await gateway.ask(method, path, content=body, headers=headers)
            told = reply.json()
            assert (reply.status_code, told["code"]) == (415, "media_type_refused"), path
            assert "application/json" in told["detail"]
    assert peers.asked == []


@pytest.mark.parametrize(
    "media_type",
    ["application/json", "Application/JSON; Charset=UTF-8", "application/merge-patch+json"],
)
async def test_json_by_each_of_its_names_is_taken(
    gateway: Any, peers: Any, media_type: str
) -> None:
    """The usual spellings of the media type of JSON are accepted."""
    headers = {"Content-Type": media_type}
    reply = await gateway.ask("POST", "/runs", content=json.dumps(SPEC).encode(), headers=headers)
    assert reply.status_code == 201
