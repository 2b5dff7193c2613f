"""Check that a worker keeps the contract of docs/worker_author.md. Run by `./mosaic worker-check PATH`."""

from mosaic_workerkit.check_worker.checker import CheckLimits, check_worker
from mosaic_workerkit.check_worker.report import CheckResult, Report
from mosaic_workerkit.check_worker.worker_under_test import WorkerUnderTest, read_worker

__all__ = [
    "CheckLimits",
    "CheckResult",
    "Report",
    "WorkerUnderTest",
    "check_worker",
    "read_worker",
]
