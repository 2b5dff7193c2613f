"""Truth after a kill, on the stack in containers; tests/kills has the same for processes.

Also what only containers have: services restarted in any order, `down` and `up` under a run, the overlay with TLS.
"""

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import truth
from containers.compose_stack import ComposeStack, docker, engine_answers
from remote.programs import free_port
from shifted_clock import OFF_S, program
from stack_under_test import until

from mosaic_client import Client, Location
from mosaic_contracts.live import Ended
from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState

pytestmark = [
    pytest.mark.kill,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not engine_answers(), reason="no container engine answers here"),
]

SEND = """
import json, os, sys
info = json.load(open(os.environ["MOSAIC_RUN_DIR"] + "/control/runner.json"))
os.kill(info["worker_pid"], int(sys.argv[1]))
"""
# Each before what it needs has come back from its own restart, or after what needs it.
ORDER = ("scheduler", "nats", "engine", "gateway", "doors", "recorder")


class ContainerHouse:
    """The stack of compose as a `truth.House`."""

    def __init__(self, stack: ComposeStack) -> None:
        self._stack = stack

    def client(self) -> Client:
        """A client through the published port."""
        return self._stack.client()

    def submit_synthetic(self, **fields: Any) -> RunView:
        """A run of the synthetic worker."""
        self.wait_ready()
        return self._stack.submit(**fields)

    def view(self, run_id: str) -> RunView:
        """The run; waits for a stack that is coming back."""
        return until(lambda: self._stack.run(run_id), "the stack answers", truth.PATIENCE_S)

    def wait_final(self, run_id: str) -> RunView:
        """The run when it has ended and everything is stored."""

        def final() -> RunView | None:
            view = self.view(run_id)
            return view if view.state.is_final and not view.telemetry_pending else None

        return until(final, f"{run_id} is final and stored", truth.PATIENCE_S)

    def wait_ready(self) -> None:
        """Until every service answers every other."""

        def ready() -> bool:
            answer = self._stack.ask(lambda client: client.ready())
            return answer is not None and answer.ready

        until(ready, "the whole stack is ready", truth.PATIENCE_S)

    @contextmanager
    def away(self, service: str) -> Iterator[None]:
        """A kill by hand, after which the engine does not start it again."""
        container = self._stack.container(service)
        docker("kill", "--signal", "KILL", container)
        yield
        docker("start", container)
        self.wait_ready()

    def signal_worker(self, run_id: str, number: signal.Signals) -> None:
        """To the worker's process alone, from inside."""
        argv = ["docker", "exec", self._container(run_id)]
        argv += ["python", "-c", SEND, str(int(number))]
        sent = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
        # The container may end of it before the one who sent it.
        assert "Traceback" not in sent.stderr, sent.stderr

    def pause(self, run_id: str, number: signal.Signals) -> None:
        """`docker pause`: the whole container, shipper and all, stands still."""
        verb = "pause" if number is signal.SIGSTOP else "unpause"
        container = self._container(run_id)

        def done() -> bool:
            argv = ["docker", verb, container]
            # A busy machine's kernel may not freeze all tasks in time; the engine then says so and takes it back.
            return (
                subprocess.run(argv, capture_output=True, timeout=60, check=False).returncode == 0
            )

        until(done, f"{verb} {run_id}", 60)

    def wait_ended(self, run_id: str) -> None:
        """Until its container has."""
        container = self._container(run_id)

        def ended() -> bool:
            return docker("inspect", "-f", "{{.State.Running}}", container).strip() == "false"

        until(ended, "the container has ended", truth.PATIENCE_S)

    def identity(self, run_id: str) -> str:
        """Its container."""
        return docker("inspect", "-f", "{{.Id}} {{.State.StartedAt}}", self._container(run_id))

    def processes(self, run_id: str) -> list[str]:
        """Command lines of what lives in its containers."""
        found: list[str] = []
        for container in self._containers(run_id):
            found += docker("top", container, "-eo", "pid,args").splitlines()[1:]
        return found

    def _container(self, run_id: str) -> str:
        (container,) = self._containers(run_id)
        return container

    def _containers(self, run_id: str) -> list[str]:
        labels = (f"mosaic.stack={self._stack.project}_home", f"mosaic.run={run_id}")
        return docker("ps", "-q", *(w for n in labels for w in ("--filter", f"label={n}"))).split()


