"""Who may speak to the gateway at all: Host, Origin and token, on every method and on the WebSocket.

Host and Origin close the way through a browser (DNS rebinding, a page of another site); the token closes the way of
another user of this machine.
"""

import hmac
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from mosaic_contracts.live import TOKEN_SUBPROTOCOL_PREFIX
from mosaic_contracts.problems import Problem, ProblemCode
from mosaic_gateway.problem_reply import problem_response

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""No token: whoever supervises the process has none. Host and Origin are still checked."""
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")


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

    def __init__(self, app: ASGIApp, token: str, allowed_hosts: Iterable[str] = ()) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = frozenset(h.lower() for h in (*LOOPBACK_HOSTS, *allowed_hosts))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        problem = self._refusal(scope)
        if problem is None:
            await self._app(scope, receive, send)
        else:
            await _refuse(problem, scope, receive, send)

    def _refusal(self, scope: Scope) -> Problem | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or host_name(hosts[0]) not in self._hosts:
            return Problem(
                code=ProblemCode.HOST_REFUSED,
                title="This gateway does not answer to that host name",
                detail="Use 127.0.0.1 or localhost, or add the name to MOSAIC_ALLOWED_HOSTS.",
            )
        if any(origin_name(o) not in self._hosts for o in headers.getlist("origin")):
            return Problem(
                code=ProblemCode.ORIGIN_REFUSED,
                title="Pages of other sites may not use this gateway",
                detail="Add the page's host to MOSAIC_ALLOWED_HOSTS if it is yours.",
            )
        if scope["path"] not in OPEN_PATHS and not self._has_token(headers, scope):
            return Problem(
                code=ProblemCode.UNAUTHORIZED,
                title="A token is needed",
                detail="Send `Authorization: Bearer <token>`; it stands in secrets/gateway.token of the data root.",
            )
        return None

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


async def _refuse(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    response: Response = problem_response(problem)
    if scope["type"] == "websocket" and "websocket.http.response" not in scope.get(
        "extensions", {}
    ):
        await send({"type": "websocket.close", "code": 1008, "reason": problem.code.value})
        return
    # Starlette's Response itself speaks `websocket.http.response` when the scope is a WebSocket.
    await response(scope, receive, send)
