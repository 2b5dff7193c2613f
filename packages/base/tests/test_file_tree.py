"""Files below a folder that others write: all are listed, none is reached over a link, and hashing is bounded."""

import hashlib
import os
from pathlib import Path

import pytest

from mosaic_base.file_tree import FoundFile, find_file, hash_file, list_files

ODD = [b"new\nline", b"\x1b[31mred", b"\xff\xfe.bin", b"tab\t", b" blank ", "é🙂".encode(), b"-rf"]


def never() -> bool:
    """Whether hashing is over."""
    return False


def by_path(root: Path) -> dict[str, FoundFile]:
    """What a look finds, by path."""
    return {found.path: found for found in list_files(root).files}


def test_any_name_is_listed_and_hashed(tmp_path: Path) -> None:
    """Names with control characters and without UTF-8; two that would be written alike stay two."""
    (tmp_path / "a").mkdir()
    folder = os.fsencode(tmp_path) + b"/a"
    for number, name in enumerate([*ODD, b"\\xff\\xfe.bin"]):
        Path(os.fsdecode(folder + b"/" + name)).write_bytes(b"%d" % number)
    tree = list_files(tmp_path)
    assert tree.folders == {"a"}
    assert len({found.path for found in tree.files}) == len(ODD) + 1
    assert {found.name for found in tree.files if not found.is_utf8} == {b"a/\xff\xfe.bin"}
    for found in tree.files:
        content = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + found.name)).read_bytes()
        assert hash_file(tmp_path, found, never) == hashlib.sha256(content).hexdigest()


def test_no_link_is_followed(tmp_path: Path) -> None:
    """Links are listed as such, also one that takes a folder's place between look and hash."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root / "sub", outside):
        folder.mkdir(parents=True)
        (folder / "key").write_text("canary")
    (root / "link").symlink_to(outside / "key")
    (root / "folder").symlink_to(outside)
    (root / "gone").symlink_to("nowhere")
    os.mkfifo(root / "fifo")
    found = by_path(root)
    assert {path: each.type for path, each in found.items()} == {
        "sub/key": "file", "link": "link", "folder": "link", "gone": "link", "fifo": "special",
    }  # fmt: skip
    assert [found[path].bytes for path in ("link", "fifo")] == [0, 0]
    inside = found["sub/key"]
    (root / "sub").rename(root / "moved")
    (root / "sub").symlink_to(outside)
    os.utime(outside / "key", ns=(inside.mtime_us * 1000,) * 2)
    assert hash_file(root, inside, never) is None
    assert hash_file(root, found["fifo"], never) is None
    assert hash_file(root, found["link"], never) is None
    assert find_file(root, "moved/key") == inside._replace(path="moved/key", name=b"moved/key")
    refused = (
        "sub/key",
        "moved",
        "absent",
        "a\0b",
        "\ud800",
        "moved/../../outside/key",
        "/etc/hostname",
        "./link",
    )
    assert [path for path in refused if find_file(root, path) is not None] == []


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    """A run that puts a link in the place of its folder has none of the files behind it; a link above is followed."""
    outside, above = tmp_path / "outside", tmp_path / "above"
    outside.mkdir()
    (outside / "file").write_bytes(b"x")
    above.symlink_to(tmp_path)
    (file,) = list_files(above / "outside").files
    root = tmp_path / "root"
    root.symlink_to(outside)
    with pytest.raises(OSError, match="root"):
        list_files(root)
    assert find_file(root, "file") is None
    assert hash_file(root, file, never) is None
    assert hash_file(above / "outside", file, never) == hashlib.sha256(b"x").hexdigest()


def test_a_file_that_changes_or_vanishes_has_no_digest(tmp_path: Path) -> None:
    """A digest belongs to the version that was found; reading ends where the caller says so."""
    (tmp_path / "grows").write_bytes(b"a")
    (tmp_path / "goes").write_bytes(b"a")
    found = by_path(tmp_path)
    assert hash_file(tmp_path, found["grows"], lambda: True) is None
    with (tmp_path / "grows").open("ab") as file:
        file.write(b"b")
    (tmp_path / "goes").unlink()
    assert hash_file(tmp_path, found["grows"], never) is None
    assert hash_file(tmp_path, found["goes"], never) is None


def test_what_is_beyond_the_limits_is_counted(tmp_path: Path) -> None:
    """A list has its bounds, and so has the depth of folders; what is left out is not looked into."""
    deep = tmp_path.joinpath(*["d"] * 40)
    deep.mkdir(parents=True)
    (deep / "far").write_bytes(b"far")
    (tmp_path / "control").mkdir()
    (tmp_path / "control" / "secret").write_bytes(b"x")
    for n in range(5):
        (tmp_path / f"f{n}").write_bytes(b"12")
    tree = list_files(tmp_path, {"control"}, max_files=3)
    assert [found.path for found in tree.files] == ["f0", "f1", "f2"]
    assert (tree.unlisted_files, tree.unlisted_bytes) == (3, 4)
    assert "control" not in tree.folders
