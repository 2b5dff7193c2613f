"""Backups: what is in them, what of a hostile file is refused, and that nothing half is ever left."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.gateway_double import caller

from mosaic_base.locks import open_lock
from mosaic_base.sealed_zip import SealedZipWriter
from mosaic_cli.backing_up import snapshot
from mosaic_cli.backing_up.writing import write_backup
from mosaic_cli.main import main
from mosaic_cli.stack.layout import Layout
from mosaic_cli.stack.lock import StackLock
from mosaic_contracts.backups import BACKUP_FACTS, BACKUP_INDEX, BackupFacts, RestoredStack
from mosaic_contracts.stack_files import (
    BACKUP_LOCK,
    CONTAINERS_STORE,
    RESTORED_FILE,
    RESTORING_DIR,
    SCHEDULER_DB,
    TELEMETRY_DB,
)


class Said(NamedTuple):
    """What a command line answered."""

    code: int
    out: str
    err: str


Called = Callable[..., Said]

RUN, LIVE, UNKNOWN = (f"01ARZ3NDEKTSV4RRFFQ69G5FA{letter}" for letter in "VWX")
LAST_SEQ = 7


@pytest.fixture
def mosaic(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Called:
    """Runs a command line in this process."""
    call = caller(monkeypatch, capsys)
    return lambda *args: Said(*call(*args))


def make_databases(home: Path, rows: int = 100) -> None:
    """The tables that a backup looks at, in the journal mode of the services, and something in them."""
    (home / "db").mkdir(parents=True)
    scheduler = sqlite3.connect(home / SCHEDULER_DB)
    scheduler.executescript(
        "PRAGMA journal_mode = WAL; CREATE TABLE runs (run_id TEXT, state TEXT);"
    )
    scheduler.execute("INSERT INTO runs VALUES (?, 'succeeded'), (?, 'running')", (RUN, LIVE))
    scheduler.commit()
    scheduler.close()
    store = sqlite3.connect(home / TELEMETRY_DB)
    store.executescript(
        "PRAGMA journal_mode = WAL; CREATE TABLE run (id INTEGER PRIMARY KEY, run_id TEXT);"
        "CREATE TABLE source (run INTEGER, attempt INTEGER, source TEXT, last_seq INTEGER);"
        "CREATE TABLE block (id INTEGER PRIMARY KEY, body BLOB);"
    )
    store.execute("INSERT INTO run VALUES (1, ?)", (RUN,))
    store.execute("INSERT INTO source VALUES (1, 1, 'worker', ?)", (LAST_SEQ,))
    store.executemany(
        "INSERT INTO block (body) VALUES (?)", [(os.urandom(4000),) for _ in range(rows)]
    )
    store.commit()
    store.close()


def write(path: Path, content: bytes | str = b"x", mode: int = 0o600) -> Path:
    """A file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data root with two runs, as a stack that is up has it."""
    made = tmp_path / "a home"
    make_databases(made)
    for run in (RUN, LIVE, UNKNOWN):
        write(made / "runs" / run / "spec.json", run)
    checkpoint = write(made / "runs" / RUN / "checkpoints" / "best.pt", os.urandom(100_000), 0o644)
    os.utime(checkpoint, ns=(1_700_000_000_123_456_789, 1_700_000_000_123_456_789))
    write(made / "runs" / RUN / os.fsdecode(b"\xe9t\xe9 \n.txt"), "any name")
    (made / "runs" / RUN / "wandb").mkdir()
    (made / "runs" / RUN / "wandb" / "latest").symlink_to("../checkpoints/best.pt")
    (made / "runs" / RUN / "elsewhere").symlink_to("/etc/passwd")
    (made / "runs" / RUN / "up").symlink_to("../../../secrets")
    os.mkfifo(made / "runs" / RUN / "pipe")
    write(made / "runs" / LIVE / "control" / "launch.json", "{}")
    write(made / "runs" / LIVE / "control" / "broker.creds", "SECRET OF A RUN")
    write(made / "runs" / LIVE / "control" / "secrets" / "KEY", "SECRET OF A RUN")
    write(made / "runs" / LIVE / "outbox" / "1" / "worker" / "1.seg", bytes(200_000))
    write(made / "secrets" / "user" / "KEY", "SECRET OF A USER")
    write(made / "secrets" / "gateway.token", "SECRET TOKEN")
    write(made / "secrets" / "broker" / "keys.json", "SECRET SEED")
    write(made / "storage_profiles.yaml", "default: all")
    write(made / "venvs" / "cli" / "bin" / "python")
    monkeypatch.setenv("MOSAIC_HOME", str(made))
    return made


@pytest.fixture
def made(home: Path, tmp_path: Path, mosaic: Called) -> Path:
    """A backup of it."""
    target = tmp_path / "backup.zip"
    assert mosaic("backup", str(target)).code == 0
    return target


@pytest.fixture
def empty(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data root, which the command line uses from here on."""
    folder = tmp_path / "empty"
    monkeypatch.setenv("MOSAIC_HOME", str(folder))
    return folder


