"""Worker, shipper, runner and broker as real processes: what was written arrives, once, whichever is killed."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.broker import Broker, StubRecorder
from tests.run_folder import MIB, RUN_ID, make_run_folder

from mosaic_contracts import subjects
from mosaic_contracts.launch import ExitReport
from mosaic_contracts.services import Heartbeat, Reply
from mosaic_contracts.stored_spec import StoredSpec
from mosaic_contracts.wire import Extra, Lifecycle, Record, Step
from mosaic_workerkit.outbox import OutboxReader, outbox_dir
from mosaic_workerkit.outbox.segment import segment_seqs
from mosaic_workerkit.testing.synthetic import Formula

pytestmark = pytest.mark.broker

WORKER = ("-m", "mosaic_workerkit.testing.synthetic", "train", "--run-dir")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    server = Broker(tmp_path / "nats").start()
    yield server
    server.kill()


def make_run(tmp_path: Path, broker: Broker, worker: tuple[str, ...] = WORKER, **more: Any) -> Path:
    folder = tmp_path / "run"
    argv = [sys.executable, *worker, str(folder)]
    return make_run_folder(folder, worker_argv=argv, broker_url=broker.url, **more)


RUNNERS: list[asyncio.subprocess.Process] = []


@pytest.fixture(autouse=True)
async def _nothing_stays() -> AsyncIterator[None]:
    """A failed test ends its runners, whose workers die with them; shippers of theirs give up after their drain."""
    yield
    while RUNNERS:
        process = RUNNERS.pop()
        if process.returncode is None:
            process.kill()
            await process.wait()


async def start(
    folder: Path, module: str = "runner", *more: str, env: dict[str, str] | None = None
) -> asyncio.subprocess.Process:
    argv = [sys.executable, "-m", f"mosaic_workerkit.{module}", "--run-dir", str(folder), *more]
    with (folder / f"{module}.err").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=subprocess.DEVNULL, stderr=log, start_new_session=True, env=env
        )
    RUNNERS.append(process)
    return process


async def until(claim: Any, timeout_s: float = 60.0) -> Any:
    async with asyncio.timeout(timeout_s):
        while not (result := claim()):  # noqa: ASYNC110 - no event crosses from the processes watched
            await asyncio.sleep(0.02)
    return result


def info(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "control/runner.json").read_text()))


def report(folder: Path) -> ExitReport:
    return ExitReport.model_validate_json((folder / "control/exit.json").read_text())


def spec_of(folder: Path) -> StoredSpec:
    return StoredSpec.model_validate(json.loads((folder / "spec.json").read_text())["spec"])


def same(got: Record, want: Record) -> bool:
    """Equal in every field but the time; by bytes, for NaN is not equal to itself."""
    return msgspec.msgpack.encode(msgspec.structs.replace(got, dt=0)) == msgspec.msgpack.encode(
        want
    )


def check_values(records: dict[int, Record], spec: StoredSpec, ended: bool = True) -> int:
    """Every record is what its seq says, none is missing; returns the last seq."""
    last = max(records)
    assert sorted(records) == list(range(1, last + 1))
    body = last - 1 if ended else last
    if ended:
        assert isinstance(records[last], Lifecycle)
    record_of = Formula(spec).record
    wrong = [seq for seq in range(1, body + 1) if not same(records[seq], record_of(seq))]
    assert wrong == []
    return last


async def test_whole_run(tmp_path: Path, broker: Broker) -> None:
    """A run's every event arrives with its values, heartbeats report the trainer, and the outbox is emptied."""
    folder = make_run(tmp_path, broker, parameters={"events": 12_000, "rate": 5_000})
    async with StubRecorder(broker.url, RUN_ID) as recorder:
        runner = await start(folder)
        assert await asyncio.wait_for(runner.wait(), 60) == 0
        assert check_values(recorder.records, spec_of(folder)) == 12_003
        beats = [Heartbeat.model_validate(beat) for beat in recorder.heartbeats]
    got = report(folder)
    assert (got.phase, got.code, got.strays) == ("drained", 0, 0)
    assert segment_seqs(outbox_dir(folder, 1)) == []
    # a batch is sent twice only for a reason, which the shipper's log gives: the machine may stall for seconds
    log = (folder / "logs/shipper.log").read_text()
    reasons = ("broker.away", "commit.stalled", "batch.refused")
    assert recorder.doubled == 0 or any(reason in log for reason in reasons), log
    live = [beat for beat in beats if beat.worker_state is not None and beat.progress.step]
    assert live
    assert all(beat.worker_pid == info(folder)["worker_pid"] for beat in live)
    assert live[-1].last_seq >= live[-1].acked_seq >= live[-1].committed_seq
    assert 0 <= (live[-1].progress.age_s or 0) < 30


