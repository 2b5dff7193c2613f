"""The broker's clock against a service's: measured on a real nats-server, and put in words."""

import asyncio
import time
from pathlib import Path

import pytest

from mosaic_servicekit.broker_clock import broker_ahead_s, clock_text, explains_refusal
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.testing import TestBroker

ADVICE = "Set the time of both machines, for example with NTP."


@pytest.mark.broker
@pytest.mark.parametrize("ahead_s", [0.0, 2400.0, -5400.0, 40 * 86_400.0])
async def test_a_service_is_admitted_and_measures_any_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ahead_s: float
) -> None:
    """Credentials that another clock dated admit the scheduler, which measures the difference to the second."""
    wall = time.time
    monkeypatch.setattr("time.time", lambda: wall() - ahead_s)
    with TestBroker(tmp_path / "home", secure=True) as broker:
        bus = Bus(broker.url, "scheduler", broker.creds("scheduler"))
        await bus.start()
        try:
            await asyncio.wait_for(bus.connected.wait(), 60)
            assert abs(await broker_ahead_s(bus) - ahead_s) < 5
        finally:
            await bus.close()


@pytest.mark.parametrize(
    ("ahead_s", "words"),
    [
        (None, None),
        (0.0, None),
        (59.0, None),
        (-59.0, None),
        (60.0, "The broker's clock is 60 s ahead of the scheduler's. From 40 min on, "),
        (600.0, "The broker's clock is 10 min ahead of the scheduler's. From 40 min on, "),
        (
            2400.0,
            "is 40 min ahead of the scheduler's. Credentials of runs are valid for 60 min, so they expire ",
        ),
        (
            3600.0,
            "is 60 min ahead of the scheduler's. Credentials of runs are valid for 60 min, so new ones have expired ",
        ),
        (7199.99, "The broker's clock is 2 h ahead of the scheduler's. "),
        (9000.0, "The broker's clock is 2.5 h ahead of the scheduler's. "),
        (40 * 86_400.0, "The broker's clock is 40 days ahead of the scheduler's. "),
        (
            -90.0,
            "The broker's clock is 90 s behind the scheduler's. Credentials of runs stay valid ",
        ),
        (-3 * 3600.0, "The broker's clock is 3 h behind the scheduler's. "),
        (-1.0e9, "The broker's clock is 11574.1 days behind the scheduler's. "),
    ],
)
def test_the_words_name_the_clocks_the_difference_and_what_to_do(
    ahead_s: float | None, words: str | None
) -> None:
    """A difference without effect gives no words; any other names both clocks, how far apart they are, and NTP."""
    told = clock_text(ahead_s)
    if words is None:
        assert told is None
    else:
        assert told is not None
        assert words in told
        assert told.endswith(ADVICE)


@pytest.mark.parametrize(
    ("ahead_s", "explained"), [(None, False), (-9000.0, False), (2399.0, False), (2400.0, True)]
)
def test_only_a_broker_that_is_ahead_by_40_min_explains_a_refusal(
    ahead_s: float | None, explained: bool
) -> None:
    """Credentials are valid for 60 min and renewed after 20, so 40 min are always left."""
    assert explains_refusal(ahead_s) is explained
