"""What the scheduler and its runs write is readable for their user alone."""

import os
import stat
from pathlib import Path

import pytest
from tests.stack import Stack

from mosaic_scheduler.reconcile.takeover import close_home

FOLDERS = ("runs", "db", "cache")


def mode(path: Path) -> int:
    """Permission bits of a path."""
    return stat.S_IMODE(path.lstat().st_mode)


def open_paths(home: Path) -> list[str]:
    """What another user of the machine can reach and read below `home`."""
    found: list[str] = []
    for name in FOLDERS:
        for folder, folders, files in os.walk(home / name):
            where = Path(folder)
            if mode(where) & 0o077 == 0:
                folders.clear()  # closed, with all that is in it
                continue
            found.append(str(where))
            found += [str(where / name) for name in files if mode(where / name) & 0o077]
    return found


def umask_of(pid: int) -> int:
    """The umask of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("Umask:")).split()[1], 8)


@pytest.mark.broker
@pytest.mark.timeout(60)
async def test_runs_are_private_under_a_permissive_umask(stack: Stack) -> None:
    """Started with umask 000, the scheduler makes run folders 0700, and logs, sockets and control files 0600."""
    await stack.kill_scheduler()
    previous = os.umask(0)
    try:
        await stack.start_scheduler()
    finally:
        os.umask(previous)
    run = await stack.submit(steps=2000, parameters={"rate": 2000.0})
    await stack.wait_end(run.run_id)
    folder = stack.worker_file(run.run_id, ".")
    assert open_paths(stack.home) == []
    assert [mode(folder), mode(folder / "control"), mode(folder / "logs")] == [0o700] * 3
    assert {mode(path) for path in (folder / "logs").iterdir()} == {0o600}
    assert {mode(path) for path in (folder / "control").iterdir() if not path.is_dir()} == {0o600}


def test_a_home_of_an_older_version_is_closed(tmp_path: Path) -> None:
    """Folders that an older version left open are closed at the start; a link in place of a run is not followed."""
    elsewhere = tmp_path / "elsewhere"
    for folder in (*(tmp_path / name for name in FOLDERS), tmp_path / "runs" / "a", elsewhere):
        folder.mkdir()
        folder.chmod(0o755)
    (tmp_path / "runs" / "link").symlink_to(elsewhere)
    (tmp_path / "runs" / "file").touch()
    close_home(tmp_path)
    assert open_paths(tmp_path) == []
    assert mode(tmp_path / "runs" / "a") == 0o700
    assert mode(elsewhere) == 0o755
    close_home(tmp_path / "absent")


@pytest.mark.nightly
@pytest.mark.broker
@pytest.mark.timeout(60)
async def test_a_worker_keeps_the_umask_of_its_user(stack: Stack, tmp_path: Path) -> None:
    """What a user's program makes elsewhere has the modes that the user's umask gives, not the scheduler's."""
    await stack.kill_scheduler()
    previous = os.umask(0o002)
    try:
        await stack.start_scheduler()
    finally:
        os.umask(previous)
    run = await stack.submit(parameters={"rate": 200.0, "events": 1_000_000})
    await stack.wait(run.run_id, lambda record: record.state == "running")
    worker = stack.process(run.run_id, "mosaic_workerkit.testing.synthetic")
    assert umask_of(worker.pid) == 0o002
    await stack.stop(run.run_id)
    await stack.wait_end(run.run_id)
