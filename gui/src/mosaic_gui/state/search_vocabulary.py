"""What the runs in the window have, to complete a search with."""

from collections.abc import Iterable, Sequence

from mosaic_contracts.run_search import parameter_text
from mosaic_contracts.runs import RunView
from mosaic_contracts.search_completion import SearchVocabulary, vocabulary_of_values
from mosaic_gui.state.run_columns import parameters_of

NEWEST = 500
"""Runs that are looked at: what older ones alone have is typed."""


def vocabulary_of(runs: Iterable[RunView], metrics: Sequence[str] = ()) -> SearchVocabulary:
    """Values of keys and parameters, the most frequent first. `metrics`: names of metrics."""
    values: list[tuple[str, str]] = []
    parameters: set[str] = set()
    for run in runs:
        spec = run.spec
        values += [("env", spec.environment), ("algo", spec.algorithm), ("worker", spec.worker)]
        values += [("seed", str(spec.seed)), *(("tag", tag) for tag in run.tags)]
        if run.group is not None:
            values.append(("group", run.group.name))
        own = parameters_of(run)
        parameters.update(own)
        values += [(name, parameter_text(value)) for name, value in own.items()]
    return vocabulary_of_values(values, parameters, metrics)
