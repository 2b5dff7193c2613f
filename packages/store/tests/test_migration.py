"""Stores of every older version open in this one, with a copy made first and nothing lost."""

import json
import shutil
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.fill_store import OTHER, contents

from mosaic_base import database_copy
from mosaic_store import (
    Migration,
    StoreWriteFailed,
    StreamCursor,
    open_reader,
    open_writer,
    read_batch,
    schema,
)
from mosaic_store.testing import RUN_ID, message

DATA = Path(__file__).parent / "data"
VERSIONS = range(1, schema.SCHEMA_VERSION)


class OldStore(NamedTuple):
    """A store as an older version left it, and what that version read of it."""

    path: Path
    version: int
    expected: dict[str, Any]


@pytest.fixture
def unpacked(tmp_path: Path) -> Callable[[int], OldStore]:
    """Gives the store of a version."""

    def unpack(version: int) -> OldStore:
        folder = tmp_path / "db"
        with tarfile.open(DATA / f"telemetry_{version}.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        expected = json.loads((folder / "expected.json").read_text("utf-8"))
        return OldStore(folder / "telemetry.sqlite3", version, expected)

    return unpack


@pytest.mark.parametrize("version", VERSIONS)
def test_a_store_of_each_version_holds_what_it_held(
    version: int, unpacked: Callable[[int], OldStore]
) -> None:
    """Events, episodes, files, metrics and curves are what the version that wrote them read."""
    store = unpacked(version)
    assert store.expected["version"] == version
    open_writer(store.path).close()
    now = contents(store.path)
    assert differences(store.expected["runs"], now["runs"]) == []
    assert differences(store.expected["curve"], now["curve"]) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_store_of_each_version_is_complete(
    version: int, unpacked: Callable[[int], OldStore]
) -> None:
    """It has the tables and columns of a new one, goes on recording, thins, gives pages back and deletes."""
    store = unpacked(version)
    with open_writer(store.path) as writer, open_reader(store.path) as reader:
        assert tables(store.path) == tables_of_a_new_store(store.path.parent / "new")
        assert reader.summary(RUN_ID).episodes_played == 50
        space = {one.run_id: one for one in reader.run_spaces()}[RUN_ID]
        (stored,) = writer._db.execute(
            "SELECT sum(length(body)) FROM block WHERE source IN"
            " (SELECT source.id FROM source JOIN run ON run.id=source.run WHERE run_id=?)",
            (RUN_ID,),
        ).fetchone()
        assert space.bytes == stored
        assert reader.space().can_shrink
        writer.apply([read_batch(*message(1002, 1100)[1:])], StreamCursor("one", 14))
        assert writer.thin(RUN_ID, 10, "rule").removed_steps > 0
        assert reader.summary(RUN_ID).thinned_steps > 0
        writer.prune(OTHER)
        assert reader.space().free_bytes == 0


def test_an_older_store_is_copied_first_and_the_copy_removed(
    unpacked: Callable[[int], OldStore],
) -> None:
    """The copy is there before anything is changed, and gone when the new version holds."""
    store = unpacked(1)
    said: list[Migration] = []
    open_writer(store.path, on_migration=said.append).close()
    (migration,) = said
    assert (migration.from_version, migration.to_version) == (1, schema.SCHEMA_VERSION)
    assert migration.copy == store.path.with_name("telemetry.sqlite3.version-1")
    assert not migration.copy.exists()


def test_a_migration_that_fails_keeps_the_copy(
    unpacked: Callable[[int], OldStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names the copy, which is whole; the next start makes it again, and removes it in the end."""
    store = unpacked(3)
    with monkeypatch.context() as patched:
        broken = (*schema.MIGRATIONS, "CREATE TABLE run (a);\n")
        patched.setattr(schema, "MIGRATIONS", broken)
        patched.setattr(schema, "SCHEMA_VERSION", len(broken))
        patched.setattr("mosaic_store.database.SCHEMA_VERSION", len(broken))
        with pytest.raises(StoreWriteFailed, match=r"version-3 is a copy"):
            open_writer(store.path)
    copy = store.path.with_name("telemetry.sqlite3.version-3")
    assert copy.stat().st_mode & 0o777 == 0o600
    whole = copy.with_name("whole.sqlite3")
    shutil.copy(copy, whole)
    open_writer(whole).close()
    assert differences(store.expected["runs"], contents(whole)["runs"]) == []
    open_writer(store.path).close()
    assert not copy.exists()
    assert differences(store.expected["runs"], contents(store.path)["runs"]) == []


def test_without_room_for_a_copy_nothing_is_changed(
    unpacked: Callable[[int], OldStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says how much is needed and how to go on; the setting that it names works."""
    store = unpacked(2)
    with monkeypatch.context() as patched:
        patched.setattr(database_copy, "ROOM_BYTES", 2**60)
        with pytest.raises(StoreWriteFailed, match="MOSAIC_MIGRATION_COPY=no"):
            open_writer(store.path)
        with sqlite3.connect(store.path) as db:
            assert db.execute("PRAGMA user_version").fetchone() == (2,)
        db.close()
        open_writer(store.path, copy=False).close()
    assert differences(store.expected["runs"], contents(store.path)["runs"]) == []


_OPEN = """
import sys
from pathlib import Path
from mosaic_store import database, open_writer

def announce(place):
    print(place, flush=True)
    sys.stdin.readline()

real = database.migrate
def migrate(db):
    announce("copied")
    real(db)
    announce("migrated")

database.migrate = migrate
open_writer(Path(sys.argv[1]), on_migration=lambda migration: announce("before the copy")).close()
print("done", flush=True)
"""


@pytest.mark.parametrize("point", [1, 2, 3])
def test_a_kill_during_a_migration_loses_nothing(
    point: int, unpacked: Callable[[int], OldStore]
) -> None:
    """Before the copy, behind it, and when the store is of the new version while the copy is still there."""
    store = unpacked(1)
    arguments = [sys.executable, "-c", _OPEN, str(store.path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(arguments, stdin=pipe, stdout=pipe, text=True, bufsize=1) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        for _ in range(point - 1):
            process.stdout.readline()
            process.stdin.write("\n")
        place = process.stdout.readline().strip()
        process.kill()
    assert place == ("before the copy", "copied", "migrated")[point - 1]
    copy = store.path.with_name("telemetry.sqlite3.version-1")
    assert copy.exists() == (point > 1)
    open_writer(store.path).close()
    assert differences(store.expected["runs"], contents(store.path)["runs"]) == []
    assert not copy.exists()


def test_a_copy_that_a_killed_start_left_is_removed(unpacked: Callable[[int], OldStore]) -> None:
    """The store is up to date, and the copy was about to go."""
    store = unpacked(5)
    open_writer(store.path).close()
    left = store.path.with_name("telemetry.sqlite3.version-5")
    left.write_bytes(b"a copy")
    open_writer(store.path).close()
    assert not left.exists()


def differences(before: Any, now: Any, where: str = "") -> list[str]:
    """What an older version read and this one reads otherwise; new fields may come."""
    if isinstance(before, dict) and isinstance(now, dict):
        return [
            one
            for key, value in before.items()
            for one in differences(value, now.get(key, "gone"), f"{where}.{key}")
        ]
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        pairs = enumerate(zip(before, now, strict=True))
        return [one for n, (was, is_) in pairs for one in differences(was, is_, f"{where}[{n}]")]
    # as text: NaN is what it was, too
    return [] if repr(before) == repr(now) else [f"{where}: {before!r} is {now!r}"]


def tables(path: Path) -> dict[str, set[str]]:
    """Columns of each table, and the names of indices."""
    with sqlite3.connect(path) as db:
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        found = {
            name: {row[1] for row in db.execute(f"PRAGMA table_info({name})")} for name in names
        }
        indices = db.execute("SELECT name FROM sqlite_master WHERE type='index'")
        found["indices"] = {row[0] for row in indices}
    db.close()
    return found


def tables_of_a_new_store(folder: Path) -> dict[str, set[str]]:
    """The same of a store that this version made."""
    path = folder / "telemetry.sqlite3"
    open_writer(path).close()
    return tables(path)
