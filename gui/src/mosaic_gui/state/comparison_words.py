"""What runs that are shown together are called: what they share, and what sets them apart."""

from collections.abc import Sequence

from mosaic_contracts.run_names import differing_parameters
from mosaic_contracts.run_search import short_parameter
from mosaic_contracts.runs import RunView
from mosaic_gui.state.language import tr, tr_n

MOST_NAMED = 4
"""Parameters that are named; the rest is counted."""


def comparison_title(runs: Sequence[RunView]) -> str:
    """The group that all runs are of, or what they share and how many they are."""
    groups = {run.group.group_id if run.group is not None else "" for run in runs}
    first = runs[0]
    if len(groups) == 1 and first.group is not None:
        return first.group.name
    shared = [first.spec.algorithm] if len({run.spec.algorithm for run in runs}) == 1 else []
    if len({run.spec.environment for run in runs}) == 1:
        shared.append(first.spec.environment)
    count = tr_n("{n} run", "{n} runs", len(runs))
    return f"{' '.join(shared)}: {count}" if shared else count


def differing_words(runs: Sequence[RunView]) -> str:
    """What the runs differ in, e.g. `differ in lr, seed`; empty where they were started alike."""
    specs = [run.spec for run in runs]
    named = (
        (tr("algorithm"), {spec.algorithm for spec in specs}),
        (tr("environment"), {spec.environment for spec in specs}),
        (tr("steps"), {spec.steps for spec in specs}),
    )
    words = [name for name, values in named if len(values) > 1]
    parameters = [short_parameter(name) for name in differing_parameters(runs)]
    words += parameters[:MOST_NAMED]
    if len(parameters) > MOST_NAMED:
        more = len(parameters) - MOST_NAMED
        words.append(tr_n("{n} more parameter", "{n} more parameters", more))
    if len({spec.seed for spec in specs}) > 1:
        words.append(tr("seed"))
    return tr("differ in {names}", names=", ".join(words)) if words else ""
