"""What a run may do beyond this machine only when its user has seen and agreed to it."""

import hashlib
import json

from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import CheckReport

INTERNET_NEED = "internet access for all of its processes (`internet` of the spec)"


def digest_of(report: CheckReport) -> str:
    """Names exactly this plan with these needs: another plan takes another consent."""
    shown = report.model_dump(mode="json", include={"plan", "needs"})
    text = json.dumps(shown, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def unasked(spec: RunSpec) -> RunSpec:
    """The spec as a worker checks it: a consent is about the plan and no part of it."""
    return spec.model_copy(update={"consent": None})


def with_needs(spec: RunSpec, report: CheckReport) -> CheckReport:
    """The worker's report with what the spec itself asks for of the world outside."""
    if not spec.internet:
        return report
    return report.model_copy(update={"needs": [*report.needs, INTERNET_NEED]})


def is_given(spec: RunSpec, report: CheckReport) -> bool:
    """Whether nothing takes consent, or the user has given it."""
    return not report.needs or spec.consent == digest_of(report)


def consent_required(spec: RunSpec, report: CheckReport) -> ProblemError:
    """The user has not agreed, or to something else."""
    digest = digest_of(report)
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
