"""The lines of a preflight report: what is well and what is not, each with what to do about it."""

from collections.abc import Sequence

from mosaic_contracts.preflight import PlacementPlan, PreflightLine
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.services import RecorderStatus
from mosaic_contracts.spec import RestartPolicy, RunSpec
from mosaic_contracts.worker import CheckReport, Finding, WorkerDescription
from mosaic_scheduler.admission import consent
from mosaic_scheduler.admission.bounds import INTERNET_OPEN, MEMORY_OPEN
from mosaic_scheduler.placement.protocol import Bounds, Internet
from mosaic_scheduler.runs.resumption import start_parameter

_TITLES = {
    "spec": "Run as asked for",
    "worker": "Worker",
    "image": "Image",
    "packages": "Dependencies",
    "plan": "The worker's plan",
    "cpus": "Cores",
    "memory": "Memory",
    "internet": "Internet",
    "device": "Device",
    "disk": "Disk",
    "broker": "Broker",
    "recorder": "Recorder",
    "secrets": "Secrets",
    "xmpp": "XMPP",
    "tracking": "Tracking",
    "consent": "Consent",
    "restart": "After a shutdown",
}
_LINE_OF_FIELD = {
    "cpus": "cpus",
    "gpus": "device",
    "gpu_memory_mb": "device",
    "memory_mb": "memory",
    "internet": "internet",
    "secrets": "secrets",
    "xmpp": "xmpp",
}
"""Where a finding about a field of the spec stands, if not under `spec`."""
_TODO_OF_LINE = {
    "spec": "Correct the field that is named.",
    "plan": "Correct what the worker names.",
    "cpus": "Ask for fewer cores (`cpus`).",
    "memory": "Ask for less (`memory_mb`).",
    "internet": "Leave `internet` off, or start the stack with such a network.",
    "device": "Ask for what this machine has (`./mosaic gpus`), or for a worker that needs no GPU.",
    "packages": "Install what is named, and ask again.",
    "secrets": "Set it with `./mosaic secret set NAME`.",
    "xmpp": "Do that, and ask again; `./mosaic xmpp status` shows more.",
}

_AS_IT_IS = "Change it, or start the run as it is."


def ok(line: str, message: str) -> PreflightLine:
    """It is well."""
    return PreflightLine(id=line, title=_TITLES[line], level="ok", message=message)


def warning(line: str, message: str, todo: str) -> PreflightLine:
    """The run would start all the same."""
    return PreflightLine(id=line, title=_TITLES[line], level="warning", message=message, todo=todo)


def blocking(line: str, message: str, todo: str) -> PreflightLine:
    """It would not start."""
    return PreflightLine(id=line, title=_TITLES[line], level="blocking", message=message, todo=todo)


def refused(line: str, error: ProblemError, todo: str) -> PreflightLine:
    """It would be refused for this problem."""
    return PreflightLine(
        id=line,
        title=_TITLES[line],
        level="blocking",
        message=error.problem.detail or error.problem.title,
        todo=todo,
        code=error.problem.code,
    )


def of_findings(findings: Sequence[Finding], line: str = "spec") -> list[PreflightLine]:
    """A line for each finding that says something, under the topic of its field."""
    return [_of_finding(f, _LINE_OF_FIELD.get(f.where, line)) for f in findings if f.level != "ok"]


def of_plan(report: CheckReport) -> list[PreflightLine]:
    """What the worker says of its plan."""
    missing = [f for f in report.findings if f.code == ProblemCode.WORKER_NOT_READY]
    rest = [f for f in report.findings if f.code != ProblemCode.WORKER_NOT_READY]
    lacks = [_of_finding(f, "packages") for f in missing]
    said = lacks + of_findings(rest, "plan")
    return said or [ok("plan", "The worker knows what it would do.")]


def of_image(launch: PlacementPlan) -> PreflightLine:
    """Line about the image of a run that could be started."""
    if launch.image:
        return ok("image", f"{launch.image}.")
    return ok("image", "It takes none: it runs as processes of this machine.")