@pytest.fixture
def house(compose: ComposeStack) -> Iterator[ContainerHouse]:
    """The stack, ready."""
    house = ContainerHouse(compose)
    house.wait_ready()
    yield house
    truth.end_all(house)


def test_scheduler_killed_among_three_runs(house: ContainerHouse) -> None:
    """Scheduler -9: an ended run has its true exit code, a running one is adopted, a waiting one starts once."""
    truth.scheduler_killed_among_three_runs(house)


def test_worker_killed_beside_its_grandchild(house: ContainerHouse) -> None:
    """Worker -9: its grandchild in a session of its own, deaf to TERM, does not survive."""
    truth.worker_killed_beside_its_grandchild(house)


def test_suspended_beyond_the_heartbeat_limit(house: ContainerHouse) -> None:
    """A worker stopped, and a container paused, for longer than the heartbeat limit: unresponsive, cores kept, back."""
    truth.suspended_beyond_the_heartbeat_limit(house, [house.signal_worker, house.pause])


def test_gateway_killed_under_its_clients(house: ContainerHouse) -> None:
    """Gateway -9 with clients attached: each of them gets every event of the run once."""
    truth.gateway_killed_under_its_clients(house)


def test_a_clock_ten_minutes_off_decides_nothing(
    house: ContainerHouse, compose: ComposeStack
) -> None:
    """The worker's events carry its clock; the run's times, its life and its end are those of the stack's own."""
    compose.add_worker("ahead", command=("{python}", "-c", program(str(-OFF_S))))
    before = datetime.now(UTC)
    run_id = truth.start(house, worker="ahead")
    assert not house.view(run_id).unresponsive
    view = truth.stop(house, run_id)
    assert view.started_at is not None
    assert view.ended_at is not None
    assert before <= view.started_at <= view.ended_at <= datetime.now(UTC)
    with house.client() as client:
        last = max(event["t"] for event in client.each_event(run_id, types=["step"]))
    assert abs(last - OFF_S - time.time()) < OFF_S / 2, "the worker's clock was not off"


def test_restarts_in_any_order(house: ContainerHouse, compose: ComposeStack) -> None:
    """Each service restarted, none waiting for another, then all at once: the run under it loses nothing."""
    run_id = truth.start(house)
    before = house.identity(run_id)
    for service in ORDER:
        compose.compose("restart", "--timeout", "10", service)
    compose.compose("restart", "--timeout", "10", *ORDER)
    house.wait_ready()
    assert house.identity(run_id) == before
    truth.stop(house, run_id)
    truth.judge_idle(house)


def test_down_and_up_under_a_run(house: ContainerHouse, compose: ComposeStack) -> None:
    """`down` leaves a run alone; after `up` it is the same run, and nothing that it wrote meanwhile is lost."""
    run_id = truth.start(house)
    before = house.identity(run_id)
    compose.compose("down", "--timeout", "20")
    assert house.identity(run_id) == before, "it goes on without the stack"
    compose.up()
    house.wait_ready()
    assert house.view(run_id).state is RunState.RUNNING
    assert house.identity(run_id) == before
    truth.stop(house, run_id)
    truth.judge_idle(house)


def test_the_overlay_with_tls(house: ContainerHouse, compose: ComposeStack, tmp_path: Path) -> None:
    """compose.tls.yaml opens the TLS door next to the plain one; a run is submitted and followed through it."""
    port, env, certificate = free_port(), tmp_path / "env", tmp_path / "lab.crt"
    env.write_text(
        f"MOSAIC_TLS_BIND=127.0.0.1\nMOSAIC_TLS_PORT={port}\nMOSAIC_ALLOWED_HOSTS=lab.example\n"
    )
    files = ("--env-file", str(env), "-f", "compose.yaml", "-f", "compose.tls.yaml")
    compose.compose(*files, "up", "-d", "--wait", "gateway")
    try:
        certificate.write_text(
            compose.compose("exec", "-T", "gateway", "cat", "secrets/gateway.crt")
        )
        token = compose.compose("exec", "-T", "gateway", "cat", "secrets/gateway.token").strip()
        run_id = house.submit_synthetic(steps=200).run_id
        with Client(Location(f"https://127.0.0.1:{port}", token, certificate)) as client:
            assert any(isinstance(item, Ended) for item in client.follow(run_id))
            assert client.run(run_id).state is RunState.SUCCEEDED
    finally:
        compose.up()
