"""Tickets: links that open one address to GET for a while, over a real gateway process."""

import stat
import time
from typing import Any

import httpx
import pytest

from mosaic_gateway.access.ticket import with_ticket
from mosaic_store.testing import RUN_ID

pytestmark = pytest.mark.broker


@pytest.fixture
def files(gateway: Any, peers: Any) -> None:
    """Two files of the run, one with a name that needs encoding."""
    folder = gateway.home / "runs" / RUN_ID / "videos"
    folder.mkdir(parents=True)
    for name in ("1.mp4", "2.mp4", "é & #1?.mp4"):
        (folder / name).write_bytes(b"0123456789")


async def bare(gateway: Any, method: str, url: str, **options: Any) -> httpx.Response:
    """A request of somebody who has no token."""
    async with gateway.async_client() as http:
        reply: httpx.Response = await http.request(method, url, **options)
        return reply


async def ticket_for(gateway: Any, path: str, ttl_s: float = 60) -> str:
    """Ask for a link."""
    reply = await gateway.ask("POST", "/tickets", json={"path": path, "ttl_s": ttl_s})
    assert reply.status_code == 200, reply.text
    url: str = reply.json()["url"]
    return url


@pytest.mark.parametrize(
    "path",
    [
        "/artifacts/videos/1.mp4", "/artifacts/videos/%C3%A9%20%26%20%231%3F.mp4", "/log?tail=5",
        "/artifacts/videos/é%20&%20%231%3F.mp4", "/curve?name=it's%20a/b&last=3",
    ],
)  # fmt: skip
async def test_a_ticket_opens_what_it_was_made_for(gateway: Any, files: Any, path: str) -> None:
    """Without a token the link gives what the token gives, also a range, and never names itself to others."""
    url = await ticket_for(gateway, f"/runs/{RUN_ID}{path}")
    opened = await bare(gateway, "GET", url)
    with_token = await gateway.get(f"/runs/{RUN_ID}{path}")
    assert (opened.status_code, opened.content) == (with_token.status_code, with_token.content)
    assert opened.headers["referrer-policy"] == "no-referrer"
    if "videos" in path:
        part = await bare(gateway, "GET", url, headers={"Range": "bytes=2-3"})
        assert (part.status_code, part.content) == (206, b"23")


async def test_a_ticket_opens_nothing_else(gateway: Any, files: Any) -> None:
    """Another path, method, query, expiry or signature, and the WebSocket, are 401 with `ticket_invalid`."""
    url = await ticket_for(gateway, f"/runs/{RUN_ID}/artifacts/videos/1.mp4")
    path, _, query = url.partition("?")
    ticket = query.partition("=")[2]
    expires, _, signature = ticket.partition(".")
    live = {
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13", "Sec-WebSocket-Protocol": "mosaic.json.v1",
    }  # fmt: skip
    live_url = await ticket_for(gateway, "/live")
    for method, tried, headers in [
        ("GET", url.replace("1.mp4", "2.mp4"), {}),
        ("GET", f"/api/v1/runs?{query}", {}),
        ("GET", f"{path}?x=1&{query}", {}),
        ("GET", f"{path}?ticket={int(expires) + 60}.{signature}", {}),
        ("GET", f"{path}?ticket={expires}.{signature[:-1]}0{signature[-1]}", {}),
        ("GET", f"{path}?ticket={expires}.", {}),
        ("GET", f"{path}?ticket=", {}),
        ("GET", f"{path}?ticket=.{signature}", {}),
        ("GET", f"{path}?ticket=٣.{signature}", {}),
        ("HEAD", url, {}),
        ("DELETE", url, {}),
        ("POST", url, {}),
        ("GET", live_url, live),
    ]:
        reply = await bare(gateway, method, tried, headers=headers)
        assert reply.status_code == 401, (method, tried)
        if method != "HEAD":
            assert reply.json()["code"] == "ticket_invalid"
    foreign = await bare(gateway, "GET", url, headers={"Host": "evil.example"})
    assert foreign.status_code == 421


async def test_a_ticket_expires(gateway: Any, files: Any) -> None:
    """After its time a link is worth nothing; the time was in the answer."""
    key = (gateway.home / "secrets/tickets.key").read_text().strip().encode()
    address = f"/api/v1/runs/{RUN_ID}/log"
    now = int(time.time())
    assert (await bare(gateway, "GET", with_ticket(key, address, now + 30))).status_code == 200
    late = await bare(gateway, "GET", with_ticket(key, address, now - 1))
    assert (late.status_code, late.json()["code"]) == (401, "ticket_invalid")
    assert late.headers.get("www-authenticate") is None


@pytest.mark.parametrize(
    "body",
    [
        {"path": "runs"}, {"path": "http://evil.example/"}, {"path": "/runs/../secrets"}, {"path": "/a/%2e%2e/b"},
        {"path": "/a#b"}, {"path": "/100%"}, {"path": "/a%ff"}, {"path": "/a?ticket=1.2"}, {"path": ""},
        {"path": "/a", "ttl_s": 0}, {"path": "/a", "ttl_s": 86_401}, {"path": "/a", "ttl": 5}, {}, {"path": 5},
        {"path": "/\x00"}, {"path": "/a", "ttl_s": "NaN"},
    ],
)  # fmt: skip
async def test_a_link_to_nothing_sensible_is_refused(gateway: Any, peers: Any, body: Any) -> None:
    """Paths that no client would send as written, and times out of range, are 422."""
    reply = await gateway.ask("POST", "/tickets", json=body)
    assert (reply.status_code, reply.json()["code"]) == (422, "request_invalid")


def test_the_key_is_made_at_first_start_for_the_owner_alone(gateway: Any) -> None:
    """The key file has mode 0600 and is neither the token nor in the log."""
    file = gateway.home / "secrets/tickets.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    key = file.read_text().strip()
    assert len(key) >= 43
    assert key != gateway.token
    assert key not in gateway.log.read_text()
