"""Profiles from a file; files into the trash, out of it and back; what stays and why. On a real disk and database."""

import asyncio
import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mosaic_base.file_tree import list_files
from mosaic_base.locks import held_lock
from mosaic_contracts.launch import RUNNER_LOCK
from mosaic_contracts.manifest import PRIVATE_DIRS, kind_of
from mosaic_contracts.problems import ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.stack_files import BACKUP_LOCK
from mosaic_contracts.states import RunState
from mosaic_contracts.storage import StorageProfiles
from mosaic_contracts.storage_reports import PruneOrder, StorageQuery, UndoOrder
from mosaic_contracts.storage_words import KeptReason
from mosaic_contracts.store_upkeep import RunSpace, RunSpaces, StoreSpace, ThinResult
from mosaic_contracts.stored_files import StoredFiles, StoredFilesRequest, StoredRunFiles
from mosaic_scheduler.database import Database
from mosaic_scheduler.disk.level import SpaceLimits
from mosaic_scheduler.disk.spare import SpareSpace
from mosaic_scheduler.disk.watch import VolumeWatch
from mosaic_scheduler.reconcile import purge
from mosaic_scheduler.retention import janitor, orphans, removals
from mosaic_scheduler.retention import profiles as profiles_module
from mosaic_scheduler.retention.inventory import FileInventory
from mosaic_scheduler.retention.janitor import ALL, Janitor
from mosaic_scheduler.retention.look import Looks
from mosaic_scheduler.retention.open_files import open_paths
from mosaic_scheduler.retention.profiles import ProfileFile
from mosaic_scheduler.retention.removals import RemovalState
from mosaic_scheduler.retention.verbs import StorageVerbs
from mosaic_scheduler.runs.store import RunStore

RUN = "01J00000000000000000000001"
OTHER = "01J00000000000000000000002"
THIRD = "01J00000000000000000000003"
RULES = """
automatic: false
default: tested
profiles:
  tested:
    rules:
      - {kind: checkpoint, keep_last: 1}
      - {kind: tensorboard, max_count: 0}
"""


class RecorderDouble:
    """Answers the janitor as the recorder does; it knows files from `note`."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._files: dict[str, StoredRunFiles] = {}
        self.spaces: list[RunSpace] = []
        self.thinned: list[dict[str, Any]] = []

    def note(self, run_id: str, folders: Iterable[str] = ()) -> None:
        """List the files of a run's folder, as its report does, and folders that it announced."""
        tree = list_files(self._home / "runs" / run_id, PRIVATE_DIRS)
        found = StoredRunFiles(run_id=run_id)
        for place, file in enumerate(tree.files):
            kind = "checkpoint" if file.path.startswith("checkpoints/") else kind_of(file.path)
            _add(found, file.path, kind, file.type, file.bytes, place)
            found.names[-1] = None if file.is_utf8 else file.name.hex()
        for folder in folders:
            _add(found, folder, "tensorboard", None, 0, 0)
        self._files[run_id] = found

    async def call(self, verb: Any, request: Any) -> Any:
        """As `Bus.call`."""
        if isinstance(request, StoredFilesRequest):
            empty = (StoredRunFiles(run_id=run_id) for run_id in request.run_ids)
            return StoredFiles(runs=[self._files.get(run.run_id, run) for run in empty])
        if verb.name == "space":
            return RunSpaces(
                store=StoreSpace(file_bytes=0, free_bytes=0, wal_bytes=0), runs=self.spaces
            )
        self.thinned.append(request.model_dump())
        return ThinResult(
            run_id=request.run_id, removed_steps=5, removed_bytes=600, freed_bytes=500, done=True
        )


def _add(
    run: StoredRunFiles, path: str, kind: str, type: str | None, size: int, place: int
) -> None:
    run.paths.append(path)
    run.kinds.append(kind)
    run.types.append(type)
    run.bytes.append(size)
    run.times.append(1000.0 + place)
    for column in (run.steps, run.episodes, run.envs, run.means, run.reasons, run.names):
        column.append(None)
    run.announced.append(True)
    run.places.append(place)


