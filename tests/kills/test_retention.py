"""kill -9 of the scheduler at every step of retention: manifest, checkpoint registry and disk agree afterwards."""

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from stack_under_test import VENVS, StackUnderTest, kill9, link_environments, until
from stopping_scheduler import PLACES, PLACES_OF_DELETION, has_stopped, python_for, stop_at

from mosaic_client import Client, MosaicProblem, RunUnknown, StackUnreachable
from mosaic_contracts.checkpoint_words import CheckpointState
from mosaic_contracts.runs import RunView

pytestmark = [pytest.mark.kill, pytest.mark.timeout(180)]

PROFILES = """
automatic: false
default: tested
profiles:
  tested:
    rules:
      - {kind: checkpoint, keep_last: 2}
      - {kind: tensorboard, max_count: 0}
"""
WORKER = """
id = "writes"
title = "Writes event files"
room = "tests"
command = ["{python}", "{here}/worker.py"]
"""
WORKER_PROGRAM = """
import pathlib
import sys

from mosaic_workerkit.entry import main
from mosaic_workerkit.testing.synthetic import SyntheticWorker

if sys.argv[1] == "train":
    for name in ("a", "b/c"):
        path = pathlib.Path("tensorboard", name, "events.out.tfevents.1")
        path.parent.mkdir(parents=True)
        path.write_bytes(bytes(1000))
sys.exit(main(SyntheticWorker()))
"""
CHECKPOINTS = {f"checkpoints/{n}.txt" for n in range(100, 700, 100)}
LAST = {"checkpoints/500.txt", "checkpoints/600.txt"}
EVENT_FILES = {f"tensorboard/{name}/events.out.tfevents.1" for name in ("a", "b/c")}


@pytest.fixture(scope="module")
def stack() -> Iterator[StackUnderTest]:
    """A stack whose scheduler stops where a test wants it to."""
    with tempfile.TemporaryDirectory(prefix="mosaic-test-") as made:
        venvs = link_environments(Path(made) / "venvs")
        (venvs / "scheduler").unlink()
        python_for(venvs / "scheduler", VENVS / "scheduler" / "bin" / "python")
        under_test = StackUnderTest(Path(made) / "home", venvs)
        folder = under_test.home / "workers.d" / "writes"
        folder.mkdir()
        (folder / "worker.toml").write_text(WORKER)
        (folder / "worker.py").write_text(WORKER_PROGRAM)
        (under_test.home / "storage_profiles.yaml").write_text(PROFILES)
        try:
            under_test.start()
            yield under_test
        finally:
            under_test.stop()


@pytest.mark.parametrize("place", PLACES)
def test_files_registry_and_manifest_agree_wherever_it_is_killed(
    stack: StackUnderTest, place: str
) -> None:
    """Each request is made again after the kill, and ends as if there had been none."""
    view = stack.submit(
        "writes",
        "synthetic",
        "Synthetic-v0",
        steps=600,
        parameters={"rate": 0, "save_every": 100},
    )
    stack.wait_final(view.run_id)
    assert existing(stack, view) == CHECKPOINTS | EVENT_FILES
    goes = CHECKPOINTS - LAST | EVENT_FILES

    def prune() -> None:
        ask_again(stack, lambda client: client.prune(run_ids=[view.run_id]).left == 0)

    def undo() -> None:
        ask_again(stack, lambda client: client.undo_prune(run_ids=[view.run_id]).left == 0)

    def empty() -> None:
        ask_again(
            stack, lambda client: client.prune(run_ids=[view.run_id], empty_trash=True).left == 0
        )

    name = place.split()[-1]
    if name in ("note", "take"):
        killed_at(stack, place, prune)
        agree(stack, view, LAST)
        undo()
        agree(stack, view, CHECKPOINTS | EVENT_FILES)
        return
    before = trash(stack)
    prune()
    agree(stack, view, LAST)
    assert len(trash(stack) - before) == len(goes)
    if name in ("begin_undo", "put_back"):
        killed_at(stack, place, undo)
        agree(stack, view, CHECKPOINTS | EVENT_FILES)
    else:
        killed_at(stack, place, empty)
        agree(stack, view, LAST)
        assert trash(stack) == before


