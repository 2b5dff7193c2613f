"""Runs whose folder is on another machine: one start, files and the end come over the broker, real processes."""

import asyncio
import gc
import hashlib
import json
import os
import shutil
import signal
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from nats.aio.client import Client, RawCredentials
from tests.node_stack import SECRET, NodeStack, node_stack
from tests.records import make_report
from tests.stack import until

from mosaic_base.broker_tls import tls_options
from mosaic_contracts import launch, subjects
from mosaic_contracts.launch import ExitPhase, ExitReport
from mosaic_contracts.nodes import (
    BEGUN_FILE,
    EARLIER_LOGS,
    Begun,
    ExitNotice,
    FilePart,
    NodeVerb,
    is_shipped,
)
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.shipper_messages import Reply
from mosaic_contracts.states import RunState
from mosaic_scheduler.nodes.received import INCOMING_DIR, ReceivedFiles, log_bytes
from mosaic_servicekit.testing import TestBroker

pytestmark = [
    pytest.mark.timeout(180),
    # nats-py 2.16 closes no transport whose server goes in a TLS handshake; the garbage collector does.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.skipif(
        shutil.which("openssl") is None, reason="NOT TESTED: no openssl to make a certificate with"
    ),
]
BEGUN_ELSEWHERE = 76
UNANSWERED = 75


@pytest.fixture(autouse=True)
def _unclosed_transports(request: pytest.FixtureRequest) -> Iterator[None]:
    """Collect what nats-py leaves to the garbage collector when a server goes in a TLS handshake."""
    yield
    if request.node.get_closest_marker("broker") is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def tls_broker(tmp_path: Path) -> Iterator[TestBroker]:
    """A broker with accounts and TLS."""
    with TestBroker(tmp_path / "home", secure=True, tls_hosts=["127.0.0.1"]) as running:
        yield running


@pytest.fixture
async def nodes(tls_broker: TestBroker, tmp_path: Path, venvs: Path) -> AsyncIterator[NodeStack]:
    """What serves runs on other machines."""
    async with node_stack(tls_broker, tmp_path, venvs) as stack:
        yield stack


async def _end(process: asyncio.subprocess.Process) -> int:
    return await asyncio.wait_for(process.wait(), 90)


@pytest.mark.broker
async def test_a_run_that_shares_nothing_is_known_whole(nodes: NodeStack) -> None:
    """Its events, log, checkpoints, secrets and end pass over the broker; nothing secret is carried to it."""
    await nodes.submit(events=400, save_every=150)
    there = nodes.carry("n1")
    assert not (there / "control/secrets").exists()
    carried = "".join(path.read_text() for path in there.rglob("*") if path.is_file())
    assert SECRET not in carried
    runner = await nodes.start(there)
    assert await _end(runner) == 0
    report = nodes.report()
    assert report is not None
    assert (report.phase, report.code) == (ExitPhase.DRAINED, 0)
    assert nodes.reconcile.is_set()
    assert (there / "control/secrets/key").read_text() == SECRET
    seqs = [event["seq"] for event in nodes.recorder.of(nodes.ref.run_id, "worker")]
    assert seqs == list(range(1, len(seqs) + 1))
    assert len(seqs) > 400
    shipped = {
        path.relative_to(there).as_posix(): path.read_bytes()
        for path in there.rglob("*")
        if path.is_file() and is_shipped(path.relative_to(there).as_posix())
    }
    logs = {launch.RUNNER_LOG, launch.SHIPPER_LOG}  # they go on after the last look
    assert shipped.keys() >= {launch.WORKER_LOG, launch.MANIFEST_FILE}
    assert any(path.startswith("checkpoints/") for path in shipped)
    for path, data in shipped.items():
        here = (nodes.here.path / path).read_bytes()
        assert data.startswith(here) if path in logs else data == here


@pytest.mark.broker
async def test_nothing_is_left_on_the_node(nodes: NodeStack) -> None:
    """A run whose files are all here clears its folder there."""
    await nodes.submit(events=50)
    there = nodes.carry("n1", clears_folder=True)
    assert await _end(await nodes.start(there)) == 0
    assert not there.exists()
    assert nodes.report() is not None


@pytest.mark.broker
async def test_an_attempt_is_granted_once(nodes: NodeStack) -> None:
    """A second runner of the same attempt, on another node, ends with 76 and starts no worker."""
    await nodes.submit(events=100, rate=50.0)
    first = await nodes.start(nodes.carry("n1"))

    async def is_granted() -> bool:
        return nodes.here.begun() is not None

    await until(is_granted)
    there = nodes.carry("n2")
    second = await nodes.start(there)
    assert await _end(second) == BEGUN_ELSEWHERE
    assert not (there / launch.WORKER_LOG).exists()
    assert "was begun before" in (there / launch.RUNNER_LOG).read_text()
    assert await _end(first) == 0
    # An attempt that is handed over once more keeps its grant.
    begun = nodes.here.begun()
    await asyncio.to_thread(nodes.here.prepare, nodes.launch_spec)
    assert nodes.here.has_lock_file()
    assert nodes.here.begun() == begun


