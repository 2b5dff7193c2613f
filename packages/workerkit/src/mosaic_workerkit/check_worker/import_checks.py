"""Checks `inspect`: a checkpoint of the worker's own, a file of nobody, and one that would run code."""

import os
import pickle
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mosaic_contracts.wire import Checkpoint
from mosaic_contracts.worker import InspectReport, InspectRequest
from mosaic_workerkit.check_worker.trial_run import TrialOutcome
from mosaic_workerkit.check_worker.worker_under_test import WorkerUnderTest, ask


class _Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self._target = str(target)

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self._target,)


def newest_checkpoint(trained: TrialOutcome) -> Path | None:
    """The checkpoint that a training saved last; None: it left none."""
    saved = [record.path for record in trained.records if isinstance(record, Checkpoint)]
    return trained.run_dir / saved[-1] if saved else None


def own_fault(
    worker: WorkerUnderTest, spec: dict[str, Any], checkpoint: Path, timeout_s: float
) -> str | None:
    """What is wrong with the answer about a checkpoint that the worker has saved itself."""
    report, fault = _inspect(worker, checkpoint, timeout_s)
    if report is None:
        return fault
    found = report.checkpoint
    if not report.ok or found is None:
        said = " ".join(finding.message for finding in report.findings)
        return f"it refused {checkpoint.name}, which it saved itself: {said or 'without a finding'}"
    for what, has in (("algorithm", found.algorithm), ("environment", found.environment)):
        if has != spec[what]:
            return f"it says {what} {has!r} of a checkpoint of {spec[what]!r}"
    if found.converted is not None:
        return f"it converted its own checkpoint into {found.converted!r}"
    return None


def foreign_fault(worker: WorkerUnderTest, folder: Path, timeout_s: float) -> str | None:
    """What is wrong with the answers about files that the worker must not take."""
    trapped = folder / "trapped"
    files = {"text.bin": b"no checkpoint", "code.pkl": pickle.dumps(_Trap(trapped))}
    for name, content in files.items():
        path = folder / name
        path.write_bytes(content)
        report, fault = _inspect(worker, path, timeout_s)
        if trapped.exists():
            return f"it ran the code in {name}"
        if report is None:
            return fault
        if report.ok or not any(finding.level == "blocking" for finding in report.findings):
            return f"it did not refuse {name} with a blocking finding"
    return None


def _inspect(
    worker: WorkerUnderTest, path: Path, timeout_s: float
) -> tuple[InspectReport | None, str | None]:
    made = path.parent / "made"
    made.mkdir(exist_ok=True)
    request = InspectRequest(path=str(path), name=path.name, made=str(made))
    answer = ask(worker, "inspect", request.model_dump_json().encode(), timeout_s)
    if answer.fault is not None:
        return None, answer.fault
    try:
        return InspectReport.model_validate(answer.json()), None
    except ValidationError as error:
        return None, f"not an InspectReport: {error}"
    except ValueError as error:
        return None, str(error)
