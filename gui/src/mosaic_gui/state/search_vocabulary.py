"""What the runs in the window have, to complete a search with."""

from collections import Counter
from collections.abc import Iterable, Sequence

from mosaic_contracts.run_search import parameter_text
from mosaic_contracts.runs import RunView
from mosaic_contracts.search_completion import SearchVocabulary
from mosaic_gui.state.run_columns import parameters_of

NEWEST = 500
"""Runs that are looked at: what older ones alone have is typed."""
_MOST_VALUES = 30


def vocabulary_of(runs: Iterable[RunView], metrics: Sequence[str] = ()) -> SearchVocabulary:
    """Values of keys and parameters, the most frequent first. `metrics`: names of metrics."""
    values: dict[str, Counter[str]] = {}
    parameters: dict[str, None] = {}

    def note(key: str, value: str) -> None:
        values.setdefault(key, Counter())[value] += 1

    for run in runs:
        spec = run.spec
        note("env", spec.environment)
        note("algo", spec.algorithm)
        note("worker", spec.worker)
        note("seed", str(spec.seed))
        for tag in run.tags:
            note("tag", tag)
        if run.group is not None:
            note("group", run.group.name)
        for name, value in parameters_of(run).items():
            parameters[name] = None
            note(name, parameter_text(value))
    common = {
        key: [value for value, _ in counted.most_common(_MOST_VALUES)]
        for key, counted in values.items()
    }
    return SearchVocabulary(common, sorted(parameters), list(metrics))
