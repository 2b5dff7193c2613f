"""Checks the answers of `check`."""

import json
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from mosaic_contracts.worker import Algorithm, CheckReport
from mosaic_workerkit.check_worker.report import Report
from mosaic_workerkit.check_worker.worker_under_test import WorkerAnswer

UNKNOWN = "no_such_name_of_worker_check"

Ask = Callable[[bytes], WorkerAnswer]
"""Calls `check` with a spec on stdin."""


def check_answer(ask: Ask, spec: dict[str, Any], algorithm: Algorithm, report: Report) -> bool:
    """Check the plan of one algorithm, and return whether a default run may be tried."""
    answer_report, fault = _read_answer(ask(json.dumps(spec).encode()))
    report.rule("check.answers", fault, algorithm.id)
    if answer_report is None:
        return False
    return report.rule("check.ok", _refusal(answer_report), algorithm.id)


def check_refusals(ask: Ask, spec: dict[str, Any], report: Report) -> None:
    """Check that wrong specs are refused."""
    cases: dict[str, bytes] = {
        "check.unknown_parameter": json.dumps(
            {**spec, "parameters": {**spec.get("parameters", {}), UNKNOWN: 1}}
        ).encode(),
        "check.unknown_algorithm": json.dumps({**spec, "algorithm": UNKNOWN}).encode(),
        "check.bad_spec": json.dumps({**spec, "seed": -1, UNKNOWN: True}).encode(),
    }
    for rule, given in cases.items():
        answer_report, fault = _read_answer(ask(given))
        if answer_report is not None and answer_report.ok:
            fault = f"check said ok to {given.decode()}"
        report.rule(rule, fault)


def _read_answer(answer: WorkerAnswer) -> tuple[CheckReport | None, str | None]:
    if answer.fault is not None:
        return None, answer.fault
    try:
        answer_report = CheckReport.model_validate(answer.json())
    except ValidationError as error:
        return None, f"not a CheckReport: {error}"
    except ValueError as error:
        return None, str(error)
    blocking = any(finding.level == "blocking" for finding in answer_report.findings)
    if answer_report.ok == blocking:
        return answer_report, "ok is to be true when no finding is blocking, and false when one is"
    return answer_report, None


def _refusal(answer_report: CheckReport) -> str | None:
    if answer_report.ok:
        return None
    return (
        " ".join(f.message for f in answer_report.findings if f.level == "blocking")
        or "ok is false"
    )
