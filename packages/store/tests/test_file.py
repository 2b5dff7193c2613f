"""The file itself: permissions, format, version, one writer."""

import multiprocessing
import sqlite3
import stat
import time
from pathlib import Path

import pytest

from mosaic_store import (
    Reader,
    ReadTooSlow,
    StoreForeign,
    StoreLocked,
    StoreMissing,
    StoreReplaced,
    StoreWalRefused,
    StoreWriteFailed,
    StreamCursor,
    Writer,
    open_reader,
    open_writer,
    read_batch,
    schema,
)
from mosaic_store.pool import ReadPool
from mosaic_store.testing import RUN_ID, message, messages

CURSOR = StreamCursor("one", 1)


def test_file_and_folder_are_the_owners_only(writer: Writer) -> None:
    """Nobody else on the machine reads a store, its log or its index."""
    writer.apply([read_batch(*message(1, 5)[1:])], CURSOR)
    assert stat.S_IMODE(writer.path.parent.stat().st_mode) == 0o700
    files = list(writer.path.parent.glob("telemetry.sqlite3*"))
    assert len(files) == 4
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_file_has_the_format_agreed_on(writer: Writer) -> None:
    """WAL, incremental vacuum from the start, our application id and version."""
    with sqlite3.connect(writer.path) as db:
        pragmas = {
            name: db.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "auto_vacuum", "application_id", "user_version")
        }
    db.close()
    assert pragmas == {
        "journal_mode": "wal",
        "auto_vacuum": 2,
        "application_id": schema.APPLICATION_ID,
        "user_version": schema.SCHEMA_VERSION,
    }


def test_newer_version_is_refused_and_left_alone(path: Path) -> None:
    """A store of a newer MOSAIC is neither read nor written nor deleted."""
    open_writer(path).close()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")
    db.close()
    content = path.read_bytes()
    with pytest.raises(StoreForeign, match="update MOSAIC"):
        open_writer(path)
    with open_reader(path) as reader, pytest.raises(StoreForeign, match="update MOSAIC"):
        reader.summary(RUN_ID)
    assert path.read_bytes() == content


@pytest.mark.parametrize("content", [b"not a database at all" * 100, None], ids=["text", "sqlite"])
def test_foreign_file_is_refused_and_left_alone(path: Path, content: bytes | None) -> None:
    """What is no store of ours is refused, whatever it is."""
    path.parent.mkdir()
    if content is None:
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE theirs (a)")
        db.close()
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(StoreForeign):
        open_writer(path)
    with open_reader(path) as reader, pytest.raises(StoreForeign):
        reader.summary(RUN_ID)
    assert path.read_bytes() == before


def test_migration_that_fails_leaves_the_store_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failing step is rolled back, and the store still opens with the version that it has."""
    with open_writer(path) as writer:
        writer.apply([read_batch(*message(1, 5)[1:])], CURSOR)
    with monkeypatch.context() as patched:
        steps = (*schema.MIGRATIONS, "CREATE TABLE added (a);\nCREATE TABLE run (a);\n")
        patched.setattr(schema, "MIGRATIONS", steps)
        patched.setattr(schema, "SCHEMA_VERSION", len(steps))
        patched.setattr("mosaic_store.database.SCHEMA_VERSION", len(steps))
        with pytest.raises(StoreWriteFailed):
            open_writer(path)
    with open_writer(path) as writer, open_reader(path) as reader:
        assert reader.summary(RUN_ID).events == 5
        assert writer.cursor() == CURSOR


def test_older_version_is_brought_up_to_date(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer migrates; until it has, a reader says what it waits for."""
    open_writer(path).close()
    steps = (*schema.MIGRATIONS, "CREATE TABLE added (a);\n")
    monkeypatch.setattr(schema, "MIGRATIONS", steps)
    monkeypatch.setattr(schema, "SCHEMA_VERSION", len(steps))
    monkeypatch.setattr("mosaic_store.database.SCHEMA_VERSION", len(steps))
    with open_reader(path) as reader:
        with pytest.raises(StoreMissing, match="when it starts"):
            reader.summary(RUN_ID)
        open_writer(path).close()
        assert reader.summary(RUN_ID).events == 0


def test_store_of_version_1_gets_its_played_episodes(path: Path) -> None:
    """The step to version 2 counts the episodes of runs that are there, whatever their numbers are."""
    with open_writer(path) as writer:
        writer.apply([read_batch(m.payload, m.encoding) for m in messages(1001, 100)], CURSOR)
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO run (run_id) VALUES ('other')")
        ended = "INSERT INTO episode (run, attempt, env, episode, start_seq, last_seq, start_us, steps, end_seq)"
        (other,) = db.execute("SELECT id FROM run WHERE run_id='other'").fetchone()
        for env, episode, end in (
            (0, 9, 1),
            (1, 2**61, 2),
            (2, 2**61, 3),
            (3, 2**61, 4),
            (4, 5, None),
        ):
            db.execute(f"{ended} VALUES (?,1,?,?,1,1,1,0,?)", (other, env, episode, end))
        db.execute("DROP TABLE played")
        db.execute("ALTER TABLE run DROP COLUMN episodes_played")
        db.execute("DROP TABLE evaluation")
        db.execute("DROP INDEX artifact_checkpoint")
        db.execute("DROP TABLE file_report")
        db.execute("DROP TABLE tracked")
        db.execute("DROP TABLE thinning")
        db.execute("DROP TABLE media")
        for table, column in (
            ("run", "thinned_steps"),
            ("run", "stored_bytes"),
            ("episode", "thinned_steps"),
        ):
            db.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        seen = ("attempt", "seq", "kind", "type", "bytes", "sha256", "us", "name")
        added = ("gone_reason", *(f"seen_{name}" for name in seen))
        for column in ("env", "episode", "mean_return", "facts", *added):
            db.execute(f"ALTER TABLE artifact DROP COLUMN {column}")
        db.execute("PRAGMA user_version = 1")
    db.close()
    with open_writer(path), open_reader(path) as reader:
        assert reader.summary(RUN_ID).episodes_played == 50
        assert reader.run_marks()["other"].episodes == 4 * 10**18