def of_cores(spec: RunSpec, free: int, limit: int) -> PreflightLine:
    """Whether it would start at once."""
    if spec.cpus <= free:
        return ok("cpus", f"Needs {spec.cpus}; {free} of {limit} are free.")
    message = f"It would wait: it needs {spec.cpus} cores, {max(free, 0)} of {limit} are free."
    return warning("cpus", message, "Wait, or stop a run that holds them (`./mosaic ps`).")


def of_memory(spec: RunSpec, bounds: Bounds, machine_mb: int) -> PreflightLine:
    """Line about the memory of a run whose limit this machine can give."""
    if spec.memory_mb is None:
        return ok("memory", f"No limit; this machine has {machine_mb:,} MiB.")
    if not bounds.memory:
        return warning("memory", f"Not enforced: {MEMORY_OPEN}.", _AS_IT_IS)
    message = f"At most {spec.memory_mb:,} of {machine_mb:,} MiB; beyond that the run is ended."
    return ok("memory", message)


def of_internet(spec: RunSpec, bounds: Bounds) -> PreflightLine:
    """Whether the run will have it; whether its user agrees is another line."""
    if bounds.internet is Internet.OPEN:
        return ok("internet", f"Cannot be held back: {INTERNET_OPEN}.")
    return ok(
        "internet", "Asked for." if spec.internet else "None; the run reaches the broker only."
    )


def of_restart(spec: RunSpec, description: WorkerDescription) -> list[PreflightLine]:
    """Where a run goes on that is started again after an interruption; nothing of any other."""
    if spec.restart is not RestartPolicy.ON_INTERRUPT:
        return []
    if start_parameter(spec, description) is None:
        message = (
            f"It would begin from the start: {spec.worker} {spec.algorithm} takes no checkpoint."
        )
        return [warning("restart", message, _AS_IT_IS)]
    return [ok("restart", "It goes on from its newest checkpoint, as another attempt.")]


def of_disk(spec_bytes: int, free: int, reserve: int) -> PreflightLine:
    """Line about a disk with more than the reserve free."""
    if free - reserve >= spec_bytes:
        return ok("disk", f"{free // 2**20:,} MiB free.")
    message = (
        f"{free // 2**20:,} MiB free, {reserve // 2**20:,} of them kept: the outbox alone may grow "
        f"to {spec_bytes // 2**20:,} MiB."
    )
    return warning("disk", message, "Free some space, e.g. with `./mosaic rm` of old runs.")


def of_recorder(status: RecorderStatus | None) -> PreflightLine:
    """A run does not need the recorder to start; what it records then waits in its outbox."""
    if status is None:
        message = (
            "It does not answer. The run would start, and what it records waits in its folder."
        )
        return warning("recorder", message, "See `./mosaic status`; `./mosaic up` starts it.")
    if not status.accepting:
        message = f"It takes nothing just now: {status.reason}. What the run records would wait."
        return warning("recorder", message, "Do what the reason says; it goes on by itself.")
    return ok("recorder", "It stores what comes.")


def of_secrets(spec: RunSpec) -> PreflightLine:
    """Line about the secrets of a run whose secrets are all there."""
    names = ", ".join(spec.secrets)
    return ok("secrets", f"All there: {names}." if names else "The run asks for none.")


def of_packages(description: WorkerDescription) -> list[PreflightLine]:
    """The packages that decide results, with their versions."""
    names = ", ".join(f"{name} {version}" for name, version in description.packages.items())
    return [ok("packages", names)] if names else []


def of_consent(spec: RunSpec, report: CheckReport) -> PreflightLine:
    """Whether the user has agreed to what the plan needs."""
    if not report.needs:
        return ok("consent", "Nothing takes consent.")
    if consent.is_given(spec, report):
        return ok("consent", "Given.")
    todo = f"Agree by `--consent {consent.digest_of(report)}`."
    return refused("consent", consent.consent_required(spec, report), todo)


def _of_finding(finding: Finding, line: str) -> PreflightLine:
    return PreflightLine(
        id=line,
        title=_TITLES[line],
        level=finding.level,
        message=f"{finding.where}: {finding.message}",
        todo=_TODO_OF_LINE.get(line, "") if finding.level == "blocking" else _AS_IT_IS,
        where=finding.where,
        code=finding.code,
        nearest=finding.nearest,
    )