@pytest.mark.broker
async def test_a_run_that_has_ended_does_not_begin(nodes: NodeStack) -> None:
    """A job that waited while its run was cancelled ends with 76."""
    await nodes.submit(events=10)
    run = await nodes.store.get(nodes.ref.run_id)
    assert run is not None
    await nodes.store.write(run.record, state=RunState.CANCELLED)
    assert await _end(await nodes.start(nodes.carry("n1"))) == BEGUN_ELSEWHERE


@pytest.mark.broker
async def test_an_attempt_that_is_over_stops_and_keeps_its_files(nodes: NodeStack) -> None:
    """A worker whose attempt the stack ended is asked to stop once; what was not sent stays on the node."""
    await nodes.submit(events=100_000, rate=100.0, save_every=50)
    there = nodes.carry("n1", clears_folder=True)
    runner = await nodes.start(there)

    async def has_events() -> bool:
        return bool(nodes.recorder.of(nodes.ref.run_id, "worker"))

    await until(has_events)
    run = await nodes.store.get(nodes.ref.run_id)
    assert run is not None
    await nodes.store.write(run.record, state=RunState.CANCELLED)
    assert await _end(runner) == 0
    assert nodes.report() is None
    report = ExitReport.model_validate_json((there / launch.EXIT_FILE).read_bytes())
    assert report.phase is ExitPhase.NOT_DRAINED
    assert (report.stop_signal_sent, report.killed_after_grace) == (True, False)
    assert (there / launch.WORKER_LOG).exists()
    assert not (there / "control/secrets").exists()


@pytest.mark.broker
@pytest.mark.parametrize("second", ["n1", "n2"], ids=["the same node", "another node"])
async def test_the_log_of_a_second_attempt_follows_the_first(nodes: NodeStack, second: str) -> None:
    """No line is lost or doubled, whether the node still has the folder of the first attempt or not."""
    await nodes.submit()
    first = nodes.carry("n1", worker_argv=["sh", "-c", "echo first"])
    assert await _end(await nodes.start(first)) == 0
    await nodes.submit_again()
    there = nodes.carry(second, worker_argv=["sh", "-c", "echo second"])
    assert await _end(await nodes.start(there)) == 0
    assert (nodes.here.path / launch.WORKER_LOG).read_text() == "first\nsecond\n"
    events = [
        json.loads(line)["event"]
        for line in (nodes.here.path / launch.RUNNER_LOG).read_text().splitlines()
    ]
    assert events.count("begin.granted") == 2
    aside = nodes.here.path / EARLIER_LOGS / "before_2/worker.log"
    assert aside.exists() == (second == "n1")


@pytest.mark.broker
@pytest.mark.parametrize("is_lost", [True, False], ids=["a file", "a link"])
async def test_a_file_that_cannot_be_sent_is_named(nodes: NodeStack, is_lost: bool) -> None:
    """The run says which file stays on its node, which keeps the folder; all others are here."""
    await nodes.submit()
    name = r"\377.txt" if is_lost else "linked"
    script = f"""
        mkdir files; echo data >files/model.tmp; name="$(printf 'files/{name}')"
        {'echo data >"$name"' if is_lost else 'ln -s model.tmp "$name"'}
    """
    there = nodes.carry("n1", clears_folder=True, worker_argv=["sh", "-c", script])
    assert await _end(await nodes.start(there)) == 0
    report = nodes.report()
    assert report is not None
    assert report.phase is (ExitPhase.NOT_DRAINED if is_lost else ExitPhase.DRAINED)
    assert len(report.notes) == 1
    assert (r"\xff.txt" if is_lost else "linked") in report.notes[0]
    assert (nodes.here.path / "files/model.tmp").read_text() == "data\n"
    assert there.exists() == is_lost
    assert not (there / "control/secrets").exists()


@pytest.mark.broker
async def test_without_an_answer_nothing_starts(nodes: NodeStack) -> None:
    """While no stack answers the runner waits, and ends with 75 after its time."""
    await nodes.submit(events=10)
    there = nodes.carry("n1", begin_s=1.0)
    nodes.broker.kill()
    assert await _end(await nodes.start(there)) == UNANSWERED
    assert not (there / launch.WORKER_LOG).exists()
    nodes.broker.start()


