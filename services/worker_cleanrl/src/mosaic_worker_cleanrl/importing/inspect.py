"""`inspect`: what a file is that a user imports as a checkpoint, and whether it fits. Never imports torch when it is
imported."""

from pathlib import Path
from typing import Any

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import InspectedCheckpoint, InspectReport, InspectRequest
from mosaic_worker_cleanrl.algorithm import SCRIPTS, Script, nearest_algorithms
from mosaic_worker_cleanrl.environment.extras import known_environments
from mosaic_worker_cleanrl.environment.probe import probe_environment
from mosaic_worker_cleanrl.errors import CheckpointRefused, ExtraMissing, FileUnknown
from mosaic_worker_cleanrl.importing.weights import (
    BareWeights,
    likely_algorithms,
    read_safetensors,
    weights_in,
)
from mosaic_worker_cleanrl.plan import ScriptPlan
from mosaic_worker_cleanrl.plan.argument import fill_arguments
from mosaic_worker_cleanrl.plan.request import check_spaces, pick_environment
from mosaic_worker_cleanrl.saved import (
    FORMAT,
    FORMAT_VERSION,
    SavedState,
    is_saved_state,
    read_content,
    saved_of,
)
from mosaic_workerkit.errors import EnvironmentUnusable
from mosaic_workerkit.findings import Findings

_TARGETS = {"q_network": "target_network"}
"""Network that a script keeps as a copy of the one that acts, by the variable of that one."""
_SEED = 1
"""Seed of a converted file that has none."""


def inspect_file(request: InspectRequest) -> InspectReport:
    """What the file is. No code in it is run."""
    known_environments()  # registers the games
    findings = Findings()
    try:
        found = _inspect(request, findings)
    except FileUnknown as error:
        findings.block("file", str(error), ProblemCode.CHECKPOINT_REFUSED)
        return _report(findings, None, recognized=False)
    except CheckpointRefused as error:
        findings.block("file", str(error), ProblemCode.CHECKPOINT_REFUSED)
        found = None
    return _report(findings, found, recognized=True)


def _report(
    findings: Findings, found: InspectedCheckpoint | None, *, recognized: bool
) -> InspectReport:
    return InspectReport(
        ok=not findings.is_blocked,
        recognized=recognized,
        findings=findings.findings,
        checkpoint=None if findings.is_blocked else found,
    )


def _inspect(request: InspectRequest, findings: Findings) -> InspectedCheckpoint | None:
    path = Path(request.path)
    weights = read_safetensors(path)
    if weights is None:
        content = read_content(path)
        if is_saved_state(content):
            return _saved(saved_of(content, path), path, request, findings)
        weights = weights_in(content)
    if weights is None:
        raise CheckpointRefused(
            f"{path.name} is a PyTorch file of another program. Import a checkpoint of a run (checkpoints/*.pt), a "
            ".cleanrl_model, or safetensors with the weights of a script's network."
        )
    return _converted(weights, path, request, findings)


def _saved(
    saved: SavedState, path: Path, request: InspectRequest, findings: Findings
) -> InspectedCheckpoint | None:
    """A checkpoint of this worker: compared with what the user named, and with its environment where that is here."""
    for what, asked, has in (
        ("algorithm", request.algorithm, saved.algorithm),
        ("environment", request.environment, saved.environment),
    ):
        if asked not in (None, has):
            words = f"{path.name} was trained with the {what} {has}, not {asked}. Name {has}, or leave the {what} out."
            code = ProblemCode.CHECKPOINT_REFUSED
            findings.block(what, words, code, [has], {what: has})
    script = _script(saved.algorithm, path, findings)
    if script is None or findings.is_blocked:
        return None
    if script.normalizes and not saved.has_observation_statistics:
        raise CheckpointRefused(_lacks_statistics(path, script))
    if _is_here(saved.environment, findings):
        from mosaic_worker_cleanrl.importing.fitting import fitting_network  # imports torch
        from mosaic_worker_cleanrl.launch.checkpoint import load_state

        if script.policy not in saved.networks:
            raise CheckpointRefused(
                f"{path.name} holds no network {script.policy}, which acts in {script.id}. Take another checkpoint."
            )
        fitting_network(script, saved.environment, load_state(path).state)
    return InspectedCheckpoint(
        algorithm=saved.algorithm,
        environment=saved.environment,
        step=saved.global_step,
        seed=saved.seed,
        normalizer=saved.has_observation_statistics,
        spaces=saved.spaces,
        arguments=saved.arguments,
        packages=saved.packages,
    )