async def test_nothing_is_freed_without_a_commit(tmp_path: Path, broker: Broker) -> None:
    """Acknowledged is not committed: with a silent recorder every event stays on disk and the end is not_drained."""
    parameters = {"events": 5_000, "rate": 0}
    folder = make_run(tmp_path, broker, parameters=parameters, drain_s=1.0)
    async with StubRecorder(broker.url, RUN_ID, commits=False) as recorder:
        runner = await start(folder)
        assert await asyncio.wait_for(runner.wait(), 60) == 0
        await recorder.until(5_003)
    assert report(folder).phase == "not_drained"
    reader = OutboxReader(outbox_dir(folder, 1))
    left = 0
    while region := reader.read():
        left += region.n
    assert left == 5_003
    async with StubRecorder(broker.url, RUN_ID) as recorder:
        drain = await start(folder, "shipper", "--drain", "--timeout", "10")
        assert await asyncio.wait_for(drain.wait(), 60) == 0
        check_values(recorder.records, spec_of(folder))
    assert segment_seqs(outbox_dir(folder, 1)) == []


@pytest.mark.timeout(150)
@pytest.mark.parametrize("victim", ["shipper", "broker", "broker_store", "both"])
async def test_kill_at_full_speed(tmp_path: Path, broker: Broker, victim: str) -> None:
    """Kills of shipper or broker, also with its store deleted, lose and double nothing."""
    # it runs until it is stopped: one of so many events could have ended before the last kill
    folder = make_run(tmp_path, broker, parameters={"events": 10**8, "rate": 20_000}, drain_s=60)
    rng = random.Random(victim)
    async with StubRecorder(broker.url, RUN_ID) as recorder:
        runner = await start(folder)
        await until(lambda: recorder.next_seq > 5_000)
        for _ in range(3):
            await asyncio.sleep(rng.uniform(0.1, 0.6))
            if victim in ("shipper", "both"):
                await until(lambda: _kill_shipper(folder))
            if victim != "shipper":
                await asyncio.to_thread(broker.kill, victim == "broker_store")
                await asyncio.sleep(rng.uniform(0.0, 0.4))
                await asyncio.to_thread(broker.start)
        runner.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(runner.wait(), 90) == 0
        assert check_values(recorder.records, spec_of(folder)) > 5_000
    assert report(folder).phase == "drained"
    assert segment_seqs(outbox_dir(folder, 1)) == []


def _kill_shipper(folder: Path) -> bool:
    """SIGKILL the shipper of this run, found as the child of its runner."""
    runner = info(folder)["runner_pid"]
    for pid in Path(f"/proc/{runner}/task/{runner}/children").read_text().split():
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        if b"mosaic_workerkit.shipper" in command:
            os.kill(int(pid), signal.SIGKILL)
            return True
    return False


async def test_worker_killed_at_full_speed(tmp_path: Path, broker: Broker) -> None:
    """SIGKILL of the worker: what is on disk is a whole prefix, and all of it is stored; the signal is reported."""
    folder = make_run(tmp_path, broker, parameters={"events": 10**8, "rate": 0})
    async with StubRecorder(broker.url, RUN_ID) as recorder:
        runner = await start(folder)
        await until(lambda: recorder.next_seq > 3_000)
        os.kill(info(folder)["worker_pid"], signal.SIGKILL)
        assert await asyncio.wait_for(runner.wait(), 60) == 0
        check_values(recorder.records, spec_of(folder), ended=False)
    got = report(folder)
    assert (got.signal, got.code, got.phase) == (9, None, "drained")


async def test_runner_killed(tmp_path: Path, broker: Broker) -> None:
    """SIGKILL of the runner takes the worker; the shipper ships the rest and ends by itself."""
    folder = make_run(tmp_path, broker, parameters={"events": 10**8, "rate": 20_000})
    async with StubRecorder(broker.url, RUN_ID) as recorder:
        runner = await start(folder)
        await until(lambda: recorder.next_seq > 3_000)
        known = info(folder)
        runner.kill()
        await runner.wait()
        for pid in (known["worker_pid"], known["shipper_pid"]):
            await until(lambda pid=pid: not Path(f"/proc/{pid}").exists() or _is_zombie(pid))
        check_values(recorder.records, spec_of(folder), ended=False)
    assert not (folder / "control/exit.json").exists()
    assert segment_seqs(outbox_dir(folder, 1)) == []


