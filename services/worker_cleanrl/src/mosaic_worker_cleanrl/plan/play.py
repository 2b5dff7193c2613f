"""A play or an evaluation: which checkpoint acts, how, and for how long."""

from typing import Any

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RunKind, RunSpec
from mosaic_worker_cleanrl.algorithm import Script
from mosaic_worker_cleanrl.description import STEPS
from mosaic_worker_cleanrl.packages import installed_packages
from mosaic_worker_cleanrl.plan.draft import ScriptPlan
from mosaic_worker_cleanrl.plan.start import find_checkpoint, trained_facts
from mosaic_worker_cleanrl.plan.video import check_clips
from mosaic_worker_cleanrl.schema.document import CHECKPOINT, SAMPLED, parameter_schema
from mosaic_workerkit.parameters import check_parameters

EPISODES = {RunKind.PLAY: 10, RunKind.EVALUATE: 20}
"""Episodes where the spec says neither episodes nor steps; a branch has one."""
_FROM_CHECKPOINT = "A play takes the script's arguments from its checkpoint; leave {name} out."


def plan_play(spec: RunSpec, script: Script, plan: ScriptPlan) -> None:
    """Work out what a play would do; what is wrong with it is added to the plan's findings."""
    schema = parameter_schema(script.source())
    own = (CHECKPOINT, SAMPLED)
    refused = {
        name: _FROM_CHECKPOINT.format(name=name) for name in schema["properties"] if name not in own
    }
    if STEPS in refused:
        refused[STEPS] = "The length of a play is given by the run's `episodes` or `steps`."
    given = check_parameters(spec.parameters, schema, plan, algorithm=script.id, refused=refused)
    plan.sampled = bool(given.get(SAMPLED, False))
    plan.episodes = spec.episodes
    plan.total_steps = spec.steps or 0
    if spec.episodes is None and spec.steps is None:
        plan.episodes = EPISODES[spec.kind] if spec.start_from is None else 1
    check_clips(spec, plan)
    if not given.get(CHECKPOINT):
        plan.block(
            f"parameters.{CHECKPOINT}",
            "A play shows what a checkpoint has learned: name one with the parameter `checkpoint`, or let "
            "`./mosaic play RUN` take the newest of a run.",
            ProblemCode.PARAMETER_INVALID,
        )
        return
    find_checkpoint(str(given[CHECKPOINT]), spec, script, plan)


def play_facts(spec: RunSpec, script: Script, plan: ScriptPlan) -> dict[str, Any]:
    """What a play would do, for the answer of `check` and for the config."""
    return {
        "kind": spec.kind.value,
        "script": script.module,
        "environment": spec.environment,
        "wrappers": list(plan.wrappers),
        "seed": spec.seed,
        "episodes": plan.episodes,
        "total_steps": plan.total_steps or None,
        "pace": spec.pace,
        "greedy": not plan.sampled,
        "trained": None if plan.saved is None else trained_facts(plan.saved),
        "record": spec.record.value,
        "packages": installed_packages(),
    }
