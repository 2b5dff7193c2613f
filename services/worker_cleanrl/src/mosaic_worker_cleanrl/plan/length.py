"""How long a run is, and from where on it learns."""

import math

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RunSpec
from mosaic_worker_cleanrl.algorithm import Script
from mosaic_worker_cleanrl.description import STEPS
from mosaic_worker_cleanrl.plan.draft import ScriptPlan

DEFAULT_CHECKPOINTS = 10
"""Checkpoints in a run whose spec does not say how often, the final one included."""
_REPORT_EVERY = 100
"""Steps between two reports of an off-policy script's losses; written in the scripts, no argument of theirs."""


def measure_length(spec: RunSpec, script: Script, plan: ScriptPlan) -> None:
    """Work out how many steps the script will take of those asked for, and when it learns."""
    plan.asked_steps = plan.total_steps = int(plan.arguments[STEPS])
    if script.batch:
        _count_batches(spec, script, plan)
    else:
        _find_first_update(script, plan)
    # Rounded up, so that the last periodic one does not fall just before the final one.
    plan.checkpoint_every_steps = spec.checkpoint_every_steps or -(
        -plan.total_steps // DEFAULT_CHECKPOINTS
    )


def _count_batches(spec: RunSpec, script: Script, plan: ScriptPlan) -> None:
    batch = math.prod(int(plan.arguments[name]) for name in script.batch)
    made_of = " x ".join(f"{name} {plan.arguments[name]}" for name in script.batch)
    asked = plan.asked_steps
    plan.total_steps = asked - asked % batch
    if batch > asked:
        plan.block(
            "steps",
            f"{script.title} trains whole batches of {batch:,} steps ({made_of}); with {asked:,} it would train "
            f"nothing. The smallest number is {batch}: ask for that or more, or make the batch smaller.",
            ProblemCode.PARAMETER_INVALID,
        )
        return
    plan.first_update_step = batch
    is_asked = spec.steps is not None or STEPS in spec.parameters
    if asked % batch and is_asked:
        plan.warn(
            "steps",
            f"{script.title} trains whole batches of {batch:,} steps ({made_of}): the run ends after "
            f"{plan.total_steps:,} steps, not {asked:,}.",
        )


def _find_first_update(script: Script, plan: ScriptPlan) -> None:
    """These scripts count steps from 0 and learn after a step that is past learning_starts, at every nth."""
    if "learning_starts" not in plan.arguments:
        return
    starts = int(plan.arguments["learning_starts"])
    arguments = plan.arguments
    every = int(arguments.get("train_frequency", arguments.get("update_frequency", 1)))
    update = _next_multiple(starts + 1, every)
    if update >= plan.total_steps:
        plan.warn(
            "parameters.learning_starts",
            f"{script.title} plays at random up to step {starts:,} and learns for the first time at step {update:,}; "
            f"with {plan.total_steps:,} steps in all it learns nothing. Ask for {update + 1:,} steps or more, or "
            "lower learning_starts.",
        )
        return
    plan.first_update_step = update
    _find_early_report(plan, starts)


def _find_early_report(plan: ScriptPlan, starts: int) -> None:
    """SAC reports losses whether or not there are some: then it fails."""
    report = _next_multiple(starts + 1, _REPORT_EVERY)
    for name, what, usual in (
        ("policy_frequency", "the actor's loss", 2),
        ("update_frequency", "losses", 4),
    ):
        delay = plan.arguments.get(name)
        if delay and _next_multiple(starts + 1, delay) > report and report < plan.total_steps:
            plan.block(
                f"parameters.{name}",
                f"With {name} {delay} the script reports {what} at step {report} before it has learned once, and "
                f"fails there. Take {usual}.",
                ProblemCode.PARAMETER_INVALID,
            )


def _next_multiple(at_least: int, of: int) -> int:
    return -(-at_least // of) * of
