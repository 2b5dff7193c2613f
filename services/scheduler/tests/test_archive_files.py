"""What an archive may hold: a whole one is read to the last byte, any other is refused in words and leaves nothing."""

import json
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from tests.archives import (
    FILES,
    RUN_ID,
    Entries,
    archived_record,
    archived_run,
    batch,
    entries,
    write,
    write_raw,
)

from mosaic_contracts import wire
from mosaic_contracts.archive_words import (
    ARCHIVE_HEAD,
    RUN_BATCHES,
    RUN_FACTS,
    RUN_RECORD,
    file_entry,
    group_entry,
    run_entry,
)
from mosaic_contracts.batch_file import BATCH_FILE_BEGINNING, pack_batch
from mosaic_contracts.spec import RunKind
from mosaic_contracts.states import RunState
from mosaic_contracts.wire import BatchHead
from mosaic_scheduler.errors import FileRefused
from mosaic_scheduler.events.archived import ARCHIVED_EVENTS
from mosaic_scheduler.imports.archive import RunArchive, require_space

OTHER_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAW"
Change = Callable[[Entries], None]


def read_all(path: Path, folder: Path) -> dict[str, bytes]:
    """Write the runs of an archive below a folder, verify the rest of it, and return what is there."""
    folder.mkdir()
    with RunArchive(path) as archive:
        for run in archive.runs:
            (folder / run.facts.run_id).mkdir()
            archive.extract(run.facts.run_id, folder / run.facts.run_id)
        archive.verify([run.facts.run_id for run in archive.runs])
    return {
        found.relative_to(folder).as_posix(): found.read_bytes()
        for found in folder.rglob("*")
        if found.is_file()
    }


def expected(*run_ids: str) -> dict[str, bytes]:
    """What a whole archive becomes."""
    found = {f"{run_id}/{path}": data for run_id in run_ids for path, data in FILES.items()}
    for run_id in run_ids:
        found[f"{run_id}/{ARCHIVED_EVENTS}"] = entries(run_id)[run_entry(run_id, RUN_BATCHES)]
    return found


def test_a_whole_archive_is_read(tmp_path: Path) -> None:
    """Files and events of all its runs, each in a folder of its own, open to nobody else."""
    path = write(tmp_path / "a.zip", entries(RUN_ID, OTHER_ID))
    assert read_all(path, tmp_path / "out") == expected(RUN_ID, OTHER_ID)
    modes = {stat.S_IMODE(found.stat().st_mode) for found in (tmp_path / "out").rglob("*.*")}
    assert modes == {0o600}


@given(place=st.integers(0, 10**9), other=st.integers(1, 255))
def test_another_byte_anywhere_is_noticed(
    tmp_path_factory: pytest.TempPathFactory, place: int, other: int
) -> None:
    """It is refused, or it was a byte that says nothing, such as a time in the zip."""
    folder = tmp_path_factory.mktemp("altered")
    path = write(folder / "a.zip", entries())
    data = bytearray(path.read_bytes())
    data[place % len(data)] ^= other
    path.write_bytes(data)
    try:
        found = read_all(path, folder / "out")
    except FileRefused as refused:
        assert "again" in str(refused)  # noqa: PT017 - both ends are right
    else:
        assert found == expected(RUN_ID)


@given(share=st.floats(0, 0.999999))
def test_a_truncated_archive_is_refused(
    tmp_path_factory: pytest.TempPathFactory, share: float
) -> None:
    """Wherever it was cut."""
    path = write(tmp_path_factory.mktemp("cut") / "a.zip", entries())
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(FileRefused, match="truncated"):
        RunArchive(path)


