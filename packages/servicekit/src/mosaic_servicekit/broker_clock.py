"""The difference between the broker's clock and this service's, and what to do about it in words.

Credentials of runs are issued by the scheduler's clock and expire by the broker's. On connect the broker says only
"authorization violation", so only the difference distinguishes an expired credential from a wrong key.
"""

import asyncio
import time
from datetime import datetime

from pydantic import ValidationError

from mosaic_contracts.models import PeerModel
from mosaic_contracts.problems import ProblemError
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.bus_errors import ServiceUnavailable
from mosaic_servicekit.credentials import RENEW_AFTER_S, RUN_LIFETIME_S, USER_INFO
from mosaic_servicekit.logging import get_log

INTERVAL_S = 5.0
"""Between measurements: a clock can be set at any time, and no event says so."""
NOTICED_S = 60.0
"""A smaller difference has no effect, and a reply under load can take seconds."""
EXPIRES_EARLY_S = RUN_LIFETIME_S - RENEW_AFTER_S
"""From this difference on, credentials of a run expire for the broker before the scheduler renews them."""


class _Server(PeerModel):
    time: datetime


class _UserInfo(PeerModel):
    server: _Server


class BrokerClock:
    """Measures how far the broker's clock is ahead of this process's clock."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self.ahead_s: float | None = None
        """Negative where the broker is behind; None before the first measurement. The last one is kept."""

    async def run(self) -> None:
        """Measure for ever, while there is a connection."""
        while True:
            await self._bus.connected.wait()
            try:
                self.ahead_s = await broker_ahead_s(self._bus)
            except ProblemError as error:
                get_log().info("broker_clock.not_measured", error=str(error))
            await asyncio.sleep(INTERVAL_S)


async def broker_ahead_s(bus: Bus) -> float:
    """Ask the broker for its time; return how far it is ahead of ours, negative where it is behind.

    Raises:
        BrokerUnavailable, ServiceUnavailable: it gives no answer, or none with a time (both are ProblemErrors).
    """
    began = time.monotonic()
    answer = await bus.ask(USER_INFO, b"", "broker")
    here = time.time() - (time.monotonic() - began) / 2
    try:
        info = _UserInfo.model_validate_json(answer.data)
    except ValidationError as error:
        raise ServiceUnavailable("broker", f"Its answer has no time: {error}.") from error
    return info.server.time.timestamp() - here


def explains_refusal(ahead_s: float | None) -> bool:
    """Whether credentials of a run can have expired for a broker that is so far ahead."""
    return ahead_s is not None and ahead_s >= EXPIRES_EARLY_S


def clock_text(ahead_s: float | None) -> str | None:
    """Name the two clocks, their difference, its effect and what to do; None for a difference without effect."""
    if ahead_s is None or abs(ahead_s) < NOTICED_S:
        return None
    side = "ahead of" if ahead_s > 0 else "behind"
    return (
        f"The broker's clock is {_span(abs(ahead_s))} {side} the scheduler's. {_effect(ahead_s)} "
        "Set the time of both machines, for example with NTP."
    )


def _effect(ahead_s: float) -> str:
    hold = _span(RUN_LIFETIME_S)
    if ahead_s >= RUN_LIFETIME_S:
        return f"Credentials of runs are valid for {hold}, so new ones have expired for the broker."
    if ahead_s >= EXPIRES_EARLY_S:
        return f"Credentials of runs are valid for {hold}, so they expire before they are renewed."
    if ahead_s > 0:
        return f"From {_span(EXPIRES_EARLY_S)} on, the broker refuses credentials of runs."
    return "Credentials of runs stay valid for longer than they should."


def _span(seconds: float) -> str:
    """In the largest unit of which there are two; a measurement is a few milliseconds off."""
    for unit, size in (("days", 86_400), ("h", 3600), ("min", 60)):
        if round(seconds) >= 2 * size:
            return f"{round(seconds / size, 1):g} {unit}"
    return f"{seconds:.0f} s"