class Parts:
    """Retention on a home of its own, without a scheduler around it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.database = Database(home / "db" / "scheduler.sqlite3")
        self.store = RunStore(self.database)
        self.recorder = RecorderDouble(home)
        self.announced: list[RunRecord] = []
        self.due, self.short, self.trash_due = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.profiles = ProfileFile(home)
        self.profiles.path.write_text(RULES)
        self.janitor = self.new_janitor()
        self.verbs = StorageVerbs(
            home, self.database, self.profiles, self.janitor, VolumeWatch({}, SpaceLimits(0, 0))
        )

    def new_janitor(self) -> Janitor:
        """That of a scheduler that starts."""
        inventory = FileInventory(self.recorder)  # type: ignore[arg-type]  # a double of what it calls

        async def announce(record: RunRecord) -> None:
            self.announced.append(record)

        async def list_files(_: object) -> None:
            raise AssertionError("every run has a report")

        return Janitor(
            self.home,
            self.database,
            self.recorder,  # type: ignore[arg-type]
            Looks(self.home, self.database, inventory, self.profiles),
            self.profiles,
            announce,
            list_files,
            self.due,
            self.short,
            self.trash_due,
            SpareSpace(self.home / "db" / "spare"),
        )

    async def add_run(
        self,
        run_id: str = RUN,
        files: Iterable[str] = ("checkpoints/a", "checkpoints/b", "checkpoints/c"),
        folders: Iterable[str] = (),
        **changes: Any,
    ) -> RunRecord:
        """An ended run with a reported folder."""
        folder = self.home / "runs" / run_id
        for path in files:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(b"x" * 10)
        now = datetime.now(UTC)
        spec = {"worker": "w", "algorithm": "a", "environment": "e", **changes.pop("spec", {})}
        record = RunRecord.model_validate(
            {
                "run_id": run_id,
                "name": "a run",
                "spec": spec,
                "state": "succeeded",
                "revision": 1,
                "created_at": now,
                "ended_at": now - timedelta(days=10),
                "run_dir": f"runs/{run_id}",
                **changes,
            }
        )
        await self.store.insert_ended(record, "nonce", [])
        state = 3 if record.state.is_final else 0
        await self.database.call(
            lambda db: db.execute(
                "UPDATE runs SET files_state = ? WHERE run_id = ?", (state, run_id)
            )
        )
        if folder.exists():
            self.recorder.note(run_id, folders)
        return record

    def files(self, run_id: str = RUN) -> list[str]:
        """Files that are in their place."""
        folder = self.home / "runs" / run_id
        return [file.path for file in list_files(folder).files]

    def trash(self) -> list[str]:
        """Names in the trash."""
        folder = self.home / "trash"
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []

    async def events(self, run_id: str = RUN) -> list[tuple[str, str]]:
        """Type and path of the supervisor's events on files that are to be sent."""
        rows = await self.database.call(
            lambda db: db.execute(
                "SELECT coalesce(json_extract(data, '$.type'), type),"
                " coalesce(json_extract(data, '$.path'), json_extract(data, '$.data.path'))"
                " FROM supervisor_events WHERE run_id = ? AND type IS NOT NULL ORDER BY seq",
                (run_id,),
            ).fetchall()
        )
        return [(type, path) for type, path in rows]

    async def prune(self, **asked: Any) -> Any:
        """One request."""
        return await self.verbs.prune(PruneOrder(asked=asked))

    async def undo(self, **asked: Any) -> Any:
        """One request."""
        return await self.verbs.undo(UndoOrder(asked=asked))


def _execute(connection: sqlite3.Connection, statement: str) -> None:
    connection.execute(statement)


async def holds(claim: Callable[[], bool]) -> None:
    """Wait for what announces itself nowhere: another process, a folder."""
    async with asyncio.timeout(20):
        while not claim():  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.01)


@pytest.fixture
async def parts(tmp_path: Path) -> AsyncIterator[Parts]:
    """Retention that has started."""
    (tmp_path / "home").mkdir()
    made = Parts(tmp_path / "home")
    loop = asyncio.create_task(made.janitor.run())
    yield made
    loop.cancel()
    await asyncio.gather(loop, return_exceptions=True)
    await made.database.close()


