"""Check that a worker keeps the contract of docs/worker_author.md. Run by `./mosaic worker-check PATH`.

Names are imported when they are first used: the stand-in for a shipper lives in this package, and starts for each run
that is tried.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mosaic_workerkit.check_worker.checker import CheckLimits, check_worker
    from mosaic_workerkit.check_worker.report import CheckResult, Report
    from mosaic_workerkit.check_worker.worker_under_test import WorkerUnderTest, read_worker

_HOME = {
    "CheckLimits": "checker",
    "CheckResult": "report",
    "Report": "report",
    "WorkerUnderTest": "worker_under_test",
    "check_worker": "checker",
    "read_worker": "worker_under_test",
}

__all__ = [
    "CheckLimits",
    "CheckResult",
    "Report",
    "WorkerUnderTest",
    "check_worker",
    "read_worker",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
