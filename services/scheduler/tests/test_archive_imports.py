"""The verb `import_archive`: all of a run or nothing of it, whatever is killed, and the same run only once."""

import asyncio
import hashlib
import json
import random
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.archives import (
    FILES,
    RUN_ID,
    Entries,
    archived_record,
    archived_run,
    entries,
    write,
)
from tests.scheduler_process import STOP_AFTER
from tests.stack import Stack, until

from mosaic_contracts.archive_words import RUN_FACTS, RUN_RECORD, file_entry, group_entry, run_entry
from mosaic_contracts.groups import GroupSpec
from mosaic_contracts.manifest_words import RUN_FILES
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.run_archives import (
    ArchivedGroup,
    ArchiveImport,
    ArchiveOrder,
    FreedRun,
    FreeOrder,
    ImportOutcome,
)
from mosaic_contracts.services import DeleteRequest, GroupRequest, PatchRequest, RunRequest
from mosaic_contracts.states import RunState
from mosaic_contracts.store_upkeep import KnownThinning
from mosaic_contracts.stored_files import StoredRunFiles
from mosaic_contracts.verbs import GET_GROUP

pytestmark = [pytest.mark.broker, pytest.mark.shared_stack, pytest.mark.timeout(180)]
UPLOAD = "1" * 32
EVENTS = 200
ALTERED = "01ARZ3NDEKTSV4RRFFQ69G5X"
OTHER_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAW"


def own(run_id: str, **changes: Any) -> Entries:
    """Entries of an archive of one run; changes are of its record."""
    parts = entries(run_id)
    name = run_entry(run_id, RUN_RECORD)
    parts[name] = json.dumps({**json.loads(parts[name]), **changes}).encode()
    return parts


def upload(
    stack: Stack, parts: Entries, name: str = UPLOAD, alter: Callable[[bytearray], object] = bytes
) -> ArchiveOrder:
    """What the gateway asks once it has written an archive."""
    folder = stack.home / "uploads"
    folder.mkdir(exist_ok=True)
    path = write(folder / name, parts)
    data = bytearray(path.read_bytes())
    alter(data)
    path.write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    return ArchiveOrder(upload=name, sha256=digest, bytes=len(data), file="run.mosaic.zip")


async def imported(stack: Stack, parts: Entries) -> ArchiveImport:
    """Import an archive."""
    return await ask_import(stack, upload(stack, parts))


async def ask_import(stack: Stack, order: ArchiveOrder) -> ArchiveImport:
    """Import an uploaded archive."""
    return await stack.bus.request("scheduler", "import_archive", order, ArchiveImport, 60)


def left_in(stack: Stack) -> list[Path]:
    """What imports have left outside of runs' folders."""
    return [path for name in ("uploads", "imports") for path in (stack.home / name).glob("*")]


async def wait_stored(stack: Stack, run_id: str) -> None:
    """Wait until all events of the run are stored, and its files are reported."""

    async def is_stored() -> bool:  # not by announcements: a run may have had another life before
        return not (await stack.get(run_id)).telemetry_pending

    await until(is_stored, 60)
    worker = [event["seq"] for event in stack.recorder.of(run_id, "worker")]
    assert worker == list(range(1, EVENTS + 1))
    supervisor = stack.recorder.of(run_id, "supervisor")
    assert [event["seq"] for event in supervisor] == [1, 2, 3, 4]
    assert supervisor[-1]["type"] == RUN_FILES


async def test_a_run_comes_back_with_its_id(stack: Stack) -> None:
    """Record, files and events; its own scheduler's events count on; nothing is left next to it."""
    answer = await imported(stack, own(RUN_ID, held=True, position=3, tags=["kept"], sps=4.5))
    (run,) = answer.runs
    assert (run.run_id, run.outcome, run.events) == (RUN_ID, ImportOutcome.IMPORTED, EVENTS + 3)
    record = await stack.get(RUN_ID)
    was = archived_record()
    assert (record.state, record.end, record.ended_at, record.tags, record.held) == (
        *(was.state, was.end, was.ended_at, ["kept"], False),
    )
    assert record.position is None
    assert "Imported" in record.notes[-1]
    assert "sps" not in (record.model_extra or {})
    await wait_stored(stack, RUN_ID)
    folder = stack.home / "runs" / RUN_ID
    found = {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }
    assert found == FILES
    assert left_in(stack) == []