def test_deleted_run_leaves_no_row_behind(path: Path) -> None:
    """Every table is empty after the only run was deleted for good."""
    with open_writer(path) as writer:
        writer.apply([read_batch(m.payload, m.encoding) for m in messages(1001, 100)], CURSOR)
        writer.prune(RUN_ID)
        with sqlite3.connect(path) as db:
            left = {line.split('"')[1] for line in db.iterdump() if line.startswith("INSERT INTO")}
        db.close()
    assert left <= {"stream_cursor"}


def test_file_system_without_wal_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where SQLite keeps another journal, the store says so instead of being slow and unsafe."""
    real = sqlite3.connect

    def without_shared_memory(name: Path, **_: object) -> sqlite3.Connection:
        # this VFS has no shared memory, as some network file systems have none
        return real(f"file:{name}?vfs=unix-dotfile", isolation_level=None, uri=True)

    monkeypatch.setattr(sqlite3, "connect", without_shared_memory)
    with pytest.raises(StoreWalRefused, match="MOSAIC_HOME"):
        open_writer(path)


def _open_and_say(path: Path, answers: "multiprocessing.Queue[str]") -> None:
    try:
        open_writer(path).close()
        answers.put("opened")
    except StoreLocked as error:
        answers.put(str(error))


def test_second_writer_is_refused(writer: Writer) -> None:
    """Two recorders never write one store."""
    spawn = multiprocessing.get_context("spawn")
    answers = spawn.Queue()
    process = spawn.Process(target=_open_and_say, args=(writer.path, answers))
    process.start()
    answer = answers.get(timeout=60)
    process.join()
    assert "another recorder writes" in answer


def test_missing_store_is_told_and_found_when_it_comes(path: Path) -> None:
    """A reader may be opened before the recorder ever ran, and outlives a store that is made again."""
    with open_reader(path) as reader:
        with pytest.raises(StoreMissing, match="recorder"):
            reader.summary(RUN_ID)
        for last in (5, 7):
            with open_writer(path) as writer:
                writer.apply([read_batch(*message(1, last)[1:])], CURSOR)
                assert reader.summary(RUN_ID).events == last
            for file in path.parent.glob("telemetry.sqlite3*"):
                file.unlink()


def test_writer_notices_that_its_file_is_gone(writer: Writer) -> None:
    """A writer whose file was deleted or exchanged does not go on writing for nobody."""
    writer.check_in_place()
    writer.path.rename(writer.path.with_name("moved"))
    with pytest.raises(StoreReplaced, match="deleted"):
        writer.check_in_place()
    writer.path.write_bytes(b"")
    with pytest.raises(StoreReplaced, match="exchanged"):
        writer.check_in_place()


def test_failed_transaction_leaves_nothing_and_may_be_tried_again(
    writer: Writer, path: Path
) -> None:
    """After a write error the same batches, applied again, give what one success would have given."""
    stored = [read_batch(*message(first, first + 29)[1:]) for first in (1, 31, 61)]
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute(
        "CREATE TRIGGER full BEFORE UPDATE ON run BEGIN SELECT RAISE(ABORT, 'full'); END"
    )
    with pytest.raises(StoreWriteFailed, match="full"):
        writer.apply(stored, CURSOR)
    with open_reader(path) as reader:
        assert reader.summary(RUN_ID).events == 0
        assert writer.cursor() is None
        blocker.execute("DROP TRIGGER full")
        blocker.close()
        writer.apply(stored, CURSOR)
        summary = reader.summary(RUN_ID)
        assert (summary.events, summary.episodes, summary.steps) == (90, 4, 76)
        episodes = reader.episodes(RUN_ID).episodes
        assert [episode.recorded_steps for episode in episodes] == [17, 17, 17, 17, 8]


def test_a_query_that_goes_on_is_interrupted(filled: Reader) -> None:
    """A read beyond its bound ends by itself with a word for the user, and the next read is served."""
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    pool = ReadPool(filled._pool._path, timeout_s=1.5)
    began = time.monotonic()
    with pytest.raises(ReadTooSlow, match=r"longer than 1\.5 s"), pool.lend() as db:
        db.execute(endless).fetchone()
    assert time.monotonic() - began < 120
    time.sleep(1.6)
    with pool.lend() as db:
        # enough of it for the clock to be looked at
        in_time = endless.replace("FROM n)", "FROM n LIMIT 300000)")
        assert db.execute(in_time).fetchone() == (300_000,)
    pool.close()
