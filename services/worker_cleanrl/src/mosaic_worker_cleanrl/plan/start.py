"""The checkpoint that a run begins with: what it is of, and whether it fits the run."""

import os
from pathlib import Path
from typing import Any

from mosaic_contracts.launch import ENV_RUN_DIR
from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import ParameterValue, RunSpec
from mosaic_worker_cleanrl.algorithm import Script
from mosaic_worker_cleanrl.errors import CheckpointRefused
from mosaic_worker_cleanrl.plan.draft import ScriptPlan
from mosaic_worker_cleanrl.saved import SavedState, read_saved
from mosaic_worker_cleanrl.schema.document import CHECKPOINT

_WHERE = f"parameters.{CHECKPOINT}"
_SHAPES = ("n_atoms", "v_min", "v_max")
"""Arguments that shape a network: a training that begins with a checkpoint needs the same."""


def trained_facts(saved: SavedState) -> dict[str, Any]:
    """What a checkpoint says of its training."""
    return {
        "steps": saved.global_step,
        "seed": saved.seed,
        "environment": saved.environment,
        "normalized": saved.has_observation_statistics,
        "packages": saved.packages,
    }


def warm_start_facts(plan: ScriptPlan) -> dict[str, Any]:
    """For the config of a training that begins with a checkpoint; empty for all others."""
    if not plan.checkpoint:
        return {}
    facts = None if plan.saved is None else trained_facts(plan.saved)
    return {"warm_start": {"checkpoint": plan.checkpoint, "trained": facts}}


def check_warm_start(
    given: ParameterValue, spec: RunSpec, script: Script, plan: ScriptPlan
) -> None:
    """Compare the checkpoint that a training begins with, if any, with the training."""
    if not given:
        return
    find_checkpoint(str(given), spec, script, plan)
    arguments = plan.arguments if plan.saved is None else plan.saved.arguments
    for name in _SHAPES:
        was, now = arguments.get(name), plan.arguments.get(name)
        if was != now:
            plan.block(
                f"parameters.{name}",
                f"The checkpoint was trained with {name} {was}, this run has {now}. Ask for {name} {was}, or leave the "
                "checkpoint out.",
                ProblemCode.PARAMETER_INVALID,
            )


def find_checkpoint(given: str, spec: RunSpec, script: Script, plan: ScriptPlan) -> None:
    """Read the checkpoint that a run names, where it can be read from here, and compare it with the run."""
    path = Path(given).expanduser()
    plan.checkpoint = str(path)
    if ENV_RUN_DIR not in os.environ and not path.is_absolute() and not path.exists():
        plan.warn(
            _WHERE,
            f"{path} cannot be looked into from here; whether it fits is seen when the run starts.",
        )
        return
    try:
        plan.saved = read_saved(path)
        _require_fit(plan.saved, spec, script, plan)
    except CheckpointRefused as error:
        nearest = list(error.offers.values())
        plan.block(_WHERE, str(error), ProblemCode.PARAMETER_INVALID, nearest, error.offers)


def _require_fit(saved: SavedState, spec: RunSpec, script: Script, plan: ScriptPlan) -> None:
    if saved.algorithm != script.id:
        raise CheckpointRefused(
            f"The checkpoint is of {saved.algorithm}, the run asks for {script.id}. Ask for {saved.algorithm}, or take "
            f"a checkpoint of {script.id}.",
            algorithm=saved.algorithm,
        )
    if saved.environment != spec.environment:
        raise CheckpointRefused(
            f"The checkpoint was trained in {saved.environment}, the run is in {spec.environment}. Ask for the "
            f"environment {saved.environment} (`--environment {saved.environment}`), or take another checkpoint.",
            environment=saved.environment,
        )
    if plan.probe is None:  # which is a finding of its own
        return
    _require_spaces(saved, plan)
    if script.normalizes and not saved.has_observation_statistics:
        raise CheckpointRefused(
            f"The checkpoint lacks the statistics by which {script.id} normalises observations. Without them its "
            "policy sees other numbers than it learned from. Take a checkpoint that has them."
        )
    if script.acts and script.policy not in saved.networks:
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