async def test_removed_files_rest_in_the_trash_and_come_back(parts: Parts) -> None:
    """With an event for each way, and they stay then although the rule is as it was."""
    await parts.add_run()
    result = await parts.prune()
    assert (result.files, result.bytes, result.bytes_by_kind, result.left) == (
        2, 20, {"checkpoint": 20}, 0,
    )  # fmt: skip
    assert result.undo_until > datetime.now(UTC) + timedelta(hours=23)
    assert parts.files() == ["checkpoints/c"]
    assert len(parts.trash()) == 2
    report = await parts.verbs.storage(StorageQuery())
    assert [item.path for item in report.trash.items] == ["checkpoints/a", "checkpoints/b"]
    undone = await parts.undo(items=[report.trash.items[0].id])
    assert (undone.files, undone.bytes, undone.left, undone.refused) == (1, 10, 0, [])
    assert parts.files() == ["checkpoints/a", "checkpoints/c"]
    assert await parts.events() == [
        ("artifact_pruned", "checkpoints/a"),
        ("artifact_pruned", "checkpoints/b"),
        ("run.restored", "checkpoints/a"),
    ]
    again = await parts.prune()
    assert (again.files, again.left) == (0, 0)
    assert all(record.telemetry_pending for record in parts.announced)


async def test_a_folder_goes_with_its_last_file_and_comes_back_with_its_first(
    parts: Parts,
) -> None:
    """Its event too, so that the manifest does not call it missing."""
    files = ("tensorboard/a/events.out.tfevents.1", "tensorboard/events.out.tfevents.2")
    await parts.add_run(files=files, folders=["tensorboard"])
    await parts.prune()
    assert parts.files() == []
    assert not (parts.home / "runs" / RUN / "tensorboard").exists()
    assert ("artifact_pruned", "tensorboard") in await parts.events()
    report = await parts.verbs.storage(StorageQuery())
    assert sorted(item.path for item in report.trash.items) == sorted(files)
    await parts.undo(items=[report.trash.items[0].id])
    assert ("run.restored", "tensorboard") in await parts.events()
    await parts.undo()
    assert sorted(parts.files()) == sorted(files)


async def test_the_trash_is_emptied_after_the_grace_time_or_on_request(parts: Parts) -> None:
    """Then nothing can be brought back."""
    await parts.add_run()
    await parts.prune()
    assert await parts.janitor.empty_trash(time.time() + 23 * 3600) == 0
    assert await parts.janitor.empty_trash(time.time() + 25 * 3600) == 20
    assert parts.trash() == []
    assert (await parts.undo()).files == 0
    await parts.add_run(OTHER)
    result = await parts.prune(empty_trash=True)
    assert (result.files, result.freed_bytes, result.undo_until) == (2, 20, None)
    assert parts.trash() == []


async def test_a_nearly_full_disk_empties_the_trash(parts: Parts) -> None:
    """And what the rules take does not rest in it."""
    await parts.add_run()
    await parts.prune()
    parts.short.set()
    parts.due.set()
    await holds(lambda: not parts.trash())


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"pinned": True}, KeptReason.PINNED),
        ({"deleted_at": datetime.now(UTC)}, KeptReason.ARCHIVED),
    ],
)
async def test_what_stays_says_why(
    parts: Parts, changes: dict[str, Any], reason: KeptReason
) -> None:
    """In the plan, and nothing of it goes."""
    await parts.add_run(**changes)
    plan = await parts.verbs.plan(PruneOrder(asked={}))
    assert ([each.reason for each in plan.kept], plan.items) == ([reason], [])
    assert (await parts.prune()).files == 0
    assert len(parts.files()) == 3


