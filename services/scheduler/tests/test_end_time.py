"""When a run ended and how long it took, whatever the wall clock did meanwhile."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.records import NOW, make_record, make_report

from mosaic_contracts.clock import ClockReading, seconds_between
from mosaic_contracts.states import RunState
from mosaic_scheduler.queue.duration import PastDurations
from mosaic_scheduler.runs.end_time import end_now, end_of_report, end_of_trace
from mosaic_servicekit.clock import Moment, age_s, present

STARTED_S = 1000.0


def clock(monotonic_s: float, boot_id: str = "this") -> ClockReading:
    """A reading of the monotonic clock."""
    return ClockReading(boot_id=boot_id, monotonic_s=monotonic_s)


def moment(after_s: float, wall_step_s: float = 0.0, boot_id: str = "this") -> Moment:
    """`after_s` seconds after the start, the wall clock having been set by `wall_step_s` meanwhile."""
    return Moment(
        NOW + timedelta(seconds=after_s + wall_step_s), clock(STARTED_S + after_s, boot_id)
    )


def started(**changes: Any) -> Any:
    """A run that began at NOW."""
    fields: dict[str, Any] = {"started_at": NOW, "started_clock": clock(STARTED_S), **changes}
    return make_record(RunState.RUNNING, **fields)


def report(after_s: float, wall_step_s: float = 0.0, **changes: Any) -> Any:
    """What a runner writes that saw the end `after_s` seconds after the start."""
    fields = {
        "ended_at": NOW.timestamp() + after_s + wall_step_s,
        "ended_clock": clock(STARTED_S + after_s),
        "duration_s": after_s - 0.3,
    }
    return make_report(**{**fields, **changes})


@pytest.mark.parametrize("step_s", [0.0, -2400.0, 3600.0, -1e6, 1e6])
def test_no_step_of_the_wall_clock_changes_a_duration(step_s: float) -> None:
    """A run of 25 s took 25 s, live, ended and lost, also when the wall clock was set by minutes or days."""
    run, now = started(), moment(25.0, step_s)
    assert age_s(run, now) == pytest.approx(25.0)
    assert end_now(run, now).elapsed_s == pytest.approx(25.0)
    assert end_of_report(run, report(25.0, step_s), now).elapsed_s == pytest.approx(25.0)
    assert end_of_trace(run, None, 0.0, now).elapsed_s == pytest.approx(25.0)


def test_the_end_is_the_runners_own() -> None:
    """A scheduler that comes back an hour later takes time and duration from the runner's report."""
    found = end_of_report(started(), report(40.0), moment(3600.0))
    assert (found.at - NOW).total_seconds() == pytest.approx(40.0)
    assert found.elapsed_s == pytest.approx(40.0)


def test_the_end_outlives_a_reboot() -> None:
    """After a boot, whose monotonic clock is another one, the report's own readings still tell the duration."""
    found = end_of_report(started(), report(40.0), moment(3600.0, boot_id="next"))
    assert found.elapsed_s == pytest.approx(40.0)
    lost = end_of_trace(started(), NOW.timestamp() + 50.0, None, moment(3600.0, boot_id="next"))
    assert lost.elapsed_s == pytest.approx(50.0)
    assert (lost.at - NOW).total_seconds() == pytest.approx(50.0)


@pytest.mark.parametrize(
    ("changes", "took_s"),
    [
        ({"ended_clock": None}, 39.7),
        ({"ended_clock": None, "duration_s": None}, 40.0),
        ({"ended_clock": None, "duration_s": None, "ended_at": NOW.timestamp() - 2400.0}, 0.0),
        ({"ended_clock": clock(5.0, "that")}, 39.7),
        ({"ended_clock": clock(STARTED_S - 5.0)}, 39.7),
        ({"ended_clock": clock(STARTED_S + 1e9)}, 60.0),
        ({"ended_clock": None, "duration_s": 1e30}, 60.0),
    ],
)
def test_a_report_that_says_less_or_too_much_is_borne(
    changes: dict[str, Any], took_s: float
) -> None:
    """Reports of older runners and ones that cannot be true give no negative duration and none beyond now."""
    assert end_of_report(started(), report(40.0, **changes), moment(60.0)).elapsed_s == (
        pytest.approx(took_s)
    )


@pytest.mark.parametrize("ended_at", [-1.0, float("nan"), float("inf"), 1e300])
def test_a_report_without_a_date_is_none(ended_at: float) -> None:
    """A time of which no date can be made is refused where the report is read."""
    with pytest.raises(ValueError, match="ended_at"):
        type(make_report()).model_validate({**make_report().model_dump(), "ended_at": ended_at})


def test_a_lost_run_ended_between_its_last_trace_and_now() -> None:
    """Its last trace counts, but never before it was seen alive, before its start or after now."""
    run, now = started(), moment(1000.0)
    at = NOW.timestamp()
    cases: list[tuple[float | None, float | None, float]] = [
        (at + 300.0, None, 300.0),
        (at + 300.0, 1.0, 999.0),
        (at - 5000.0, None, 0.0),
        (at + 9000.0, None, 1000.0),
        (None, None, 1000.0),
    ]
    for trace_at, unseen_s, took_s in cases:
        found = end_of_trace(run, trace_at, unseen_s, now)
        assert found.elapsed_s == pytest.approx(took_s)
        assert (found.at - NOW).total_seconds() == pytest.approx(took_s)


def test_a_run_of_an_older_scheduler_has_the_wall_clock_only() -> None:
    """Without a reading of the start the wall clock must do, and nothing is negative."""
    old = started(started_clock=None)
    assert age_s(old, moment(25.0)) == pytest.approx(25.0)
    assert age_s(old, moment(25.0, -2400.0)) == 0.0
    assert end_of_report(old, report(25.0, -2400.0), moment(30.0)).elapsed_s == pytest.approx(24.7)
    assert age_s(make_record(), moment(25.0)) is None


def test_readings_of_two_boots_are_not_compared() -> None:
    """Seconds between two readings exist within one boot and forward in time only."""
    assert seconds_between(clock(1.0), clock(3.5)) == 2.5
    assert seconds_between(clock(1.0), clock(3.5, "next")) is None
    assert seconds_between(clock(3.5), clock(1.0)) is None
    assert seconds_between(None, clock(1.0)) is None
    first, second = present().clock, present().clock
    assert 0 <= (seconds_between(first, second) or 0.0) < 5


def test_past_durations_are_by_the_monotonic_clock() -> None:
    """What such runs took is learnt from `elapsed_s`; an old record whose wall clock went back teaches nothing."""

    def ended(at: datetime, elapsed_s: float | None) -> Any:
        return make_record(RunState.SUCCEEDED, started_at=NOW, ended_at=at, elapsed_s=elapsed_s)

    known = PastDurations(None)  # type: ignore[arg-type] # nothing is loaded
    known.note(ended(NOW - timedelta(seconds=2400), None))
    assert known.lasts_s(make_record()) is None
    known.note(ended(NOW - timedelta(seconds=2400), 25.0))
    assert known.lasts_s(make_record()) == pytest.approx(25.0)
    assert known.ends_in_s(started(), None, moment(10.0, -2400.0)) == pytest.approx(15.0)
