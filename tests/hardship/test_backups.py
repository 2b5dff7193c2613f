"""A backup is made while runs write at full speed, and restored as another stack on the same machine."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from audit import audit_synthetic
from stack_under_test import VENVS, StackUnderTest, running_stack, until

from mosaic_contracts.manifest_words import FileState
from mosaic_contracts.runs import RunView
from mosaic_contracts.stack_files import TELEMETRY_DB
from mosaic_contracts.states import EndCause, RunState
from mosaic_contracts.storage_words import PROFILES_FILE
from mosaic_contracts.wire import SOURCE_SUPERVISOR
from mosaic_store import open_reader
from mosaic_workerkit.outbox import OutboxReader, outbox_dir

pytestmark = pytest.mark.timeout(600)
RATE = 2_000
ONE_CHECKPOINT = """
automatic: false
default: one
profiles:
  one:
    rules:
      - {kind: checkpoint, keep_last: 1}
"""


@pytest.fixture(scope="module")
def stack() -> Iterator[StackUnderTest]:
    """A stack of its own: others would find its runs in their backups. Three runs may run at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MOSAIC_CPU_LIMIT", "3")
        with running_stack([]) as under_test:
            yield under_test


@pytest.fixture(autouse=True)
def stopped_runs(stack: StackUnderTest) -> Iterator[None]:
    """A test that fails leaves its cores to the next one."""
    yield
    stack.cli("stop", "--all")


def begin(stack: StackUnderTest, save_every: int = 0, **fields: object) -> RunView:
    """A run at speed, with some events in the store."""
    view = stack.submit(
        "synthetic",
        "synthetic",
        "Synthetic-v0",
        steps=100_000_000,
        parameters={"rate": RATE, "seconds": 600, "save_every": save_every},
        **fields,
    )
    stack.wait_stored(view.run_id, 2_000)
    return view


def stored_seq(stack: StackUnderTest, run_id: str) -> int:
    """Number of the last event of the worker that is stored."""
    summary = stack.run(run_id).summary
    assert summary is not None
    return max(mark.last_seq for mark in summary.sources if mark.source == "worker")


def back_up(stack: StackUnderTest, folder: Path) -> Path:
    """Make a backup with the command line."""
    target = folder / "backup.zip"
    done = stack.cli("backup", str(target))
    assert done.returncode == 0, done.stderr
    return target


@contextmanager
def restored(stack: StackUnderTest, backup: Path, home: Path) -> Iterator[StackUnderTest]:
    """The stack that comes out of a backup."""
    other = StackUnderTest(home, Path(stack.environ["MOSAIC_VENVS"]))
    shutil.rmtree(home)
    done = other.cli("backup", "restore", str(backup))
    assert done.returncode == 0, done.stderr
    try:
        other.start()
        other.wait_ready()
        yield other
    finally:
        other.stop()


def last_state(stack: StackUnderTest, run_id: str) -> str:
    """State of the run's last event about it."""
    with open_reader(stack.home / TELEMETRY_DB) as reader:
        page = reader.events(run_id, "", 5_000, ["lifecycle"])
    return [str(e["phase"]) for e in page.events if e["source"] == SOURCE_SUPERVISOR][-1]


def stop(stack: StackUnderTest, run_id: str) -> None:
    """End a run."""
    with stack.client() as client:
        client.stop(run_id)
    stack.wait_final(run_id)


def test_what_comes_out_of_a_backup(stack: StackUnderTest, tmp_path: Path) -> None:
    """Each kind of run, in one stack that is restored: its start and end take more than all that is looked at.

    Every event up to the backup is there once, a checkpoint resumes, and the run that was copied goes on here. A run
    that had ended before is what it was: state, end, summary and files. One with `restart: on_interrupt` goes on in the
    restored stack.
    """
    ended = begin(stack).run_id
    stop(stack, ended)
    run_id, saving = begin(stack).run_id, begin(stack, save_every=1_000).run_id
    restarting = begin(stack, save_every=1_000, restart="on_interrupt").run_id
    before = stored_seq(stack, run_id)
    backup = back_up(stack, tmp_path)
    for copied in (saving, restarting):
        stop(stack, copied)
    with restored(stack, backup, tmp_path / "home") as other:
        check_restarted(other, restarting)
        check_equal(stack, other, ended)
        view = other.wait_final(run_id)
        assert view.end is not None
        assert (view.state, view.end.cause) == (RunState.INTERRUPTED, EndCause.INTERRUPTED)
        assert "restored from a backup" in view.end.message
        assert audit_synthetic(other.home, run_id, view.spec) >= before
        assert last_state(other, run_id) == view.state
        with other.client() as client:
            resumed = client.resume(saving)
        assert resumed.spec.parent == saving
        other.wait_stored(resumed.run_id, 1_000)
        stop(other, resumed.run_id)
    assert stack.run(run_id).state is RunState.RUNNING, "the restored stack ended another one's run"
    stop(stack, run_id)


