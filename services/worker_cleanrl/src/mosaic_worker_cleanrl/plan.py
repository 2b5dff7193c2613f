"""Answer of `check`, and the plan that `train` carries out: which script with which command line."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RunKind, RunSpec
from mosaic_contracts.worker import CheckReport, Finding
from mosaic_worker_cleanrl.algorithm import SCRIPTS, Script, nearest_algorithms
from mosaic_worker_cleanrl.description import ENVIRONMENT, SEED, STEPS
from mosaic_worker_cleanrl.environment import Probe, probe_environment, space_kind
from mosaic_worker_cleanrl.errors import ArgumentsRefused, EnvironmentUnusable
from mosaic_worker_cleanrl.packages import installed_packages
from mosaic_worker_cleanrl.schema.document import parameter_schema
from mosaic_worker_cleanrl.schema.extraction import read_arguments
from mosaic_worker_cleanrl.schema.value import ParameterValue, ValueRefused, accepted_value

_OWNED = {
    SEED: "The seed is a field of the run (`seed`), not a parameter.",
    ENVIRONMENT: "The environment is a field of the run (`environment`), not a parameter.",
}
_REFUSED_SWITCHES = {
    "track": "Weights & Biases is not wired up yet. MOSAIC records every metric itself; leave `track` off.",
    "capture_video": "Videos while training are not wired up yet. Record at `replay` (the default): every episode "
    "can be rebuilt from it. Leave `capture_video` off.",
    "save_model": "MOSAIC writes checkpoints itself, while training and at the end. The script's own saving also "
    "runs an evaluation with video; leave `save_model` off.",
    "upload_model": "Uploading needs internet access, which a run does not have. Leave `upload_model` off.",
}
DEFAULT_CHECKPOINTS = 10
"""Checkpoints in a run whose spec does not say how often, the final one included."""


@dataclass
class Plan:
    """What would run. Complete only while no finding is blocking."""

    script: Script | None = None
    path: Path | None = None
    argv: list[str] = field(default_factory=list)
    arguments: dict[str, Any] = field(default_factory=dict)
    """Every argument of the script with its value, derived ones included."""
    probe: Probe | None = None
    total_steps: int = 0
    """Environment steps that the script will really take."""
    checkpoint_every_steps: int = 0
    findings: list[Finding] = field(default_factory=list)

    @property
    def is_blocked(self) -> bool:
        """Whether the run must not start."""
        return any(finding.level == "blocking" for finding in self.findings)

    def block(
        self, where: str, message: str, code: ProblemCode, nearest: list[str] | None = None
    ) -> None:
        """Add a reason why the run must not start."""
        self.findings.append(
            Finding(
                level="blocking",
                where=where,
                message=message,
                code=code.value,
                nearest=nearest or [],
            )
        )

    def warn(self, where: str, message: str) -> None:
        """Add something the person should know."""
        self.findings.append(Finding(level="warning", where=where, message=message))


def check_run(spec: RunSpec) -> CheckReport:
    """Say what a run would do and what is wrong with it. Nothing is started.

    Raises:
        ScriptMissing: the cleanrl package is not installed.
    """
    plan = make_plan(spec)
    shown: dict[str, Any] = {}
    if plan.script is not None:
        shown = {
            "script": plan.script.module,
            "path": plan.path.name if plan.path is not None else None,
            "argv": ["python", "-m", plan.script.module, *plan.argv],
            "parameters": plan.arguments,
            "environment": spec.environment,
            "seed": spec.seed,
            "total_steps": plan.total_steps,
            "checkpoint_every_steps": plan.checkpoint_every_steps,
            "record": spec.record.value,
            "replay_every": spec.replay_every,
            "threads": spec.cpus,
            "gym_shim": plan.script.imports("gym"),
            "packages": installed_packages(),
        }
    return CheckReport(ok=not plan.is_blocked, findings=plan.findings, plan=shown)


def make_plan(spec: RunSpec) -> Plan:
    """Work out what a run would do; what is wrong with it is in the plan's findings.

    Raises:
        ScriptMissing: the cleanrl package is not installed.
    """
    plan = Plan()
    _check_packages(plan)
    _check_request(spec, plan)
    plan.script = _pick_script(spec, plan)
    plan.probe = _pick_environment(spec, plan)
    if plan.script is None:
        return plan
    plan.path = plan.script.source()
    _check_spaces(plan.script, plan)
    given = _given_parameters(spec, plan)
    if not plan.is_blocked:
        _fill_arguments(spec, given, plan)
    return plan


def _check_packages(plan: Plan) -> None:
    version = installed_packages().get("gymnasium", "")
    if version.partition(".")[0] != "0":
        plan.block(
            "packages.gymnasium",
            f"gymnasium {version or '(none)'} is installed; these scripts need 0.29. From 1.0 on they train without "
            "ever reporting an episode. Make the environment again: ./mosaic sync worker_cleanrl",
            ProblemCode.WORKER_NOT_READY,
        )


def _check_request(spec: RunSpec, plan: Plan) -> None:
    if spec.kind is not RunKind.TRAIN:
        plan.block(
            "kind",
            f"This worker trains; it has no mode {spec.kind.value!r}.",
            ProblemCode.SPEC_INVALID,
        )
    torch = installed_packages().get("torch", "")
    if spec.gpus and torch.endswith("+cpu"):
        plan.block(
            "gpus",
            f"torch {torch} is a build for the CPU only. Ask for gpus 0, or make the environment with a CUDA build.",
            ProblemCode.RESOURCES_IMPOSSIBLE,
        )
    elif spec.gpus > 1:
        plan.warn("gpus", f"The script uses one GPU; {spec.gpus - 1} would stand idle.")


def _pick_script(spec: RunSpec, plan: Plan) -> Script | None:
    script = SCRIPTS.get(spec.algorithm)
    if script is None:
        nearest = nearest_algorithms(spec.algorithm)
        plan.block(
            "algorithm",
            f"There is no algorithm {spec.algorithm!r} here. Known: {', '.join(SCRIPTS)}.",
            ProblemCode.ALGORITHM_UNKNOWN,
            nearest,
        )
    return script


def _pick_environment(spec: RunSpec, plan: Plan) -> Probe | None:
    try:
        return probe_environment(spec.environment)
    except EnvironmentUnusable as error:
        plan.block("environment", str(error), ProblemCode.ENVIRONMENT_UNKNOWN, error.nearest)
        return None


def _check_spaces(script: Script, plan: Plan) -> None:
    if plan.probe is None:
        return
    for note in plan.probe.notes:
        plan.warn("environment", note)
    for what, space, known in (
        ("acts in", plan.probe.action_space, script.action_spaces),
        ("observes", plan.probe.observation_space, script.observation_spaces),
    ):
        kind = space_kind(space)
        if kind not in known:
            plan.block(
                "environment",
                f"{script.title} {what} {' or '.join(known)} spaces only; {plan.probe.id} has {space}.",
                ProblemCode.PARAMETER_INVALID,
            )


def _given_parameters(spec: RunSpec, plan: Plan) -> dict[str, ParameterValue]:
    """Return the parameters that a person set and that are right; `learning-rate` is `learning_rate`."""
    if plan.path is None:
        return {}
    properties = parameter_schema(plan.path)["properties"]
    given: dict[str, ParameterValue] = {}
    for spelling, value in spec.parameters.items():
        name = spelling.replace("-", "_")
        where = f"parameters.{spelling}"
        if name not in properties:
            nearest = difflib.get_close_matches(name, properties, n=3, cutoff=0.5)
            hint = f" Did you mean {nearest[0]}?" if nearest else ""
            plan.block(
                where,
                f"{spec.algorithm} has no parameter {spelling!r}.{hint}",
                ProblemCode.PARAMETER_UNKNOWN,
                nearest,
            )
        elif name in _OWNED:
            plan.block(where, _OWNED[name], ProblemCode.PARAMETER_INVALID)
        elif name in given:
            plan.block(where, f"{name} is given twice.", ProblemCode.PARAMETER_INVALID)
        else:
            try:
                given[name] = accepted_value(value, properties[name])
            except ValueRefused as error:
                plan.block(where, f"{name} {error}.", ProblemCode.PARAMETER_INVALID)
    _check_meaning(spec, given, plan)
    return given


def _check_meaning(spec: RunSpec, given: dict[str, ParameterValue], plan: Plan) -> None:
    for name, why in _REFUSED_SWITCHES.items():
        if given.get(name) is True:
            plan.block(f"parameters.{name}", why, ProblemCode.PARAMETER_INVALID)
    if STEPS in given and spec.steps is not None:
        plan.block(
            f"parameters.{STEPS}",
            f"The length of the run is given twice: steps {spec.steps} and {STEPS} {given[STEPS]}. Keep one.",
            ProblemCode.PARAMETER_INVALID,
        )
    if given.get("cuda") is True and spec.gpus == 0:
        plan.warn(
            "parameters.cuda", "The run asks for no GPU, so it sees none and trains on the CPU."
        )


def _fill_arguments(spec: RunSpec, given: dict[str, ParameterValue], plan: Plan) -> None:
    if plan.path is None or plan.script is None:
        return
    source = read_arguments(plan.path)
    chosen: dict[str, ParameterValue] = {ENVIRONMENT: spec.environment, SEED: spec.seed}
    if spec.steps is not None:
        chosen[STEPS] = spec.steps
    chosen |= given
    flags = {action.dest: action.option_strings[-1] for action in source.actions}
    plan.argv = list(_command_line(chosen, flags))
    try:
        plan.arguments = source.parse(plan.argv)
    except ArgumentsRefused as error:
        plan.block("parameters", str(error), ProblemCode.PARAMETER_INVALID)
        return
    _count_steps(spec, plan.script, plan)


def _command_line(chosen: dict[str, ParameterValue], flags: dict[str, str]) -> Iterator[str]:
    """Write every chosen value out, False too: a switch that is on by default is turned off in no other way."""
    for name, value in chosen.items():
        if value is not None:  # None is the default of every argument that can be None
            yield f"{flags[name]}={value}"


def _count_steps(spec: RunSpec, script: Script, plan: Plan) -> None:
    total = int(plan.arguments[STEPS])
    if script.batch is not None:
        batch = int(plan.arguments[script.batch])
        if batch > total:
            plan.block(
                "steps",
                f"{script.title} trains whole batches of {batch} steps; with {total} steps it would train nothing. "
                f"Ask for {batch} steps or more.",
                ProblemCode.PARAMETER_INVALID,
            )
        elif total % batch:
            plan.warn(
                "steps",
                f"{script.title} trains whole batches of {batch} steps: it will take {total - total % batch} steps.",
            )
        total -= total % batch
    plan.total_steps = total
    starts = plan.arguments.get("learning_starts")
    if starts is not None and starts >= total:
        plan.warn(
            "parameters.learning_starts",
            f"{script.title} plays at random up to step {starts}; with {total} steps in all it learns nothing.",
        )
    # Rounded up, so that the last periodic one does not fall just before the final one.
    plan.checkpoint_every_steps = spec.checkpoint_every_steps or -(-total // DEFAULT_CHECKPOINTS)