async def test_the_same_archive_again_changes_nothing(stack: Stack) -> None:
    """Also while its events are still on their way."""
    run_id = "01ARZ3NDEKTSV4RRFFQ69G5FB0"
    await imported(stack, own(run_id))
    again = await imported(stack, own(run_id))
    assert [run.outcome for run in again.runs] == [ImportOutcome.PRESENT]
    await wait_stored(stack, run_id)
    before = await stack.get(run_id)
    again = await imported(stack, own(run_id))
    assert [run.outcome for run in again.runs] == [ImportOutcome.PRESENT]
    assert await stack.get(run_id) == before
    assert left_in(stack) == []


async def test_another_run_under_a_known_id_is_refused(stack: Stack) -> None:
    """In words that name what differs; the other runs of that archive are not imported either."""
    run_id = "01ARZ3NDEKTSV4RRFFQ69G5FC0"
    await imported(stack, own(run_id))
    await wait_stored(stack, run_id)
    both = entries(OTHER_ID, run_id)
    both[run_entry(run_id, RUN_RECORD)] = own(run_id, state="failed")[run_entry(run_id, RUN_RECORD)]
    with pytest.raises(ProblemError, match="here with other content: state differ") as refused:
        await imported(stack, both)
    assert refused.value.problem.code is ProblemCode.ARCHIVE_REFUSED
    with pytest.raises(ProblemError, match="No run has the id"):
        await stack.get(OTHER_ID)
    await stack.ask("delete", DeleteRequest(run_id=run_id))
    with pytest.raises(ProblemError, match="mosaic restore"):
        await imported(stack, own(run_id))
    await stack.ask("restore", RunRequest(run_id=run_id))
    assert left_in(stack) == []


async def test_a_run_that_was_deleted_for_good_comes_back(stack: Stack) -> None:
    """Everything of it, as if it had never been there."""
    run_id = "01ARZ3NDEKTSV4RRFFQ69G5FD0"
    await imported(stack, own(run_id))
    await wait_stored(stack, run_id)
    await stack.ask("delete", DeleteRequest(run_id=run_id, now=True))

    async def is_gone() -> bool:
        try:
            await stack.get(run_id)
        except ProblemError:
            return True
        return False

    await until(is_gone)
    assert [run.outcome for run in (await imported(stack, own(run_id))).runs] == ["imported"]
    await wait_stored(stack, run_id)


async def test_what_is_altered_leaves_nothing(stack: Stack) -> None:
    """A file that is not what its facts say is found before anything is added."""
    run_id = "01ARZ3NDEKTSV4RRFFQ69G5FE0"
    parts = own(run_id)
    parts[file_entry(run_id, "logs/worker.log")] = b"other words"
    with pytest.raises(ProblemError, match="damaged or altered"):
        await imported(stack, parts)
    assert left_in(stack) == []
    assert not (stack.home / "runs" / run_id).exists()


async def test_no_altered_byte_gets_in(stack: Stack) -> None:
    """200 places: each archive is refused and leaves nothing, or the byte said nothing and the run is the same."""
    rng = random.Random(17)
    parts, refused, same = own(f"{ALTERED}00"), 0, 0
    whole = len(write(stack.home / "whole.zip", parts).read_bytes())
    (stack.home / "whole.zip").unlink()
    for _ in range(200):
        run_id = f"{ALTERED}{same:02}"
        place, other = rng.randrange(whole), rng.randrange(1, 256)

        def alter(data: bytearray, place: int = place, other: int = other) -> None:
            data[place] ^= other

        order = upload(stack, own(run_id), alter=alter)
        try:
            answer = await ask_import(stack, order)
        except ProblemError as error:
            assert error.problem.code is ProblemCode.ARCHIVE_REFUSED  # noqa: PT017 - both ends are right
            refused += 1
            with pytest.raises(ProblemError, match="No run has the id"):
                await stack.get(run_id)
            assert not (stack.home / "runs" / run_id).exists()
        else:
            assert [run.run_id for run in answer.runs] == [run_id]
            await wait_stored(stack, run_id)
            record = await stack.get(run_id)
            folder = stack.home / "runs" / run_id
            assert {path: (folder / path).read_bytes() for path in FILES} == FILES
            was = archived_record(run_id)
            assert (record.spec, record.state, record.end) == (was.spec, was.state, was.end)
            same += 1
        assert left_in(stack) == []
    assert refused > 100


async def test_one_archive_twice_at_once_is_imported_once(stack: Stack) -> None:
    """The second import finds the run that the first one added."""
    run_id = "01ARZ3NDEKTSV4RRFFQ69G5FP0"
    orders = [upload(stack, large(run_id), name) for name in (UPLOAD, "2" * 32)]
    answers = await asyncio.gather(*(ask_import(stack, order) for order in orders))
    outcomes = {run.outcome for answer in answers for run in answer.runs}
    assert outcomes == {ImportOutcome.IMPORTED, ImportOutcome.PRESENT}
    await wait_stored(stack, run_id)
    assert left_in(stack) == []


