"""The outermost layer: one log line and one measurement a request, and what every answer says about itself.

Neither query nor headers are logged: they may hold a ticket, a token or a part of a secret.
"""

import time
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mosaic_gateway.access.guard import AUTHENTICATED, OPEN_PATHS
from mosaic_gateway.log_budget import LogBudget
from mosaic_gateway.meters import REQUEST_SECONDS
from mosaic_servicekit.logging import get_log

_SHOWN = 300
"""Characters of a path that are logged."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})


class Requests:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._budget = LogBudget()
        """For lines that somebody without the token can cause."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                status = message["status"]
                headers = MutableHeaders(scope=message)
                # A link with a ticket in it must not travel on to where the page leads.
                headers["Referrer-Policy"] = "no-referrer"
                headers.setdefault("X-Content-Type-Options", "nosniff")
                headers.setdefault("Cache-Control", "no-cache")
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            self._tell(scope, status, time.perf_counter() - began)

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        path = scope["path"]
        if scope["type"] == "websocket":
            outcome = {"status": status} if status else {}
            self._log(
                scope, "socket.closed", path=path[:_SHOWN], seconds=round(seconds, 3), **outcome
            )
            return
        method = scope["method"]
        # Labels are kept for ever: a client must not be able to make up new ones.
        operation = getattr(scope.get("endpoint"), "__name__", "none")
        known = method if method in _METHODS else "other"
        REQUEST_SECONDS.labels(known, operation, str(status)).observe(seconds)
        if path not in OPEN_PATHS:
            ms = round(seconds * 1000, 1)
            shown = path[:_SHOWN]
            self._log(scope, "request.served", method=method[:16], path=shown, status=status, ms=ms)

    def _log(self, scope: Scope, event: str, **fields: Any) -> None:
        """Write a line; of requests without the token a bounded number, with a count of those left out."""
        if not scope.get(AUTHENTICATED):
            dropped = self._budget.take()
            if dropped is None:
                return
            fields |= {"not_logged": dropped} if dropped else {}
        get_log().info(event, **fields)
