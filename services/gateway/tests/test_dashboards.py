"""Dashboards: who may open one, and what is passed on to TensorBoard's socket and back."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from mosaic_contracts.runs import RunEnd
from mosaic_contracts.services import DashboardOrder
from mosaic_contracts.states import EndCause, RunState
from mosaic_gateway.access.dashboard_cookie import COOKIE, has_cookie, set_cookie
from mosaic_store.testing import RUN_ID

pytestmark = pytest.mark.broker
NEW_RUN = "01JGXSBMTTED00000000000000"
"""What the stand-in for the scheduler starts."""
OTHER = "01JGXSYNTHET1CRVN00000000D"
PAGE = f"/dashboards/{NEW_RUN}/"
ANSWER = (
    b"HTTP/1.1 302 Found\r\nContent-Length: 4\r\nContent-Encoding: identity\r\nSet-Cookie: theirs=1\r\n"
    b"Location: http://dashboard/dashboards/x/?y=1\r\nContent-Security-Policy: default-src 'self'\r\n"
    b"Connection: close\r\n\r\nbody"
)


class BoardStandIn:
    """Answers each request on a socket with the same bytes, and keeps the requests."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.answer = ANSWER

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection; one that asks for nothing was a look whether it answers."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            writer.close()
            return
        length = re.search(rb"content-length: (\d+)", head.lower())
        body = await reader.readexactly(int(length[1])) if length is not None else b""
        self.requests.append(head + body)
        writer.write(self.answer)
        writer.close()


@asynccontextmanager
async def board(home: Path, run_id: str = NEW_RUN) -> AsyncIterator[BoardStandIn]:
    """A TensorBoard's socket in the run's folder."""
    folder = home / "runs" / run_id / "control"
    folder.mkdir(parents=True, exist_ok=True)
    stand_in = BoardStandIn()
    server = await asyncio.start_unix_server(stand_in.serve, folder / "dashboard.sock")
    async with server:
        yield stand_in
    (folder / "dashboard.sock").unlink()


async def bare(gateway: Any, method: str, url: str, **options: Any) -> httpx.Response:
    """A request of somebody who has no token."""
    async with gateway.async_client() as http:
        reply: httpx.Response = await http.request(method, url, **options)
        return reply


async def opened(gateway: Any) -> tuple[str, dict[str, str]]:
    """The link of a new dashboard, and the cookie that it sets."""
    entry = (await gateway.ask("POST", "/tensorboards", json={"runs": [RUN_ID]})).json()
    page = await bare(gateway, "GET", entry["url"])
    assert page.status_code == 200, page.text
    return entry["url"], {"Cookie": page.headers["set-cookie"].partition(";")[0]}


async def test_a_selection_is_opened_once_it_answers(gateway: Any, peers: Any) -> None:
    """Without a socket it is starting; with one it has a link. The same selection is 200, and its use is reported."""
    body = {"runs": [RUN_ID]}
    first = await gateway.ask("POST", "/tensorboards", json=body)
    assert (first.status_code, first.json()["is_ready"], first.json()["url"]) == (201, False, "")
    silent = await gateway.ask("GET", f"/tensorboards/{NEW_RUN}?wait_s=0.3")
    assert silent.json()["is_ready"] is False
    async with board(gateway.home):
        found = await gateway.ask("GET", f"/tensorboards/{NEW_RUN}?wait_s=10")
        assert found.json()["url"].startswith(PAGE + "?ticket=")
        await bare(gateway, "GET", PAGE, headers=gateway.headers)
        again = await gateway.ask("POST", "/tensorboards", json=body)
        assert (again.status_code, again.json()["is_ready"]) == (200, True)
    orders = [one for one in peers.asked if isinstance(one, DashboardOrder)]
    assert [one.dashboard for one in orders] == [body, body]
    assert orders[0].unused_s.get(NEW_RUN, 1e9) > orders[1].unused_s[NEW_RUN] >= 0


async def test_a_link_opens_one_dashboard_and_nothing_else(
    gateway: Any, peers: Any, record: Any
) -> None:
    """Its ticket sets a strict cookie of that path. Neither opens another path, the API, or comes from another site."""
    peers.records[RUN_ID] = record(RUN_ID)
    async with board(gateway.home), board(gateway.home, OTHER):
        link, cookie = await opened(gateway)
        page = await bare(gateway, "GET", link)
        set_by = page.headers["set-cookie"]
        assert f"; Path={PAGE};" in set_by
        assert all(word in set_by for word in ("HttpOnly", "SameSite=Strict", "Max-Age="))
        assert "Secure" not in set_by  # plain HTTP
        assert 'content="0;url=./"' in page.text
        passed = await bare(gateway, "GET", f"{PAGE}data/runs", headers=cookie)
        assert passed.content == b"body"
        query = link.partition("?")[2]
        for method, url, headers, status in [
            ("GET", f"{PAGE}data/runs", {}, 401),
            ("GET", f"/dashboards/{OTHER}/", cookie, 401),
            ("GET", f"/dashboards/{OTHER}/?{query}", {}, 401),
            ("GET", f"{PAGE}data/runs?{query}", {}, 401),
            ("POST", link, {}, 401),
            ("GET", f"/api/v1/runs/{RUN_ID}", cookie, 401),
            ("POST", f"/api/v1/runs/{RUN_ID}/stop", cookie, 401),
            ("GET", f"/dashboards/{NEW_RUN}", cookie, 401),
            ("GET", PAGE, {"Cookie": cookie["Cookie"] + "0"}, 401),
            ("GET", PAGE, {"Cookie": f"{COOKIE}=99999999999.x"}, 401),
            ("GET", PAGE, {**cookie, "Origin": "https://evil.example"}, 403),
            ("GET", PAGE, {**cookie, "Host": "evil.example"}, 421),
        ]:
            reply = await bare(gateway, method, url, headers=headers)
            assert reply.status_code == status, (method, url, reply.text)


