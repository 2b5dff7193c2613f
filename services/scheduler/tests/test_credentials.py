"""A run's credentials on a real broker: renewed when they are refused, and the run says so meanwhile."""

import asyncio
from pathlib import Path

import pytest
from nats.errors import Error as NatsError
from tests.records import ManualClock
from tests.stack import Stack, file_exists, until

from mosaic_contracts.launch import (
    CREDS_FILE,
    EXIT_FILE,
    SHIPPER_LOG,
    SHIPPER_STATE_FILE,
    ShipperState,
)
from mosaic_contracts.problems import ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import RunRequest
from mosaic_contracts.states import RunState
from mosaic_scheduler.credentials.renewal import CredentialRenewal
from mosaic_scheduler.executors.protocol import AttemptRef
from mosaic_servicekit.account import REVOKED_FILE
from mosaic_servicekit.broker import init_broker
from mosaic_servicekit.broker_clock import BrokerClock
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.credentials import RENEW_AFTER_S, RunSigner
from mosaic_servicekit.creds_file import CredsFile
from mosaic_servicekit.ulid import RunIdSource
from mosaic_servicekit.visit import visit

NOTE = "refuses this run's credentials"
REF = AttemptRef(RunIdSource().next(), 1)


async def told_notes(stack: Stack, run_id: str) -> list[str]:
    """The run's notes once it says that it is refused; it may say so for a second only."""
    notes: list[str] = []
    asked = RunRequest(run_id=run_id)

    async def says_so() -> bool:
        try:
            record = await stack.bus.request("scheduler", "get", asked, RunRecord, timeout_s=0.2)
        except ProblemError:
            return False  # the broker has just come back
        notes[:] = record.notes
        assert not record.unresponsive
        return any(NOTE in note for note in notes)

    await until(says_so)
    return notes


@pytest.mark.nightly
@pytest.mark.broker
@pytest.mark.timeout(90)
async def test_expired_credentials_are_renewed_and_the_run_says_so(stack: Stack) -> None:
    """A run whose credentials have expired has a note, gets new ones, and loses nothing."""
    run = await stack.submit(parameters={"rate": 200.0, "events": 900})
    await stack.wait_state(run.run_id, RunState.RUNNING)
    creds = stack.home / run.run_dir / CREDS_FILE
    stack.broker.signer().write_creds(run.run_id, creds, lifetime_s=-10)
    expired = creds.read_text()
    stack.broker.restart()
    saying = asyncio.create_task(told_notes(stack, run.run_id))
    # nats-py's ordered consumer notices only after half a minute that its broker was another one.
    await stack.recorder.close()
    await stack.recorder.open()
    assert "authorization violation" in " ".join(await saying)
    await stack.wait(run.run_id, lambda record: not any(NOTE in n for n in record.notes))
    assert creds.read_text() != expired
    ended = await stack.wait_end(run.run_id)
    assert ended.state is RunState.SUCCEEDED, ended.end
    await stack.wait(run.run_id, lambda record: not record.telemetry_pending)
    worker = stack.recorder.of(run.run_id, "worker")
    assert [event["seq"] for event in worker] == list(range(1, 904))
    assert not (stack.home / run.run_dir / SHIPPER_STATE_FILE).exists()


async def refused(stack: Stack, creds: Path) -> None:
    """Wait until the broker refuses these credentials."""

    async def is_refused() -> bool:
        try:
            async with visit(stack.broker.url, REF.run_id, "test", CredsFile(creds)):
                return False
        except NatsError as error:
            return "authorization violation" in str(error).lower()

    await until(is_refused)


@pytest.mark.broker
@pytest.mark.timeout(90)
async def test_credentials_of_an_ended_run_are_useless(stack: Stack) -> None:
    """Once all of a run is stored the broker refuses what it had, after its own restart too; other runs go on."""
    other = await stack.submit(parameters={"rate": 100.0})
    await stack.wait_state(other.run_id, RunState.RUNNING)
    run = await stack.submit(steps=100)
    creds = stack.home / run.run_dir / CREDS_FILE
    await stack.wait_end(run.run_id)
    await refused(stack, creds)
    assert len(stack.recorder.of(run.run_id, "worker")) == 103
    log = (stack.home / other.run_dir / SHIPPER_LOG).read_text()
    assert log.count("broker.connected") == 1, log
    stack.broker.restart()
    await refused(stack, creds)
    await until(stack.answers)
    await stack.wait_state(other.run_id, RunState.RUNNING)


@pytest.mark.broker
@pytest.mark.timeout(90)
async def test_a_scheduler_that_was_killed_revokes_what_it_missed(stack: Stack) -> None:
    """A run ends while there is no scheduler, and another one's end was written but not yet revoked: both are later."""
    early = await stack.submit(steps=100)
    await stack.wait_end(early.run_id)
    await refused(stack, stack.home / early.run_dir / CREDS_FILE)
    late = await stack.submit(parameters={"rate": 200.0, "events": 300})
    await stack.wait_state(late.run_id, RunState.RUNNING)
    await stack.kill_scheduler()
    await file_exists(stack.home / late.run_dir / EXIT_FILE)
    # As if the scheduler had been killed between the end and its revocation.
    (stack.home / REVOKED_FILE).unlink()
    stack.broker.restart()
    await stack.start_scheduler()
    for run in (early, late):
        await refused(stack, stack.home / run.run_dir / CREDS_FILE)


@pytest.fixture
def clock() -> ManualClock:
    """A clock."""
    return ManualClock()


