"""Runs side by side: what they were asked for, and what came of it."""

from collections.abc import Sequence
from typing import Any

from mosaic_client.table import Table
from mosaic_contracts.run_names import differing_parameters, distinct_names
from mosaic_contracts.runs import RunView


def comparison(runs: Sequence[RunView]) -> Table:
    """Compare runs.

    Args:
        runs: runs with their summaries.

    Returns:
        A table with one row a run: name, state, spec and results. `what` names each run by what sets it apart from
        the others. Each parameter that any of them sets or differs in has a column `parameters.<name>`, with the
        default where a run gives none; None: that is not known. `duration_s` is in seconds.
    """
    given = {name for run in runs for name in run.spec.parameters}
    names = sorted({*given, *differing_parameters(runs)})
    columns: dict[str, list[Any]] = {
        "run_id": [run.run_id for run in runs],
        "name": [run.name for run in runs],
        "what": distinct_names(runs),
        "state": [run.state.value for run in runs],
        "worker": [run.spec.worker for run in runs],
        "algorithm": [run.spec.algorithm for run in runs],
        "environment": [run.spec.environment for run in runs],
        "seed": [run.spec.seed for run in runs],
    }
    for name in names:
        columns[f"parameters.{name}"] = [
            run.spec.parameters.get(name, run.defaults.get(name)) for run in runs
        ]
    for name in ("global_step", "episodes", "last_return", "best_return", "mean_return"):
        columns[name] = [getattr(run.summary, name, None) for run in runs]
    columns["steps_per_s"] = [run.sps for run in runs]
    columns["duration_s"] = [_duration_s(run) for run in runs]
    return Table(columns, "comparison")


def _duration_s(run: RunView) -> float | None:
    if run.started_at is None or run.ended_at is None:
        return None
    if run.elapsed_s is not None:
        return run.elapsed_s
    seconds = (run.ended_at - run.started_at).total_seconds()
    return seconds if seconds >= 0 else None
