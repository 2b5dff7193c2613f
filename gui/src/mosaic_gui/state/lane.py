"""What a run of an analytics lane does not record, and which level would."""

from collections.abc import Sequence
from dataclasses import dataclass

from mosaic_contracts.runs import RunView
from mosaic_contracts.spec import RecordLevel
from mosaic_gui.state.language import tr

ANALYTICS = "analytics"


@dataclass(frozen=True)
class Unrecorded:
    """Said above the curves of such a run."""

    things: tuple[str, ...]
    """What is not kept, from the coarse to the fine."""
    level: str
    """The lowest level that keeps steps; empty: the worker has none."""


def unrecorded(run: RunView, lane: str, levels: Sequence[str]) -> Unrecorded | None:
    """What is missing of a run; None for one of another lane, or that keeps its steps."""
    record = run.spec.record
    if lane != ANALYTICS or record.has_steps:
        return None
    things = () if record.has_episodes else (tr("episodes"),)
    known = [level for level in RecordLevel if level.value in levels and level.has_steps]
    return Unrecorded((*things, tr("steps"), tr("observations")), known[0].value if known else "")
