"""Whether a spec can run here: checked before anything is queued, without starting the worker."""

import difflib
from typing import Any

from pydantic import ValidationError

from mosaic_contracts.fault import fault_place, fault_text
from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import (
    Algorithm,
    Finding,
    WorkerDescription,
)
from mosaic_scheduler.admission.parameters import MAX_FINDINGS, check_parameters
from mosaic_scheduler.placement.protocol import Inventory

_MOST_NAMED = 8
"""Names in one message."""


def parse_spec(data: dict[str, Any]) -> tuple[RunSpec | None, list[Finding]]:
    """Read a spec as a person sent it: the spec, or what is wrong with it."""
    try:
        return RunSpec.model_validate(data), []
    except ValidationError as error:
        return None, [_field_finding(entry) for entry in error.errors()[:MAX_FINDINGS]]


def check_spec(
    spec: RunSpec, description: WorkerDescription, inventory: Inventory
) -> list[Finding]:
    """Everything that speaks against starting `spec`; empty when nothing does."""
    findings = [
        *_check_resources(spec, inventory),
        *_check_levels(spec, description),
        *_check_environment(spec, description),
    ]
    algorithm = next((a for a in description.algorithms if a.id == spec.algorithm), None)
    if algorithm is None:
        known = [a.id for a in description.algorithms]
        findings.append(_unknown("algorithm", spec.algorithm, known, ProblemCode.ALGORITHM_UNKNOWN))
    else:
        findings += _check_algorithm(spec, algorithm)
        findings += _check_spaces(spec, algorithm, description)
        findings += _check_play(spec, algorithm, description)
    return findings


def check_secrets(spec: RunSpec, known: list[str]) -> list[Finding]:
    """A run may name only secrets that are there."""
    findings: list[Finding] = []
    for name in spec.secrets:
        if name not in known:
            finding = _unknown("secret", name, known, ProblemCode.SECRET_UNKNOWN)
            message = f"{finding.message}; `./mosaic secret set {name}` makes it"
            findings.append(finding.model_copy(update={"where": "secrets", "message": message}))
    return findings


def _check_resources(spec: RunSpec, inventory: Inventory) -> list[Finding]:
    if spec.cpus <= inventory.cpus:
        return []
    message = f"needs {spec.cpus} cores, this machine gives {inventory.cpus} (MOSAIC_CPU_LIMIT)"
    return [_blocking("cpus", message, ProblemCode.RESOURCES_IMPOSSIBLE)]


def _check_levels(spec: RunSpec, description: WorkerDescription) -> list[Finding]:
    findings: list[Finding] = []
    if spec.record not in description.record_levels:
        message = f"must be one of {', '.join(description.record_levels)} for this worker"
        findings.append(_blocking("record", message, ProblemCode.SPEC_INVALID))
    if spec.kind not in description.modes:
        message = f"must be one of {', '.join(description.modes)} for this worker"
        findings.append(_blocking("kind", message, ProblemCode.SPEC_INVALID))
    for field in ("episodes", "pace"):
        if getattr(spec, field) is not None and not spec.kind.plays:
            message = "is for runs of kind play or evaluate"
            findings.append(_blocking(field, message, ProblemCode.SPEC_INVALID))
    return findings


def _check_environment(spec: RunSpec, description: WorkerDescription) -> list[Finding]:
    known = [environment.id for environment in description.environments]
    # A worker that lists none takes whatever its own libraries can make.
    if not known or spec.environment in known:
        return []
    return [_unknown("environment", spec.environment, known, ProblemCode.ENVIRONMENT_UNKNOWN)]


def _check_algorithm(spec: RunSpec, algorithm: Algorithm) -> list[Finding]:
    findings = check_parameters(algorithm, spec.parameters, spec.steps is not None)
    if spec.steps is not None and algorithm.steps_parameter is None:
        message = f"{algorithm.id} cannot be given a number of steps"
        findings.append(_blocking("steps", message, ProblemCode.SPEC_INVALID))
    return findings


def _check_play(
    spec: RunSpec, algorithm: Algorithm, description: WorkerDescription
) -> list[Finding]:
    """Check that the algorithm can play; a worker that plays need not play every algorithm."""
    if not spec.kind.plays or algorithm.play or spec.kind not in description.modes:
        return []
    message = f"{algorithm.id} cannot play: its worker shows no policy that it has trained"
    return [_blocking("kind", message, ProblemCode.SPEC_INVALID)]


def _check_spaces(
    spec: RunSpec, algorithm: Algorithm, description: WorkerDescription
) -> list[Finding]:
    """An algorithm in an environment where it cannot act or see; what a worker does not tell is not judged."""
    environment = next((e for e in description.environments if e.id == spec.environment), None)
    if environment is None:
        return []
    pairs = (
        ("action", algorithm.action_spaces, environment.action_space),
        ("observation", algorithm.observation_spaces, environment.observation_space),
    )
    return [
        _blocking(
            "environment",
            f"{environment.id} has a {has} {what} space, and {algorithm.id} takes {' or '.join(takes)} only",
            ProblemCode.SPEC_INVALID,
        )
        for what, takes, has in pairs
        if takes and has is not None and has not in takes
    ]


def _unknown(where: str, name: str, known: list[str], code: ProblemCode) -> Finding:
    nearest = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {nearest[0]!r}?" if nearest else f"known are {_named(known)}"
    finding = _blocking(where, f"there is no {where} {name!r} here; {hint}", code)
    return finding.model_copy(update={"nearest": nearest})


def _named(known: list[str]) -> str:
    more = len(known) - _MOST_NAMED
    names = ", ".join(known[:_MOST_NAMED]) or "none"
    return f"{names} and {more} more" if more > 0 else names


def _field_finding(entry: Any) -> Finding:
    where, message = fault_place(entry), fault_text(entry)
    nearest: list[str] = []
    if entry["type"] == "extra_forbidden":
        nearest = difflib.get_close_matches(where, list(RunSpec.model_fields), n=3, cutoff=0.5)
        if nearest:
            message += f"; did you mean {nearest[0]!r}?"
    finding = _blocking(where or "spec", message, ProblemCode.SPEC_INVALID)
    return finding.model_copy(update={"nearest": nearest})


def _blocking(where: str, message: str, code: ProblemCode) -> Finding:
    return Finding(level="blocking", where=where, message=message, code=code)
