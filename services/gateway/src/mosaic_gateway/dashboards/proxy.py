"""Passes requests of a dashboard's page on to its TensorBoard, and the answers back as they come."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mosaic_contracts.dashboards import DASHBOARD_SOCKET
from mosaic_contracts.problems import ProblemError
from mosaic_gateway.access.dashboard_cookie import dashboard_path
from mosaic_gateway.dashboards.problem_page import is_page_request, problem_page
from mosaic_gateway.files.run_socket import NO_TLS, socket_name, timeout
from mosaic_servicekit.logging import get_log

MAX_BODY_BYTES = 2**20
"""Maximum size of a request's body; TensorBoard's own are forms of a few KiB."""
_HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_NOT_SENT = _HOP_BY_HOP | {"host", "authorization", "cookie", "content-length", "expect"}
_NOT_RETURNED = _HOP_BY_HOP | {"set-cookie", "server", "date"}


class DashboardReply(Response):
    """TensorBoard's answer to one request.

    Where TensorBoard does not answer, a browser gets a page that says why. Other requests raise ProblemError.
    """

    def __init__(
        self,
        run_dir: Path,
        run_id: str,
        body: bytes,
        explain: Callable[[], Awaitable[ProblemError]],
    ) -> None:
        """`explain`: says why TensorBoard does not answer."""
        super().__init__()
        self._run_dir = run_dir
        self._run_id = run_id
        self._content = body
        self._explain = explain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False
        try:
            with socket_name(self._run_dir, DASHBOARD_SOCKET) as name:
                transport = httpx.AsyncHTTPTransport(uds=name, verify=NO_TLS)
                async with transport:
                    answer = await transport.handle_async_request(self._request(scope))
                    has_begun = True
                    await self._pass_on(answer, scope, send)
        except (httpx.HTTPError, OSError) as error:
            get_log().info("dashboard.no_answer", run_id=self._run_id, error=repr(error)[:200])
            if not has_begun:
                why = await self._explain()
                if not is_page_request(scope):
                    raise why from error
                await problem_page(why.problem)(scope, receive, send)
            # What was announced cannot be sent: the server closes the connection, and the browser sees that.

    def _request(self, scope: Scope) -> "httpx.Request":
        query = scope["query_string"]
        target = scope["raw_path"] + (b"?" + query if query else b"")
        headers = [
            (name, value) for name, value in Headers(scope=scope).items() if name not in _NOT_SENT
        ]
        return httpx.Request(
            scope["method"],
            httpx.URL(scheme="http", host="dashboard", raw_path=target),
            headers=[*headers, ("connection", "close")],
            content=self._content or None,
            extensions={"timeout": timeout().as_dict()},
        )

    async def _pass_on(self, answer: "httpx.Response", scope: Scope, send: Send) -> None:
        raw = [
            (name.lower(), value)
            for name, value in answer.headers.raw
            if name.lower().decode("latin-1") not in _NOT_RETURNED
        ]
        start = {"type": "http.response.start", "status": answer.status_code, "headers": raw}
        headers = MutableHeaders(scope=start)
        headers.append("Content-Security-Policy", policy(scope, self._run_id))
        if location := headers.get("location"):
            headers["Location"] = _relative(location)
        await send(start)
        async for chunk in answer.stream:  # type: ignore[union-attr]  # of an async transport
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def policy(scope: Scope, run_id: str) -> str:
    """Content security policy of a dashboard's page: it loads and asks for nothing but what is below its own path.

    TensorBoard's own policy holds in addition.
    """
    host = Headers(scope=scope).get("host", "")
    # An IPv6 address cannot be written in a policy.
    own = "'self'" if host.startswith("[") else f"{host}{dashboard_path(run_id)}"
    return (
        f"default-src 'none'; base-uri {own}; connect-src {own}; font-src {own} data:; form-action {own}; "
        f"frame-ancestors 'self'; frame-src {own}; img-src {own} data: blob:; manifest-src {own}; "
        f"script-src {own} 'unsafe-eval' 'unsafe-inline'; style-src {own} 'unsafe-inline'; "
        f"worker-src {own} blob:"
    )


def _relative(location: str) -> str:
    """A redirect without a host: the browser knows this gateway by another name."""
    url = httpx.URL(location)
    return url.raw_path.decode("ascii") if url.is_absolute_url else location
