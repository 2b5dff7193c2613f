"""The disk guard: levels of volumes, and runs that wait or stop, on a real small file system."""

import contextlib
import itertools
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.homes import make_home
from tests.records import NOW, make_record, make_report
from tests.stack import Stack, until

from mosaic_contracts.deletion import DeletionReport
from mosaic_contracts.problems import ProblemError
from mosaic_contracts.runs import RunRecord, StoredSpec
from mosaic_contracts.services import DeleteRequest, PatchRequest, RunRequest
from mosaic_contracts.spec import RestartPolicy
from mosaic_contracts.stack import SPARE_FILE
from mosaic_contracts.states import EndCause, RunState
from mosaic_contracts.storage_words import VolumeLevel
from mosaic_scheduler.disk.level import SpaceLimits, next_level
from mosaic_scheduler.disk.spare import PORTION_BYTES, SPARE_BYTES, SpareSpace
from mosaic_scheduler.disk.volume import VolumeUse, look_at_volumes
from mosaic_scheduler.executors.protocol import AttemptPhase, AttemptStatus
from mosaic_scheduler.reconcile.decision import EndRun, Facts, Restart, decide
from mosaic_scheduler.settings import SchedulerSettings
from mosaic_servicekit.errors import SettingsInvalid
from mosaic_servicekit.testing import TestBroker

MIB = 2**20
OK, LOW, CRITICAL = VolumeLevel.OK, VolumeLevel.LOW, VolumeLevel.CRITICAL
LIMITS = SpaceLimits(low=1000, critical=500)
SAVES = {"rate": 500.0, "save_every": 100}
SIZE = 256 * MIB
RESERVE, CRITICAL_BYTES, LOW_BYTES = 16 * MIB, 60 * MIB, 120 * MIB


@pytest.mark.parametrize(
    ("free", "before", "level"),
    [
        (1000, OK, OK),
        (999, OK, LOW),
        (1099, LOW, LOW),
        (1100, LOW, OK),
        (499, OK, CRITICAL),
        (500, LOW, LOW),
        (549, CRITICAL, CRITICAL),
        (550, CRITICAL, LOW),
        (1099, CRITICAL, LOW),
        (1100, CRITICAL, OK),
    ],
)
def test_a_level_is_left_above_its_limit(
    free: int, before: VolumeLevel, level: VolumeLevel
) -> None:
    """A level begins below its limit, and is left a tenth above it."""
    assert next_level(free, LIMITS, before) is level


def test_folders_of_one_volume_are_one_volume(tmp_path: Path) -> None:
    """Volumes are found by device number; a folder that is not there has none."""
    (tmp_path / "runs").mkdir()
    places = {
        VolumeUse.HOME: tmp_path,
        VolumeUse.RUNS: tmp_path / "runs",
        VolumeUse.STORE: tmp_path / "db",
    }
    (volume,) = look_at_volumes(places, LIMITS, {})
    assert (volume.path, volume.label, volume.level) == (tmp_path, "data folder, runs", OK)
    assert (volume.message, volume.holds_up_starts, volume.stops_runs) == ("", False, False)
    (full,) = look_at_volumes(places, SpaceLimits(2**62, 2**62), {})
    assert (full.level, full.holds_up_starts, full.stops_runs) == (CRITICAL, True, True)
    assert str(tmp_path) in full.message
    assert "./mosaic gc" in full.message


def test_a_volume_without_data_stops_no_run(tmp_path: Path) -> None:
    """Limits of a volume for temporary files are shares of its size; new runs wait for it, others go on."""
    limits = SpaceLimits(2**62, 2**62)
    (volume,) = look_at_volumes({VolumeUse.TEMPORARY: tmp_path}, limits, {})
    assert volume.limits.low == int(volume.total_bytes * 0.05)
    assert not volume.stops_runs
    (other,) = look_at_volumes({VolumeUse.ENVIRONMENTS: tmp_path}, limits, {})
    assert not other.holds_up_starts


