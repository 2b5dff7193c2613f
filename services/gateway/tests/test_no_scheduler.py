"""A gateway that never had a scheduler: what it shows from store and run folders, and what it refuses."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState
from mosaic_contracts.wire import BatchHead, Lifecycle, encode_record, join_batch
from mosaic_servicekit.testing import TestBroker
from mosaic_store import StreamCursor, open_writer, read_batch
from mosaic_store.testing import RUN_ID, T0_US, Message, messages

pytestmark = pytest.mark.broker
UNKNOWN = "01JGXSYNTHET1CRVN00000000Z"
CURSOR = StreamCursor("2026-01-01T00:00:00Z", 1)
ENDED = [
    ("queued", {}),
    ("starting", {}),
    ("running", {}),
    (
        "failed",
        {"cause": "exit_code", "message": "It ended with 3.", "exit_code": 3, "signal": None},
    ),
]


@pytest.fixture(scope="module")
def module_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root of this module."""
    return tmp_path_factory.mktemp("mosaic")


@pytest.fixture
def home(module_home: Path) -> Iterator[Path]:
    """The data root; runs are removed after each test."""
    yield module_home
    shutil.rmtree(module_home / "runs", ignore_errors=True)


@pytest.fixture(scope="module")
def module_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestBroker]:
    """A broker of this module."""
    with TestBroker(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture(scope="module")
def module_gateway(
    module_home: Path, module_broker: TestBroker, gateway_process: Any
) -> Iterator[Any]:
    """A gateway of this module, with nobody else on the broker."""
    process = gateway_process(module_home, module_broker.url)
    process.start()
    yield process
    assert process.stop() == 0, process.log.read_text()


@pytest.fixture
def broker(module_broker: TestBroker) -> TestBroker:
    """A broker that runs when the test begins."""
    if not module_broker.is_running:
        module_broker.start()
    return module_broker


@pytest.fixture
def gateway(module_gateway: Any, broker: TestBroker) -> Any:
    """A gateway that has reached the broker when the test begins."""
    module_gateway.wait_for_broker()
    return module_gateway


@pytest.fixture
def stored_run(home: Path) -> Iterator[None]:
    """A run that failed, of which only the store and the run folder know."""
    batches = [*messages(101, 100), supervisor_batch(ENDED)]
    with open_writer(home / "db" / "telemetry.sqlite3") as writer:
        writer.apply([read_batch(b.payload, b.encoding) for b in batches], CURSOR)
        write_spec(home)
        yield
        writer.prune(RUN_ID)


def supervisor_batch(phases: list[tuple[str, dict[str, Any]]], attempt: int = 1) -> Message:
    """Phases that the scheduler emitted for a run, as the recorder stores them."""
    head = BatchHead(RUN_ID, attempt, "supervisor", 1, len(phases))
    records = [Lifecycle(n + 1, n * 10_000_000, *told) for n, told in enumerate(phases)]
    return Message(head, join_batch(head, T0_US, b"".join(map(encode_record, records))), "identity")


def write_spec(home: Path, **more: Any) -> Path:
    """The file that a run's worker was started with."""
    spec = {
        "worker": "cleanrl",
        "algorithm": "ppo",
        "environment": "CartPole-v1",
        "steps": 5000,
        **more,
    }
    path = home / "runs" / RUN_ID / "spec.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"run_id": RUN_ID, "attempt": 1, "spec": spec}))
    return path


async def test_without_a_scheduler_it_is_said_at_once(gateway: Any) -> None:
    """With a broker but nobody behind it and no run known, the answer is 503 before a client loses patience."""
    began = time.monotonic()
    reply = await gateway.get("/runs")
    assert time.monotonic() - began < 30  # a client's own patience
    assert (reply.status_code, reply.json()["code"]) == (503, "service_unavailable")
    assert "retry-after" in reply.headers


def test_a_taken_port_is_a_clear_error(gateway: Any) -> None:
    """A second gateway on the same port says so and exits with 1."""
    second = type(gateway)(
        gateway.home, "nats://127.0.0.1:1", MOSAIC_GATEWAY_PORT=str(gateway.port)
    )
    done = subprocess.run(
        [sys.executable, "-m", "mosaic_gateway"],
        env=second._env, capture_output=True, text=True, timeout=20,
    )  # fmt: skip
    assert done.returncode == 1
    assert f"port {gateway.port}" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("stored_run")
@pytest.mark.parametrize("is_broker_there", [True, False])
async def test_without_a_scheduler_a_run_is_what_the_store_has(
    gateway: Any, broker: TestBroker, is_broker_there: bool
) -> None:
    """A run that this gateway never saw is shown from store and run folder, marked as possibly old; not a 503."""
    if not is_broker_there:
        await asyncio.to_thread(broker.kill)
    reply = await gateway.get(f"/runs/{RUN_ID}")
    assert reply.status_code == 200
    run = RunView.model_validate(reply.json())
    assert (run.stale, run.revision, run.state) == (True, 0, RunState.FAILED)
    assert "may be old" in run.notes[0]
    assert run.end is not None
    assert (run.end.exit_code, run.end.message) == (3, "It ended with 3.")
    assert (run.spec.environment, run.spec.steps) == ("CartPole-v1", 5000)
    assert run.summary is not None
    assert run.summary.episodes == 5
    assert run.started_at is not None
    assert run.ended_at is not None
    assert (run.ended_at - run.started_at).total_seconds() == 20
    assert (await gateway.get(f"/runs/{UNKNOWN}")).status_code == 503


@pytest.mark.usefixtures("stored_run")
@pytest.mark.parametrize("is_broker_there", [True, False])
async def test_without_a_scheduler_the_list_is_what_the_store_has(
    gateway: Any, broker: TestBroker, is_broker_there: bool
) -> None:
    """The run list is answered like single runs: marked as possibly old, in any order, with all filters."""
    if not is_broker_there:
        await asyncio.to_thread(broker.kill)
    reply = await gateway.get("/runs")
    assert reply.status_code == 200
    (run,) = (RunView.model_validate(run) for run in reply.json()["runs"])
    assert (run.run_id, run.stale, run.state) == (RUN_ID, True, RunState.FAILED)
    assert "may be old" in run.notes[0]
    assert run.summary is not None
    assert run.summary.episodes == 5
    fitting = {
        "state": "failed", "worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1",
        "kind": "train", "text": "cartPOLE",
    }  # fmt: skip
    for sort in ("created", "started", "ended", "name", "steps", "best_return"):
        for order in ("asc", "desc"):
            page = await gateway.get("/runs", params={**fitting, "sort": sort, "order": order})
            assert [run["run_id"] for run in page.json()["runs"]] == [RUN_ID], (sort, order)
    unfitting = [
        *({"state": "running"}, {"worker": "other"}, {"algorithm": "dqn"}, {"environment": "x"}),
        *(
            {"kind": "play"},
            {"text": "nowhere"},
            {"tag": "x"},
            {"parent": UNKNOWN},
            {"deleted": "true"},
        ),
    ]
    for asked in unfitting:
        assert (await gateway.get("/runs", params=asked)).status_code == 503, asked


@pytest.mark.usefixtures("stored_run")
async def test_without_a_scheduler_the_list_has_pages(gateway: Any, home: Path) -> None:
    """Pages follow each other by the same cursors as with a scheduler, and end."""
    older = [f"01JGXSYNTHET1CRVN0000000{n}0" for n in range(1, 4)]
    for run_id in older:
        folder = home / "runs" / run_id
        folder.mkdir()
        spec = (home / "runs" / RUN_ID / "spec.json").read_text()
        (folder / "spec.json").write_text(spec.replace(RUN_ID, run_id))
    (home / "runs" / "no-run").mkdir()
    for sort in ("created", "name"):
        found, cursor = list[str](), None
        while cursor is not None or not found:
            asked = {"limit": 1, "sort": sort} | ({"cursor": cursor} if cursor else {})
            page = (await gateway.get("/runs", params=asked)).json()
            found += [run["run_id"] for run in page["runs"]]
            cursor = page["next_cursor"]
        assert found == sorted([*older, RUN_ID], reverse=True)


@pytest.mark.parametrize("kind", ["absent", "link", "fifo", "nonsense", "no spec"])
async def test_a_folder_that_tells_nothing_is_a_refusal(
    gateway: Any, home: Path, kind: str
) -> None:
    """Without a readable spec there is too little to show: 503 with Retry-After, whatever a worker put there."""
    path = write_spec(home)
    if kind == "no spec":
        path.write_text(json.dumps({"run_id": RUN_ID, "attempt": 1, "spec": {"worker": 7}}))
    elif kind == "nonsense":
        path.write_bytes(b"\xff" * 2_000_000)
    else:
        path.unlink()
    if kind == "link":
        path.symlink_to("/etc/passwd")
    elif kind == "fifo":
        os.mkfifo(path)
    reply = await gateway.get(f"/runs/{RUN_ID}")
    assert reply.status_code == 503
    assert int(reply.headers["retry-after"]) >= 1


async def test_a_finding_names_where_the_log_of_the_broker_is(
    gateway: Any, broker: TestBroker, home: Path
) -> None:
    """Without a broker `status` names a log that exists: the command for containers, or the stack's file."""
    await asyncio.to_thread(broker.kill)
    async with asyncio.timeout(60):
        # the gateway does not announce that it lost the broker
        while (stack := (await gateway.get("/stack")).json())["broker"]:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    assert "`docker compose logs broker`" in stack["findings"][0]
    log = home / "logs" / "broker.log"
    log.parent.mkdir()
    log.touch()
    assert str(log) in (await gateway.get("/stack")).json()["findings"][0]
