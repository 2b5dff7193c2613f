from datetime import timedelta
from typing import Any

from tests.specimen import BEGAN, run

from mosaic_contracts.states import RunState
from mosaic_gui.state.start_stages import start_stages


def event(phase: str, at: float, **fields: Any) -> dict[str, Any]:
    """A lifecycle event of the worker, so many seconds after the run was created."""
    known = {"source": "worker", "attempt": 1, "type": "lifecycle", "phase": phase, "data": {}}
    return known | {"t": BEGAN.timestamp() + at} | fields


def seen(state: RunState, now: float, *events: dict[str, Any], **fields: Any) -> list[Any]:
    """Words, whole seconds and whether each stage is done."""
    found = start_stages(run(0, state, **fields), events, BEGAN + timedelta(seconds=now))
    return [(one.words, round(one.seconds), one.is_done) for one in found]


def test_a_queued_run_waits() -> None:
    """There is one stage, and its time runs."""
    assert seen(RunState.QUEUED, 7) == [("Waiting in the queue", 7, False)]


def test_each_stage_has_its_time() -> None:
    """Queue, start, import of torch and training, as the worker announces them."""
    first = BEGAN + timedelta(seconds=4)
    importing = event("importing", 4.2, data={"modules": ["torch"]})
    assert seen(RunState.RUNNING, 16.2, importing, first_event_at=first) == [
        ("Waiting in the queue", 1, True),
        ("Starting the worker", 3, True),
        ("Importing torch", 12, False),
    ]
    training = event("training", 16)
    assert seen(RunState.RUNNING, 18, importing, training, first_event_at=first)[2:] == [
        ("Importing torch", 12, True),
        ("Training until the first point", 2, False),
    ]


def test_a_worker_that_announces_nothing_prepares() -> None:
    """Between its first event and its first point there is one stage."""
    first = BEGAN + timedelta(seconds=4)
    assert seen(RunState.RUNNING, 9, first_event_at=first)[-1] == ("Preparing", 5, False)


def test_another_attempt_begins_again() -> None:
    """Events of an attempt before, and of the supervisor, are no stages of this one."""
    events = (
        event("training", 2),
        event("training", 5, source="supervisor", attempt=2),
    )
    found = seen(RunState.STARTING, 9, *events, attempt=2)
    assert [words for words, _, _ in found] == ["Waiting in the queue", "Starting the worker"]


def test_an_ended_run_has_no_stages() -> None:
    """Its card says what became of it."""
    assert seen(RunState.FAILED, 9) == []