def test_limits_follow_from_the_reserve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without settings of their own they are multiples of the reserve; new runs wait before others stop."""
    monkeypatch.setenv("MOSAIC_DISK_RESERVE_BYTES", "1000")
    settings = SchedulerSettings.load()
    assert (settings.low_bytes, settings.critical_bytes) == (3000, 1500)
    monkeypatch.setenv("MOSAIC_DISK_LOW_BYTES", "1499")
    with pytest.raises(SettingsInvalid, match="MOSAIC_DISK_LOW_BYTES"):
        SchedulerSettings.load()
    monkeypatch.setenv("MOSAIC_DISK_CRITICAL_BYTES", "0")
    assert SchedulerSettings.load().critical_bytes == 0


ENDED = AttemptStatus(AttemptPhase.ENDED, make_report(stop_signal_sent=True))
STOPPING = make_record(RunState.STOPPING, first_event_at=NOW, stop_requested=EndCause.DISK_LOW)


def test_a_run_that_stopped_for_the_disk_is_interrupted() -> None:
    """Its end says why and what to do; with `restart: on_interrupt` another attempt follows."""
    action = decide(STOPPING, Facts(ENDED))
    assert isinstance(action, EndRun)
    assert (action.state, action.end.cause) == (RunState.INTERRUPTED, EndCause.DISK_LOW)
    assert "nearly full" in action.end.message
    assert "./mosaic resume" in action.end.message
    spec = {**STOPPING.spec.model_dump(), "restart": RestartPolicy.ON_INTERRUPT}
    restarting = STOPPING.model_copy(update={"spec": StoredSpec.model_validate(spec)})
    for facts in (Facts(ENDED), Facts(AttemptStatus(AttemptPhase.ABSENT))):
        again = decide(restarting, facts)
        assert isinstance(again, Restart)
        assert "continues when there is room" in again.why


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system."""
    folder = tmp_path / "disk"
    folder.mkdir()
    size = f"size={SIZE}"
    mounted = os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)], check=False
    ).returncode == 0  # fmt: skip
    if not mounted:
        pytest.skip("needs the right to mount a small file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
async def small_stack(small_disk: Path, stack_venvs: Path) -> AsyncIterator[Stack]:
    """A stack whose data are on the small file system."""
    home = make_home(small_disk / "home")
    with TestBroker(home, secure=True) as broker:
        running = Stack(home, stack_venvs, broker)
        running.environment |= {
            "MOSAIC_DISK_RESERVE_BYTES": str(RESERVE),
            "MOSAIC_DISK_CRITICAL_BYTES": str(CRITICAL_BYTES),
            "MOSAIC_DISK_LOW_BYTES": str(LOW_BYTES),
        }
        try:
            await running.open()
            yield running
        finally:
            await running.close()


class Ballast:
    """A file that takes space."""

    def __init__(self, stack: Stack) -> None:
        self._path = stack.home.parent / "ballast"

    def leave(self, free_bytes: int) -> None:
        """Take as much as leaves so much free."""
        now = os.statvfs(self._path.parent)
        self._path.touch()
        taken = self._path.stat().st_size
        size = taken + now.f_bavail * now.f_frsize - free_bytes
        with self._path.open("r+b") as file:
            if size < taken:
                file.truncate(size)
            else:
                os.posix_fallocate(file.fileno(), taken, size - taken)

    def fill(self) -> None:
        """Take every byte, also what was freed since."""
        with self._path.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(65536))

    def remove(self) -> None:
        """Give all of it back."""
        self._path.unlink()


async def level_of(stack: Stack, level: VolumeLevel) -> None:
    """Wait until the volume of the data has this level."""

    async def has_level() -> bool:
        return (await stack.status()).volumes[0].level is level

    await until(has_level)


async def takes_no_change(stack: Stack, run_id: str, ballast: Ballast) -> None:
    """Wait until the scheduler's database is full: what its log has room for is still written."""

    notes = itertools.count()

    async def is_refused() -> bool:
        ballast.fill()
        note = f"{next(notes)}".ljust(5000, "x")
        try:
            await stack.ask("patch", PatchRequest(run_id=run_id, patch={"note": note}))
        except ProblemError as error:
            return error.problem.status == 503
        return False

    await until(is_refused)


async def takes_no_line(stack: Stack, run_id: str, ballast: Ballast) -> None:
    """Wait until the scheduler's log is full: it does not grow while the scheduler has to log."""
    log = stack.home / "scheduler.log"

    async def is_full() -> bool:
        ballast.fill()
        before = log.stat().st_size
        for _ in range(20):
            await stack.recorder.publish_invalid(run_id)
            await stack.status()
        return log.stat().st_size == before

    await until(is_full)


async def waits_for_space(stack: Stack, run_id: str, attempt: int = 1) -> RunRecord:
    """Wait until a run waits for free space."""

    def waits(record: RunRecord) -> bool:
        is_queued = record.state is RunState.QUEUED and record.attempt == attempt
        return is_queued and (record.waiting_reason or "").startswith("disk ")

    return await stack.wait(run_id, waits)


