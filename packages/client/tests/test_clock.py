"""The stack's clock, from the dates of its answers."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest

from mosaic_client import AsyncClient, Client, Location

LOCATION = Location("http://127.0.0.1:9", "secret")
STACK = {"version": "1", "ready": True, "broker": True}


def answering(date: str | None) -> httpx.MockTransport:
    headers = {} if date is None else {"Date": date}
    return httpx.MockTransport(lambda _: httpx.Response(200, json=STACK, headers=headers))


@pytest.mark.parametrize("ahead_s", [-86_400, -30, 30, 3_600])
async def test_the_time_is_by_the_clock_of_the_stack(ahead_s: float) -> None:
    """Both clients give the time of the machine that wrote the times of runs, whatever the clock here says."""
    wanted = datetime.now(UTC) + timedelta(seconds=ahead_s)
    transport = answering(format_datetime(wanted, usegmt=True))
    with Client(LOCATION, transport=transport) as client:
        client.stack()
        assert abs((client.now() - wanted).total_seconds()) < 2
    async with AsyncClient(LOCATION, transport=transport) as other:
        await other.stack()
        assert abs((other.now() - wanted).total_seconds()) < 2


@pytest.mark.parametrize("date", [None, "", "yesterday", "Sat, 32 Jan 2026 00:00:00 GMT"])
def test_without_a_date_the_clock_here_holds(date: str | None) -> None:
    """A proxy may leave the date out, or write anything there."""
    with Client(LOCATION, transport=answering(date)) as client:
        assert abs((client.now() - datetime.now(UTC)).total_seconds()) < 1
        client.stack()
        assert abs((client.now() - datetime.now(UTC)).total_seconds()) < 1


def test_an_equal_clock_is_not_rounded_to_seconds() -> None:
    """A date counts whole seconds; where the clocks agree, ages do not jump by that."""
    with Client(
        LOCATION, transport=answering(format_datetime(datetime.now(UTC), usegmt=True))
    ) as client:
        client.stack()
        assert abs((client.now() - datetime.now(UTC)).total_seconds()) < 0.1
