"""What a run goes through before its first point, with times: queue, start of the worker, imports, training."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState
from mosaic_gui.state.language import tr

IMPORTING, TRAINING = "importing", "training"
"""Phases of a worker's lifecycle events."""
_OPENINGS = frozenset({IMPORTING, TRAINING, "playing"})
WORKER = "worker"


@dataclass(frozen=True)
class StartStage:
    """One stage."""

    words: str
    seconds: float
    is_done: bool


def start_stages(
    run: RunView, events: Sequence[Mapping[str, Any]], now: datetime
) -> list[StartStage]:
    """The stages of a run's present attempt so far, the last one is the present one.

    Args:
        run: the run.
        events: its lifecycle events.
        now: the present time.

    Returns:
        Stages in their order; empty for a run that has ended.
    """
    if run.state.is_final:
        return []
    begun = [(tr("Waiting in the queue"), run.created_at.timestamp())]
    if run.state is not RunState.QUEUED and run.started_at is not None:
        begun.append((tr("Starting the worker"), run.started_at.timestamp()))
        begun += _phases(run, events)
    ends = [*(at for _, at in begun[1:]), now.timestamp()]
    last = len(begun) - 1
    return [
        StartStage(words, max(0.0, end - at), number < last)
        for number, ((words, at), end) in enumerate(zip(begun, ends, strict=True))
    ]


def _phases(run: RunView, events: Sequence[Mapping[str, Any]]) -> list[tuple[str, float]]:
    """What the worker has announced, and when."""
    found = []
    if run.first_event_at is not None:
        found.append((tr("Preparing"), run.first_event_at.timestamp()))
    for event in events:
        phase = event.get("phase")
        is_own = event.get("source") == WORKER and event.get("attempt") == run.attempt
        if not is_own or phase not in _OPENINGS:
            continue
        at = float(event["t"])
        if phase == IMPORTING:
            names = (event.get("data") or {}).get("modules") or []
            words = tr("Importing {names}", names=", ".join(map(str, names)))
            found = [one for one in found if one[1] < at - 1.0]  # nothing was prepared before it
            found.append((words, at))
        else:
            found.append((tr("Training until the first point"), at))
    return found