async def saving(stack: Stack, **spec: Any) -> RunRecord:
    """A run that has saved a checkpoint and goes on."""
    run = await stack.submit(**{"parameters": SAVES, "steps": 100_000, **spec})
    await stack.wait_state(run.run_id, RunState.RUNNING)
    folder = stack.home / "runs" / run.run_id

    async def has_saved() -> bool:
        return bool(list(folder.glob("checkpoints/*.txt")))

    await until(has_saved)
    return run


async def restart_scheduler(stack: Stack) -> None:
    """kill -9, and another one."""
    await stack.kill_scheduler()
    await stack.start_scheduler()


@pytest.mark.broker
@pytest.mark.kill
@pytest.mark.timeout(120)
async def test_runs_wait_for_space_and_start_by_themselves(small_stack: Stack) -> None:
    """Low: a new run waits with that reason, also after a kill; with space again it runs."""
    ballast = Ballast(small_stack)
    ballast.leave(LOW_BYTES - 4 * MIB)
    await level_of(small_stack, LOW)
    run = await small_stack.submit(parameters={"events": 20})
    waiting = await waits_for_space(small_stack, run.run_id)
    assert "120 MiB" not in (waiting.waiting_reason or "")
    assert "132 MiB" in (waiting.waiting_reason or "")
    await restart_scheduler(small_stack)
    await waits_for_space(small_stack, run.run_id)
    (volume, *_) = (await small_stack.status()).volumes
    assert "runs" in volume.label
    assert "wait" in volume.message
    ballast.remove()
    assert (await small_stack.wait_end(run.run_id)).state is RunState.SUCCEEDED


@pytest.mark.broker
@pytest.mark.kill
@pytest.mark.timeout(120)
async def test_a_run_stops_with_a_checkpoint_before_the_disk_is_full(small_stack: Stack) -> None:
    """Critical: the run ends as interrupted with a last checkpoint, also when the scheduler is killed meanwhile."""
    run = await saving(small_stack)
    ballast = Ballast(small_stack)
    ballast.leave(CRITICAL_BYTES - 4 * MIB)
    await small_stack.wait(run.run_id, lambda r: r.state is not RunState.RUNNING)
    await restart_scheduler(small_stack)
    ended = await small_stack.wait_end(run.run_id)
    assert ended.end is not None
    assert (ended.state, ended.end.cause) == (RunState.INTERRUPTED, EndCause.DISK_LOW)
    assert "nearly full" in ended.end.message
    assert any("MiB were free" in note for note in ended.notes)
    ballast.remove()


@pytest.mark.broker
@pytest.mark.kill
@pytest.mark.timeout(180)
async def test_a_run_continues_when_there_is_space(small_stack: Stack) -> None:
    """With `restart: on_interrupt` it waits, through kills and a level that flaps, and continues at its checkpoint."""
    run = await saving(small_stack, restart="on_interrupt")
    ballast = Ballast(small_stack)
    ballast.leave(CRITICAL_BYTES - 4 * MIB)
    await waits_for_space(small_stack, run.run_id, attempt=2)
    await restart_scheduler(small_stack)
    await waits_for_space(small_stack, run.run_id, attempt=2)
    for free in (LOW_BYTES - 8 * MIB, CRITICAL_BYTES - 4 * MIB, LOW_BYTES - 4 * MIB):
        ballast.leave(free)
        await level_of(small_stack, CRITICAL if free < CRITICAL_BYTES else LOW)
        assert (await small_stack.get(run.run_id)).state is RunState.QUEUED
    ballast.remove()
    on = await small_stack.wait(run.run_id, lambda r: r.attempt == 2 and r.state.has_process)
    assert on.resumptions[0].checkpoint is not None
    assert on.stop_requested is None
    await small_stack.wait_state(run.run_id, RunState.RUNNING)


@pytest.mark.broker
@pytest.mark.timeout(120)
async def test_a_users_stop_takes_the_place_of_the_disks(small_stack: Stack) -> None:
    """A run that stops for the disk and is then stopped by its user does not continue."""
    parameters = {**SAVES, "hang": True}
    run = await saving(small_stack, restart="on_interrupt", parameters=parameters, grace_s=3.0)
    ballast = Ballast(small_stack)
    ballast.leave(CRITICAL_BYTES - 4 * MIB)
    await small_stack.wait_state(run.run_id, RunState.STOPPING)
    await small_stack.stop(run.run_id)
    ended = await small_stack.wait_end(run.run_id)
    assert (ended.state, ended.attempt) == (RunState.CANCELLED, 1)
    ballast.remove()