def tree(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    """All that is in a folder: modes with contents or link targets."""
    found: dict[str, tuple[int, bytes | str]] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = (0, str(path.readlink()))
        elif path.is_file():
            found[name] = (path.stat().st_mode & 0o777, path.read_bytes())
    return found


def content(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    """What a restore wrote, but for its own note and its lock."""
    own = (RESTORED_FILE, "stack/stack.lock")
    return {name: each for name, each in tree(folder).items() if name not in own}


def test_what_is_restored_is_what_was(home: Path, made: Path, empty: Path, mosaic: Called) -> None:
    """Contents, modes, times, names of any bytes, links within a run; nothing that a start makes, no credentials."""
    done = mosaic("backup", "restore", str(made), "--json")
    assert done.code == 0, done.err
    before, after = tree(home), content(empty)
    kept = {name: each for name, each in before.items() if name.startswith(f"runs/{RUN}/")}
    kept = {name: each for name, each in kept.items() if not name.endswith(("elsewhere", "/up"))}
    expected = {
        "storage_profiles.yaml",
        SCHEDULER_DB,
        TELEMETRY_DB,
        f"runs/{LIVE}/spec.json",
        f"runs/{LIVE}/control/launch.json",
        f"runs/{LIVE}/outbox/1/worker/1.seg",
        *kept,
    }
    assert after.keys() == expected
    same = expected - {SCHEDULER_DB, TELEMETRY_DB}
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    best = empty / "runs" / RUN / "checkpoints" / "best.pt"
    assert best.stat().st_mtime_ns == 1_700_000_000_123_456_789
    store = sqlite3.connect(empty / TELEMETRY_DB)
    assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert store.execute("SELECT count(*) FROM block").fetchone() == (100,)
    store.close()
    note = RestoredStack.model_validate_json((empty / RESTORED_FILE).read_bytes())
    assert [seq.last_seq for seq in note.stored[RUN]] == [LAST_SEQ]
    facts = json.loads(done.out)
    assert (facts["runs"], facts["live"], facts["secrets"]) == (2, [LIVE], ["KEY"])


def test_what_was_left_out_is_named(home: Path, tmp_path: Path, mosaic: Called) -> None:
    """Links that lead out of a run, and folders that are no state of the stack."""
    said = mosaic("backup", str(tmp_path / "b.zip"))
    for word in ("venvs", "elsewhere (a link to /etc/passwd)", "KEY", "1 run went on"):
        assert word in said.err


def test_no_secret_is_in_a_backup_unless_asked_for(
    home: Path, made: Path, tmp_path: Path, mosaic: Called
) -> None:
    """Then the user's own and the gateway's token are; those of runs and of the broker never are."""
    everything = b"".join(
        zipfile.ZipFile(made).read(name) for name in zipfile.ZipFile(made).namelist()
    )
    assert b"SECRET" not in everything
    assert made.stat().st_mode & 0o777 == 0o600
    target = tmp_path / "with.zip"
    assert mosaic("backup", str(target), "--with-secrets").code == 0
    texts = [zipfile.ZipFile(target).read(name) for name in zipfile.ZipFile(target).namelist()]
    found = {text for text in texts if text.startswith(b"SECRET")}
    assert found == {b"SECRET OF A USER", b"SECRET TOKEN"}


def test_the_runs_are_copied_before_the_store_and_the_files_after_it(made: Path) -> None:
    """So what was freed from an outbox is in the store, and what the store names is in the folders."""
    names = zipfile.ZipFile(made).namelist()
    order = [
        f"home/{SCHEDULER_DB}",
        f"home/runs/{LIVE}/control/launch.json",
        f"home/runs/{LIVE}/outbox/1/worker/1.seg",
        f"home/{TELEMETRY_DB}",
        f"home/runs/{RUN}/checkpoints/best.pt",
        BACKUP_INDEX,
        BACKUP_FACTS,
        "SHA256SUMS",
    ]
    assert sorted(order, key=names.index) == order


def test_no_file_goes_to_the_trash_while_files_are_copied(home: Path, tmp_path: Path) -> None:
    """The scheduler moves files only while it holds a lock, which it does not get before the end."""
    seen: set[bool] = set()
    write_backup(
        home,
        tmp_path / "b.zip",
        with_secrets=False,
        progress=lambda _: seen.add(is_free(home / BACKUP_LOCK)),
    )
    assert seen == {False}
    assert is_free(home / BACKUP_LOCK)


def is_free(path: Path) -> bool:
    """Whether the lock can be had alone."""
    lock = open_lock(path)
    if lock is not None:
        os.close(lock)
    return lock is not None


def test_a_copy_is_of_one_moment_while_a_service_writes(tmp_path: Path) -> None:
    """The copy ends although each of its steps meets new transactions, and has none of them in part."""
    make_databases(tmp_path, rows=5_000)
    stop, wrote = threading.Event(), threading.Event()

    def write_on() -> None:
        service = sqlite3.connect(tmp_path / TELEMETRY_DB, isolation_level=None)
        while not stop.is_set():
            service.execute("BEGIN IMMEDIATE")
            for _ in range(2):
                service.execute("INSERT INTO block (body) VALUES (?)", (os.urandom(4000),))
            service.execute("COMMIT")
            wrote.set()
        service.close()

    thread = threading.Thread(target=write_on)
    thread.start()
    try:
        assert wrote.wait(30)
        with (
            snapshot.opened(tmp_path / TELEMETRY_DB) as source,
            snapshot.copied(source, tmp_path, lambda _: None) as copy,
        ):
            (tmp_path / "copy").write_bytes(copy.file.read())
    finally:
        stop.set()
        thread.join()
    store = sqlite3.connect(tmp_path / "copy")
    assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    count = store.execute("SELECT count(*) FROM block").fetchone()[0]
    store.close()
    assert count > 5_000
    assert count % 2 == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "db"]


def test_a_folder_without_data_has_no_backup(empty: Path, tmp_path: Path, mosaic: Called) -> None:
    """It says where the data root is looked for."""
    said = mosaic("backup", str(tmp_path / "b.zip"))
    assert (said.code, "has no data of a stack" in said.err) == (4, True)
    assert not (tmp_path / "b.zip").exists()


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("a home/runs/b.zip", "lies in what is backed up"),
        ("nowhere/b.zip", "does not exist"),
        ("a home/storage_profiles.yaml", "lies in what is backed up"),
        ("notes.txt", "is no backup"),
    ],
)
def test_a_file_that_cannot_be_the_target_is_refused(
    home: Path, tmp_path: Path, mosaic: Called, file: str, words: str
) -> None:
    """Nothing of the user's is replaced."""
    (tmp_path / "notes.txt").write_text("mine")
    said = mosaic("backup", str(tmp_path / file))
    assert (said.code, words in said.err) == (2, True), said.err
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_data_root_with_data_is_not_restored_into(home: Path, made: Path, mosaic: Called) -> None:
    """It is left as it is, and the message names what is there."""
    before = tree(home)
    said = mosaic("backup", "restore", str(made))
    assert (said.code, "has data already: db, runs" in said.err) == (6, True), said.err
    assert content(home) == before