@pytest.mark.parametrize("is_same", [True, False])
async def test_two_archives_with_one_run_at_once(stack: Stack, is_same: bool) -> None:
    """One of them is imported; the other finds that run, or names what differs."""
    run_id = f"01ARZ3NDEKTSV4RRFFQ69G5FQ{int(is_same)}"
    changed = own(run_id, **({"tags": ["other"]} if is_same else {"state": "failed"}))
    orders = [upload(stack, own(run_id)), upload(stack, changed, "2" * 32)]
    done = await asyncio.gather(
        *(ask_import(stack, order) for order in orders), return_exceptions=True
    )
    answers = [each for each in done if isinstance(each, ArchiveImport)]
    problems = [each for each in done if isinstance(each, ProblemError)]
    outcomes = sorted(run.outcome for answer in answers for run in answer.runs)
    if is_same:
        assert outcomes == [ImportOutcome.IMPORTED, ImportOutcome.PRESENT]
    else:
        assert outcomes == [ImportOutcome.IMPORTED]
        assert ["state differ" in str(problem) for problem in problems] == [True]
    await wait_stored(stack, run_id)
    assert left_in(stack) == []


async def test_a_folder_that_nobody_knows_is_named(stack: Stack) -> None:
    """It is neither overwritten nor removed."""
    run_id = "01ARZ3NDEKTSV4RRFFQ69G5FF0"
    folder = stack.home / "runs" / run_id
    folder.mkdir()
    (folder / "mine").write_text("mine")
    with pytest.raises(ProblemError, match="Move that folder away"):
        await imported(stack, own(run_id))
    assert (folder / "mine").read_text() == "mine"
    shutil.rmtree(folder)


def large(run_id: str) -> Entries:
    """An archive with files that are written in several pieces."""
    data = hashlib.sha256(run_id.encode()).digest() * (2**17)
    files = {**FILES, **{f"checkpoints/{n}.pt": data for n in range(4)}}
    parts = own(run_id)
    parts |= {file_entry(run_id, path): content for path, content in files.items()}
    parts[run_entry(run_id, RUN_FACTS)] = archived_run(run_id, files).model_dump_json().encode()
    return parts


MOMENTS = {
    "imports.folder:ImportFolder.claim": "imports/*/given/run.mosaic.zip",
    "imports.archive:SealedZip.pieces": "imports/{run_id}/run/checkpoints/0.pt",
    "imports.archive:RunArchive.extract": "imports/{run_id}/run/outbox/archive.batches",
    "imports.folder:ImportFolder.publish": "runs/{run_id}/outbox/archive.batches",
}
"""What is there when the scheduler is killed, by the function in or after which it is."""


@pytest.mark.own_stack
@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(pattern, marks=pytest.mark.pace({STOP_AFTER: place}), id=place)
        for place, pattern in MOMENTS.items()
    ],
)
async def test_a_killed_import_is_all_or_nothing(stack: Stack, pattern: str) -> None:
    """kill -9 at each step: nothing half is left, and the same archive is imported then."""
    run_id = "01ARZ3NDEKTSV4RRFFQ69G5FG0"
    order = upload(stack, large(run_id))
    await stack.recorder.close()  # so that its events stay on their way
    subject = "mosaic.v1.svc.scheduler.import_archive"
    await stack.bus.publish(subject, order.model_dump_json().encode())
    await stack.wait_stopped()
    assert any(stack.home.glob(pattern.format(run_id=run_id)))
    await stack.kill_scheduler()
    await stack.recorder.open()
    await stack.start_scheduler()
    assert left_in(stack) == []
    folder = stack.home / "runs" / run_id
    try:
        record = await stack.get(run_id)
    except ProblemError:
        assert not folder.exists()
    else:
        assert record.state is RunState.SUCCEEDED
    answer = await imported(stack, large(run_id))
    assert answer.runs[0].outcome in (ImportOutcome.IMPORTED, ImportOutcome.PRESENT)
    await wait_stored(stack, run_id)
    assert len([path for path in folder.rglob("*") if path.is_file()]) == 6


