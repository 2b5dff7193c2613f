"""What the list says of a run's progress."""

from tests.specimen import run, summary

from mosaic_contracts.runs import Progress, RunEnd
from mosaic_contracts.states import EndCause, RunState
from mosaic_gui.state.run_row import fraction, outlook, remaining_text, steps_text


def test_a_quick_run_that_has_ended_shows_all_its_steps() -> None:
    """The trainer's last word is a second old at its end; where the store has more, that is what is shown."""
    told = Progress(step=3_529, total=50_000)
    stored = summary(0, global_step=50_000)
    ended = run(0, RunState.CANCELLED, progress=told, summary=stored)
    assert steps_text(ended) == "50k of 50k"
    assert fraction(ended) == 1.0
    running = run(0, RunState.RUNNING, progress=told, summary=summary(0, global_step=3_000))
    assert steps_text(running) == "3.53k of 50k"


def test_the_outlook_has_a_second_line_that_says_why() -> None:
    """The place in the queue with what is waited for, and of a failure the last words, not an exit code alone."""
    waiting = run(0, RunState.QUEUED, position=2, waiting_reason="behind 1 run in the queue")
    assert outlook(waiting) == ("#2 in the queue", "behind 1 run in the queue")
    assert remaining_text(waiting) == "#2 in the queue, behind 1 run in the queue"
    lines = ["Traceback (most recent call last):", "ValueError: no", ""]
    end = RunEnd(cause=EndCause.EXIT_CODE, message="It ended.", exit_code=1, last_lines=lines)
    assert outlook(run(0, RunState.FAILED, end=end)) == ("exit code 1", "ValueError: no")
    killed = RunEnd(cause=EndCause.SIGNAL, message="Ended by SIGKILL.", signal=9, last_lines=lines)
    assert outlook(run(0, RunState.CRASHED, end=killed)) == ("killed by SIGKILL", "")
