"""What the list says of a run's progress."""

from tests.specimen import run, summary

from mosaic_contracts.runs import Progress
from mosaic_contracts.states import RunState
from mosaic_gui.state.run_row import fraction, steps_text


def test_a_quick_run_that_has_ended_shows_all_its_steps() -> None:
    """The trainer's last word is a second old at its end; where the store has more, that is what is shown."""
    told = Progress(step=3_529, total=50_000)
    stored = summary(0, global_step=50_000)
    ended = run(0, RunState.CANCELLED, progress=told, summary=stored)
    assert steps_text(ended) == "50k of 50k"
    assert fraction(ended) == 1.0
    running = run(0, RunState.RUNNING, progress=told, summary=summary(0, global_step=3_000))
    assert steps_text(running) == "3.53k of 50k"
