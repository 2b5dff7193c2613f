"""Whether a spec fits what its worker describes: checked without starting the worker."""

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RunKind, RunSpec
from mosaic_contracts.worker import Algorithm, CheckReport, WorkerDescription
from mosaic_scheduler.admission.branches import check_branch
from mosaic_scheduler.admission.check import Check, from_finding, passed, topic_of, unknown, wrong
from mosaic_scheduler.admission.context import Context, lists_environment
from mosaic_scheduler.admission.parameters import check_parameters
from mosaic_scheduler.executors.protocol import Inventory


def check_fields(context: Context) -> list[Check]:
    """Whether the worker can do what the spec names: algorithm, environment, parameters, kind, level of recording."""
    found = check_spec(context.spec, context.description, context.inventory)
    found += check_branch(context.spec, context.description, context.branch)
    if context.answer is not None:
        found = _with_reason(found, context.answer, context.spec)
    return [*found, passed("spec", "Every field is valid.")]


def check_spec(spec: RunSpec, description: WorkerDescription, inventory: Inventory) -> list[Check]:
    """Everything that speaks against starting `spec`; empty when nothing does."""
    findings = [
        *_check_resources(spec, inventory),
        *_check_levels(spec, description),
        *_check_environment(spec, description),
    ]
    algorithm = description.find_algorithm(spec.algorithm)
    if algorithm is None:
        known = [a.id for a in description.algorithms]
        findings.append(unknown("algorithm", spec.algorithm, known, ProblemCode.ALGORITHM_UNKNOWN))
    else:
        findings += _check_algorithm(spec, algorithm)
        findings += _check_spaces(spec, algorithm, description)
        findings += _check_play(spec, algorithm, description)
    return findings


def _with_reason(found: list[Check], answer: CheckReport, spec: RunSpec) -> list[Check]:
    """Replace what is said of an environment that the worker does not list by the worker's own answer."""
    others = [check for check in found if check.code != ProblemCode.ENVIRONMENT_UNKNOWN]
    if answer.ok:
        return others if answer.plan.get("environment") == spec.environment else found
    said = [
        from_finding(f, topic_of(f.where, "spec")) for f in answer.findings if f.level == "blocking"
    ]
    reasons = [check for check in said if check.where == "environment"]
    known = {check.where for check in others}
    return [*(reasons or [check for check in said if check.where not in known]), *others]


def _check_resources(spec: RunSpec, inventory: Inventory) -> list[Check]:
    if spec.cpus <= inventory.cpus:
        return []
    gives = f"this machine gives {inventory.cpus} (MOSAIC_CPU_LIMIT)"
    if inventory.queue_limit:
        gives = f"the largest node of the cluster has {inventory.cpus}"
    message = f"needs {spec.cpus} cores, {gives}"
    return [wrong("cpus", message, ProblemCode.RESOURCES_IMPOSSIBLE)]


def _check_levels(spec: RunSpec, description: WorkerDescription) -> list[Check]:
    if spec.kind is RunKind.REPLAY or spec.replay is not None:
        return [_replay_elsewhere(spec)]
    if spec.kind is RunKind.IMPORT:
        return [_import_elsewhere()]
    if (spec.kind is RunKind.SWEEP) is not (spec.sweep is not None):
        return [_sweep_elsewhere(spec)]
    if spec.kind is RunKind.DASHBOARD or spec.dashboard is not None:
        return [_dashboard_elsewhere(spec)]
    if spec.kind is RunKind.SYNC or spec.sync is not None:
        return [_sync_elsewhere(spec)]
    findings: list[Check] = []
    if spec.record not in description.record_levels:
        message = f"must be one of {', '.join(description.record_levels)} for this worker"
        findings.append(wrong("record", message, ProblemCode.SPEC_INVALID))
    if spec.kind not in description.modes:
        message = f"must be one of {', '.join(description.modes)} for this worker"
        findings.append(wrong("kind", message, ProblemCode.SPEC_INVALID))
    for field in ("episodes", "pace"):
        if getattr(spec, field) is not None and not spec.kind.plays:
            message = "is for runs of kind play or evaluate"
            findings.append(wrong(field, message, ProblemCode.SPEC_INVALID))
    return findings