@pytest.mark.parametrize("place", PLACES_OF_DELETION)
def test_a_deletion_is_completed_wherever_it_is_killed(stack: StackUnderTest, place: str) -> None:
    """Nothing of the run is left: no folder, no events, no files in the trash, no row in a list."""
    view = stack.submit(
        "writes", "synthetic", "Synthetic-v0", steps=600, parameters={"rate": 0, "save_every": 100}
    )
    stack.wait_final(view.run_id)
    before = trash(stack)
    ask_again(stack, lambda client: client.prune(run_ids=[view.run_id]).left == 0)
    assert trash(stack) - before

    def delete() -> None:
        ask_again(stack, lambda client: is_gone(client, view.run_id))

    killed_at(stack, place, delete)
    assert not stack.run_dir(view.run_id).exists()
    until(lambda: trash(stack) == before, "its files in the trash are deleted", 60)
    with stack.client() as client:
        assert view.run_id not in {run.run_id for run in client.each_run()}
        assert view.run_id not in {run.run_id for run in client.each_run(deleted=True)}
        assert view.run_id not in {run.run_id for run in client.storage(limit=5000).runs}
    assert events_of(stack, view.run_id) == 0


def is_gone(client: Client, run_id: str) -> bool:
    """Whether a run is deleted; asks for it."""
    try:
        client.delete(run_id, now=True)
    except RunUnknown:
        return True
    return False


def events_of(stack: StackUnderTest, run_id: str) -> int:
    """Rows of a run in the store."""
    path = stack.home / "db" / "telemetry.sqlite3"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
        found = store.execute("SELECT count(*) FROM run WHERE run_id = ?", (run_id,)).fetchone()
    return int(found[0])


def killed_at(stack: StackUnderTest, place: str, work: Callable[[], None]) -> None:
    """Do something while the scheduler is killed at a place of it."""
    stop_at(stack.home, place)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(work)
        try:
            until(lambda: has_stopped(stack.home, place), f"the scheduler comes to {place!r}", 30)
        finally:
            kill9(stack.service_pid("scheduler"))
        asked.result(90)
    stack.wait_ready()


def ask_again(stack: StackUnderTest, ask: Callable[[Client], bool]) -> None:
    """Make a request until it is answered, and says that nothing is left."""

    def is_done() -> bool:
        try:
            with stack.client() as client:
                return ask(client)
        except StackUnreachable:
            return False
        except MosaicProblem as refused:
            if refused.problem.status != 503:
                raise
            return False

    until(is_done, "the scheduler answers that nothing is left", 80)


def agree(stack: StackUnderTest, view: RunView, expected: set[str]) -> None:
    """Disk, manifest and registry have exactly these files; the last two as soon as the store has the events."""
    assert existing(stack, view) == expected
    wanted = {
        path: "present" if path in expected else "pruned" for path in CHECKPOINTS | EVENT_FILES
    }
    with stack.client() as client:

        def by_events() -> bool:
            listed = client.checkpoints(run=[view.run_id]).checkpoints
            registry = {row.path for row in listed if row.state is CheckpointState.PRESENT}
            entries = {entry.path: entry.state for entry in client.manifest(view.run_id).entries}
            states = {path: entries[path].value for path in wanted}
            return registry == expected & CHECKPOINTS and states == wanted

        until(by_events, "manifest and registry have what the disk has", 60)
        entries = {entry.path: entry for entry in client.manifest(view.run_id).entries}
    for path in wanted.keys() - expected:
        assert "profile tested" in (entries[path].reason or "")


def trash(stack: StackUnderTest) -> set[str]:
    """Names of what is in the trash."""
    folder = stack.home / "trash"
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def existing(stack: StackUnderTest, view: RunView) -> set[str]:
    """Files on disk."""
    folder = stack.run_dir(view.run_id)
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix() for path in found} & (CHECKPOINTS | EVENT_FILES)
