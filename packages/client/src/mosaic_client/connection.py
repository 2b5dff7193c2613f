"""What the sync and the async client share beside the calls: settings of the connection and its failures."""

import ssl
import time
from collections.abc import Sequence
from typing import Any, TypedDict

import httpx
from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidMessage,
    InvalidStatus,
    WebSocketException,
)
from websockets.http11 import Response
from websockets.typing import Subprotocol

from mosaic_client.call import Call
from mosaic_client.errors import AnswerInvalid, StackUnreachable, problem_error
from mosaic_client.location import START_HINT, Location
from mosaic_client.patience import Backoff
from mosaic_client.trust import tls_context, tls_fault
from mosaic_contracts import VERSION
from mosaic_contracts.live import SUBPROTOCOL_JSON
from mosaic_contracts.problems import Problem, ProblemCode

CONNECT_TIMEOUT_S = 5.0
SNAPSHOT_TIMEOUT_S = 20.0
"""From subscribing to the first frame; the gateway reads the run's record meanwhile."""
MAX_FRAME_BYTES = 64 * 2**20
LIVE_ERRORS = (OSError, EOFError, WebSocketException)
"""How a live connection fails; `refusal` tells which of them are final."""
_HUNG_UP = (httpx.NetworkError, httpx.RemoteProtocolError)
_REFUSING_CLOSE_CODES = frozenset({1008, 4401, 4403})
_USER_AGENT = f"mosaic-client/{VERSION}"


class HttpOptions(TypedDict):
    """Settings of an httpx client."""

    base_url: str
    headers: dict[str, str]
    verify: ssl.SSLContext
    trust_env: bool
    follow_redirects: bool


class LiveOptions(TypedDict):
    """Settings of a WebSocket connection."""

    ssl: ssl.SSLContext | None
    additional_headers: dict[str, str]
    user_agent_header: str
    subprotocols: Sequence[Subprotocol]
    proxy: bool | None
    open_timeout: float
    ping_interval: float
    ping_timeout: float
    close_timeout: float
    max_size: int


def http_options(location: Location) -> HttpOptions:
    """Settings that both httpx clients take. Raises CertificateRefused."""
    headers = {"Authorization": f"Bearer {location.token}", "User-Agent": _USER_AGENT}
    return HttpOptions(
        base_url=location.url,
        headers=headers,
        verify=tls_context(location),
        trust_env=not location.is_loopback,
        # a redirect would carry the token elsewhere
        follow_redirects=False,
    )


def live_options(location: Location) -> Any:
    """Settings that both websockets clients take (`LiveOptions`)."""
    return LiveOptions(
        ssl=tls_context(location) if location.is_encrypted else None,
        additional_headers={"Authorization": f"Bearer {location.token}"},
        user_agent_header=_USER_AGENT,
        subprotocols=[Subprotocol(SUBPROTOCOL_JSON)],
        proxy=None if location.is_loopback else True,
        open_timeout=CONNECT_TIMEOUT_S,
        # a peer that vanished without a word is noticed within 20 s
        ping_interval=10.0,
        ping_timeout=10.0,
        close_timeout=2.0,
        max_size=MAX_FRAME_BYTES,
    )


def timeout(call: Call[Any]) -> httpx.Timeout:
    """Bounds of one request."""
    return httpx.Timeout(call.timeout_s, connect=CONNECT_TIMEOUT_S)


class Persistence:
    """Decides, for one request, whether a failure is waited out."""

    def __init__(self, location: Location, call: Call[Any], patience_s: float) -> None:
        self._location = location
        self._call = call
        self._backoff = Backoff(patience_s)

    def delay(self, error: httpx.TransportError, has_answered: bool) -> float:
        """Seconds to wait before the request is sent again.

        Raises:
            StackUnreachable: it is not to be sent again.
        """
        if tls_fault(self._location, error) is None and self._is_worth_it(error, has_answered):
            wait_s = self._backoff.delay(time.monotonic())
            if wait_s is not None:
                return wait_s
        raise unreachable(self._location, error) from error

    def _is_worth_it(self, error: httpx.TransportError, has_answered: bool) -> bool:
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return has_answered  # never sent; a stack that was never there is not waited for
        hung_up = isinstance(error, _HUNG_UP)
        return (has_answered or hung_up) and self._call.may_repeat


def unreachable(location: Location, error: Exception) -> StackUnreachable:
    """The error for a stack that does not answer."""
    if (fault := tls_fault(location, error)) is not None:
        return fault
    if isinstance(error, httpx.TimeoutException | TimeoutError) and not isinstance(
        error, httpx.ConnectTimeout
    ):
        return StackUnreachable(
            f"The stack at {location.url} takes too long to answer. `./mosaic status` and `./mosaic doctor` say more."
        )
    reason = str(error) or type(error).__name__
    hint = START_HINT
    if location.is_named:
        hint = "Is the address right (--url, MOSAIC_URL), is the stack up there, and a tunnel to it open?"
        if not location.is_encrypted and isinstance(error, _HUNG_UP):
            hint = f"If TLS is spoken there, the address begins with https://. {hint}"
    return StackUnreachable(f"No stack answers at {location.url} ({reason}). {hint}")


def refusal(location: Location, error: Exception) -> Exception | None:
    """What a failed live connection means when trying again is of no use, else None."""
    if (fault := tls_fault(location, error)) is not None:
        return fault
    if isinstance(error, InvalidStatus) and error.response.status_code < 500:
        return _refused_handshake(location, error.response)
    if isinstance(error, ConnectionClosed):
        close = error.rcvd
        if close is not None and close.code in _REFUSING_CLOSE_CODES:
            return problem_error(_refused(location, close.reason or f"code {close.code}"))
        return None
    if isinstance(error, InvalidHandshake) and not isinstance(
        error, InvalidMessage | InvalidStatus
    ):
        return AnswerInvalid(
            f"{location.live_url} is not a MOSAIC gateway of this version: {error}"
        )
    return None


def _refused_handshake(location: Location, response: Response) -> Exception:
    status = response.status_code
    try:
        return problem_error(Problem.model_validate_json(response.body or b""))
    except ValueError:
        pass
    if status in (401, 403):
        return problem_error(_refused(location, f"status {status}"))
    return AnswerInvalid(
        f"{location.live_url} answered {status} and opened no WebSocket. If a proxy stands before the stack, it must "
        "pass on the upgrade of that path."
    )


def _refused(location: Location, reason: str) -> Problem:
    return Problem(
        code=ProblemCode.UNAUTHORIZED,
        title=f"{location.url} refused the live connection ({reason})",
        detail="Is the token that of this stack? See MOSAIC_TOKEN_FILE and `./mosaic doctor`.",
    )