@pytest.mark.broker
@pytest.mark.timeout(180)
async def test_a_disk_without_a_free_byte_ends_no_service(small_stack: Stack) -> None:
    """Neither database nor log can be written: the scheduler goes on, and with space again the run gets its end."""
    run = await saving(small_stack, parameters={**SAVES, "hang": True}, grace_s=600.0)
    log = small_stack.home / "scheduler.log"
    ballast = Ballast(small_stack)
    ballast.fill()
    await level_of(small_stack, CRITICAL)
    await takes_no_change(small_stack, run.run_id, ballast)
    small_stack.end_runs()
    await takes_no_line(small_stack, run.run_id, ballast)
    await takes_no_change(small_stack, run.run_id, ballast)
    ballast.remove()
    ended = await small_stack.wait_end(run.run_id)
    # Failed: its worker could not write either, and ended by itself before it was killed.
    assert ended.state in (RunState.CRASHED, RunState.INTERRUPTED, RunState.FAILED)
    await small_stack.recorder.publish_invalid(run.run_id)  # its end may have been logged before

    async def tells_of_lost_lines() -> bool:
        return "log.lost" in log.read_text()

    await until(tells_of_lost_lines)
    assert await small_stack.kill_scheduler(signal.SIGTERM) == 0


@pytest.mark.broker
@pytest.mark.timeout(180)
async def test_a_run_is_deleted_on_a_disk_without_a_free_byte(small_stack: Stack) -> None:
    """The spare file is shortened for it; when there is space, the file is whole again."""
    run = await small_stack.submit(parameters={"events": 200, "save_every": 100})
    await small_stack.wait(run.run_id, lambda r: r.state.is_final and not r.telemetry_pending)
    spare = small_stack.home / SPARE_FILE
    await is_whole(spare)
    ballast = Ballast(small_stack)
    ballast.fill()
    await level_of(small_stack, CRITICAL)
    await takes_no_change(small_stack, run.run_id, ballast)
    assert spare.stat().st_size == SPARE_BYTES  # nothing but a deletion takes it
    await small_stack.ask("delete", DeleteRequest(run_id=run.run_id, now=True))

    async def is_gone() -> bool:
        request = RunRequest(run_id=run.run_id)
        answer = await small_stack.bus.request("scheduler", "deletion", request, DeletionReport)
        return answer.state == "gone"

    await until(is_gone)
    assert not (small_stack.home / "runs" / run.run_id).exists()
    assert spare.stat().st_size == SPARE_BYTES - PORTION_BYTES
    ballast.remove()
    await is_whole(spare)


async def is_whole(spare: Path) -> None:
    """Wait until the spare file has all of its bytes, on the disk."""

    def is_large() -> bool:
        return spare.exists() and spare.stat().st_blocks * 512 >= SPARE_BYTES

    async def has_all() -> bool:
        return is_large()

    await until(has_all)


def test_spare_space_is_given_up_in_portions_and_only_when_full(small_disk: Path) -> None:
    """With enough free nothing is given up, and no more than there is."""
    path = small_disk / "spare"
    spare = SpareSpace(path)
    spare.release()  # there is none yet
    spare.fill()
    spare.release()
    assert path.stat().st_size == SPARE_BYTES
    left = []
    for number in range(SPARE_BYTES // PORTION_BYTES + 1):
        with (
            (small_disk / f"ballast-{number}").open("wb", buffering=0) as file,
            contextlib.suppress(OSError),
        ):
            while True:
                file.write(bytes(4096))
        spare.release()
        left.append(path.stat().st_size)
    assert left == [SPARE_BYTES - PORTION_BYTES * n for n in (1, 2, 3, 4)] + [0]
    with pytest.raises(OSError, match="No space"):
        spare.fill()


def test_spare_space_is_no_link_to_elsewhere(tmp_path: Path) -> None:
    """A file that the user put there stays what it is."""
    target = tmp_path / "target"
    target.write_bytes(b"mine")
    (tmp_path / "spare").symlink_to(target)
    with pytest.raises(OSError, match="symbolic"):
        SpareSpace(tmp_path / "spare").fill()
    assert target.read_bytes() == b"mine"
