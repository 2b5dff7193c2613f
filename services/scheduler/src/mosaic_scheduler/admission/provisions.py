"""Whether what a run uses is there: secrets, checkpoints, a tracker's key, the XMPP server, packages, its parent."""

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RestartPolicy, RunKind, RunSpec
from mosaic_contracts.tracking import (
    PROXY_ROLES,
    WANDB_SECRET,
    TrackingRole,
    is_offline,
    is_proxy,
    parameters_by_role,
    without_userinfo,
)
from mosaic_contracts.worker import Finding, WorkerDescription
from mosaic_contracts.xmpp import SERVICE
from mosaic_scheduler import problem
from mosaic_scheduler.admission.check import (
    AS_IT_IS,
    Check,
    blocked,
    from_finding,
    from_problem,
    passed,
    unknown,
    warned,
    wrong,
)
from mosaic_scheduler.admission.context import Context
from mosaic_scheduler.admission.nodes import check_agents
from mosaic_scheduler.admission.tracker_look import ReachLook
from mosaic_scheduler.runs.resumption import start_parameter

_KEY_TODO = f"Paste it in the window's section of W&B, or `./mosaic secret set {WANDB_SECRET}`"


def check_secrets(context: Context) -> list[Check]:
    """A run may name only secrets that are there."""
    found = []
    for name in context.spec.secrets:
        if name not in context.secrets:
            said = unknown("secret", name, context.secrets, ProblemCode.SECRET_UNKNOWN)
            message = f"{said.message}; `./mosaic secret set {name}` makes it"
            found.append(wrong("secrets", message, said.code, said.nearest))
    names = ", ".join(context.spec.secrets)
    return found or [
        passed("secrets", f"All there: {names}." if names else "The run asks for none.")
    ]


def check_tracking(context: Context) -> list[Check]:
    """Whether a run that an external tracker is to follow has a key for it, and no password in an address."""
    names = _tracking_parameters(context.spec, context.description)
    return [
        *_proxy_refusals(context.spec, names),
        *_internet_refusal(context, names),
        *_key_check(context, names),
        *reach_check(context.reach),
    ]


def reach_check(look: ReachLook | None) -> list[Check]:
    """Whether the tracker's server answers; nothing is said where it was not asked."""
    if look is None:
        return []
    if not look.fault:
        return [passed("reach", f"{look.address} answers.")]
    todo = "Correct that; or agree that the run starts without it; or track offline."
    return [warned("reach", f"Not usable now: {look.fault}.", todo)]


def _internet_refusal(context: Context, names: dict[str, str]) -> list[Check]:
    """Nothing goes to a tracker's server without the consent that `internet` takes."""
    spec = context.spec
    is_online = spec.parameters.get(names.get(TrackingRole.TRACK, "")) and not is_offline(
        spec.parameters, names
    )
    if not is_online or spec.internet:
        return []
    message = (
        "online tracking sends data to another machine: set `internet` to true, which takes your consent, or track "
        "offline"
    )
    return [wrong("internet", message, ProblemCode.SPEC_INVALID)]


def _proxy_refusals(spec: RunSpec, names: dict[str, str]) -> list[Check]:
    """A proxy's password would be in the run's record. The address is not quoted."""
    found = []
    for role in PROXY_ROLES:
        given = spec.parameters.get(names.get(role, ""))
        if not isinstance(given, str) or not given:
            continue
        where = f"parameters.{names[role]}"
        if not is_proxy(given):
            found.append(wrong(where, "must be http://HOST:PORT", ProblemCode.PARAMETER_INVALID))
        elif without_userinfo(given) != given:
            message = (
                "must have no name and password: they would be kept in the run's record. Leave this empty and set "
                f"MOSAIC_{role.value.upper()} of the stack, which keeps them out of sight"
            )
            found.append(wrong(where, message, ProblemCode.PARAMETER_INVALID))
    return found


def _key_check(context: Context, names: dict[str, str]) -> list[Check]:
    parameters = context.spec.parameters
    if not parameters.get(names.get(TrackingRole.TRACK, "")):
        return []
    if is_offline(parameters, names):
        return [passed("tracking", "Offline: it stays in the run's folder, and can be sent later.")]
    if WANDB_SECRET not in context.spec.secrets:
        todo = f"{_KEY_TODO} and name it in `secrets`; or track offline."
        return [warned("tracking", f"The run receives no key ({WANDB_SECRET}).", todo)]
    if WANDB_SECRET not in context.secrets:
        message = f"The stack has no key ({WANDB_SECRET})."
        return [blocked("tracking", message, f"{_KEY_TODO}; or track offline.")]
    return [passed("tracking", f"The run receives {WANDB_SECRET} from the stack.")]


def _tracking_parameters(spec: RunSpec, description: WorkerDescription) -> dict[str, str]:
    """The parameter of each role."""
    algorithm = description.find_algorithm(spec.algorithm)
    return parameters_by_role(algorithm.parameters) if algorithm else {}


def check_xmpp(context: Context) -> list[Check]:
    """Whether the agents of the run could log in; nothing is said of a run that needs no service."""
    look = context.xmpp
    refusals = [*check_services(context.spec, context.description), *check_agents(context)]
    if refusals or not look.agents:
        return refusals
    if look.fault is not None:
        message = f"{look.fault.part}: {look.fault.problem.detail}"
        return [wrong(SERVICE, message, ProblemCode.XMPP_UNAVAILABLE)]
    if look.server is None:
        return []
    at = f"{look.server.domain} at {look.server.host}:{look.server.port}"
    return [passed(SERVICE, f"{at}; an account for each agent of the run ({look.agents}).")]


def check_services(spec: RunSpec, description: WorkerDescription) -> list[Check]:
    """A run that needs a service which no stack of this version has."""
    algorithm = description.find_algorithm(spec.algorithm)
    names = [name for name in algorithm.services if name != SERVICE] if algorithm else []
    message = "{} needs the service {!r}, which this MOSAIC does not have; known is {}"
    return [
        wrong("algorithm", message.format(spec.algorithm, name, SERVICE), ProblemCode.SPEC_INVALID)
        for name in names
    ]


def check_inputs(context: Context) -> list[Check]:
    """Checkpoints of other runs that cannot be had."""
    return context.wrong_inputs


def check_packages(context: Context) -> list[Check]:
    """The packages that decide results, with their versions."""
    packages = context.description.packages.items()
    names = ", ".join(f"{name} {version}" for name, version in packages)
    return [passed("packages", names)] if names else []


def check_job_image(context: Context) -> list[Check]:
    """The worker's image, where jobs of a cluster run in one."""
    if not context.image_fault:
        return []
    finding = Finding(
        level="blocking",
        where="worker",
        message=context.image_fault,
        code=ProblemCode.WORKER_NOT_READY,
    )
    return [from_finding(finding, "image")]


def check_restart(context: Context) -> list[Check]:
    """Where a run goes on that is started again after an interruption; nothing is said of any other."""
    spec = context.spec
    if spec.restart is not RestartPolicy.ON_INTERRUPT or spec.kind is RunKind.SWEEP:
        return []
    if start_parameter(spec, context.description) is None:
        message = (
            f"It would start again from the beginning: {spec.worker} {spec.algorithm} cannot go on "
            "from a checkpoint."
        )
        return [warned("restart", message, AS_IT_IS)]
    return [passed("restart", "It would continue from its newest checkpoint, as another attempt.")]


def check_parent(context: Context) -> list[Check]:
    """The run that the spec names as its parent."""
    if context.has_parent:
        return []
    return [from_problem("parent", problem.run_unknown(str(context.spec.parent)), "")]
