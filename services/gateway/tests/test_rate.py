"""Speed and time to go."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mosaic_contracts.runs import RunSummary
from mosaic_gateway.runs.rate import FORGET_S, WINDOW_S, RateTracker, eta_s, overall_sps

RUN_ID = "01JGXSYNTHET1CRVN000000000"


class Clock:
    """A clock that a test moves."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_rate_is_of_the_last_seconds() -> None:
    """A run that slows down shows its present rate within the window, not the mean since its start."""
    clock = Clock()
    rates = RateTracker(clock)
    step = 0
    for second in range(60):
        clock.now += 1
        step += 1000 if second < 30 else 10
        rates.add("run", step)
    assert rates.sps("run") == pytest.approx(10)


def test_a_run_without_heartbeats_has_no_rate() -> None:
    """One heartbeat gives no rate, old ones give none, and a silent run is forgotten."""
    clock = Clock()
    rates = RateTracker(clock)
    rates.add("run", 1)
    assert rates.sps("run") is None
    clock.now += 1
    rates.add("run", 2)
    assert rates.sps("run") == pytest.approx(1)
    clock.now += WINDOW_S + 1
    assert rates.sps("run") is None
    clock.now += FORGET_S
    rates.add("other", 1)
    assert list(rates._points) == ["other"]


def test_a_step_that_goes_back_starts_anew() -> None:
    """A second attempt begins at 0 and never gives a negative rate."""
    clock = Clock()
    rates = RateTracker(clock)
    for step in (1000, 2000, 0, 100):
        clock.now += 1
        rates.add("run", step)
    assert rates.sps("run") == pytest.approx(100)


def test_the_time_before_the_first_step_does_not_count() -> None:
    """A run that imports for ten seconds does not look slow once it steps."""
    clock = Clock()
    rates = RateTracker(clock)
    for step in [0] * 10 + [1000, 2000]:
        clock.now += 1
        rates.add("run", step)
    assert rates.sps("run") == pytest.approx(1000)


@pytest.mark.parametrize("step_s", [-2400, 3600])
def test_the_overall_rate_outlives_a_step_of_the_wall_clock(record: Any, step_s: int) -> None:
    """Steps over the span of the worker's events, else over what the run took by the monotonic clock."""
    began = datetime(2026, 1, 1, tzinfo=UTC)
    ended = record(
        RUN_ID, "succeeded", progress={"step": 600}, first_event_at=began, started_at=began,
        ended_at=began + timedelta(seconds=60 + step_s), elapsed_s=60.0,
    )  # fmt: skip
    summary = RunSummary(run_id=RUN_ID, global_step=600, span_s=50.0)
    assert overall_sps(ended, summary) == pytest.approx(12)
    assert overall_sps(ended, None) == pytest.approx(10)


def test_an_ended_run_has_its_overall_rate(record: Any) -> None:
    """Steps over the time from first event to end; time to go needs a total and a rate."""
    began = datetime(2026, 1, 1, tzinfo=UTC)
    progress = {"step": 600, "total": 1000}
    ended = record(
        "01JGXSYNTHET1CRVN000000000", "succeeded", progress=progress,
        first_event_at=began, ended_at=began + timedelta(seconds=60),
    )  # fmt: skip
    assert overall_sps(ended, None) == pytest.approx(10)
    assert eta_s(ended, 10.0) == pytest.approx(40)
    assert eta_s(ended, None) is None
    assert eta_s(record("01JGXSYNTHET1CRVN000000000"), 10.0) is None
