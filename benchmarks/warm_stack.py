"""A real embedded stack in a folder of its own, for the benchmarks that measure across processes."""

import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from stack_under_test import VENVS, StackUnderTest

from mosaic_client import Location
from mosaic_contracts import stack
from mosaic_contracts.runs import RunSummary
from mosaic_contracts.spec import RunSpec
from mosaic_store import Reader, open_reader

__all__ = ["VENVS", "WarmStack", "warm_stack"]

POLL_S = 0.02


class WarmStack(StackUnderTest):
    """What the tests use, and clocks."""

    def reader(self) -> Reader:
        """The store, read as the gateway reads it."""
        return open_reader(self.home / stack.TELEMETRY_DB)

    def location(self) -> Location:
        """Where its door is."""
        token = (self.home / stack.TOKEN_FILE).read_text().strip()
        return Location(url=self.stack_file().gateway_url, token=token)

    @staticmethod
    def spec(worker: str, algorithm: str, environment: str, **fields: object) -> RunSpec:
        """A spec, checked."""
        return RunSpec.model_validate(
            {"worker": worker, "algorithm": algorithm, "environment": environment, **fields}
        )

    def service_cpu_s(self) -> dict[str, float]:
        """CPU seconds that each service has used so far."""
        seconds = {}
        for entry in self.stack_file().services:
            if entry.pid is not None:
                seconds[entry.name] = cpu_s(entry.pid)
        return seconds


def cpu_s(pid: int) -> float:
    """User and system seconds of a process, without its children."""
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def until_stored(reader: Reader, run_id: str, events: int, within_s: float) -> RunSummary:
    """Poll the store until it holds so many events of a run.

    Raises:
        TimeoutError: it does not within `within_s`.
    """
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        found = reader.summary(run_id)
        if found.events >= events:
            return found
        time.sleep(POLL_S)  # a commit in another process is no event here
    raise TimeoutError(f"run {run_id} has {reader.summary(run_id).events} of {events} events")


@contextmanager
def warm_stack() -> Iterator[WarmStack]:
    """A stack that is up; nothing of it is left afterwards."""
    # So that a stopped benchmark leaves nothing.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="mosaic-bench-") as folder:
        warm = WarmStack(Path(folder))
        try:
            warm.start()
            yield warm
        finally:
            warm.stop()
