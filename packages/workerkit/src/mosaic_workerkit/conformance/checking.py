"""Judges the answers of `check`."""

import json
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from mosaic_contracts.worker import Algorithm, CheckReport
from mosaic_workerkit.conformance.candidate import Answer
from mosaic_workerkit.conformance.verdict import Judgement

UNKNOWN = "no_such_name_of_worker_check"

Ask = Callable[[bytes], Answer]
"""One call of `check` with this on stdin."""


def judge_check(ask: Ask, spec: dict[str, Any], algorithm: Algorithm, judgement: Judgement) -> bool:
    """Judge it for one algorithm; returns whether a default run may be tried."""
    report, fault = _report(ask(json.dumps(spec).encode()))
    judgement.rule("check.answers", fault, algorithm.id)
    if report is None:
        return False
    return judgement.rule("check.ok", _refusal(report), algorithm.id)


def judge_refusals(ask: Ask, spec: dict[str, Any], judgement: Judgement) -> None:
    """Judge whether what is wrong is refused."""
    cases: dict[str, bytes] = {
        "check.unknown_parameter": json.dumps(
            {**spec, "parameters": {**spec.get("parameters", {}), UNKNOWN: 1}}
        ).encode(),
        "check.unknown_algorithm": json.dumps({**spec, "algorithm": UNKNOWN}).encode(),
        "check.bad_spec": json.dumps({**spec, "seed": -1, UNKNOWN: True}).encode(),
    }
    for rule, given in cases.items():
        report, fault = _report(ask(given))
        if report is not None and report.ok:
            fault = f"check said ok to {given.decode()}"
        judgement.rule(rule, fault)


def _report(answer: Answer) -> tuple[CheckReport | None, str | None]:
    if answer.fault is not None:
        return None, answer.fault
    try:
        report = CheckReport.model_validate(answer.json())
    except ValidationError as error:
        return None, f"not a CheckReport: {error}"
    except ValueError as error:
        return None, str(error)
    blocking = any(finding.level == "blocking" for finding in report.findings)
    if report.ok == blocking:
        return report, "ok is to be true when no finding is blocking, and false when one is"
    return report, None


def _refusal(report: CheckReport) -> str | None:
    if report.ok:
        return None
    return " ".join(f.message for f in report.findings if f.level == "blocking") or "ok is false"