async def test_a_run_that_changed_since_the_look_keeps_its_files(parts: Parts) -> None:
    """A pin, another profile, or a new run that begins with a checkpoint of it."""
    for run_id, change in (
        (RUN, "UPDATE runs SET record = json_set(record, '$.pinned', json('true'))"),
        (OTHER, "UPDATE runs SET record = json_set(record, '$.storage_profile', 'keep_all')"),
    ):
        await parts.add_run(run_id)
        look = await parts.janitor.look()
        await parts.database.call(_execute, change)
        result = await parts.janitor._step(look, ALL)
        assert (result.files, result.left > 0) == (0, True)
        await parts.database.call(
            lambda db: db.executescript("DELETE FROM runs; DELETE FROM supervisor_events")
        )
    await parts.add_run(RUN)
    look = await parts.janitor.look()
    await parts.add_run(THIRD, (), spec={"parameters": {"start": f"{RUN}/checkpoints/a"}})
    assert (await parts.janitor._step(look, ALL)).files == 0
    assert (await parts.prune()).files == 1
    assert parts.files() == ["checkpoints/a", "checkpoints/c"]


async def test_a_pinned_file_stays_by_itself(parts: Parts) -> None:
    """The others go; a pin that is set between look and removal counts."""
    await parts.add_run(pinned_files=["checkpoints/a"])
    plan = await parts.verbs.plan(PruneOrder(asked={}))
    assert [(each.reason, each.text) for each in plan.kept] == [
        (KeptReason.PINNED, "you pinned the file")
    ]
    (row,) = (await parts.verbs.storage(StorageQuery())).runs
    assert (row.pinned, row.pinned_files) == (False, ["checkpoints/a"])
    look = await parts.janitor.look()
    assert [each.unit.path for each in look.decision.units] == ["checkpoints/b"]
    pin = "UPDATE runs SET record = json_set(record, '$.pinned_files', json_array('checkpoints/b'))"
    await parts.database.call(_execute, pin)
    assert (await parts.janitor._step(look, ALL)).files == 0
    assert len(parts.files()) == 3


async def test_what_a_play_uses_stays_whole(parts: Parts) -> None:
    """While it goes on, all of the run; afterwards its checkpoint."""
    await parts.add_run()
    play = {"kind": "play", "parent": RUN, "parameters": {"checkpoint": f"{RUN}/checkpoints/a"}}
    await parts.add_run(OTHER, (), spec=play, state="running", ended_at=None)
    plan = await parts.verbs.plan(PruneOrder(asked={}))
    assert [(each.reason, each.files) for each in plan.kept] == [(KeptReason.IN_USE, 2)]
    assert "uses it and has not ended" in plan.kept[0].text
    assert (await parts.prune()).files == 0
    end = "UPDATE runs SET state = 'succeeded', record = json_set(record, '$.state', 'succeeded')"
    await parts.database.call(_execute, end)
    plan = await parts.verbs.plan(PruneOrder(asked={}))
    assert [(each.reason, each.files) for each in plan.kept] == [(KeptReason.PARENT, 1)]
    assert (await parts.prune()).files == 1
    assert parts.files() == ["checkpoints/a", "checkpoints/c"]


async def test_an_open_file_stays(parts: Parts) -> None:
    """One that a local program reads, and one that the gateway sends."""
    await parts.add_run()
    folder = parts.home / "runs" / RUN / "checkpoints"
    reader = await asyncio.create_subprocess_exec("tail", "-f", str(folder / "a"), stdout=-3)
    with (folder / "b").open("rb") as sent:
        fcntl.flock(sent, fcntl.LOCK_SH)
        await holds(lambda: str(folder / "a") in open_paths(parts.home / "runs"))
        result = await parts.prune()
        assert [(each.reason, each.files) for each in result.kept] == [(KeptReason.OPEN, 2)]
        assert (result.files, result.left) == (0, 0)
    reader.kill()
    await reader.wait()
    assert (await parts.prune()).files == 2


async def test_links_and_odd_names_move_as_they_are(parts: Parts, tmp_path: Path) -> None:
    """A link is moved and not followed; a name without UTF-8 comes back as it was."""
    outside = tmp_path / "outside"
    outside.write_text("not ours")
    folder = parts.home / "runs" / RUN / "checkpoints"
    folder.mkdir(parents=True)
    (folder / "a-link").symlink_to(outside)
    odd = folder / os.fsdecode(b"b-\xff")
    odd.write_bytes(b"odd")
    await parts.add_run(files=["checkpoints/z"])
    assert (await parts.prune()).files == 2
    assert not odd.exists()
    assert outside.read_text() == "not ours"
    assert (await parts.undo()).files == 2
    assert odd.read_bytes() == b"odd"
    assert (folder / "a-link").readlink() == outside