@pytest.mark.parametrize("has_group", [True, False])
async def test_a_group_comes_with_its_runs(stack: Stack, has_group: bool) -> None:
    """A list shows runs with their group; an archive of an older version has none, and its runs stand alone."""
    run_id = f"01ARZ3NDEKTSV4RRFFQ69G5FM{int(has_group)}"
    group_id = f"g{run_id}"
    parts = own(run_id, group={"group_id": group_id, "name": "two seeds", "place": 1})
    if has_group:
        group = ArchivedGroup(
            group_id=group_id,
            name="two seeds",
            created_at=datetime(2026, 1, 1, tzinfo=UTC),
            spec=GroupSpec(run={"worker": "synthetic", "environment": "x"}, seeds=[1, 2]),
        )
        parts[group_entry(group_id)] = group.model_dump_json().encode()
    await imported(stack, parts)
    place = (await stack.get(run_id)).group
    request = GroupRequest(group_id=group_id)
    if has_group:
        view = await stack.bus.call(GET_GROUP, request)
        assert (view.name, view.total, view.run_ids) == ("two seeds", 2, [run_id])
        assert place is not None
    else:
        with pytest.raises(ProblemError, match="no such group"):
            await stack.bus.call(GET_GROUP, request)
        assert place is None


async def test_steps_that_were_thinned_elsewhere_are_no_gaps(stack: Stack) -> None:
    """The recorder gets their number when it has all that the archive has."""
    run_id = "01ARZ3NDEKTSV4RRFFQ69G5FK0"
    parts = own(run_id)
    facts = json.loads(parts[run_entry(run_id, RUN_FACTS)])
    facts["thinned"] = {"steps": 7, "rule": "storage profile small"}
    parts[run_entry(run_id, RUN_FACTS)] = json.dumps(facts).encode()
    await imported(stack, parts)
    await wait_stored(stack, run_id)
    known = KnownThinning(steps=7, rule="storage profile small")
    assert stack.recorder.known_thinned[run_id] == known
    assert list((stack.home / "runs" / run_id / "outbox").iterdir()) == []


@pytest.mark.own_stack
async def test_events_go_on_where_the_store_is(stack: Stack) -> None:
    """A scheduler that is killed while it sends them, and a broker that was away, lose and double none."""
    run_id = "01ARZ3NDEKTSV4RRFFQ69G5FH0"
    await stack.recorder.close()
    await imported(stack, own(run_id))
    assert (await stack.get(run_id)).telemetry_pending
    await stack.kill_scheduler()
    await stack.start_scheduler()
    assert (stack.home / "runs" / run_id / "outbox/archive.batches").exists()
    await stack.recorder.open()
    await wait_stored(stack, run_id)


async def test_what_an_archive_has_is_removed_and_comes_back(stack: Stack) -> None:
    """Its files go, the log stays, a note says where they are; an import brings them back, a pinned run is refused."""
    run_id = "01ARZ3NDEKTSV4RRFFQ69G5FJ0"
    await imported(stack, own(run_id))
    await wait_stored(stack, run_id)
    stack.recorder.files[run_id] = StoredRunFiles(
        run_id=run_id,
        paths=list(FILES),
        kinds=["checkpoint", "log"],
        types=["file", "file"],
        bytes=[len(data) for data in FILES.values()],
        times=[1.0, 1.0],
        steps=[1, None],
        episodes=[None, None],
        envs=[None, None],
        means=[None, None],
        reasons=[None, None],
        announced=[True, False],
        places=[0, 0],
        names=[None, None],
    )
    asked = {"file": "run.mosaic.zip", "sha256": "0" * 64, "paths": list(FILES)}
    order = FreeOrder(run_id=run_id, asked=asked)
    await stack.ask("patch", PatchRequest(run_id=run_id, patch={"pinned": True}))
    with pytest.raises(ProblemError, match="stays as it is"):
        await stack.bus.request("scheduler", "free", order, FreedRun, 60)
    await stack.ask("patch", PatchRequest(run_id=run_id, patch={"pinned": False}))
    freed = await stack.bus.request("scheduler", "free", order, FreedRun, 60)
    assert freed.files == 1
    folder = stack.home / "runs" / run_id
    assert not (folder / "checkpoints/last.pt").exists()
    assert (folder / "logs/worker.log").exists()
    assert "Archived" in (await stack.get(run_id)).notes[-1]

    async def is_settled() -> bool:
        return not (await stack.get(run_id)).telemetry_pending

    await until(is_settled, 60)
    answer = await imported(stack, own(run_id))
    assert [run.outcome for run in answer.runs] == [ImportOutcome.RESTORED]
    await wait_stored(stack, run_id)
    assert (folder / "checkpoints/last.pt").read_bytes() == FILES["checkpoints/last.pt"]
    assert left_in(stack) == []
