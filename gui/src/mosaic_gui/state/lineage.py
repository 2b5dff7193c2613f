"""Lineage of a run: its parent and its children."""

from collections.abc import Mapping
from dataclasses import dataclass

from mosaic_contracts.runs import RunView
from mosaic_gui.state import run_row, wording
from mosaic_gui.state.language import tr

MOST_CHILDREN = 12
"""Children that are named; of further ones only the number is shown."""


@dataclass(frozen=True)
class Relative:
    """A parent or child of a run."""

    run_id: str
    words: str
    is_known: bool = True
    """Whether the run is in the list."""


@dataclass(frozen=True)
class Lineage:
    """Parent and children of a run, children newest first."""

    parent: Relative | None = None
    children: tuple[Relative, ...] = ()
    more: int = 0
    """Children that are not named."""


def lineage_of(run: RunView, runs: Mapping[str, RunView]) -> Lineage:
    """Find the parent and the children of a run among the runs in the list."""
    parent, parent_id = None, run.spec.parent
    if parent_id:
        found = runs.get(parent_id)
        words = _words(found) if found is not None else tr("{run} (not in the list)", run=parent_id)
        parent = Relative(parent_id, words, is_known=found is not None)
    children = [one for one in runs.values() if one.spec.parent == run.run_id]
    children.sort(key=lambda one: one.run_id, reverse=True)
    named = tuple(Relative(one.run_id, _words(one)) for one in children[:MOST_CHILDREN])
    return Lineage(parent, named, max(0, len(children) - MOST_CHILDREN))


def _words(run: RunView) -> str:
    words = f"{run_row.title(run)} · {run_row.subtitle(run)}"
    point = run.spec.start_from
    if point is None:
        return words
    return tr(
        "{run} from step {step} of episode {episode}",
        run=words,
        step=wording.count(point.step),
        episode=wording.count(point.episode),
    )