async def test_a_folder_that_became_a_link_leads_nowhere(parts: Parts, tmp_path: Path) -> None:
    """Files of others are not moved; the run says that its own are back."""
    await parts.add_run()
    outside = tmp_path / "outside"
    (parts.home / "runs" / RUN / "checkpoints").rename(outside)
    (parts.home / "runs" / RUN / "checkpoints").symlink_to(outside)
    result = await parts.prune()
    assert result.files == 0
    assert [each.reason for each in result.kept] == [KeptReason.UNWRITABLE]
    assert len(list(outside.iterdir())) == 3
    events = await parts.events()
    assert events[2:] == [("run.restored", "checkpoints/a"), ("run.restored", "checkpoints/b")]


async def test_nothing_is_overwritten_by_an_undo(parts: Parts) -> None:
    """What has taken a file's place stays, and so does the file in the trash."""
    await parts.add_run()
    await parts.prune()
    (parts.home / "runs" / RUN / "checkpoints" / "a").write_text("new")
    undone = await parts.undo()
    assert undone.files == 1
    assert "checkpoints/a stays in the trash" in undone.refused[0]
    assert (parts.home / "runs" / RUN / "checkpoints" / "a").read_text() == "new"
    assert len(parts.trash()) == 1


async def test_a_deleted_run_takes_its_trash_with_it(parts: Parts) -> None:
    """Its files cannot be brought back."""
    await parts.add_run()
    await parts.prune()
    await parts.database.call(lambda db: db.execute("UPDATE runs SET purge_at = 1"))
    assert (await parts.undo()).files == 0
    assert parts.files() == ["checkpoints/c"]
    await parts.database.call(purge._forget, RUN)
    sweeps = asyncio.create_task(parts.janitor.run_sweeps())
    await holds(lambda: not parts.trash())
    sweeps.cancel()


async def test_what_a_loss_of_power_undid_is_done_again(parts: Parts) -> None:
    """A file that is in its place although it was noted to be in the trash, and strays there."""
    await parts.add_run()
    await parts.prune()
    rows = await parts.database.call(removals.all_rows)
    folder = parts.home / "runs" / RUN / "checkpoints"
    (parts.home / "trash" / str(rows[0].id)).rename(folder / "a")
    (parts.home / "trash" / "stray").write_text("left by hand")
    starting = asyncio.create_task(parts.new_janitor().run())
    await holds(lambda: not (folder / "a").exists() and "stray" not in parts.trash())
    starting.cancel()
    assert parts.trash() == sorted(str(row.id) for row in rows)
    states = {row.state for row in await parts.database.call(removals.all_rows)}
    assert states == {RemovalState.IN_TRASH}