def check_restarted(other: StackUnderTest, run_id: str) -> None:
    """The next attempt of a run begins with the checkpoint of the backup; it is stopped afterwards."""
    until(
        lambda: other.run(run_id).attempt == 2 and other.run(run_id).state is RunState.RUNNING,
        "the second attempt runs",
        120,
    )
    assert other.run(run_id).resumptions[0].checkpoint is not None
    stop(other, run_id)


def check_equal(stack: StackUnderTest, other: StackUnderTest, run_id: str) -> None:
    """Compare an ended run in both stacks."""
    mine, theirs = stack.run(run_id), other.run(run_id)
    assert (theirs.state, theirs.end, theirs.summary) == (mine.state, mine.end, mine.summary)
    with stack.client() as here, other.client() as there:
        assert there.manifest(run_id).entries == here.manifest(run_id).entries


def test_what_the_recorder_has_not_stored_arrives(stack: StackUnderTest, tmp_path: Path) -> None:
    """It is in the outbox, which is copied before the store. The broker's stream is not copied at all."""
    run_id = begin(stack).run_id
    recorder = stack.service_pid("recorder")
    os.kill(recorder, signal.SIGSTOP)
    try:
        stored = stored_seq(stack, run_id)
        outbox = OutboxReader(outbox_dir(stack.run_dir(run_id), 1))
        until(lambda: outbox.last_seq() > stored + 2_000, "the outbox is ahead of the store", 60)
        written = outbox.last_seq()
        backup = back_up(stack, tmp_path)
    finally:
        os.kill(recorder, signal.SIGCONT)
    with restored(stack, backup, tmp_path / "home") as other:
        view = other.wait_final(run_id)
        assert audit_synthetic(other.home, run_id, view.spec) >= written
    stop(stack, run_id)


def test_what_a_backup_lists_is_in_it_while_files_are_removed(
    stack: StackUnderTest, tmp_path: Path
) -> None:
    """Neither `gc` nor an undo moves a file before the backup is complete; afterwards both do."""
    view = stack.submit(
        "synthetic", "synthetic", "Synthetic-v0", steps=2_000, parameters={"save_every": 200}
    )
    stack.wait_final(view.run_id)
    (stack.home / PROFILES_FILE).write_text(ONE_CHECKPOINT)
    target = tmp_path / "backup.zip"
    words = [str(VENVS / "cli/bin/python"), "-m", "mosaic_cli", "backup", str(target)]
    with subprocess.Popen(words, env=stack.environ) as backup:
        try:
            until(lambda: any(tmp_path.iterdir()), "the backup is begun", 60, longest_pause_s=0.001)
            backup.send_signal(signal.SIGSTOP)
            refused = stack.cli("gc", "--yes", timeout_s=60)
            assert refused.returncode != 0
            assert "A backup is being made" in refused.stderr
            backup.send_signal(signal.SIGCONT)
            assert backup.wait(timeout=120) == 0
        finally:
            backup.kill()
    removed = stack.cli("gc", "--yes", timeout_s=60)
    assert removed.returncode == 0, removed.stderr
    assert len(states(stack, view.run_id)[FileState.PRUNED]) > 1
    with restored(stack, target, tmp_path / "home") as other:
        other.wait_final(view.run_id)
        assert states(other, view.run_id).keys() == {FileState.PRESENT}


def states(stack: StackUnderTest, run_id: str) -> dict[FileState, list[str]]:
    """Paths of a run's files by what became of them."""
    found: dict[FileState, list[str]] = {}
    with stack.client() as client:
        for entry in client.manifest(run_id).entries:
            found.setdefault(entry.state, []).append(entry.path)
    return found
