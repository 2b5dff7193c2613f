"""What a tracker outside the stack needs of a run: a key that the stack keeps, and addresses that are no secrets."""

from collections.abc import Collection

from mosaic_contracts.preflight import PreflightLine
from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.tracking import (
    PROXY_ROLES,
    WANDB_SECRET,
    X_TRACKING,
    TrackingRole,
    is_proxy,
    without_userinfo,
)
from mosaic_contracts.worker import Finding, WorkerDescription
from mosaic_scheduler.admission.lines import blocking, ok, warning

_KEY_TODO = f"Paste it in the window's section of W&B, or `./mosaic secret set {WANDB_SECRET}`"


def check_tracking(spec: RunSpec, description: WorkerDescription) -> list[Finding]:
    """A proxy's password would be in the run's record. The address is not quoted."""
    names = _names(spec, description)
    findings = []
    for role in PROXY_ROLES:
        given = spec.parameters.get(names.get(role, ""))
        if not isinstance(given, str) or not given:
            continue
        if not is_proxy(given):
            findings.append(_wrong(names[role], "must be http://HOST:PORT"))
        elif without_userinfo(given) != given:
            message = (
                "must have no name and password: they would be kept in the run's record. Leave this empty and set "
                f"MOSAIC_{role.value.upper()} of the stack, which keeps them out of sight"
            )
            findings.append(_wrong(names[role], message))
    return findings


def of_tracking(
    spec: RunSpec, description: WorkerDescription, kept: Collection[str]
) -> list[PreflightLine]:
    """Whether a run that an external tracker is to follow has a key for it. `kept`: names of the stack's secrets."""
    names = _names(spec, description)
    if not spec.parameters.get(names.get(TrackingRole.TRACK, "")):
        return []
    if spec.parameters.get(names.get(TrackingRole.OFFLINE, "")):
        return [ok("tracking", "Offline: it stays in the run's folder, and can be sent later.")]
    if WANDB_SECRET not in spec.secrets:
        todo = f"{_KEY_TODO} and name it in `secrets`; or track offline."
        return [warning("tracking", f"The run is given no key ({WANDB_SECRET}).", todo)]
    if WANDB_SECRET not in kept:
        message = f"The stack keeps no key ({WANDB_SECRET})."
        return [blocking("tracking", message, f"{_KEY_TODO}; or track offline.")]
    return [ok("tracking", f"The run is given {WANDB_SECRET}, which the stack keeps.")]


def _names(spec: RunSpec, description: WorkerDescription) -> dict[str, str]:
    """The parameter of each role."""
    found = [a for a in description.algorithms if a.id == spec.algorithm]
    properties = found[0].parameters.get("properties", {}) if found else {}
    return {part[X_TRACKING]: name for name, part in properties.items() if X_TRACKING in part}


def _wrong(name: str, message: str) -> Finding:
    return Finding(
        level="blocking",
        where=f"parameters.{name}",
        message=message,
        code=ProblemCode.PARAMETER_INVALID,
    )
