"""How a request fails before there is an answer, and whether it is worth a second try."""

import time
from enum import Enum, auto
from typing import Any

from mosaic_client.call import Call
from mosaic_client.errors import StackUnreachable
from mosaic_client.location import START_HINT, Location
from mosaic_client.patience import BoundedBackoff


class FaultStage(Enum):
    """Stage at which a request failed."""

    NOT_CONNECTED = auto()
    """The request was never sent."""
    HUNG_UP = auto()
    """The connection broke during the request or the answer."""
    TOO_SLOW = auto()
    """The answer did not arrive in time."""
    OTHER = auto()


class TransportFault(Exception):
    """A request got no answer. Its cause is the error of the HTTP library or of the socket."""

    def __init__(self, stage: FaultStage, reason: str) -> None:
        super().__init__(reason)
        self.stage = stage


class Persistence:
    """Decides for one request whether a failure is retried."""

    def __init__(self, location: Location, call: Call[Any], patience_s: float) -> None:
        self._location = location
        self._call = call
        self._backoff = BoundedBackoff(patience_s)
        self._was_there = False
        """Whether an earlier attempt reached the stack: it then gets its time to come back."""

    def delay(self, fault: TransportFault, has_answered: bool) -> float:
        """Seconds to wait before the request is sent again.

        Raises:
            StackUnreachable: it is not to be sent again.
        """
        if tls_fault(self._location, fault) is None and self._is_worth_it(fault, has_answered):
            wait_s = self._backoff.delay(time.monotonic())
            if wait_s is not None:
                return wait_s
        raise unreachable(self._location, fault) from fault

    def _is_worth_it(self, fault: TransportFault, has_answered: bool) -> bool:
        self._was_there |= has_answered or fault.stage is FaultStage.HUNG_UP
        if fault.stage is FaultStage.NOT_CONNECTED:
            return self._was_there  # never sent; a stack that was never there is not waited for
        return self._was_there and self._call.may_repeat


def tls_fault(location: Location, error: BaseException) -> StackUnreachable | None:
    """Return the error for a connection that failed because of TLS, or because TLS was missing. It is not retried."""
    if not location.is_encrypted:
        return None
    from mosaic_client import trust  # imports ssl, which plain HTTP does not need

    return trust.tls_fault(location, error)


def unreachable(location: Location, error: Exception) -> StackUnreachable:
    """Return the error for a stack that does not answer."""
    if (fault := tls_fault(location, error)) is not None:
        return fault
    stage = error.stage if isinstance(error, TransportFault) else None
    if stage is FaultStage.TOO_SLOW or isinstance(error, TimeoutError):
        return StackUnreachable(
            f"The stack at {location.url} takes too long to answer. `./mosaic status` and `./mosaic doctor` say more."
        )
    reason = str(error) or type(error).__name__
    hint = START_HINT
    if location.is_named:
        hint = (
            "Check the address (--url, MOSAIC_URL), that the stack is up there, and that the "
            "tunnel to it is open."
        )
        if not location.is_encrypted and stage is FaultStage.HUNG_UP:
            hint = f"If the server uses TLS, the address begins with https://. {hint}"
    return StackUnreachable(f"No stack answers at {location.url} ({reason}). {hint}")
