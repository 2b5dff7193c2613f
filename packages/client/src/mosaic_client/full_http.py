"""HTTP by httpx: TLS, proxies, and whatever transport a test puts in."""

from typing import TYPE_CHECKING, Any, Literal, TypedDict

import httpx

from mosaic_client.answer import HttpAnswer
from mosaic_client.call import Call
from mosaic_client.faults import FaultStage, TransportFault
from mosaic_client.location import Location
from mosaic_client.patience import CONNECT_TIMEOUT_S
from mosaic_client.trust import tls_context

if TYPE_CHECKING:
    import ssl

_HUNG_UP = (httpx.NetworkError, httpx.RemoteProtocolError)
_NOT_CONNECTED = (httpx.ConnectError, httpx.ConnectTimeout)


class HttpOptions(TypedDict):
    """Options of an httpx client."""

    base_url: str
    headers: dict[str, str]
    verify: "ssl.SSLContext"
    trust_env: bool
    follow_redirects: Literal[False]


def http_options(location: Location, headers: dict[str, str]) -> HttpOptions:
    """Return the options that both httpx clients take. Raises CertificateRefused."""
    return HttpOptions(
        base_url=location.url,
        headers=headers,
        verify=tls_context(location),
        trust_env=not location.is_loopback,
        # a redirect would carry the token elsewhere
        follow_redirects=False,
    )


def request_options(call: Call[Any]) -> dict[str, Any]:
    """Return the arguments of `request` for one call."""
    return {
        "method": call.method,
        "url": call.path,
        "params": call.query,
        "content": call.body,
        "headers": call.headers,
        "timeout": timeout(call),
    }


def upload_options(call: Call[Any], headers: dict[str, str]) -> dict[str, Any]:
    """Return the arguments of `request` for a call whose body is sent in pieces, without the pieces."""
    options = {**request_options(call), "headers": {**call.headers, **headers}}
    del options["content"]
    return options


def timeout(call: Call[Any]) -> httpx.Timeout:
    """Return the time limits of one request."""
    return httpx.Timeout(call.timeout_s, connect=CONNECT_TIMEOUT_S)


def answer_of(response: httpx.Response) -> HttpAnswer:
    """Return the answer in a response whose body was read."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    return HttpAnswer(response.status_code, headers, response.content, str(response.url))


def fault_of(error: httpx.TransportError) -> TransportFault:
    """Return the fault for an error of httpx."""
    reason = str(error) or type(error).__name__
    if isinstance(error, _NOT_CONNECTED):
        return TransportFault(FaultStage.NOT_CONNECTED, reason)
    if isinstance(error, _HUNG_UP):
        return TransportFault(FaultStage.HUNG_UP, reason)
    slow = isinstance(error, httpx.TimeoutException)
    return TransportFault(FaultStage.TOO_SLOW if slow else FaultStage.OTHER, reason)


class FullHttp:
    """Connections to one stack."""

    def __init__(
        self,
        location: Location,
        headers: dict[str, str],
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.http = httpx.Client(**http_options(location, headers), transport=transport)

    def exchange(self, call: Call[Any]) -> HttpAnswer:
        """Send a request and read its answer.

        Raises:
            TransportFault: there is none.
        """
        try:
            return answer_of(self.http.request(**request_options(call)))
        except httpx.TransportError as error:
            raise fault_of(error) from error

    def close(self) -> None:
        """Close the connections."""
        self.http.close()
