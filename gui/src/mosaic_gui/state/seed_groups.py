"""Runs that differ in their seed alone, which are drawn as one."""

import json
from collections.abc import Mapping, Sequence

from mosaic_contracts.runs import RunView


def seed_groups(run_ids: Sequence[str], runs: Mapping[str, RunView]) -> list[list[str]]:
    """The ids in groups that are equal but for the seed, in the order of their first one."""
    groups: dict[str, list[str]] = {}
    for run_id in run_ids:
        groups.setdefault(_key(run_id, runs), []).append(run_id)
    return list(groups.values())


def _key(run_id: str, runs: Mapping[str, RunView]) -> str:
    run = runs.get(run_id)
    if run is None:
        return run_id
    spec = run.spec
    arguments = {key: value for key, value in spec.parameters.items() if key != "seed"}
    told = [spec.worker, spec.algorithm, spec.environment, spec.steps, arguments]
    return json.dumps(told, sort_keys=True, default=str)