@pytest.mark.broker
async def test_a_run_without_its_broker_stops_itself(nodes: NodeStack) -> None:
    """After `orphan_s` without the broker the run stops politely; its end says why once the broker is back."""
    await nodes.submit(events=100_000, rate=100.0)
    there = nodes.carry("n1", orphan_s=1.0)
    runner = await nodes.start(there)

    async def has_events() -> bool:
        return bool(nodes.recorder.of(nodes.ref.run_id, "worker"))

    await until(has_events)
    nodes.broker.kill()

    async def ended() -> bool:
        return (there / launch.EXIT_FILE).exists()

    await until(ended)
    nodes.broker.start()
    assert await _end(runner) == 0
    report = nodes.report()
    assert report is not None
    assert report.stop_signal_sent
    assert any("did not reach the broker" in note for note in report.notes)


@pytest.mark.broker
async def test_credentials_are_renewed_over_the_broker(
    tls_broker: TestBroker, tmp_path: Path, venvs: Path
) -> None:
    """A run that lives longer than its credentials asks for others in time, and loses nothing."""
    async with node_stack(tls_broker, tmp_path, venvs, lifetime_s=20.0) as nodes:
        await nodes.submit(lifetime_s=20.0, events=500, rate=20.0)
        there = nodes.carry("n1")
        assert await _end(await nodes.start(there)) == 0
        log = [json.loads(line) for line in (there / launch.SHIPPER_LOG).read_text().splitlines()]
        assert [each for each in log if each["event"] == "credentials.renewed"]
        report = nodes.report()
        assert report is not None
        assert report.phase is ExitPhase.DRAINED
        assert len(nodes.recorder.of(nodes.ref.run_id, "worker")) >= 500


@pytest.mark.broker
async def test_the_last_word_of_a_run_is_not_taken_back(nodes: NodeStack) -> None:
    """The end of the worker and that of the drain may be handled at the same time; the later phase is kept."""
    await nodes.submit()
    (nodes.here.path / BEGUN_FILE).write_text(Begun(attempt=1, claim="c").model_dump_json())
    run_id = nodes.ref.run_id
    client = Client()
    await client.connect(
        nodes.broker.url,
        inbox_prefix=subjects.inbox_prefix(run_id),
        user_credentials=RawCredentials((nodes.here.path / launch.CREDS_FILE).read_text()),
        **tls_options(nodes.broker.url, (nodes.broker.ca or Path()).read_text()),
    )
    try:
        for _ in range(30):
            (nodes.here.path / launch.EXIT_FILE).unlink(missing_ok=True)
            asked = []
            for phase in (ExitPhase.WORKER_ENDED, ExitPhase.DRAINED, ExitPhase.WORKER_ENDED):
                report = make_report(run_id=run_id, phase=phase)
                notice = ExitNotice(attempt=1, claim="c", report=report).model_dump_json()
                subject = subjects.node(run_id, NodeVerb.EXIT)
                asked.append(client.request(subject, notice.encode(), timeout=30))
            answers = [
                Reply.model_validate_json(each.data) for each in await asyncio.gather(*asked)
            ]
            assert [each.problem for each in answers] == [None] * 3
            kept = nodes.report()
            assert kept is not None
            assert kept.phase is ExitPhase.DRAINED
    finally:
        await client.close()


@pytest.mark.broker
async def test_a_shipper_that_is_killed_goes_on_with_the_files(nodes: NodeStack) -> None:
    """Its successor sends what is missing, no byte of a log twice, and the end comes."""
    await nodes.submit(events=600, rate=200.0)
    there = nodes.carry("n1")
    runner = await nodes.start(there)

    async def has_log() -> bool:
        return (nodes.here.path / launch.SHIPPER_LOG).exists()

    await until(has_log)
    pid = json.loads((there / launch.RUNNER_FILE).read_text())["shipper_pid"]
    os.kill(pid, signal.SIGKILL)
    assert await _end(runner) == 0
    sent = (nodes.here.path / launch.SHIPPER_LOG).read_bytes()
    assert (there / launch.SHIPPER_LOG).read_bytes().startswith(sent)
    report = nodes.report()
    assert report is not None
    assert report.phase is ExitPhase.DRAINED


@pytest.mark.parametrize(
    "path",
    [
        *("../x", "/etc/passwd", "control/exit.json", "outbox/1/x", "inputs/a", "spec.json"),
        *("a//b", "", "no-utf8-\udcff"),
    ],
)
def test_no_file_gets_beyond_what_a_node_may_send(tmp_path: Path, path: str) -> None:
    """Control files, the outbox, inputs and everything outside of the folder are refused."""
    assert not is_shipped(path)
    part = FilePart.model_construct(attempt=1, path=path, offset=0, total=None)
    with pytest.raises(ProblemError, match="no file that a run"):
        ReceivedFiles(0).take(tmp_path, part, b"x")