def _converted(
    weights: BareWeights, path: Path, request: InspectRequest, findings: Findings
) -> InspectedCheckpoint | None:
    """Weights of a network, made a checkpoint: what the file does not say, the user has to name."""
    algorithm = request.algorithm or weights.algorithm
    environment = request.environment or weights.environment
    code = ProblemCode.CHECKPOINT_REFUSED
    if algorithm is None:
        likely = likely_algorithms(weights, request.name)
        hint = f"By the names of its tensors it may be {' or '.join(likely)}. " if likely else ""
        words = (
            f"{path.name} holds the weights of a network ({weights.words}) and does not say of which algorithm. {hint}"
            "Name the algorithm."
        )
        findings.block("algorithm", words, code, likely)
    if environment is None:
        words = (
            f"{path.name} does not say in which environment its policy acts. Name the environment."
        )
        findings.block("environment", words, code)
    if algorithm is None or environment is None:
        return None
    script = _script(algorithm, path, findings)
    if script is None:
        return None
    plan = _plan(script, environment)
    for finding in plan.findings:
        if finding.level == "blocking":
            findings.block(finding.where, finding.message, code, finding.nearest)
    if findings.is_blocked:
        return None
    if script.normalizes:
        raise CheckpointRefused(_lacks_statistics(path, script))
    return _write(weights, path, request, script, plan)


def _plan(script: Script, environment: str) -> ScriptPlan:
    """The script's arguments with their default values, and its environment."""
    spec = RunSpec(worker="cleanrl", algorithm=script.id, environment=environment)
    plan = ScriptPlan(script=script, path=script.source())
    plan.probe = pick_environment(spec, plan)
    check_spaces(script, plan)
    if not plan.is_blocked:
        fill_arguments(spec, {}, plan)
    return plan


def _write(
    weights: BareWeights, path: Path, request: InspectRequest, script: Script, plan: ScriptPlan
) -> InspectedCheckpoint:
    from mosaic_worker_cleanrl.importing.fitting import fitting_network, load_weights
    from mosaic_worker_cleanrl.launch.checkpoint import save_state

    own = {name: value for name, value in weights.arguments.items() if name in plan.arguments}
    environment = str(plan.arguments["env_id"])
    state: dict[str, Any] = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "algorithm": script.id,
        "environment": environment,
        "seed": own.get("seed", _SEED),
        "global_step": weights.step,
        "networks": {script.policy: load_weights(path, weights)},
        "optimizers": {},
        "tensors": {},
        "counters": {},
        "arguments": {**plan.arguments, **own, "env_id": environment},
        "normalizers": {},
        "wrappers": list(plan.wrappers),
        "spaces": dict(plan.spaces),
        "packages": {},
    }
    try:
        network = fitting_network(script, environment, state)
    except CheckpointRefused as error:
        raise CheckpointRefused(
            f"{error} Name the algorithm and the environment that {path.name} was trained with."
        ) from error
    state["networks"] = {script.policy: network}
    if script.policy in _TARGETS:
        state["networks"][_TARGETS[script.policy]] = network
    name = f"{path.stem}.pt"
    save_state(state, Path(request.made) / name)
    return InspectedCheckpoint(
        algorithm=script.id,
        environment=environment,
        form=weights.form,
        converted=name,
        step=weights.step,
        seed=own.get("seed"),
        normalizer=False,
        spaces=dict(plan.spaces),
        arguments=state["arguments"],
    )


def _script(algorithm: str, path: Path, findings: Findings) -> Script | None:
    script = SCRIPTS.get(algorithm)
    if script is None:
        nearest = nearest_algorithms(algorithm)
        words = f"{path.name} is of {algorithm!r}, and there is no such algorithm here. Known: {', '.join(SCRIPTS)}."
        findings.block("algorithm", words, ProblemCode.CHECKPOINT_REFUSED, nearest)
    return script


def _is_here(environment: str, findings: Findings) -> bool:
    """Whether the environment can be made here; that its bundle is missing is no reason against an import."""
    try:
        probe_environment(environment)
    except ExtraMissing as missing:
        words = f"Whether its network fits is not known before it acts: {missing}"
        findings.warn("environment", words)
        return False
    except EnvironmentUnusable as error:
        code = ProblemCode.CHECKPOINT_REFUSED
        findings.block("environment", str(error), code, error.nearest)
        return False
    return True


def _lacks_statistics(path: Path, script: Script) -> str:
    return (
        f"{path.name} lacks the statistics by which {script.id} normalises observations. Without them its policy sees "
        "other numbers than it learned from. Only a checkpoint that a run saved (checkpoints/*.pt) has them."
    )
