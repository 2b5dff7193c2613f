"""The worker's own plan of a run, how it would be started, and the user's consent to what it needs outside."""

import hashlib
import json

from mosaic_contracts.preflight import PlacementPlan
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.services import RecorderStatus
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import CheckReport
from mosaic_scheduler.admission.check import (
    Check,
    blocked,
    from_finding,
    from_problem,
    passed,
    topic_of,
    warned,
)
from mosaic_scheduler.executors.protocol import Forecast

_ASK_LESS = "Ask for less, or change the options of the stack's jobs (MOSAIC_SLURM_*)."
INTERNET_NEED = "internet access for all of its processes (`internet` of the spec)"


def without_consent(spec: RunSpec) -> RunSpec:
    """The spec as a worker checks it: a consent is about the plan and no part of it."""
    return spec.model_copy(update={"consent": None})


def with_needs(spec: RunSpec, report: CheckReport) -> CheckReport:
    """The worker's report with what the spec itself asks for of the world outside."""
    if not spec.internet:
        return report
    return report.model_copy(update={"needs": [*report.needs, INTERNET_NEED]})


def with_reach(report: CheckReport, fault: str) -> CheckReport:
    """The report with what the user is to know before a start: its tracker cannot be used now, and why."""
    if not fault:
        return report
    need = (
        f"a start although W&B cannot be used now: {fault}. The run trains all the same; what W&B does not get stays "
        "in the run's folder, and `./mosaic wandb sync` sends it later"
    )
    return report.model_copy(update={"needs": [*report.needs, need]})


def digest_of(report: CheckReport) -> str:
    """Names exactly this plan with these needs: another plan takes another consent."""
    shown = report.model_dump(mode="json", include={"plan", "needs"})
    text = json.dumps(shown, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def check_plan(report: CheckReport) -> list[Check]:
    """What the worker says of its plan; what it lacks is a matter of its dependencies."""
    lacks = [
        from_finding(finding, "packages")
        for finding in report.findings
        if finding.code == ProblemCode.WORKER_NOT_READY
    ]
    rest = [
        from_finding(finding, topic_of(finding.where, "plan"))
        for finding in report.findings
        if finding.code != ProblemCode.WORKER_NOT_READY and finding.level != "ok"
    ]
    return [*lacks, *rest] or [passed("plan", "The worker made a plan.")]


def check_image(launch: PlacementPlan) -> Check:
    """The image of a run that could be started."""
    if launch.image:
        return passed("image", f"{launch.image}.")
    return passed("image", "Not needed: the run is started without a container.")


def check_forecast(forecast: Forecast | None) -> list[Check]:
    """What the cluster would do with the run; nothing where there is no cluster."""
    if forecast is None:
        return []
    if forecast.never:
        return [blocked("cluster", forecast.words, _ASK_LESS)]
    if forecast.waits:
        return [warned("cluster", forecast.words, _ASK_LESS)]
    return [passed("cluster", forecast.words)]


def check_services(recorder: RecorderStatus | None) -> list[Check]:
    """Broker and recorder. A run needs no recorder to start; what it records then waits in its outbox."""
    # The request came over the broker; without one there is no answer at all.
    return [passed("broker", "Connected."), _check_recorder(recorder)]


def _check_recorder(status: RecorderStatus | None) -> Check:
    if status is None:
        message = "It does not answer. The run would start, and its events wait in its folder."
        return warned("recorder", message, "See `./mosaic status`; `./mosaic up` starts it.")
    if not status.accepting:
        message = f"The recorder stores nothing now: {status.reason}. The run's events would wait."
        return warned("recorder", message, "Follow the reason; recording continues by itself.")
    return passed("recorder", "It stores events.")


def check_consent(spec: RunSpec, report: CheckReport) -> Check:
    """Whether the user has agreed to what the plan needs."""
    if not report.needs:
        return passed("consent", "Nothing takes consent.")
    digest = digest_of(report)
    if spec.consent == digest:
        return passed("consent", "Given.")
    return from_problem(
        "consent", _consent_required(spec, report, digest), f"Agree by `--consent {digest}`."
    )


def _consent_required(spec: RunSpec, report: CheckReport, digest: str) -> ProblemError:
    """The user has not agreed, or to something else."""
    why = "It was given for another plan. " if spec.consent is not None else ""
    return ProblemError(
        Problem(
            code=ProblemCode.CONSENT_REQUIRED,
            title="The run needs your consent",
            detail=f"{why}It needs: {'; '.join(report.needs)}. Look at it with `./mosaic preflight`, and agree by "
            f"`--consent {digest}` (field `consent` of the spec).",
            fields=[
                {"where": "consent", "message": need, "nearest": [digest]} for need in report.needs
            ],
        )
    )
