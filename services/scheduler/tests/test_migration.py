"""Databases of every older version open in this one, with a copy made first and nothing lost."""

import json
import shutil
import sqlite3
import tarfile
from pathlib import Path
from typing import Any

import pytest
from tests.fill_database import IDS, contents

from mosaic_base import database_copy
from mosaic_contracts.states import RunState
from mosaic_scheduler import database as database_module
from mosaic_scheduler.database import Database
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.schema import MIGRATIONS
from mosaic_servicekit.errors import ServiceRefused

DATA = Path(__file__).parent / "data"
VERSIONS = range(1, len(MIGRATIONS))


def unpack(version: int, folder: Path) -> tuple[Path, dict[str, Any]]:
    """The database of a version, and the records that this version had."""
    with tarfile.open(DATA / f"scheduler_{version}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    assert expected["version"] == version
    return folder / "scheduler.sqlite3", expected["runs"]


async def check_runs(path: Path, expected: dict[str, Any], **options: Any) -> None:
    """Every field that the older version had is as it was; the runs go on, and new ones come."""
    database = Database(path, **options)
    store = RunStore(database)
    for run_id, record in expected.items():
        assert differences(record, await contents(store, run_id)) == []
    queued = [run.record.run_id for run in await store.queued()]
    assert queued == [IDS[0], IDS[3]]
    first = await store.get(IDS[0])
    assert first is not None
    assert await store.write(first.record, state=RunState.STARTING) is not None
    await database.close()


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_database_of_each_version_holds_what_it_held(version: int, tmp_path: Path) -> None:
    """Records, queue and tables are those of a database that this version made; the copy is gone."""
    path, expected = unpack(version, tmp_path)
    await check_runs(path, expected)
    new = tmp_path / "new.sqlite3"
    database = Database(new)
    await RunStore(database).queued()
    await database.close()
    assert tables(path) == tables(new)
    assert copies(path) == []


async def test_a_migration_that_fails_keeps_a_whole_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service is refused with the copy's name; the next start makes it again, and removes it in the end."""
    path, expected = unpack(4, tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(database_module, "MIGRATIONS", (*MIGRATIONS, "CREATE TABLE runs (a);"))
        database = Database(path)
        for _ in range(2):  # a connection that was left half migrated would be taken for a good one
            with pytest.raises(ServiceRefused, match=r"version-\d+ is a copy"):
                await RunStore(database).queued()
        await database.close()
    copy = path.with_name("scheduler.sqlite3.version-4")
    assert copy.stat().st_mode & 0o777 == 0o600
    shutil.copy(copy, tmp_path / "whole.sqlite3")
    await check_runs(tmp_path / "whole.sqlite3", expected)
    await check_runs(path, expected)
    assert copies(path) == []


async def test_without_room_for_a_copy_nothing_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The refusal says how much is needed and how to go on; the setting that it names works."""
    monkeypatch.setattr(database_copy, "ROOM_BYTES", 2**60)
    path, expected = unpack(2, tmp_path)
    database = Database(path)
    with pytest.raises(ServiceRefused, match="MOSAIC_MIGRATION_COPY=no"):
        await RunStore(database).queued()
    await database.close()
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (2,)
    db.close()
    await check_runs(path, expected, migration_copy=False)


async def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    """It is left as it is, and the message says what to do."""
    path = tmp_path / "scheduler.sqlite3"
    path.write_bytes(b"no database at all" * 100)
    database = Database(path)
    with pytest.raises(ServiceRefused, match="move it away"):
        await RunStore(database).queued()
    await database.close()
    assert path.read_bytes() == b"no database at all" * 100


def differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Fields that have another value now, or none; new ones may come, inside too."""
    found: list[str] = []
    for key, value in before.items():
        other = now.get(key, "gone")
        if isinstance(value, dict) and isinstance(other, dict):
            found += [f"{key}.{inner}" for inner in differences(value, other)]
        elif value != other:
            found.append(f"{key}: {value!r} is {other!r}")
    return found


def copies(path: Path) -> list[Path]:
    """Copies of a database that are left."""
    return list(path.parent.glob("*.version-*"))


def tables(path: Path) -> dict[str, set[str]]:
    """Columns of each table, and the names of indices and triggers."""
    with sqlite3.connect(path) as db:
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        found = {
            name: {row[1] for row in db.execute(f"PRAGMA table_info({name})")} for name in names
        }
        others = db.execute("SELECT name FROM sqlite_master WHERE type<>'table'")
        found["others"] = {row[0] for row in others}
    db.close()
    return found