async def test_requests_are_passed_on_without_secrets_and_answers_without_rights(
    gateway: Any, peers: Any
) -> None:
    """Path, query and body as sent; no token or cookie; a policy of ours, relative redirects, no cookie of theirs."""
    async with board(gateway.home) as stand_in:
        _, cookie = await opened(gateway)
        headers = {**cookie, **gateway.headers, "Accept-Encoding": "gzip", "TE": "trailers"}
        reply = await bare(
            gateway, "POST", f"{PAGE}data/a%20b?tag=c%2Fd&x", headers=headers, content=b"q=1"
        )
        (request,) = stand_in.requests
        head, _, body = request.partition(b"\r\n\r\n")
        lines = head.decode().lower().split("\r\n")
        assert lines[0] == f"post {PAGE}data/a%20b?tag=c%2fd&x http/1.1".lower()
        assert body == b"q=1"
        assert {"content-length: 3", "accept-encoding: gzip", "connection: close"} <= set(lines)
        assert not any(line.startswith(("authorization", "cookie", "te:")) for line in lines)
        assert gateway.token.lower() not in head.decode().lower()
        assert (reply.status_code, reply.content) == (302, b"body")
        assert reply.headers["location"] == "/dashboards/x/?y=1"
        assert "set-cookie" not in reply.headers
        theirs, ours = reply.headers.get_list("content-security-policy")
        assert theirs == "default-src 'self'"
        assert f"connect-src 127.0.0.1:{gateway.port}{PAGE};" in ours
        for path in ("../../mosaic/points", "%2e%2e/x", "a/./b"):
            refused = await _exactly(gateway, PAGE + path)
            assert b" 422 " in refused.partition(b"\r\n")[0]
        assert len(stand_in.requests) == 1


async def _exactly(gateway: Any, path: str) -> bytes:
    """The head of the answer to a path that no client library changes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    head = (
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {gateway.token}\r\n\r\n"
    )
    writer.write(head.encode())
    answer = await reader.read(2**12)
    writer.close()
    return answer


async def test_one_that_does_not_answer_says_why(gateway: Any, peers: Any, record: Any) -> None:
    """Not started: try again. Ended: why, with its last lines. Another run, or a link as the socket: refused."""
    await gateway.ask("POST", "/tensorboards", json={"runs": [RUN_ID]})
    starting = await bare(gateway, "GET", PAGE, headers=gateway.headers)
    assert (starting.status_code, starting.json()["code"]) == (409, "run_not_started")
    browser = {**gateway.headers, "Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    page = await bare(gateway, "GET", PAGE, headers=browser)
    assert (page.status_code, page.headers["retry-after"]) == (409, "1")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert 'http-equiv="refresh" content="1"' in page.text
    assert "does not answer yet" in page.text
    end = RunEnd(cause=EndCause.SIGNAL, message="Killed by SIGKILL.", last_lines=["one", "two <b>"])
    ended = peers.records[NEW_RUN].model_copy(update={"state": RunState.CRASHED, "end": end})
    peers.records[NEW_RUN] = ended
    for reply in (
        await bare(gateway, "GET", PAGE, headers=gateway.headers),
        await gateway.get(f"/tensorboards/{NEW_RUN}?wait_s=5"),
    ):
        assert (reply.status_code, reply.json()["code"]) == (409, "run_ended")
        assert "Killed by SIGKILL. Its last lines: one | two <b>" in reply.json()["detail"]
    page = await bare(gateway, "GET", PAGE, headers=browser)
    assert "one | two &lt;b&gt;" in page.text
    assert "refresh" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    peers.records[RUN_ID] = record(RUN_ID)
    other = await gateway.get(f"/tensorboards/{RUN_ID}")
    assert (other.status_code, other.json()["code"]) == (422, "dashboard_impossible")
    async with board(gateway.home, OTHER) as stand_in:
        folder = gateway.home / "runs" / NEW_RUN / "control"
        folder.mkdir(parents=True, exist_ok=True)
        target = gateway.home / "runs" / OTHER / "control" / "dashboard.sock"
        (folder / "dashboard.sock").symlink_to(target)
        reply = await bare(gateway, "GET", PAGE, headers=gateway.headers)
        assert (reply.status_code, stand_in.requests) == (409, [])


async def test_an_answer_that_breaks_off_is_no_whole_answer(gateway: Any, peers: Any) -> None:
    """The browser sees that the connection broke."""
    async with board(gateway.home) as stand_in:
        stand_in.answer = ANSWER.replace(b"Length: 4", b"Length: 9")
        with pytest.raises(httpx.RemoteProtocolError):
            await bare(gateway, "GET", PAGE, headers=gateway.headers)


def test_a_cookie_ends() -> None:
    """After its life, and it is Secure over TLS."""
    value = set_cookie(b"key", NEW_RUN, 1000.0, is_secure=True)
    assert value.endswith("; Secure")
    sent = [value.partition(";")[0]]
    assert has_cookie(b"key", NEW_RUN, sent, 1001.0)
    assert not has_cookie(b"key", NEW_RUN, sent, time.time())
    assert not has_cookie(b"other", NEW_RUN, sent, 1001.0)
    assert not has_cookie(b"key", OTHER, sent, 1001.0)