@pytest.fixture
def broker_clock() -> BrokerClock:
    """The difference to a broker's clock, set by hand: the bus is never started."""
    return BrokerClock(Bus("nats://127.0.0.1:1", "scheduler"))


@pytest.fixture
def renewal(tmp_path: Path, clock: ManualClock, broker_clock: BrokerClock) -> CredentialRenewal:
    """The renewal of one run below `tmp_path`, which has its first credentials."""
    init_broker(tmp_path, 1, 2)
    made = CredentialRenewal(RunSigner.load(tmp_path), lambda _ref: tmp_path, broker_clock, clock)
    (tmp_path / "control").mkdir()
    made.renew(REF)
    assert made.look(REF) is None
    return made


def refuse(folder: Path, attempt: int = 1) -> None:
    """What a shipper says that the broker refuses."""
    state = ShipperState(attempt=attempt, refused="authorization violation", since=1.0)
    (folder / SHIPPER_STATE_FILE).write_text(state.model_dump_json())


def written_at(folder: Path) -> int:
    """When the credentials were written last, in nanoseconds: those of one second are the same."""
    return (folder / CREDS_FILE).stat().st_mtime_ns


def test_good_credentials_are_renewed_by_time(
    renewal: CredentialRenewal, clock: ManualClock, tmp_path: Path
) -> None:
    """Nothing is written before a third of the lifetime, and something after it."""
    first = written_at(tmp_path)
    clock.now += RENEW_AFTER_S - 1
    renewal.look(REF)
    assert written_at(tmp_path) == first
    clock.now += 2
    renewal.look(REF)
    assert written_at(tmp_path) != first


def test_stubborn_refusals_are_answered_less_and_less_often(
    renewal: CredentialRenewal, clock: ManualClock, tmp_path: Path
) -> None:
    """Renewals come at once, then after 5, 15 and 60 s; after the second one a note says that it does not help."""
    refuse(tmp_path)
    written, known = [], written_at(tmp_path)
    note: str | None = None
    for second in range(160):
        clock.now = 2000.0 + second
        note = renewal.look(REF)
        assert note is not None
        assert ("start the stack again" in note) == (second > 5), (second, note)
        if (last := written_at(tmp_path)) != known:
            written.append(second)
            known = last
    assert written == [0, 6, 22, 83, 144]
    (tmp_path / SHIPPER_STATE_FILE).unlink()
    assert renewal.look(REF) is None


@pytest.mark.parametrize(
    ("ahead_s", "is_the_cause"),
    [(None, False), (-7200.0, False), (600.0, False), (2400.0, True), (7200.0, True)],
)
def test_a_refusal_is_put_down_to_the_clocks_only_where_they_explain_it(
    renewal: CredentialRenewal,
    clock: ManualClock,
    broker_clock: BrokerClock,
    tmp_path: Path,
    ahead_s: float | None,
    is_the_cause: bool,
) -> None:
    """Below 40 min ahead, and behind, credentials are renewed before they expire, so the advice concerns the keys."""
    broker_clock.ahead_s = ahead_s
    refuse(tmp_path)
    for second in range(20):
        clock.now = 2000.0 + second
        note = renewal.look(REF)
    assert note is not None
    assert ("The broker's clock is" in note) == is_the_cause, note
    assert ("start the stack again" in note) != is_the_cause, note


SLOW_CLOCK = """
import time

wall = time.time
time.time = lambda: wall() - 7200
"""


@pytest.mark.broker
@pytest.mark.timeout(90)
async def test_a_broker_two_hours_ahead_is_named_on_the_run_and_loses_nothing(
    stack: Stack, tmp_path: Path
) -> None:
    """The run's note names both clocks and the difference; with the right time all that it wrote is recorded.

    The scheduler's clock is the one that is moved: a Go program takes its time from the kernel, where it cannot be.
    """
    (tmp_path / "sitecustomize.py").write_text(SLOW_CLOCK)
    await stack.kill_scheduler()
    right = dict(stack.environment)
    stack.environment["PYTHONPATH"] = str(tmp_path)
    await stack.start_scheduler()
    run = await stack.submit(parameters={"rate": 200.0, "events": 400})
    (note,) = await told_notes(stack, run.run_id)
    assert "The broker's clock is 2 h ahead of the scheduler's." in note
    assert "NTP" in note
    assert "start the stack again" not in note
    told = (await stack.status()).broker_ahead_s
    assert told is not None
    assert abs(told - 7200) < 30
    await stack.kill_scheduler()
    stack.environment = right
    await stack.start_scheduler()
    ended = await stack.wait_end(run.run_id)
    assert ended.state is RunState.SUCCEEDED, ended.end
    await stack.wait(run.run_id, lambda record: not record.telemetry_pending)
    worker = stack.recorder.of(run.run_id, "worker")
    assert [event["seq"] for event in worker] == list(range(1, 404))


def test_a_word_of_another_attempt_or_none_that_can_be_read_counts_for_nothing(
    renewal: CredentialRenewal, tmp_path: Path
) -> None:
    """The run folder is the worker's too: what is no word of this attempt's shipper is not believed."""
    refuse(tmp_path, attempt=2)
    assert renewal.look(REF) is None
    for made_up in (
        b"{",
        b"\xff",
        b'{"attempt": 1, "refused": "' + b"x" * 1000 + b'", "since": 1}',
    ):
        (tmp_path / SHIPPER_STATE_FILE).write_bytes(made_up)
        assert renewal.look(REF) is None
