"""Who may speak to the gateway at all: Host, Origin and token, on every method and on the WebSocket.

Host and Origin close the way through a browser (DNS rebinding, a page of another site); the token closes the way of
another user of this machine. A ticket (`tickets/`) stands for the token on one GET.
"""

import hmac
import time
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from mosaic_contracts.live import TOKEN_SUBPROTOCOL_PREFIX
from mosaic_contracts.problems import Problem, ProblemCode
from mosaic_gateway.problem_reply import problem_response
from mosaic_gateway.tickets.signature import Ticketed, is_good, take_apart

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""No token: whoever supervises the process has none. Host and Origin are still checked."""
MAX_NAME_LENGTH = 253
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")


NO_TOKEN = Problem(
    code=ProblemCode.UNAUTHORIZED,
    title="A token is needed",
    detail="Send `Authorization: Bearer <token>`; it stands in secrets/gateway.token of the data root.",
)
WRONG_TOKEN = Problem(
    code=ProblemCode.UNAUTHORIZED,
    title="The token is not that of this stack",
    detail="Copy it again: it stands in secrets/gateway.token of the stack's data root.",
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
        self, app: ASGIApp, token: str, ticket_key: bytes, allowed_hosts: Iterable[str] = ()
    ) -> None:
        self._app = app
        self._token = token.encode()
        self._ticket_key = ticket_key
        self._hosts = frozenset(h.lower() for h in (*LOOPBACK_HOSTS, *allowed_hosts))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        ticket = take_apart(scope["query_string"].decode("latin-1"))
        problem = self._refusal(scope, ticket)
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
                title="Pages of other sites may not use this gateway",
                detail="Add the page's host to MOSAIC_ALLOWED_HOSTS if it is yours.",
            )
        if scope["path"] in OPEN_PATHS or self._has_token(headers, scope):
            return None
        if ticket is None:
            return WRONG_TOKEN if headers.get("authorization") else NO_TOKEN
        is_get = scope["type"] == "http" and scope["method"] == "GET"
        if is_get and is_good(self._ticket_key, scope["path"], ticket, time.time()):
            return None
        return Problem(
            code=ProblemCode.TICKET_INVALID,
            title="This link is not good any more, or not for this",
            detail="A ticket opens one address to GET until it expires; ask for a new one (POST /api/v1/tickets).",
        )

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


async def _refuse(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    response: Response = problem_response(problem)
    if scope["type"] == "websocket" and "websocket.http.response" not in scope.get(
        "extensions", {}
    ):
        await send({"type": "websocket.close", "code": 1008, "reason": problem.code.value})
        return
    # Starlette's Response itself speaks `websocket.http.response` when the scope is a WebSocket.
    await response(scope, receive, send)