def _replay_elsewhere(spec: RunSpec) -> Check:
    """A replay needs the record of its episode, which a spec alone does not have."""
    message = (
        "a replay is not submitted as a spec: use `./mosaic replay RUN --episode N` (POST /runs/{id}/replays), which "
        "takes everything from the recorded run"
    )
    where = "kind" if spec.kind is RunKind.REPLAY else "replay"
    return wrong(where, message, ProblemCode.SPEC_INVALID)


def _import_elsewhere() -> Check:
    """An import is made of a file, and there is nothing in it to run."""
    message = (
        "an import is not a spec to run: use `./mosaic checkpoints import FILE` (POST /checkpoints). What was imported "
        "acts by `./mosaic play RUN`, and a training begins with it by `-p checkpoint=RUN`"
    )
    return wrong("kind", message, ProblemCode.SPEC_INVALID)


def _dashboard_elsewhere(spec: RunSpec) -> Check:
    """A dashboard is made for a selection of runs, each with a name of its own."""
    message = (
        "a dashboard is not submitted as a spec: use `./mosaic tensorboard RUN...` (POST /tensorboards), which finds "
        "a worker that has TensorBoard"
    )
    where = "kind" if spec.kind is RunKind.DASHBOARD else "dashboard"
    return wrong(where, message, ProblemCode.SPEC_INVALID)


def _sweep_elsewhere(spec: RunSpec) -> Check:
    """A sweep says what it searches, and no other run does."""
    message = "is for runs of kind sweep, which `./mosaic sweep FILE` starts (POST /sweeps)"
    if spec.sweep is None:
        message = "a run of kind sweep needs `sweep`: use `./mosaic sweep FILE` (POST /sweeps)"
    return wrong("kind" if spec.sweep is None else "sweep", message, ProblemCode.SPEC_INVALID)


def _sync_elsewhere(spec: RunSpec) -> Check:
    """A sync is made of an ended run, and takes a consent of its own."""
    message = (
        "a sync is not submitted as a spec: use `./mosaic wandb sync RUN` (POST /runs/{id}/syncs), which shows what "
        "would be sent"
    )
    where = "kind" if spec.kind is RunKind.SYNC else "sync"
    return wrong(where, message, ProblemCode.SPEC_INVALID)


def _check_environment(spec: RunSpec, description: WorkerDescription) -> list[Check]:
    if lists_environment(spec, description):
        return []
    known = [environment.id for environment in description.environments]
    return [unknown("environment", spec.environment, known, ProblemCode.ENVIRONMENT_UNKNOWN)]


def _check_algorithm(spec: RunSpec, algorithm: Algorithm) -> list[Check]:
    if algorithm.unavailable:
        return [wrong("algorithm", algorithm.unavailable, ProblemCode.ALGORITHM_UNKNOWN)]
    findings = check_parameters(algorithm, spec.parameters, spec.steps is not None)
    if algorithm.install:
        message = f"{algorithm.id} needs the bundle {algorithm.bundle}, which is not installed. Run {algorithm.install}"
        findings.append(wrong("algorithm", message, ProblemCode.WORKER_NOT_READY))
    if spec.steps is not None and algorithm.steps_parameter is None:
        message = f"{algorithm.id} cannot be given a number of steps"
        findings.append(wrong("steps", message, ProblemCode.SPEC_INVALID))
    return findings


def _check_play(spec: RunSpec, algorithm: Algorithm, description: WorkerDescription) -> list[Check]:
    """Check that the algorithm can play; a worker that plays need not play every algorithm."""
    if not spec.kind.plays or algorithm.play or spec.kind not in description.modes:
        return []
    message = f"{algorithm.id} cannot play: its worker shows no policy that it has trained"
    return [wrong("kind", message, ProblemCode.SPEC_INVALID)]


def _check_spaces(
    spec: RunSpec, algorithm: Algorithm, description: WorkerDescription
) -> list[Check]:
    """An algorithm in an environment where it cannot act or see; what a worker does not tell is not judged."""
    environment = next((e for e in description.environments if e.id == spec.environment), None)
    if environment is None:
        return []
    pairs = (
        ("action", algorithm.action_spaces, environment.action_space),
        ("observation", algorithm.observation_spaces, environment.observation_space),
    )
    return [
        wrong(
            "environment",
            f"{environment.id} has a {has} {what} space, and {algorithm.id} takes {' or '.join(takes)} only",
            ProblemCode.SPEC_INVALID,
        )
        for what, takes, has in pairs
        if takes and has is not None and has not in takes
    ]
