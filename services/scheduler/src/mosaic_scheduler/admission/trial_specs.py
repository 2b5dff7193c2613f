"""The specs of the runs that a sweep starts. Pure."""

from collections.abc import Iterator
from typing import Any

from mosaic_contracts.sweeps import Choice, FloatRange, IntRange, SweepSpec

_OF_TRIALS = ("environment", "seed", "parameters", "name")
"""Fields in which the runs of a sweep differ."""
_INNER = 0.381966
"""A share of a range at which a whole number is unlikely."""


def trial_specs(sweep: SweepSpec) -> Iterator[tuple[str, dict[str, Any]]]:
    """For each environment its field of the spec, and the spec of a run in it with one value of each parameter."""
    fixed = sweep.run.get("parameters")
    chosen = {name: next(corners(one))[1] for name, one in sweep.parameters.items()}
    spec = dict(sweep.run)
    if fixed is None or isinstance(fixed, dict):  # what else it is, the spec's model says
        spec["parameters"] = {**(fixed or {}), **chosen}
    if sweep.seeds:
        spec["seed"] = sweep.seeds[0]
    if not sweep.environments:
        yield "sweep.run.environment", spec
    for number, environment in enumerate(sweep.environments):
        yield f"sweep.environments.{number}", {**spec, "environment": environment}


def trial_spec(
    sweep_id: str, sweep: SweepSpec, asked: dict[str, Any], priority: int
) -> dict[str, Any]:
    """The spec of one run of a trial: what is asked for of the fields in which runs differ, else the sweep's own."""
    own = {name: asked[name] for name in _OF_TRIALS if name in asked}
    return {**sweep.run, **own, "parent": sweep_id, "priority": priority}


def corners(dimension: FloatRange | IntRange | Choice) -> Iterator[tuple[str, Any]]:
    """Values that show whether all are valid, each with its place in the dimension."""
    if isinstance(dimension, Choice):
        yield from ((f".choices.{place}", value) for place, value in enumerate(dimension.choices))
        return
    yield ".low", dimension.low
    yield ".high", dimension.high
    if isinstance(dimension, FloatRange) and dimension.low < dimension.high:
        width = dimension.step or (dimension.high - dimension.low) * _INNER
        yield "", dimension.low + width
