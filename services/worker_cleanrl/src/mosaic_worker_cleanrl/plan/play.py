"""A play or an evaluation: which checkpoint acts, for how long, and whether it fits the run."""

import os
from pathlib import Path
from typing import Any

from mosaic_contracts.launch import ENV_RUN_DIR
from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RunKind, RunSpec
from mosaic_worker_cleanrl.algorithm import Script
from mosaic_worker_cleanrl.description import STEPS
from mosaic_worker_cleanrl.errors import CheckpointRefused
from mosaic_worker_cleanrl.packages import installed_packages
from mosaic_worker_cleanrl.plan.draft import ScriptPlan
from mosaic_worker_cleanrl.plan.video import check_clips
from mosaic_worker_cleanrl.saved import SavedState, read_saved
from mosaic_worker_cleanrl.schema.document import CHECKPOINT, SAMPLED, parameter_schema
from mosaic_workerkit.parameters import check_parameters

_WHERE = f"parameters.{CHECKPOINT}"
EPISODES = {RunKind.PLAY: 10, RunKind.EVALUATE: 20}
"""Episodes where the spec says neither episodes nor steps."""
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
        plan.episodes = EPISODES[spec.kind]
    check_clips(spec, plan)
    _find_checkpoint(given.get(CHECKPOINT), spec, script, plan)


def play_facts(spec: RunSpec, script: Script, plan: ScriptPlan) -> dict[str, Any]:
    """What a play would do, for the answer of `check` and for the config."""
    saved = plan.saved
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
        "trained": None
        if saved is None
        else {
            "steps": saved.global_step,
            "seed": saved.seed,
            "environment": saved.environment,
            "normalized": saved.has_observation_statistics,
            "packages": saved.packages,
        },
        "record": spec.record.value,
        "packages": installed_packages(),
    }


def _find_checkpoint(given: Any, spec: RunSpec, script: Script, plan: ScriptPlan) -> None:
    if not given:
        plan.block(
            _WHERE,
            "A play shows what a checkpoint has learned: name one with the parameter `checkpoint`, or let "
            "`./mosaic play RUN` take the newest of a run.",
            ProblemCode.PARAMETER_INVALID,
        )
        return
    path = Path(str(given)).expanduser()
    plan.checkpoint = str(path)
    if ENV_RUN_DIR not in os.environ and not path.is_absolute() and not path.exists():
        plan.warn(
            _WHERE,
            f"{path} cannot be looked into from here; whether it fits is seen when the run starts.",
        )
        return
    try:
        plan.saved = read_saved(path)
        require_fit(plan.saved, spec, script, plan)
    except CheckpointRefused as error:
        plan.block(_WHERE, str(error), ProblemCode.PARAMETER_INVALID, error.nearest)


def require_fit(saved: SavedState, spec: RunSpec, script: Script, plan: ScriptPlan) -> None:
    """Compare a checkpoint with the run that is to begin with it.

    Raises:
        CheckpointRefused: it is of another script, another environment or other spaces, or lacks what the script needs.
    """
    if saved.algorithm != script.id:
        raise CheckpointRefused(
            f"The checkpoint is of {saved.algorithm}, the run asks for {script.id}. Ask for {saved.algorithm}, or take "
            f"a checkpoint of {script.id}.",
            [saved.algorithm],
        )
    if saved.environment != spec.environment:
        raise CheckpointRefused(
            f"The checkpoint was trained in {saved.environment}, the run is in {spec.environment}. Ask for the "
            f"environment {saved.environment}, or take another checkpoint.",
            [saved.environment],
        )
    if plan.probe is None:  # which is a finding of its own
        return
    _require_spaces(saved, plan)
    if script.normalizes and not saved.has_observation_statistics:
        raise CheckpointRefused(
            f"The checkpoint lacks the statistics by which {script.id} normalises observations. Without them its "
            "policy sees other numbers than it learned from. Take a checkpoint that has them."
        )
    if script.policy not in saved.networks:
        raise CheckpointRefused(
            f"The checkpoint holds no network {script.policy}, which acts in {script.id}; it holds "
            f"{', '.join(saved.networks) or 'none'}. Take another checkpoint."
        )


def _require_spaces(saved: SavedState, plan: ScriptPlan) -> None:
    here = plan.spaces
    for kind, there in (saved.spaces or {}).items():
        if here.get(kind) != there:
            raise CheckpointRefused(
                f"The checkpoint's environment had the {kind} space {_space_words(there)}, this one has "
                f"{_space_words(here[kind])}, though both are called {saved.environment}. Use the version of the "
                "environment that it was trained in, or take another checkpoint."
            )
    if list(plan.wrappers) != saved.wrappers:
        raise CheckpointRefused(
            f"The checkpoint was trained with the wrappers {', '.join(saved.wrappers) or 'none'}, this run has "
            f"{', '.join(plan.wrappers) or 'none'}. Take another checkpoint."
        )


def _space_words(space: dict[str, Any]) -> str:
    details = ", ".join(f"{name} {value}" for name, value in space.items() if name != "kind")
    return f"{space.get('kind')} ({details})"
