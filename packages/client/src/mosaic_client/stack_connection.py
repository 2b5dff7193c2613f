"""A connection to one stack that sends requests and reads answers. `Client` adds a method for each request."""

from __future__ import annotations

import time
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from mosaic_client.answer import HttpAnswer
from mosaic_client.call import Call
from mosaic_client.faults import Persistence, TransportFault
from mosaic_client.location import Location, find_stack
from mosaic_client.patience import REQUEST_PATIENCE_S
from mosaic_client.stack_clock import StackClock
from mosaic_contracts import VERSION
from mosaic_contracts.compat import Self

if TYPE_CHECKING:
    from pathlib import Path

    import httpx


T = TypeVar("T")
USER_AGENT = f"mosaic-client/{VERSION}"


class Http(Protocol):
    """Interface of an HTTP library."""

    def exchange(self, call: Call[Any]) -> HttpAnswer:
        """Send a request and read its answer. Raises TransportFault."""

    def close(self) -> None:
        """Close the connections."""


class StackConnection:
    """A connection to one stack. A stack that has answered once gets `patience_s` seconds to come back."""

    def __init__(
        self,
        location: Location,
        *,
        patience_s: float = REQUEST_PATIENCE_S,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.location = location
        self._patience_s = patience_s
        self._transport = transport
        self._has_answered = False
        self._clock = StackClock()
        self._http = _http(location, transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def send(self, call: Call[T]) -> T:
        """Send a request and return its answer.

        Args:
            call: the request.

        Returns:
            What the request reads from the answer.

        Raises:
            MosaicProblem: the stack refused or failed.
            StackUnreachable: it does not answer.
            AnswerInvalid: not an answer of a gateway.
        """
        persistence = Persistence(self.location, call, self._patience_s)
        while True:
            try:
                answer = self._http.exchange(call)
            except TransportFault as fault:
                time.sleep(persistence.delay(fault, self._has_answered))
                continue
            self._has_answered = True
            self._clock.note(answer)
            return call.answer(answer)

    def now(self) -> datetime:
        """Return the time by the stack's clock, by which ages of runs are computed.

        Returns:
            The time that the last answer gave, moved on; before the first answer this machine's time.
        """
        return self._clock.now()


def headers_of(location: Location) -> dict[str, str]:
    """Return the headers of every request."""
    return {
        "Authorization": f"Bearer {location.token}",
        "User-Agent": USER_AGENT,
    }


def open_connection(
    url: str | None = None,
    *,
    token: str | None = None,
    token_file: Path | str | None = None,
    ca_file: Path | str | None = None,
) -> StackConnection:
    """Open a connection that sends requests of `mosaic_client.reading`. Sends nothing yet.

    Arguments and errors as for `connect`.

    Returns:
        The connection.
    """
    location = find_stack(url=url, token=token, token_file=token_file, ca_file=ca_file)
    return StackConnection(location)


def _http(location: Location, transport: httpx.BaseTransport | None) -> Http:
    headers = headers_of(location)
    if transport is None and location.is_loopback and not location.is_encrypted:
        from mosaic_client.plain_http import PlainHttp

        return PlainHttp(location, headers)
    from mosaic_client.full_http import FullHttp  # imports httpx and ssl

    return FullHttp(location, headers, transport)
