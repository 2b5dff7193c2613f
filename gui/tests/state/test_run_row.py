"""What the list says of a run's progress."""

from datetime import UTC, datetime, timedelta

import pytest
from tests.specimen import run, summary

from mosaic_contracts.runs import Progress, RunEnd
from mosaic_contracts.states import EndCause, RunState
from mosaic_gui.state.run_row import elapsed_s, fraction, outlook, remaining_text, steps_text


def test_a_quick_run_that_has_ended_shows_all_its_steps() -> None:
    """The trainer's last word is a second old at its end; where the store has more, that is what is shown."""
    reported = Progress(step=3_529, total=50_000)
    stored = summary(0, global_step=50_000)
    ended = run(0, RunState.CANCELLED, progress=reported, summary=stored)
    assert steps_text(ended) == "50k of 50k"
    assert fraction(ended) == 1.0
    running = run(0, RunState.RUNNING, progress=reported, summary=summary(0, global_step=3_000))
    assert steps_text(running) == "3.53k of 50k"


def test_the_outlook_has_a_second_line_that_says_why() -> None:
    """The place in the queue with what is waited for, and of a failure the last words, not an exit code alone."""
    waiting = run(0, RunState.QUEUED, position=2, waiting_reason="behind 1 run in the queue")
    assert outlook(waiting) == ("#2 in the queue", "behind 1 run in the queue")
    assert remaining_text(waiting) == "#2 in the queue, behind 1 run in the queue"
    reason = "queued at Slurm: all suitable nodes are busy"
    submitted = run(0, RunState.STARTING, waiting_reason=reason)
    assert outlook(submitted) == ("in the queue", "all suitable nodes are busy")
    lines = ["Traceback (most recent call last):", "ValueError: no", ""]
    end = RunEnd(cause=EndCause.EXIT_CODE, message="It ended.", exit_code=1, last_lines=lines)
    assert outlook(run(0, RunState.FAILED, end=end)) == ("exit code 1", "ValueError: no")
    long = RunEnd(
        cause=EndCause.EXIT_CODE,
        message="The worker ended by itself with exit code 1: ValueError: found invalid values: tensor([[nan,",
        exit_code=1,
        last_lines=["        [nan, nan],", "        [nan, nan]], grad_fn=<SubBackward0>)"],
    )
    words = "ValueError: found invalid values: tensor([[nan,"
    assert outlook(run(0, RunState.FAILED, end=long)) == ("exit code 1", words)
    killed = RunEnd(cause=EndCause.SIGNAL, message="Ended by SIGKILL.", signal=9, last_lines=lines)
    assert outlook(run(0, RunState.CRASHED, end=killed)) == ("killed by SIGKILL", "")


def test_bar_of_a_run_that_succeeded_early_shows_what_it_reached() -> None:
    """A run that stopped at 200k of 1M steps by its own success has done a fifth of what was asked for."""
    early = run(0, RunState.SUCCEEDED, progress=Progress(step=200_000, total=1_000_000))
    assert (steps_text(early), fraction(early)) == ("200k of 1M", 0.2)
    asked = run(0, RunState.SUCCEEDED, spec={"steps": 1_000}, summary=summary(0, global_step=250))
    assert (steps_text(asked), fraction(asked)) == ("250 of 1k", 0.25)
    whole = run(0, RunState.SUCCEEDED, progress=Progress(step=500, total=500))
    assert fraction(whole) == 1.0


def test_bar_is_left_out_where_nothing_is_known() -> None:
    """Without steps there is no share; a success for which no number was asked is whole."""
    assert fraction(run(0, RunState.SUCCEEDED, spec={"steps": 1_000})) is None
    assert fraction(run(0, RunState.SUCCEEDED)) == 1.0
    assert fraction(run(0, RunState.FAILED)) is None


@pytest.mark.parametrize("step_s", [-2400, 3600])
def test_elapsed_time_is_the_stacks(step_s: int) -> None:
    """Where a clock was set, here or on the stack, a run of 25 s took 25 s, live and ended."""
    began = datetime(2030, 1, 1, tzinfo=UTC)
    now = began + timedelta(seconds=25 + step_s)
    live = run(0, RunState.RUNNING, started_at=began, elapsed_s=25.0)
    assert elapsed_s(live, now) == 25.0
    ended = run(0, RunState.SUCCEEDED, started_at=began, ended_at=now, elapsed_s=25.0)
    assert elapsed_s(ended, now) == 25.0
    old = run(0, RunState.SUCCEEDED, started_at=began, ended_at=now, elapsed_s=None)
    assert elapsed_s(old, now) == max(0, 25 + step_s)