async def test_folders_of_no_run_are_swept_when_they_are_old(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not while a runner lives in one, and not what has another name."""
    runs = parts.home / "runs"
    for name in (RUN, OTHER, "mine"):
        (runs / name / "control").mkdir(parents=True)
        (runs / name / "file").write_bytes(b"12345")
    assert (await parts.verbs.plan(PruneOrder(asked={}))).items == []
    monkeypatch.setattr(orphans, "MIN_AGE_S", -10)
    with (runs / OTHER / RUNNER_LOCK).open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (item,) = (await parts.verbs.plan(PruneOrder(asked={}))).items
        assert (item.path, item.bytes, item.run_id) == (f"runs/{RUN}", 5, None)
        assert (await parts.prune()).bytes == 5
    assert sorted(path.name for path in runs.iterdir()) == sorted([OTHER, "mine"])
    assert (await parts.undo()).files == 1
    assert (runs / RUN / "file").read_bytes() == b"12345"


async def test_steps_are_thinned_by_the_recorder(parts: Parts) -> None:
    """In words that say which profile asked for it."""
    parts.profiles.path.write_text(RULES + "    steps_every: 10\n")
    await parts.add_run()
    parts.recorder.spaces = [RunSpace(run_id=RUN, bytes=10**6, events=100, steps=90)]
    plan = await parts.verbs.plan(PruneOrder(asked={"kinds": ["steps"]}))
    (item,) = plan.items
    assert (item.kind, item.undoable, item.files, item.steps) == ("steps", False, 0, 81)
    assert item.reason not in item.rule
    assert (plan.files, plan.steps, plan.bytes) == (0, 81, 810_000)
    report = await parts.verbs.storage(StorageQuery())
    assert (report.planned_files, report.planned_steps) == (2, 81)
    result = await parts.prune(kinds=["steps"])
    assert (result.files, result.steps, result.freed_bytes) == (0, 5, 500)
    assert result.bytes_by_kind == {"steps": 600}
    (asked,) = parts.recorder.thinned
    assert (asked["run_id"], asked["every"]) == (RUN, 10)
    assert asked["rule"].startswith("storage profile tested")
    assert len(parts.files()) == 3


async def test_a_step_is_bounded(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left is said, and the next request takes it."""
    monkeypatch.setattr(janitor, "STEP_S", 0)
    await parts.add_run()
    result = await parts.prune()
    assert (result.files, result.left) == (0, 2)
    monkeypatch.undo()
    monkeypatch.setattr(janitor, "FILES_AT_ONCE", 1)
    assert (await parts.prune()).files == 2


async def test_nothing_moves_while_a_backup_is_made(parts: Parts) -> None:
    """A backup lists files as the database knew them at its beginning: neither a removal nor an undo changes them."""
    await parts.add_run()
    (parts.home / BACKUP_LOCK).parent.mkdir(exist_ok=True)
    with held_lock(parts.home / BACKUP_LOCK, shared=True):
        with pytest.raises(ProblemError, match="A backup is being made"):
            await parts.prune()
        assert len(parts.files()) == 3
        assert await parts.events() == []
    assert (await parts.prune()).files == 2
    with (
        held_lock(parts.home / BACKUP_LOCK, shared=True),
        pytest.raises(ProblemError, match="A backup is being made"),
    ):
        await parts.undo()
    assert len(parts.files()) == 1
    assert (await parts.undo()).files == 2


async def test_two_requests_at_once_remove_each_file_once(parts: Parts) -> None:
    """The second one finds what the first one left: together they report each file once, with one event for each."""
    for run_id in (RUN, OTHER, THIRD):
        await parts.add_run(run_id)
    done = await asyncio.gather(*(parts.prune() for _ in range(4)))
    assert sum(result.files for result in done) == 6
    assert len(parts.trash()) == 6
    for run_id in (RUN, OTHER, THIRD):
        assert len(await parts.events(run_id)) == 2
    back = await asyncio.gather(*(parts.undo() for _ in range(4)))
    assert sum(result.files for result in back) == 6
    assert parts.trash() == []
    assert [len(parts.files(run_id)) for run_id in (RUN, OTHER, THIRD)] == [3, 3, 3]


async def test_a_removal_and_an_undo_at_once_leave_each_file_in_one_place(parts: Parts) -> None:
    """In the trash or where it was, as the database says."""
    for run_id in (RUN, OTHER, THIRD):
        await parts.add_run(run_id)
    await asyncio.gather(parts.prune(), parts.undo(), parts.prune(), parts.undo())
    in_trash = await parts.database.call(removals.in_trash)
    assert sorted(str(row.id) for row in in_trash) == parts.trash()
    left = [path for run_id in (RUN, OTHER, THIRD) for path in parts.files(run_id)]
    assert len(left) + len(in_trash) == 9


async def test_filters_take_what_they_name(parts: Parts) -> None:
    """Run and kind; an unknown field is refused in words."""
    await parts.add_run(RUN)
    await parts.add_run(OTHER)
    assert (await parts.prune(run_ids=[OTHER], kinds=["checkpoint"])).files == 2
    assert (await parts.prune(kinds=["video"])).files == 0
    assert len(parts.files(RUN)) == 3
    with pytest.raises(ProblemError, match="no such field"):
        await parts.prune(run="x")


async def test_a_report_counts_by_run_and_kind(parts: Parts) -> None:
    """Kept of allowed, what goes next, and files of a run that goes on."""
    await parts.add_run(files=["checkpoints/a", "checkpoints/b", "logs/worker.log"])
    await parts.add_run(OTHER, ["videos/x"], state=RunState.RUNNING)
    report = await parts.verbs.storage(StorageQuery())
    rows = {row.run_id: row for row in report.runs}
    uses = {use.kind: (use.files, use.bytes, use.allowed) for use in rows[RUN].kinds}
    assert uses == {"checkpoint": (2, 20, 1), "log": (1, 10, None)}
    going = rows[RUN].next_removal
    assert going is not None
    assert (going.path, going.at) == ("checkpoints/a", None)
    assert (rows[OTHER].bytes, rows[OTHER].kept_because) == (10, "the run has not ended")
    assert (report.run_bytes, report.planned_files, report.planned_bytes) == (40, 1, 10)
    one = await parts.verbs.storage(StorageQuery(run=OTHER))
    assert [row.run_id for row in one.runs] == [OTHER]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("profiles: [", "line 1"),
        ("profiles: {a: {rules: [{kind: video}]}}", "would remove every file"),
        ("default: nobody", "there is no profile 'nobody'"),
        ("profile: {}", "no such field"),
        ("\udcff", "UTF-8"),
        ("a: " + "[" * 50_000, "brackets within each other"),
        ("#" * 70_000, "larger than"),
        ("profiles: {a: {budget_bytes: '" + "9" * 400 + " TB'}}", "is too large"),
        ("profiles: {a: {budget_bytes: 1" + "0" * 5_000 + "}}", "cannot be read"),
        ("default: 2020-99-99", "cannot be read"),
        ("profiles: {a: {grace_hours: .nan}}", "finite"),
        ("profiles: {a: {rules: [{kind: video, max_count: -1}]}}", "at least 0"),
        ("profiles: !!python/object/apply:os.abort []", "tag"),
    ],
)
def test_a_file_that_is_not_valid_leaves_the_last_one_in_force(
    tmp_path: Path, text: str, words: str
) -> None:
    """And says what is wrong until it is corrected."""
    profiles = ProfileFile(tmp_path)
    assert profiles.content().default == "default"
    assert not profiles.report().exists
    profiles.path.write_text("default: lean")
    assert profiles.find(None)[0] == "lean"
    profiles.path.write_bytes(text.encode(errors="surrogateescape"))
    assert profiles.find("gone")[0] == "lean"
    (finding,) = profiles.findings()
    assert words in finding
    assert "until then the last valid content counts" in finding
    profiles.path.write_text("default: keep_all")
    assert (profiles.find(None)[0], profiles.findings()) == ("keep_all", [])
    profiles.path.unlink()
    assert profiles.find(None)[0] == "default"