async def test_runner_killed_before_the_shipper_looked(tmp_path: Path, broker: Broker) -> None:
    """A shipper whose runner died while it was still starting ends by itself all the same."""
    folder = make_run(tmp_path, broker, drain_s=0.5)
    environment = os.environ | {"MOSAIC_RUNNER_PID": "1"}
    shipper = await start(folder, "shipper", env=environment)
    assert await asyncio.wait_for(shipper.wait(), 60) == 0


def _is_zombie(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


async def test_stray_of_a_worker(tmp_path: Path, broker: Broker) -> None:
    """A double-forked child in its own session is ended, and does not keep the outbox from draining."""
    parameters = {"events": 100, "fork_stray": True, "exit_code": 4}
    folder = make_run(tmp_path, broker, parameters=parameters)
    async with StubRecorder(broker.url, RUN_ID):
        runner = await start(folder)
        assert await asyncio.wait_for(runner.wait(), 60) == 0
    got = report(folder)
    assert (got.code, got.strays, got.phase) == (4, 1, "drained")
    assert not _stray_lives(folder)


def _stray_lives(folder: Path) -> bool:
    return Path("/proc", (folder / "stray.pid").read_text()).exists()


async def test_outage_fills_the_quota(tmp_path: Path, broker: Broker) -> None:
    """Without a recorder the worker waits at its quota and says so; afterwards everything arrives."""
    parameters = {"events": 20_000, "rate": 0, "pad": 1200}
    folder = make_run(tmp_path, broker, parameters=parameters, outbox_bytes=16 * MIB)
    async with StubRecorder(broker.url, RUN_ID, commits=False) as silent:
        runner = await start(folder)
        outbox = outbox_dir(folder, 1)
        await until((outbox / "waiting").exists)
        await until(lambda: [b for b in silent.heartbeats if b["waiting_for_outbox"]])
        assert sum(p.stat().st_size for p in outbox.glob("*.seg")) <= 16 * MIB
    async with StubRecorder(broker.url, RUN_ID) as recorder:
        assert await asyncio.wait_for(runner.wait(), 60) == 0
        assert check_values(recorder.records, spec_of(folder)) == 20_003
    assert report(folder).phase == "drained"


async def test_thinning_is_counted(tmp_path: Path, broker: Broker) -> None:
    """With policy thin a full outbox drops steps alone; kept and dropped ones add up, and seq has no gap."""
    broker.kill()
    folder = make_run(
        tmp_path,
        broker,
        outbox_bytes=16 * MIB,
        when_outbox_full="thin",
        worker=("-c", THIN_WORKER),
    )
    runner = await start(folder)
    await until((folder / "thinning").exists)
    broker.start()
    async with StubRecorder(broker.url, RUN_ID) as recorder:
        assert await asyncio.wait_for(runner.wait(), 60) == 0
        records = recorder.records
    assert sorted(records) == list(range(1, max(records) + 1))
    kept = sum(isinstance(record, Step) for record in records.values())
    thinned = [r.data["steps"] for r in records.values() if isinstance(r, Extra)]
    assert sum(thinned) > 0
    assert kept + sum(thinned) == int((folder / "made").read_text())
    assert isinstance(records[max(records)], Lifecycle)


THIN_WORKER = """
import sys
from pathlib import Path
from mosaic_workerkit.telemetry import Telemetry
folder, pad = Path(sys.argv[1]), bytes(2000)
with Telemetry.open(folder) as telemetry:
    telemetry.config({})
    made = after = 0
    thinning = False
    while after < 5_000:
        telemetry.hashed_step(0, 0, made, 1, 1.0, 0, b"12345678", observation=pad)
        made += 1
        if telemetry._outbox.thinned:
            thinning or (folder / "thinning").touch()
            thinning = True
        elif thinning:
            after += 1
    (folder / "made").write_text(str(made))
    telemetry.lifecycle("done")
"""


async def test_full_stream_waits(tmp_path: Path, broker: Broker) -> None:
    """A stream at its limit refuses batches: nothing is dropped, the heartbeat says why, a purge lets it go on."""
    folder = make_run(tmp_path, broker, parameters={"events": 30_000, "rate": 0}, drain_s=30)
    async with StubRecorder(broker.url, RUN_ID, max_bytes=200_000) as recorder:
        runner = await start(folder)
        await until(lambda: [b for b in recorder.heartbeats if "10077" in b.get("note", "")])
        assert recorder.next_seq < 30_003
        while recorder.next_seq <= 30_003:
            assert recorder.client is not None
            await recorder.client.jetstream().purge_stream(subjects.EVENTS_STREAM)
            await asyncio.sleep(0.1)
        assert await asyncio.wait_for(runner.wait(), 60) == 0
        check_values(recorder.records, spec_of(folder))


async def test_control_subject(tmp_path: Path, broker: Broker) -> None:
    """ping, watch and stop are answered; watching shortens the way; a stop ends the trainer with `stopped`."""
    folder = make_run(tmp_path, broker, parameters={"events": 10**8, "rate": 500})
    async with StubRecorder(broker.url, RUN_ID) as recorder:
        runner = await start(folder)
        await until(lambda: recorder.next_seq > 10)
        assert recorder.client is not None

        async def ask(**request: Any) -> Reply:
            data = json.dumps(request).encode()
            client = recorder.client
            assert client is not None
            message = await client.request(subjects.control(RUN_ID), data, timeout=60)
            return Reply.model_validate_json(message.data)

        assert (await ask(op="ping")).result["ok"]
        assert (await ask(op="watch", ttl_s=5)).result["ttl_s"] == 5
        assert (await ask(op="dance")).problem is not None
        assert (await ask(op="stop")).result == {"ok": True}
        assert await asyncio.wait_for(runner.wait(), 60) == 0
        last = recorder.records[max(recorder.records)]
        assert isinstance(last, Lifecycle)
        assert last.phase == "stopped"
    assert report(folder).code == 0


async def test_terminate_stops_by_the_runner(tmp_path: Path, broker: Broker) -> None:
    """`terminate` is a stop signal to the runner: the report says so, and the worker ends with 0."""
    folder = make_run(tmp_path, broker, parameters={"events": 10**8, "rate": 500})
    async with StubRecorder(broker.url, RUN_ID) as recorder:
        runner = await start(folder)
        await until(lambda: recorder.next_seq > 10)
        assert recorder.client is not None
        data = json.dumps({"op": "terminate"}).encode()
        message = await recorder.client.request(subjects.control(RUN_ID), data, timeout=60)
        assert Reply.model_validate_json(message.data).result == {"ok": True}
        assert await asyncio.wait_for(runner.wait(), 60) == 0
    assert (report(folder).code, report(folder).stop_signal_sent) == (0, True)


async def test_one_shipper_an_outbox(tmp_path: Path, broker: Broker) -> None:
    """A second shipper leaves with 75 while the first lives."""
    folder = make_run(tmp_path, broker, parameters={"events": 10**8, "rate": 100})
    async with StubRecorder(broker.url, RUN_ID) as recorder:
        runner = await start(folder)
        await until(lambda: recorder.next_seq > 3)
        second = await start(folder, "shipper", "--drain")
        assert await asyncio.wait_for(second.wait(), 60) == 75
        runner.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(runner.wait(), 60) == 0


async def test_drain_gives_up(tmp_path: Path, broker: Broker) -> None:
    """With no broker a drain ends after its time with 3 and keeps everything."""
    folder = make_run(tmp_path, broker, parameters={"events": 500, "rate": 0}, drain_s=0.5)
    broker.kill()
    runner = await start(folder)
    assert await asyncio.wait_for(runner.wait(), 60) == 0
    assert report(folder).phase == "not_drained"
    drain = await start(folder, "shipper", "--drain", "--timeout", "0.5")
    assert await asyncio.wait_for(drain.wait(), 60) == 3
    broker.start()
    async with StubRecorder(broker.url, RUN_ID) as recorder:
        drain = await start(folder, "shipper", "--drain", "--timeout", "10")
        assert await asyncio.wait_for(drain.wait(), 60) == 0
        assert check_values(recorder.records, spec_of(folder)) == 503


async def test_purged_stream_is_sent_again(tmp_path: Path, broker: Broker) -> None:
    """Messages that are purged before they were stored go again, although broker and connection stay up and the
    broker still remembers their ids."""
    parameters = {"events": 5_000, "rate": 0}
    folder = make_run(tmp_path, broker, parameters=parameters, drain_s=40.0)
    async with StubRecorder(broker.url, RUN_ID, commits=False) as blind:
        runner = await start(folder)
        await blind.until(5_003)
        assert blind.client is not None
        await blind.client.jetstream().purge_stream(subjects.EVENTS_STREAM)
    async with StubRecorder(broker.url, RUN_ID) as recorder:
        assert await asyncio.wait_for(runner.wait(), 60) == 0
        check_values(recorder.records, spec_of(folder))
    assert report(folder).phase == "drained"