def test_nothing_is_restored_under_a_stack(
    made: Path, empty: Path, mosaic: Called, tmp_path: Path
) -> None:
    """A stack that holds the lock of the data root is not disturbed."""
    (empty / "stack").mkdir(parents=True)
    lock = StackLock.take(empty / "stack" / "stack.lock")
    said = mosaic("backup", "restore", str(made))
    lock.release()
    assert (said.code, "./mosaic down" in said.err) == (6, True)
    assert content(empty) == {}


def test_environments_may_be_there(made: Path, empty: Path, mosaic: Called) -> None:
    """In a checkout the data root has them."""
    write(empty / "venvs" / "cli" / "bin" / "python")
    assert mosaic("backup", "restore", str(made)).code == 0


def test_check_says_what_is_in_it(made: Path, mosaic: Called) -> None:
    """And finds a single altered byte."""
    assert "2 runs" in mosaic("backup", "check", str(made)).out
    data = bytearray(made.read_bytes())
    with zipfile.ZipFile(made) as archive:
        entry = archive.getinfo(f"home/runs/{RUN}/checkpoints/best.pt")
    data[entry.header_offset + 50_000] ^= 1
    made.write_bytes(data)
    said = mosaic("backup", "check", str(made))
    assert (said.code, "best.pt" in said.err) == (2, True), said.err