@given(data=st.binary(max_size=2000))
def test_other_bytes_are_no_archive(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """Whatever they are."""
    path = tmp_path_factory.mktemp("other") / "a.zip"
    path.write_bytes(data)
    with pytest.raises(FileRefused):
        RunArchive(path)


@pytest.mark.parametrize(
    "name",
    [
        *("../evil", "/etc/evil", "runs/../../evil", "a/./b", "a//b", "a\\..\\b", "C:\\x", "a\nb"),
        *("", "a/", ".", "x" * 300, "\x1b[2J", f"runs/{RUN_ID}/files/logs/worker.log/inside"),
        f"runs/{RUN_ID}/files/../../x",
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    """Absolute, upwards, with control characters, or through a file; its digest is right."""
    path = write_raw(tmp_path / "a.zip", {**entries(), name: b"evil"})
    with pytest.raises(FileRefused):
        read_all(path, tmp_path / "out")
    assert list((tmp_path / "out").rglob("*")) == []
    assert {found.name for found in tmp_path.iterdir()} == {"a.zip", "out"}


@pytest.mark.parametrize(
    "kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFDIR]
)
def test_links_and_devices_are_refused(tmp_path: Path, kind: int) -> None:
    """An archive has regular files only."""

    def change(entry: zipfile.ZipInfo) -> None:
        if entry.filename.endswith("last.pt"):
            entry.external_attr = (kind | 0o777) << 16

    path = write_raw(tmp_path / "a.zip", entries(), change)
    with pytest.raises(FileRefused, match="no regular file"):
        RunArchive(path)


def test_two_entries_of_one_name_are_refused(tmp_path: Path) -> None:
    """Programs differ in which of them they take."""
    path = write(tmp_path / "a.zip", entries())
    with (
        pytest.warns(UserWarning, match="Duplicate"),
        zipfile.ZipFile(path, "a") as archive,
    ):
        archive.writestr(ARCHIVE_HEAD, "{}")
    with pytest.raises(FileRefused, match="same name"):
        RunArchive(path)


def test_a_name_that_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    """Neither by its bytes nor by another code page."""
    name = file_entry(RUN_ID, "caf_.txt").encode()
    path = write_raw(tmp_path / "a.zip", {**entries(), name.decode(): b"x"})
    data = path.read_bytes()
    path.write_bytes(data.replace(name, name.replace(b"_", b"\xe9")))
    with pytest.raises(FileRefused):
        RunArchive(path)


def test_a_bomb_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    """What it becomes must have room on the disk, and no entry may become more than it declares."""
    zeros = bytes(50 * 2**20)
    facts = archived_run(files={**FILES, "logs/z.log": zeros})
    parts = entries()
    parts |= {
        file_entry(RUN_ID, "logs/z.log"): zeros,
        run_entry(RUN_ID, RUN_FACTS): facts.model_dump_json().encode(),
    }
    path = write(tmp_path / "a.zip", parts)
    assert path.stat().st_size < 10**6
    with RunArchive(path) as archive:
        needed = archive.size(RUN_ID)
        assert needed > len(zeros)
        with pytest.raises(FileRefused, match="Free some space"):
            require_space(tmp_path, 2**60, 0)
    data = path.read_bytes()
    size = len(zeros).to_bytes(4, "little")
    place = data.rindex(size)  # in the directory
    path.write_bytes(data[:place] + (100).to_bytes(4, "little") + data[place + 4 :])
    with pytest.raises(FileRefused):
        read_all(path, tmp_path / "out")


@pytest.mark.parametrize("claimed", [2**32 - 2, 2**31, 70_000])
def test_a_directory_that_claims_too_much_is_not_read(tmp_path: Path, claimed: int) -> None:
    """Neither its length nor its number of entries is believed."""
    data = write(tmp_path / "a.zip", entries()).read_bytes()
    for path, place in ((tmp_path / "length.zip", 12), (tmp_path / "count.zip", 10)):
        end = bytearray(data[-22:])
        width = 4 if place == 12 else 2
        end[place : place + width] = min(claimed, 2 ** (8 * width) - 1).to_bytes(width, "little")
        path.write_bytes(data[:-22] + end)
        with pytest.raises(FileRefused, match=r"claims|directory"):
            RunArchive(path)


def test_bytes_before_or_behind_it_are_refused(tmp_path: Path) -> None:
    """A program in front of it, or words after its end."""
    data = write(tmp_path / "a.zip", entries()).read_bytes()
    for altered in (b"#!/bin/sh\n" + data, data + b"more"):
        (tmp_path / "b.zip").write_bytes(altered)
        with pytest.raises(FileRefused):
            RunArchive(tmp_path / "b.zip")


def test_encrypted_entries_are_refused(tmp_path: Path) -> None:
    """Nothing is known about an entry that cannot be read."""
    path = write_raw(tmp_path / "a.zip", entries())
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(FileRefused, match="another program"):
        RunArchive(path)


def model(parts: Entries, entry: str, /, **changes: Any) -> None:
    """Change fields of the JSON in an entry."""
    parts[entry] = json.dumps({**json.loads(parts[entry]), **changes}).encode()


def of_record(**changes: Any) -> Change:
    """Change the run's record."""
    return lambda parts: model(parts, run_entry(RUN_ID, RUN_RECORD), **changes)


def of_facts(**changes: Any) -> Change:
    """Change what the archive says of the run."""
    return lambda parts: model(parts, run_entry(RUN_ID, RUN_FACTS), **changes)


def of_head(**changes: Any) -> Change:
    """Change the first entry."""
    return lambda parts: model(parts, ARCHIVE_HEAD, **changes)


def without(name: str) -> Change:
    """Leave an entry of the run out."""
    return lambda parts: parts.__delitem__(run_entry(RUN_ID, name))


def of_batches(data: bytes) -> Change:
    """Change the events."""
    return lambda parts: parts.update({run_entry(RUN_ID, RUN_BATCHES): data})


def packed(*parts: tuple[BatchHead, bytes]) -> bytes:
    """A file of batches."""
    return BATCH_FILE_BEGINNING + b"".join(pack_batch(*part) for part in parts)


GROUP_ID = f"g{OTHER_ID}"
GROUP = {
    "group_id": GROUP_ID,
    "name": "a group",
    "created_at": "2026-01-01T00:00:00Z",
    "spec": {"run": {"worker": "synthetic"}, "seeds": [1, 2]},
}


def of_group(**changes: Any) -> Change:
    """Give the run a group, and change what the archive says of it."""

    def change(parts: Entries) -> None:
        place = {"group_id": GROUP_ID, "name": "a group", "place": 0}
        model(parts, run_entry(RUN_ID, RUN_RECORD), group=place)
        parts[group_entry(GROUP_ID)] = json.dumps({**GROUP, **changes}).encode()

    return change


HEAD, FRAME = batch(1)
CLAIM = b"\x28\xb5\x2f\xfd\xe0" + (2**32).to_bytes(8, "little") + FRAME[6:]
"""A frame whose header says that it becomes 4 GiB."""
WRONG: dict[str, Change] = {
    "head of another format": of_head(format="mosaic.checkpoint"),
    "a newer version": of_head(version=2),
    "no runs": of_head(runs=[]),
    "a run twice": of_head(runs=[RUN_ID, RUN_ID]),
    "a run that is not there": of_head(runs=[RUN_ID, OTHER_ID]),
    "a run id that is a path": of_head(runs=["../../../etc/passwd00000000"]),
    "no record": without(RUN_RECORD),
    "no events": without(RUN_BATCHES),
    "another run's record": of_record(run_id=OTHER_ID),
    "a run that lives": of_record(state=RunState.RUNNING.value),
    "a run without an end": of_record(end=None),
    "a replay": of_record(spec={**archived_record().model_dump(mode="json")["spec"], "kind": RunKind.REPLAY.value}),
    "a huge revision": of_record(revision=2**70),
    "a name with NUL": of_record(name="a\x00b"),
    "an endless name": of_record(name="a" * 5000),
    "too many tags": of_record(tags=[str(n) for n in range(100)]),
    "a group without seeds that are numbers": of_group(spec={"run": {}, "seeds": ["x"]}),
    "a group of a million runs": of_group(spec={"run": {}, "parameters": {n: list(range(1000)) for n in "ab"}}),
    "another group": of_group(group_id=f"g{RUN_ID}"),
    "no number": of_record(attempt="many"),
    "a source twice": of_facts(sources=[{"attempt": 1, "source": "worker", "events": 1, "last_seq": 1}] * 2),
    "a source of no attempt": of_facts(sources=[{"attempt": 7, "source": "worker", "events": 1, "last_seq": 1}]),
    "a file that is not there": of_facts(files=[{"path": "x", "kind": "other", "bytes": 1, "sha256": "0" * 64}]),
    "a file that is not listed": lambda parts: parts.update({file_entry(RUN_ID, "x"): b"x"}),
    "another file's digest": of_facts(
        files=[{"path": p, "kind": "other", "bytes": len(d), "sha256": "0" * 64} for p, d in FILES.items()]
    ),
    "more events than there are": of_facts(events=10**6),
    "no file of batches": of_batches(b"MOSAIC-BATCHES-9\n"),
    "truncated batches": of_batches(packed(batch(1))[:-5]),
    "batches of another run": of_batches(packed(batch(1, run_id=OTHER_ID))),
    "fewer batches": of_batches(packed(batch(1))),
    "batches in another order": of_batches(packed(batch(51), batch(1))),
    "a batch that is none": of_batches(packed((HEAD, zstandard.compress(b"no msgpack")))),
    "a batch under another header": of_batches(packed((HEAD._replace(seq0=2), FRAME))),
    "a frame that is none": of_batches(packed((HEAD, b"no frame"))),
    "a frame that claims 4 GiB": of_batches(packed((HEAD, CLAIM))),
    "a frame that becomes much": of_batches(
        packed((HEAD, zstandard.ZstdCompressor(write_content_size=False).compress(bytes(64 * 2**20))))
    ),
    "a length of 4 GiB": of_batches(BATCH_FILE_BEGINNING + b"\x10\x00\xff\xff\xff\xff" + b"x" * 100),
}  # fmt: skip


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG.keys())
def test_what_does_not_fit_together_is_refused(tmp_path: Path, change: Change) -> None:
    """Digests are right in all of these: they say what somebody wrote, and not that it is true."""
    parts = entries()
    change(parts)
    path = write_raw(tmp_path / "a.zip", parts)
    with pytest.raises(FileRefused) as refused:
        read_all(path, tmp_path / "out")
    assert str(refused.value).endswith((".", ")."))


@pytest.mark.parametrize("path", ["control/launch.json", "outbox/1/worker/0", "outbox", "control"])
def test_no_file_of_a_private_folder_is_written(tmp_path: Path, path: str) -> None:
    """Credentials, sockets and events on their way are no part of an archive."""
    parts = entries()
    facts = archived_run(files={**FILES, path: b"x"})
    parts |= {
        file_entry(RUN_ID, path): b"x",
        run_entry(RUN_ID, RUN_FACTS): facts.model_dump_json().encode(),
    }
    with pytest.raises(FileRefused, match="cannot be a file of a run"):
        RunArchive(write(tmp_path / "a.zip", parts))


def test_a_larger_batch_than_any_store_takes_is_refused(tmp_path: Path) -> None:
    """Also where it is honest: the recorder would set it aside."""
    n = 500_000
    parts = entries()
    sources = [{"attempt": 1, "source": wire.SOURCE_WORKER, "events": n, "last_seq": n}]
    of_facts(sources=sources, events=n)(parts)
    of_batches(packed(batch(1, n)))(parts)
    with RunArchive(write(tmp_path / "a.zip", parts)) as archive:
        (tmp_path / "out").mkdir()
        with pytest.raises(FileRefused, match="more than a batch may have"):
            archive.extract(RUN_ID, tmp_path / "out")
