"""What the sync and the async client share of a live connection: its settings and its failures."""

import ssl
from collections.abc import Sequence
from typing import Any, TypedDict

from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidMessage,
    InvalidStatus,
    WebSocketException,
)
from websockets.http11 import Response
from websockets.typing import Subprotocol

from mosaic_client.errors import AnswerInvalid, problem_error
from mosaic_client.faults import tls_fault
from mosaic_client.location import Location
from mosaic_client.patience import HANDSHAKE_TIMEOUT_S
from mosaic_client.stack_connection import USER_AGENT
from mosaic_client.trust import tls_context
from mosaic_contracts.live import SUBPROTOCOL_JSON
from mosaic_contracts.problems import Problem, ProblemCode

SNAPSHOT_TIMEOUT_S = 20.0
"""Timeout from subscribing to the first frame, while the gateway reads the run's record."""
MAX_FRAME_BYTES = 64 * 2**20
LIVE_ERRORS = (OSError, EOFError, WebSocketException)
"""Errors of a live connection. `refusal` says which of them are final."""
_REFUSING_CLOSE_CODES = frozenset({1008, 4401, 4403})


class LiveOptions(TypedDict):
    """Options of a WebSocket connection."""

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


def live_options(location: Location, subprotocol: str = SUBPROTOCOL_JSON) -> Any:
    """Return the options that both websockets clients take."""
    return LiveOptions(
        ssl=tls_context(location) if location.is_encrypted else None,
        additional_headers={"Authorization": f"Bearer {location.token}"},
        user_agent_header=USER_AGENT,
        subprotocols=[Subprotocol(subprotocol)],
        proxy=None if location.is_loopback else True,
        open_timeout=HANDSHAKE_TIMEOUT_S,
        # a peer that vanished without a word is noticed within 20 s
        ping_interval=10.0,
        ping_timeout=10.0,
        close_timeout=2.0,
        max_size=MAX_FRAME_BYTES,
    )


def refusal(location: Location, error: Exception) -> Exception | None:
    """Return the error for a failed live connection that should not be retried, else None."""
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
        f"{location.live_url} answered {status} and opened no WebSocket. If there is a "
        "proxy in front of the stack, it must pass on the upgrade of that path."
    )


def _refused(location: Location, reason: str) -> Problem:
    return Problem(
        code=ProblemCode.UNAUTHORIZED,
        title=f"{location.url} refused the live connection ({reason})",
        detail="Check that the token is that of this stack (MOSAIC_TOKEN_FILE, `./mosaic doctor`).",
    )