def test_a_part_that_leaves_a_hole_is_not_written(tmp_path: Path) -> None:
    """The answer says how much is here, and a part that comes twice changes nothing."""
    files, log = ReceivedFiles(0), FilePart(attempt=1, path="logs/worker.log")
    assert files.take(tmp_path, log, b"one\n").bytes == 4
    assert files.take(tmp_path, log.model_copy(update={"offset": 9}), b"x").bytes == 4
    assert files.take(tmp_path, log, b"one\n").bytes == 4
    assert (tmp_path / "logs/worker.log").read_bytes() == b"one\n"


def test_a_file_has_one_draft(tmp_path: Path) -> None:
    """A new try removes what a broken one left, and a late part of the broken one is not taken."""
    files = ReceivedFiles(0)
    first = FilePart(attempt=1, path="checkpoints/a", total=4, transfer="1" * 16)
    second = first.model_copy(update={"transfer": "2" * 16})
    other = first.model_copy(update={"path": "checkpoints/b"})
    for part in (first, other, second):
        assert files.take(tmp_path, part, b"on").bytes == 2
    incoming = tmp_path / INCOMING_DIR
    assert len(list(incoming.iterdir())) == 2
    assert files.take(tmp_path, first.model_copy(update={"offset": 2}), b"xx").bytes == 0
    digest = hashlib.sha256(b"once").hexdigest()
    last = second.model_copy(update={"offset": 2, "sha256": digest})
    assert files.take(tmp_path, last, b"ce").bytes == 4
    assert (tmp_path / "checkpoints/a").read_bytes() == b"once"
    assert len(list(incoming.iterdir())) == 1


def test_a_log_goes_on_where_earlier_attempts_ended(tmp_path: Path) -> None:
    """Offsets are those of the node's file; a log that was cut here keeps the place of what follows."""
    files, part = ReceivedFiles(0), FilePart(attempt=2, path="logs/worker.log")
    log = tmp_path / part.path
    files.take(tmp_path, part, b"first\n")
    assert log_bytes(tmp_path) == {part.path: 6}
    assert files.take(tmp_path, part, b"", 6).bytes == 0
    assert files.take(tmp_path, part, b"second\n", 6).bytes == 7
    assert log.read_bytes() == b"first\nsecond\n"
    os.truncate(log, 2)
    assert files.take(tmp_path, part, b"second\n", 6).bytes == 7
    assert log.read_bytes() == b"fi\0\0\0\0second\n"


@pytest.mark.parametrize("path", ["made/a", "made", "link/a", "logs/" + "x" * 256])
def test_a_path_that_cannot_be_used_is_refused(tmp_path: Path, path: str) -> None:
    """A file where a folder is, the other way round, a link or a long name: only this path is refused."""
    (tmp_path / "link").symlink_to(tmp_path / "absent")
    if path == "made":
        (tmp_path / "made").mkdir()
    else:
        (tmp_path / "made").touch()
    for part in (
        FilePart(attempt=1, path=path),
        FilePart(
            attempt=1,
            path=path,
            total=1,
            transfer="1" * 16,
            sha256=hashlib.sha256(b"x").hexdigest(),
        ),
    ):
        with pytest.raises(ProblemError) as refused:
            ReceivedFiles(0).take(tmp_path, part, b"x")
        assert refused.value.problem.code is ProblemCode.REQUEST_INVALID
    assert not list((tmp_path / INCOMING_DIR).glob("*"))


def test_a_file_with_a_wrong_digest_is_sent_again(tmp_path: Path) -> None:
    """Nothing of it is kept, and the next try is taken."""
    digest = hashlib.sha256(b"x").hexdigest()
    files = ReceivedFiles(0)
    part = FilePart(attempt=1, path="a", total=1, transfer="1" * 16, sha256=digest)
    assert files.take(tmp_path, part, b"y").bytes == 0
    assert not (tmp_path / "a").exists()
    assert files.take(tmp_path, part.model_copy(update={"transfer": "2" * 16}), b"x").bytes == 1
    assert (tmp_path / "a").read_bytes() == b"x"


def test_subjects_of_nodes_name_run_and_verb() -> None:
    """The identity of a run is that of the subject."""
    run_id = "01K5ZZZZZZZZZZZZZZZZZZZZZZ"
    assert subjects.node_verb(subjects.node(run_id, "exit")) == (run_id, "exit")
    with pytest.raises(ValueError, match="not a run id"):
        subjects.node_verb("mosaic.v1.node.x.exit")


@pytest.mark.broker
async def test_a_run_that_was_stopped_before_it_began_does_not_begin(nodes: NodeStack) -> None:
    """An engine that keeps a stop until it has a node starts the job all the same: it is not granted."""
    await nodes.submit(events=10)
    nodes.here.mark_stop()
    runner = await nodes.start(nodes.carry("n1"))
    assert await _end(runner) == BEGUN_ELSEWHERE
    assert nodes.here.begun() is None
