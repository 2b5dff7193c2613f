"""Plain HTTP to a stack on this machine, by the standard library: an import of httpx costs more than a whole verb."""

import http.client
import select
from typing import Any
from urllib.parse import urlencode, urlsplit

from mosaic_client.answer import HttpAnswer
from mosaic_client.call import Call, Query
from mosaic_client.faults import FaultStage, TransportFault
from mosaic_client.location import Location
from mosaic_client.patience import CONNECT_TIMEOUT_S


class PlainHttp:
    """Connections to one stack by the standard library. It is thread-safe: each request uses a connection of its
    own."""

    def __init__(self, location: Location, headers: dict[str, str]) -> None:
        self._url = location.url
        self._headers = headers
        self._idle: list[http.client.HTTPConnection] = []

    def exchange(self, call: Call[Any]) -> HttpAnswer:
        """Send a request and read its answer.

        Raises:
            TransportFault: there is none.
        """
        connection = self._connected()
        sock = connection.sock
        try:
            sock.settimeout(call.timeout_s)
            connection.request(
                call.method, self._target(call), call.body, self._headers | call.headers
            )
            response = connection.getresponse()
            content = response.read()
        except TimeoutError as error:
            connection.close()
            raise TransportFault(FaultStage.TOO_SLOW, str(error)) from error
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise TransportFault(FaultStage.HUNG_UP, str(error) or type(error).__name__) from error
        if connection.sock is not None:  # the server keeps it open
            self._idle.append(connection)
        headers = {name.lower(): value for name, value in response.getheaders()}
        return HttpAnswer(response.status, headers, content, f"{self._url}{call.path}")

    def close(self) -> None:
        """Close the connections."""
        while self._idle:
            self._idle.pop().close()

    def _connected(self) -> http.client.HTTPConnection:
        while self._idle:
            connection = self._idle.pop()
            if not select.select([connection.sock], [], [], 0)[0]:
                return connection
            connection.close()  # readable without a request: the server has closed it
        parts = urlsplit(self._url)
        connection = http.client.HTTPConnection(
            parts.hostname or "", parts.port, timeout=CONNECT_TIMEOUT_S
        )
        try:
            connection.connect()
        except OSError as error:
            raise TransportFault(
                FaultStage.NOT_CONNECTED, str(error) or type(error).__name__
            ) from error
        return connection

    def _target(self, call: Call[Any]) -> str:
        query = query_text(call.query)
        return urlsplit(self._url).path + call.path + (f"?{query}" if query else "")


def query_text(query: Query) -> str:
    """Return a query as text. A list repeats its name."""
    pairs: list[tuple[str, str]] = []
    for name, value in query.items():
        values = value if isinstance(value, (list, tuple)) else [value]
        pairs += [(name, _word(one)) for one in values]
    return urlencode(pairs)


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
