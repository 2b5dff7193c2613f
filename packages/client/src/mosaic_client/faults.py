"""How a request fails before there is an answer, and whether it is worth a second try."""

import time
from enum import Enum, auto
from typing import Any

from mosaic_client.call import Call
from mosaic_client.errors import StackUnreachable
from mosaic_client.location import START_HINT, Location
from mosaic_client.patience import BoundedBackoff


class FaultStage(Enum):
    """How far a request came."""

    NOT_CONNECTED = auto()
    """It was never sent."""
    HUNG_UP = auto()
    """The connection broke while it was sent or answered."""
    TOO_SLOW = auto()
    """The answer did not come in time."""
    OTHER = auto()


class TransportFault(Exception):
    """A request without an answer. Its cause is the error of the HTTP library or of the socket."""

    def __init__(self, stage: FaultStage, reason: str) -> None:
        super().__init__(reason)
        self.stage = stage


class Persistence:
    """Decides, for one request, whether a failure is waited out."""

    def __init__(self, location: Location, call: Call[Any], patience_s: float) -> None:
        self._location = location
        self._call = call
        self._backoff = BoundedBackoff(patience_s)

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
        if fault.stage is FaultStage.NOT_CONNECTED:
            return has_answered  # never sent; a stack that was never there is not waited for
        return (has_answered or fault.stage is FaultStage.HUNG_UP) and self._call.may_repeat


def tls_fault(location: Location, error: BaseException) -> StackUnreachable | None:
    """The error for a connection that failed because of TLS or for want of it; trying again is of no use then."""
    if not location.is_encrypted:
        return None
    from mosaic_client import trust  # imports ssl, which plain HTTP does not need

    return trust.tls_fault(location, error)


def unreachable(location: Location, error: Exception) -> StackUnreachable:
    """The error for a stack that does not answer."""
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
        hint = "Is the address right (--url, MOSAIC_URL), is the stack up there, and a tunnel to it open?"
        if not location.is_encrypted and stage is FaultStage.HUNG_UP:
            hint = f"If TLS is spoken there, the address begins with https://. {hint}"
    return StackUnreachable(f"No stack answers at {location.url} ({reason}). {hint}")
