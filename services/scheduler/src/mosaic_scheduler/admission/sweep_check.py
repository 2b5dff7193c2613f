"""Whether the trials of a sweep could be started: their run, every parameter that is chosen, and an earlier study."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RunKind
from mosaic_contracts.sweeps import Choice, Dimension, SweepSpec
from mosaic_contracts.tracking import X_TRACKING
from mosaic_contracts.worker import Algorithm
from mosaic_scheduler.admission.check import MAX_FINDINGS, Check, passed, wrong
from mosaic_scheduler.admission.checks import RUN_CHECKS
from mosaic_scheduler.admission.context import Context, SweepLook
from mosaic_scheduler.admission.parameters import check_parameters
from mosaic_scheduler.admission.trial_specs import corners

_INVALID = ProblemCode.SPEC_INVALID


def check_sweep(context: Context) -> list[Check]:
    """What is wrong with a sweep, by the paths of its fields. Nothing is said of any other run."""
    spec = context.spec
    if spec.kind is not RunKind.SWEEP or spec.sweep is None:
        return []
    sweep, look = spec.sweep, context.sweep
    found = [_in_sweep(check, sweep, "sweep.run.environment") for check in look.faults]
    found += _check_runs(sweep, look)
    if look.trials:
        _, trial = look.trials[0]
        algorithm = trial.description.find_algorithm(trial.spec.algorithm)
        if algorithm is not None:
            found += _check_dimensions(sweep, algorithm, trial.spec.steps is not None)
    found += _check_earlier(sweep, look)
    return found[:MAX_FINDINGS] or [passed("sweep", f"{totals_in_words(sweep)}.")]


def totals(sweep: SweepSpec) -> dict[str, int]:
    """Number of trials, of runs in all, and of those at once, at most."""
    runs = max(len(sweep.environments), 1) * max(len(sweep.seeds), 1)
    trials = sweep.most_trials
    found = {"trials": trials, "runs": trials * runs, "trials_at_once": min(sweep.parallel, trials)}
    steps = sweep.run.get("steps")
    if isinstance(steps, int):
        found["steps_at_most"] = trials * runs * steps
    return found


def totals_in_words(sweep: SweepSpec) -> str:
    """The totals as a line."""
    found = totals(sweep)
    steps = f", {found['steps_at_most']:,} steps at most" if "steps_at_most" in found else ""
    return (
        f"{found['trials']:,} trials, {found['runs']:,} runs in all{steps}, "
        f"{found['trials_at_once']} trials at once"
    )


def _check_runs(sweep: SweepSpec, look: SweepLook) -> list[Check]:
    """What is wrong with the trials' runs, each thing once."""
    found: dict[str, Check] = {}
    for place, trial in look.trials:
        checks = [check for function in RUN_CHECKS for check in function(trial)]
        for check in checks:
            if check.refuses and not _is_chosen(check, sweep):
                there = _in_sweep(check, sweep, place)
                found.setdefault(str(there.where), there)
    return list(found.values())


def _is_chosen(check: Check, sweep: SweepSpec) -> bool:
    """Whether it is about a value that the sweep chooses: these are checked each by itself."""
    name = str(check.where).removeprefix("parameters.")
    return name != check.where and name in sweep.parameters


def _in_sweep(check: Check, sweep: SweepSpec, environment: str) -> Check:
    """A check of a trial's run with the path of the field in the sweep."""
    where = str(check.where)
    if where.startswith("sweep."):
        return check
    place = environment if where == "environment" else f"sweep.run.{where}"
    if where == "seed" and sweep.seeds:
        place = "sweep.seeds.0"
    return replace(check, id="sweep", where=place)


def _check_dimensions(sweep: SweepSpec, algorithm: Algorithm, steps_given: bool) -> Iterator[Check]:
    fixed = sweep.run.get("parameters")
    schemas: dict[str, Any] = algorithm.parameters.get("properties", {})
    for name, dimension in sweep.parameters.items():
        if isinstance(fixed, dict) and name in fixed:
            yield _wrong(
                f"run.parameters.{name}",
                f"is chosen by the sweep (parameters.{name}); give one of the two",
            )
        if X_TRACKING in schemas.get(name, {}):
            yield _wrong(
                f"parameters.{name}", "says how a run is tracked; set it in `run.parameters`"
            )
        yield from _check_dimension(name, dimension, algorithm, steps_given)


def _check_dimension(
    name: str, dimension: Dimension, algorithm: Algorithm, steps_given: bool
) -> Iterator[Check]:
    for place, value in corners(dimension):
        for check in check_parameters(algorithm, {name: value}, steps_given):
            is_unknown = check.code == ProblemCode.PARAMETER_UNKNOWN
            where = f"sweep.parameters.{name}" + ("" if is_unknown else place)
            yield replace(check, id="sweep", where=where)
            if is_unknown:
                return


def _check_earlier(sweep: SweepSpec, look: SweepLook) -> Iterator[Check]:
    """The sweep that this one goes on with."""
    if sweep.continues is None:
        return
    earlier = look.earlier
    if earlier is None or earlier.spec.sweep is None:
        yield _wrong("continues", "is no sweep of this stack; `./mosaic sweep list` lists them")
        return
    before = earlier.spec.sweep
    if not earlier.state.is_final:
        yield _wrong(
            "continues",
            f"is {earlier.state.value}; stop it first (`./mosaic sweep stop {earlier.run_id}`)",
        )
    elif not look.has_study:
        yield _wrong(
            "continues", "has no study: it ended before its first trial. Start a new sweep"
        )
    if look.continued_by is not None:
        yield _wrong(
            "continues", f"was continued by {look.continued_by} already; continue that one"
        )
    if before.objectives != sweep.objectives:
        yield _wrong("objectives", "must be those of the earlier sweep, for its values count")
    for name, dimension in sweep.parameters.items():
        known = before.parameters.get(name)
        if (
            isinstance(known, Choice)
            and isinstance(dimension, Choice)
            and known.choices != dimension.choices
        ):
            yield _wrong(f"parameters.{name}.choices", "must be those of the earlier sweep")


def _wrong(where: str, message: str) -> Check:
    return wrong(f"sweep.{where}", message, _INVALID)
