"""Secrets go in and never come out: over a real gateway process, with its log."""

from typing import Any

import pytest

pytestmark = pytest.mark.broker
VALUE = "hunter2-ünlikely-🙂-value"


async def test_a_secret_is_kept_and_never_shown(gateway: Any, peers: Any) -> None:
    """PUT, list and DELETE work by name; the value reaches the scheduler alone, never an answer or the log."""
    put = await gateway.ask("PUT", "/secrets/wandb_api_key", json={"value": VALUE})
    assert (put.status_code, put.json()["name"]) == (200, "wandb_api_key")
    assert peers.secrets == {"wandb_api_key": VALUE}
    listed = await gateway.get("/secrets")
    assert [entry["name"] for entry in listed.json()["secrets"]] == ["wandb_api_key"]
    gone = await gateway.ask("DELETE", "/secrets/wandb_api_key")
    assert (gone.status_code, gone.content) == (204, b"")
    again = await gateway.ask("DELETE", "/secrets/wandb_api_key")
    assert (again.status_code, again.json()["code"]) == (404, "secret_unknown")
    assert "hunter2" not in put.text + listed.text + again.text + gateway.log.read_text()


@pytest.mark.parametrize(
    "body",
    [
        f'{{"value": ["{VALUE}"]}}', f'{{"value": "{VALUE * 4000}"}}', f'{{"{VALUE}": 1}}', f'"{VALUE}"', VALUE,
        f'{{"value": "{VALUE}", "value": "x"}}', f'{{"value": "x", "{VALUE}": "{VALUE}"}}', '{"value": ""}',
        '{"value": 1e999, "hunter2": 1}', f'{{"{VALUE}": 1, "{VALUE}": 2}}', f'{{"value": "{VALUE}\\ud800"}}',
        f'{{"value": NaN, "x": "{VALUE}"}}', "[" * 5000 + VALUE,
    ],
)  # fmt: skip
async def test_a_wrong_value_is_refused_without_a_word_of_it(
    gateway: Any, peers: Any, body: str
) -> None:
    """Whatever is wrong with a body, the refusal and the log quote nothing from it."""
    headers = {"Content-Type": "application/json"}
    reply = await gateway.ask("PUT", "/secrets/key", content=body.encode(), headers=headers)
    assert (reply.status_code, reply.json()["code"]) == (422, "request_invalid")
    assert "hunter2" not in reply.text + gateway.log.read_text()
    assert "1e999" not in reply.text
    assert peers.secrets == {}


async def test_a_refusal_that_quotes_the_value_is_not_passed_on(gateway: Any, peers: Any) -> None:
    """Even what the scheduler says of a value is shown without it, under the scheduler's code."""
    reply = await gateway.ask("PUT", "/secrets/refused", json={"value": VALUE})
    assert (reply.status_code, reply.json()["code"]) == (422, "request_invalid")
    assert "hunter2" not in reply.text + gateway.log.read_text()


@pytest.mark.parametrize("name", ["1a", "a-b", "hunter2%20x", "a" * 65, "%F0%9F%99%82", "a%0A"])
async def test_a_wrong_name_is_refused(gateway: Any, peers: Any, name: str) -> None:
    """An invalid name is refused as such, for PUT and DELETE, and is not quoted: it may be the secret."""
    for method, options in (("PUT", {"json": {"value": VALUE}}), ("DELETE", {})):
        reply = await gateway.ask(method, f"/secrets/{name}", **options)
        assert (reply.status_code, reply.json()["code"]) in (
            (422, "request_invalid"),
            (404, "not_found"),
        )
        assert "hunter2" not in reply.text
    assert peers.secrets == {}
