"""Sealed zips: other programs read them, and what is not as it was written is not read."""

import hashlib
import io
import zipfile
from pathlib import Path

import pytest

from mosaic_base.sealed_zip import (
    SUMS,
    SealedZip,
    SealedZipInvalid,
    SealedZipWriter,
    ZipLimits,
    is_safe_name,
)

ENTRIES = {"a.txt": b"words " * 1000, "b/c.bin": bytes(range(256)), "d \u00e9.txt": b""}


def written(path: Path, entries: dict[str, bytes] = ENTRIES) -> Path:
    """A sealed zip with these entries."""
    with path.open("wb") as file, SealedZipWriter(file) as archive:
        for name, data in entries.items():
            with archive.entry(name, compress=name.endswith(".txt")) as entry:
                entry.write(data[:10])
                entry.write(data[10:])
            assert entry.sha256 == hashlib.sha256(data).hexdigest()
            assert entry.bytes == len(data)
        archive.seal()
    return path


def test_what_was_written_is_read(tmp_path: Path) -> None:
    """Entries in their order, with sizes and digests; another program reads the same."""
    path = written(tmp_path / "a.zip")
    with SealedZip(path) as archive:
        assert list(archive.sums) == list(ENTRIES)
        assert {name: archive.read(name, 10**6) for name in ENTRIES} == ENTRIES
        assert {name: archive.size(name) for name in ENTRIES} == {
            name: len(data) for name, data in ENTRIES.items()
        }
        assert sum(archive.verify()) == sum(map(len, ENTRIES.values()))
    with zipfile.ZipFile(path) as opened:
        assert opened.testzip() is None
        assert opened.namelist() == [*ENTRIES, SUMS]


def test_a_part_can_be_read_while_the_rest_is_written(tmp_path: Path) -> None:
    """Bytes of an entry that is not compressed lie in the file as they are."""
    path = tmp_path / "a.zip"
    with path.open("wb") as file, SealedZipWriter(file) as archive:
        with archive.entry("first") as entry:
            entry.write(b"of the first")
        with archive.entry("d \u00e9") as entry:
            entry.write(b"of the second")
        file.flush()
        data = path.read_bytes()
        for name, content in (("first", b"of the first"), ("d \u00e9", b"of the second")):
            assert data[archive.data_offset(name) :].startswith(content)
        archive.seal()
    with SealedZip(path) as sealed:
        assert sealed.read("first", 100) == b"of the first"


@pytest.mark.parametrize(
    "name",
    ["", "/a", "../a", "a/..", "a//b", "a/", ".", "a\\b", "a\x00", "a\n", "\udc80", "x" * 256],
)
def test_unsafe_names_are_not_written(name: str) -> None:
    """Nor is the list of digests, or a name twice."""
    assert not is_safe_name(name)
    with SealedZipWriter(io.BytesIO()) as archive:
        archive.add("taken", b"")
        for refused in (name, SUMS, "taken"):
            with pytest.raises(ValueError, match="cannot be the name"), archive.entry(refused):
                pass


def test_one_that_was_not_sealed_is_none(tmp_path: Path) -> None:
    """Neither before its end nor without its digests."""
    path = tmp_path / "a.zip"
    with path.open("wb") as file, SealedZipWriter(file) as archive:
        archive.add("a", b"a")
        file.flush()
        with pytest.raises(SealedZipInvalid, match="end is missing"):
            SealedZip(path)
    with pytest.raises(SealedZipInvalid, match=SUMS):
        SealedZip(path)
    with zipfile.ZipFile(path, "w") as plain:
        plain.writestr("a", "a")
    with pytest.raises(SealedZipInvalid, match=SUMS):
        SealedZip(path)


def test_bounds_hold(tmp_path: Path) -> None:
    """More entries, a larger directory or a larger entry than the caller takes."""
    path = written(tmp_path / "a.zip")
    for limits in (ZipLimits(max_entries=3), ZipLimits(max_directory_bytes=100)):
        with pytest.raises(SealedZipInvalid, match="more than are read"):
            SealedZip(path, limits)
    with SealedZip(path) as archive, pytest.raises(SealedZipInvalid, match="more than 5 bytes"):
        archive.read("a.txt", 5)
    with SealedZip(path) as archive, pytest.raises(SealedZipInvalid, match="missing"):
        archive.read("none", 5)


def test_more_entries_than_a_short_end_can_count(tmp_path: Path) -> None:
    """Above 65,535 entries the end of a zip has another form."""
    entries = {str(number): b"" for number in range(70_000)}
    path = written(tmp_path / "a.zip", entries)
    with SealedZip(path) as archive:
        assert len(archive.sums) == 70_000
    data = path.read_bytes()
    place = data.rindex(b"PK\x06\x06")
    path.write_bytes(data[:place] + b"PK\x06\x05" + data[place + 4 :])
    with pytest.raises(SealedZipInvalid, match="end is damaged"):
        SealedZip(path)