def test_a_truncated_or_altered_file_is_refused_and_nothing_is_left(
    made: Path, empty: Path, mosaic: Called
) -> None:
    """Wherever it was cut, and whichever byte was altered."""
    whole = made.read_bytes()
    chance = random.Random(3)
    cuts = [0, 1, 100, len(whole) // 2, len(whole) - 1]
    broken = [whole[:cut] for cut in cuts]
    for _ in range(40):
        altered = bytearray(whole)
        altered[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        broken.append(bytes(altered))
    harmless = 0
    for data in broken:
        made.write_bytes(data)
        said = mosaic("backup", "restore", str(made))
        if said.code == 0:  # a date in the zip's own headers, which nothing reads
            harmless += 1
            subprocess.run(["rm", "-rf", str(empty)], check=True)
            continue
        assert said.code == 2, said.err
        assert "Nothing was restored" in said.err
        assert content(empty) == {}
    assert harmless < 10


def item(path: str, **fields: Any) -> dict[str, Any]:
    """A line of an index."""
    return {"path": path, "type": "file", "mode": 0o600, "mtime_ns": 0, **fields}


def forge(target: Path, items: list[dict[str, Any]], contents: dict[str, bytes]) -> None:
    """A backup by hand: whole and sealed, whatever is in it."""
    with target.open("wb") as file:
        archive = SealedZipWriter(file)
        for name, data in {f"home/{SCHEDULER_DB}": b"", **contents}.items():
            archive.add(name, data)
        lines = [item(SCHEDULER_DB), *items]
        archive.add(BACKUP_INDEX, "".join(json.dumps(line) + "\n" for line in lines).encode())
        facts = BackupFacts(id="x", made_at=1.0, host="h", mosaic="0")
        archive.add(BACKUP_FACTS, facts.model_dump_json().encode())
        archive.seal()


OUT = {"home/x": b"hostile"}
BY = {"entry": "home/x"}
TWO = {**OUT, "home/y": b""}
LINK = item("runs/r/l", type="link", target=".")


@pytest.mark.parametrize(
    ("items", "contents"),
    [
        pytest.param([item("../outside", **BY)], OUT, id="above"),
        pytest.param([item("runs/../../outside", **BY)], OUT, id="above, from within"),
        pytest.param([item("/etc/outside", **BY)], OUT, id="absolute"),
        pytest.param([item("runs//x", **BY)], OUT, id="empty part"),
        pytest.param([item("runs/a\0b", **BY)], OUT, id="NUL"),
        pytest.param([item("nats/config/nats.conf", **BY)], OUT, id="no part of a backup"),
        pytest.param([item("stack/stack.lock", **BY)], OUT, id="the lock"),
        pytest.param([item("runs/x", type="device", **BY)], OUT, id="device"),
        pytest.param([item("runs/x/y", **BY), item("runs/x/y", **BY)], OUT, id="twice"),
        pytest.param([item("runs/x", **BY), item("runs/x/y", entry="home/y")], TWO, id="file above a file"),
        pytest.param([item("runs/x", entry="home/none")], OUT, id="no such entry"),
        pytest.param([], OUT, id="not listed"),
        pytest.param([item("runs/r/l", type="link", target="/etc/passwd")], {}, id="link to a file elsewhere"),
        pytest.param([item("runs/r/l", type="link", target="../../db")], {}, id="link out of its run"),
        pytest.param([item("db/l", type="link", target="x")], {}, id="link that is no run's"),
        pytest.param([LINK, item("runs/r/l/x", **BY)], OUT, id="file behind a link"),
        pytest.param([item("runs/" + "x" * 300, **BY)], OUT, id="name too long"),
        pytest.param([item("runs/x", mode=0o106755, **BY)], OUT, id="mode of another type"),
        pytest.param([{"path": 3}], OUT, id="no path"),
    ],
)  # fmt: skip
def test_a_hostile_backup_is_refused_and_nothing_is_left(
    empty: Path,
    tmp_path: Path,
    mosaic: Called,
    items: list[dict[str, Any]],
    contents: dict[str, bytes],
) -> None:
    """Its digests are right: who made it meant it."""
    target = tmp_path / "hostile.zip"
    forge(target, items, contents)
    before = sorted(path.name for path in tmp_path.iterdir())
    said = mosaic("backup", "restore", str(target))
    assert said.code in (2, 6), said.err
    assert "Nothing was restored" in said.err
    assert content(empty) == {}
    assert not (empty / RESTORING_DIR).exists()
    assert sorted(path.name for path in tmp_path.iterdir()) in (before, sorted([*before, "empty"]))


def test_more_than_the_disk_holds_is_refused_before_anything_is_written(
    empty: Path, tmp_path: Path, mosaic: Called, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a file claims to hold is compared with the free space."""
    target = tmp_path / "bomb.zip"
    forge(target, [item("runs/r/zeros", entry="home/x")], {"home/x": bytes(50 * 2**20)})
    assert target.stat().st_size < 2**20
    monkeypatch.setenv("MOSAIC_DISK_RESERVE_BYTES", str(2**60))
    said = mosaic("backup", "restore", str(target))
    assert (said.code, "are free on the disk" in said.err) == (6, True)
    assert content(empty) == {}


def test_a_newer_backup_says_so(empty: Path, tmp_path: Path, mosaic: Called) -> None:
    """In words, and not as a damaged file."""
    target = tmp_path / "newer.zip"
    with target.open("wb") as file:
        archive = SealedZipWriter(file)
        facts = BackupFacts(version=2, id="x", made_at=1.0, host="h", mosaic="9.9")
        archive.add(BACKUP_FACTS, facts.model_dump_json().encode())
        archive.seal()
    said = mosaic("backup", "restore", str(target))
    assert (said.code, "MOSAIC 9.9" in said.err) == (2, True)


def test_another_zip_is_no_backup(empty: Path, tmp_path: Path, mosaic: Called) -> None:
    """An archive of runs is sealed in the same way."""
    target = tmp_path / "other.zip"
    with target.open("wb") as file:
        archive = SealedZipWriter(file)
        archive.add("x", b"")
        archive.seal()
    assert "no backup" in mosaic("backup", "restore", str(target)).err


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)], check=False
    ).returncode == 0  # fmt: skip
    if not mounted:
        pytest.skip("needs the right to mount a small file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("big", ["runs/" + RUN + "/video.mp4", TELEMETRY_DB])
def test_a_full_disk_ends_a_backup_and_leaves_the_older_one(
    home: Path, small_disk: Path, mosaic: Called, big: str
) -> None:
    """Whether a file or the copy of a database does not fit."""
    target = small_disk / "b.zip"
    assert mosaic("backup", str(target)).code == 0
    older = target.read_bytes()
    if big == TELEMETRY_DB:
        store = sqlite3.connect(home / big)
        store.executemany("INSERT INTO block (body) VALUES (?)", [(os.urandom(4000),)] * 3_000)
        store.commit()
        store.close()
    else:
        write(home / big, os.urandom(10 * 2**20))
    said = mosaic("backup", str(target))
    assert (said.code, "No backup was made" in said.err) == (6, True), said.err
    assert [path.name for path in small_disk.iterdir()] == ["b.zip"]
    assert target.read_bytes() == older


def test_a_full_disk_ends_a_restore_and_leaves_nothing(
    home: Path, small_disk: Path, tmp_path: Path, mosaic: Called, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program took the room after it was looked at."""
    write(home / "runs" / RUN / "video.mp4", os.urandom(10 * 2**20))
    target = tmp_path / "b.zip"
    assert mosaic("backup", str(target)).code == 0
    monkeypatch.setattr("mosaic_cli.backing_up.restoring._require_room", lambda *_: None)
    monkeypatch.setenv("MOSAIC_HOME", str(small_disk / "home"))
    said = mosaic("backup", "restore", str(target))
    assert (said.code, "The disk is full" in said.err) == (6, True), said.err
    assert content(small_disk / "home") == {}


ON_DISK = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.utime")


def killed_at(step: int, *args: str) -> int:
    """Run a command line that kills itself at its n-th step on the disk; its exit code.

    It is a fork of this process, which has all imported: imports took nearly all of its time, and many of the steps.
    """
    child = os.fork()
    if not child:
        code: object = 1
        try:
            _die_at(step)
            sys.argv = ["mosaic", *args]
            main()
        except SystemExit as end:
            code = end.code
        finally:
            os._exit(1 if code else 0)  # whatever ends it, it does not go on as a second pytest
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _die_at(step: int) -> None:
    """Kill this process at its n-th step on the disk."""
    left = step

    def hook(event: str, _: object) -> None:
        nonlocal left
        if event in ON_DISK:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


STEPS = range(1, 1000)
"""Steps at which to kill: each. The first that is never come to ends a test."""


def test_a_killed_backup_is_none_and_the_older_one_stays(
    home: Path, made: Path, mosaic: Called, tmp_path: Path
) -> None:
    """Whenever it is killed."""
    older, kills = made.read_bytes(), 0
    for step in STEPS:
        code = killed_at(step, "backup", str(made))
        if code == 0:
            break
        assert code == -signal.SIGKILL
        kills += 1
        if made.read_bytes() != older:  # killed between its last two steps
            assert mosaic("backup", "check", str(made)).code == 0
            older = made.read_bytes()
    assert kills > 10
    assert mosaic("backup", "check", str(made)).code == 0
    left = [path.name for path in tmp_path.iterdir() if path.name not in ("a home", "backup.zip")]
    assert all(name.startswith(".") and name.endswith(".draft") for name in left)


def test_a_killed_restore_is_none_and_can_be_done_again(
    home: Path, made: Path, empty: Path, layout_up: Callable[[], str], mosaic: Called
) -> None:
    """Whenever it is killed: the data root is empty, complete, or no stack starts on it until it was done again."""
    kills, seen = 0, set()
    for step in STEPS:
        subprocess.run(["rm", "-rf", str(empty)], check=True)
        code = killed_at(step, "backup", "restore", str(made))
        if code == 0:
            break
        assert code == -signal.SIGKILL
        kills += 1
        if (empty / RESTORING_DIR).exists():
            assert "was not restored to its end" in layout_up()
            seen.add("begun")
        else:
            seen.add("complete" if (empty / RESTORED_FILE).exists() else "empty")
        said = mosaic("backup", "restore", str(made))
        if said.code == 6:
            assert "has data already" in said.err
        assert (empty / RESTORED_FILE).exists()
        assert not (empty / RESTORING_DIR).exists()
        assert len(content(empty)) == 10
    assert kills > 10
    assert {"begun", "empty"} <= seen


@pytest.fixture
def layout_up(empty: Path) -> Callable[[], str]:
    """Prepares the data root as a start does; returns why it was refused."""

    def prepare() -> str:
        try:
            Layout.of_environment().prepare_home()
        except Exception as error:  # noqa: BLE001 - any refusal is shown
            return str(error)
        return ""

    return prepare


def test_the_volume_of_a_stack_in_containers_is_refused_in_words(
    home: Path, tmp_path: Path, mosaic: Called
) -> None:
    """Its store lies elsewhere: a backup would be without events."""
    (home / CONTAINERS_STORE).mkdir()
    target = tmp_path / "backup.zip"
    said = mosaic("backup", str(target))
    assert (said.code, "docs/backup.md" in said.err) == (6, True)
    assert not target.exists()
