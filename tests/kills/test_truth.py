"""Truth after a kill, on the stack of processes; tests/containers has the same for containers."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import pytest
import truth
from hardship.absence import service_away
from stack_under_test import StackUnderTest, until

from mosaic_client import Client
from mosaic_contracts import launch
from mosaic_contracts.runs import RunView

pytestmark = pytest.mark.kill


class ProcessHouse:
    """The embedded stack as a `truth.House`."""

    def __init__(self, stack: StackUnderTest) -> None:
        self._stack = stack

    def client(self) -> Client:
        """A client of it."""
        return self._stack.client()

    def submit_synthetic(self, **fields: Any) -> RunView:
        """A run of the synthetic worker."""
        return self._stack.submit("synthetic", "synthetic", "Synthetic-v0", **fields)

    def view(self, run_id: str) -> RunView:
        """The run."""
        return self._stack.run(run_id)

    def wait_final(self, run_id: str) -> RunView:
        """The run when it has ended and everything is stored."""
        return self._stack.wait_final(run_id)

    @contextmanager
    def away(self, service: str) -> Iterator[None]:
        """Its supervisor is kept from bringing it back."""
        with service_away(self._stack, service):
            yield
        self._stack.wait_ready()

    def signal_worker(self, run_id: str, number: signal.Signals) -> None:
        """To the worker's process alone."""
        os.kill(self._stack.run_pid(run_id, "worker"), number)

    def signal_all(self, run_id: str, number: signal.Signals) -> None:
        """To every process of the run: runner, worker, shipper."""
        for pid in self._stack.processes_of(run_id):
            os.kill(pid, number)

    def wait_ended(self, run_id: str) -> None:
        """Until its runner has said how the worker ended."""
        until((self._stack.run_dir(run_id) / launch.EXIT_FILE).exists, "the worker has ended", 60)

    def identity(self, run_id: str) -> str:
        """The worker's process."""
        process = psutil.Process(self._stack.run_pid(run_id, "worker"))
        return f"{process.pid} since {process.create_time()}"

    def processes(self, run_id: str) -> list[str]:
        """Command lines of what lives of the run, by its environment."""
        found = []
        for pid in self._stack.processes_of(run_id):
            try:
                found.append(" ".join(psutil.Process(pid).cmdline()))
            except psutil.NoSuchProcess:
                continue  # gone since
        return found


@pytest.fixture
def house(stack: StackUnderTest) -> Iterator[ProcessHouse]:
    """The stack, ready."""
    stack.wait_ready()
    house = ProcessHouse(stack)
    yield house
    truth.end_all(house)


def test_scheduler_killed_among_three_runs(house: ProcessHouse) -> None:
    """Scheduler -9: an ended run has its true exit code, a running one is adopted, a waiting one starts once."""
    truth.scheduler_killed_among_three_runs(house)


def test_worker_killed_beside_its_grandchild(house: ProcessHouse) -> None:
    """Worker -9: its grandchild in a session of its own, deaf to TERM, does not survive."""
    truth.worker_killed_beside_its_grandchild(house)


def test_suspended_beyond_the_heartbeat_limit(house: ProcessHouse) -> None:
    """SIGSTOP of a worker, and of a whole run, for longer than the heartbeat limit: unresponsive, cores kept, back."""
    ways = [house.signal_worker, house.signal_all]
    truth.suspended_beyond_the_heartbeat_limit(house, ways)


def test_gateway_killed_under_its_clients(house: ProcessHouse) -> None:
    """Gateway -9 with clients attached: each of them gets every event of the run once."""
    truth.gateway_killed_under_its_clients(house)