async def test_a_pipe_and_a_device_are_no_files_of_profiles(tmp_path: Path) -> None:
    """Nobody waits for a writer, and the last valid content counts."""
    profiles = ProfileFile(tmp_path)
    profiles.path.write_text("default: lean")
    assert profiles.find(None)[0] == "lean"
    profiles.path.unlink()
    os.mkfifo(profiles.path)
    assert profiles.find(None)[0] == "lean"
    assert "no ordinary file" in profiles.problem
    profiles.path.unlink()
    profiles.path.symlink_to("/dev/zero")
    profiles.find(None)
    assert "no ordinary file" in profiles.problem


def test_threads_agree_on_the_newest_profiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that asks while another one reads waits for it; what was read earlier never comes into force later."""
    profiles = ProfileFile(tmp_path)
    profiles.path.write_text("default: lean")
    reading, go_on = threading.Event(), threading.Event()
    read = profiles_module._read

    def slow(path: Path) -> StorageProfiles:
        content = read(path)
        if content.default == "lean":
            reading.set()
            assert go_on.wait(60)
        return content

    monkeypatch.setattr(profiles_module, "_read", slow)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(profiles.find, None)
        assert reading.wait(60)
        profiles.path.write_text("default: keep_all")
        second = pool.submit(profiles.find, None)
        go_on.set()
        assert (first.result(60)[0], second.result(60)[0]) == ("lean", "keep_all")
    assert profiles.find(None)[0] == "keep_all"
