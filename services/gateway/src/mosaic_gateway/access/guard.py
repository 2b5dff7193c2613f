"""Check which clients may use the gateway at all: Host, Origin and token, on every method and on the WebSocket.

Host and Origin close the way through a browser (DNS rebinding, a page of another site); the token closes the way of
another user of this machine. A ticket (`ticket.py`) replaces the token on one GET, a cookie (`dashboard_cookie.py`) on
the requests of one dashboard's page.
"""

import hmac
import time
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mosaic_contracts.live import TOKEN_SUBPROTOCOL_PREFIX
from mosaic_contracts.problems import Problem, ProblemCode
from mosaic_gateway.access.dashboard_cookie import dashboard_of, has_cookie
from mosaic_gateway.access.ticket import Ticketed, is_good, take_apart
from mosaic_gateway.problem_reply import problem_response
from mosaic_gateway.server.connections import Connections

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Paths that need no token: the supervisor of the process has none. Host and Origin are still checked."""
AUTHENTICATED = "mosaic.authenticated"
"""In the scope of a request: whether it has shown the token or a ticket."""
TICKETED = "mosaic.ticketed"
"""In the scope of a request: whether a ticket has let it in."""
MAX_NAME_LENGTH = 253
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")


NO_TOKEN = Problem(
    code=ProblemCode.UNAUTHORIZED,
    title="A token is needed",
    detail="Send `Authorization: Bearer <token>`; it is in secrets/gateway.token of the data root.",
)
WRONG_TOKEN = Problem(
    code=ProblemCode.UNAUTHORIZED,
    title="The token is not that of this stack",
    detail="Copy it again: it is in secrets/gateway.token of the stack's data root.",
)


DASHBOARD_CLOSED = Problem(
    code=ProblemCode.UNAUTHORIZED,
    title="This TensorBoard opens by its link only",
    detail="The link has expired, or was opened in another browser. `./mosaic tensorboard RUN...` prints a new one.",
)


TOO_MANY = Problem(
    code=ProblemCode.SERVICE_UNAVAILABLE,
    title="Too many connections are open",
    detail="Close some of your connections, or try again in a moment.",
    retry_after_s=1.0,
)


def host_name(host: str) -> str | None:
    """Name in a Host header, lower case, without port and brackets; None when it cannot be read."""
    try:
        parts = urlsplit(f"//{host}")
        if parts.port == 0 or parts.path or parts.query or parts.fragment or "@" in parts.netloc:
            return None
    except ValueError:
        return None
    return parts.hostname


def origin_name(origin: str) -> str | None:
    """Host name of an Origin header; None for `null` and whatever is no http(s) origin."""
    scheme, separator, rest = origin.partition("://")
    return host_name(rest) if separator and scheme in ("http", "https") else None


class Guard:
    """ASGI middleware that lets only requests with a known Host, no foreign Origin and the token through."""

    def __init__(
        self,
        app: ASGIApp,
        token: str,
        ticket_key: bytes,
        allowed_hosts: Iterable[str] = (),
        connections: Connections | None = None,
    ) -> None:
        self._app = app
        self._connections = connections
        self._token = token.encode()
        self._ticket_key = ticket_key
        self._hosts = frozenset(h.lower() for h in (*LOOPBACK_HOSTS, *allowed_hosts))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        ticket = take_apart(scope["query_string"].decode("latin-1"))
        scope[TICKETED] = self._has_good_ticket(scope, ticket)
        problem = self._refusal(scope, ticket)
        is_known = problem is None and not self._is_probe(scope)
        if is_known and self._connections is not None and not self._connections.authenticate(scope):
            problem = TOO_MANY
        scope[AUTHENTICATED] = is_known
        if not is_known and _has_no_body(scope):
            send = _closing(send)
        if problem is not None:
            await _refuse(problem, scope, receive, send)
            return
        if ticket is not None:
            # The rest of the gateway knows no tickets.
            scope["query_string"] = ticket.query.encode("latin-1")
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope, ticket: Ticketed | None) -> Problem | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or host_name(hosts[0]) not in self._hosts:
            return _host_refused(hosts)
        if any(origin_name(o) not in self._hosts for o in headers.getlist("origin")):
            return Problem(
                code=ProblemCode.ORIGIN_REFUSED,
                title="Web pages of other sites may not use this gateway",
                detail="Add the page's host to MOSAIC_ALLOWED_HOSTS if it is yours.",
            )
        if scope["path"] in OPEN_PATHS or self._has_token(headers, scope):
            return None
        dashboard = dashboard_of(scope["path"]) if scope["type"] == "http" else None
        if scope[TICKETED] or (dashboard is not None and self._has_cookie(headers, dashboard)):
            return None
        if dashboard is not None and not headers.get("authorization"):
            return DASHBOARD_CLOSED
        if ticket is None:
            return WRONG_TOKEN if headers.get("authorization") else NO_TOKEN
        return Problem(
            code=ProblemCode.TICKET_INVALID,
            title="This link has expired, or is for another address",
            detail="A ticket permits GET of one address until it expires. Request a new one (POST "
            "/api/v1/tickets).",
        )

    def _has_good_ticket(self, scope: Scope, ticket: Ticketed | None) -> bool:
        is_get = scope["type"] == "http" and scope["method"] == "GET"
        if ticket is None or not is_get:
            return False
        return is_good(self._ticket_key, scope["path"], ticket, time.time())

    def _has_cookie(self, headers: Headers, dashboard: str) -> bool:
        return has_cookie(self._ticket_key, dashboard, headers.getlist("cookie"), time.time())

    def _is_probe(self, scope: Scope) -> bool:
        """Whether it is answered without a token, and shows none."""
        return scope["path"] in OPEN_PATHS and not self._has_token(Headers(scope=scope), scope)

    def _has_token(self, headers: Headers, scope: Scope) -> bool:
        given = headers.get("authorization", "")
        scheme, _, token = given.partition(" ")
        if scheme.lower() == "bearer" and self._equal(token.strip()):
            return True
        return scope["type"] == "websocket" and any(
            self._equal(name.removeprefix(TOKEN_SUBPROTOCOL_PREFIX))
            for name in scope.get("subprotocols", ())
            if name.startswith(TOKEN_SUBPROTOCOL_PREFIX)
        )

    def _equal(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(errors="surrogateescape"), self._token)


def _host_refused(hosts: list[str]) -> Problem:
    name = host_name(hosts[0]) if len(hosts) == 1 else None
    named = f"{name!r}" if name and len(name) <= MAX_NAME_LENGTH else "the name"
    return Problem(
        code=ProblemCode.HOST_REFUSED,
        title="This gateway does not answer to that host name",
        detail=f"Use 127.0.0.1 or localhost, or add {named} to the gateway's MOSAIC_ALLOWED_HOSTS and start it again.",
    )


def _has_no_body(scope: Scope) -> bool:
    """Whether nothing follows the head: a connection that is closed while a body comes may lose the answer."""
    headers = Headers(scope=scope)
    return headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers


def _closing(send: Send) -> Send:
    """`send` for an answer after which the connection is closed: those without a token do not keep one."""

    async def closing(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message)["Connection"] = "close"
        await send(message)

    return closing


async def _refuse(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    response: Response = problem_response(problem)
    if scope["type"] == "websocket" and "websocket.http.response" not in scope.get(
        "extensions", {}
    ):
        await send({"type": "websocket.close", "code": 1008, "reason": problem.code.value})
        return
    # Starlette's Response itself speaks `websocket.http.response` when the scope is a WebSocket.
    await response(scope, receive, send)
