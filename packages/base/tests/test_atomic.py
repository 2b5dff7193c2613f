"""A file is replaced in one step, and a failure leaves nothing behind."""

import os
import time
from pathlib import Path

import pytest

from mosaic_base.atomic import ABANDONED_S, atomic_file, drafts_of, replace_file


@pytest.mark.parametrize("durable", [False, True])
def test_a_file_gets_its_new_content(tmp_path: Path, durable: bool) -> None:
    """Made or replaced; nothing else lies in the folder, and the answer is about the new file."""
    target = tmp_path / "state.json"
    for data in (b"one", "zwei äöü\r\n"):
        written = replace_file(target, data, durable=durable)
        assert target.read_bytes() == (data.encode() if isinstance(data, str) else data)
        assert os.path.samestat(written, target.stat())
        assert written.st_mtime_ns == target.stat().st_mtime_ns
    assert list(tmp_path.iterdir()) == [target]


def test_permissions_hold_from_the_first_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A secret's draft is as private as the secret, and a looser file that was there does not matter."""
    target = tmp_path / "secret"
    target.write_text("old")
    target.chmod(0o644)
    modes = []
    sync = os.fsync

    def look(fd: int) -> None:
        modes.append(os.fstat(fd).st_mode & 0o777)
        sync(fd)

    monkeypatch.setattr(os, "fsync", look)
    replace_file(target, "new", mode=0o600, durable=True)
    assert modes[0] == 0o600
    assert target.stat().st_mode & 0o777 == 0o600


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    """What the link points to stays as it was."""
    other, target = tmp_path / "other", tmp_path / "target"
    other.write_text("theirs")
    target.symlink_to(other)
    replace_file(target, "ours")
    assert other.read_text() == "theirs"
    assert target.read_text() == "ours"
    assert not target.is_symlink()


def test_a_refused_write_leaves_the_old_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The draft is removed."""
    target = tmp_path / "state.json"
    target.write_text("old")

    def refuse(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="No space"):
        replace_file(target, "new", durable=True)
    with pytest.raises(OSError, match="No space"), atomic_file(target, durable=True) as draft:
        draft.write_text("new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    """The caller makes the folder, with the permissions that it needs."""
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "none" / "state.json", "x")


@pytest.mark.parametrize("durable", [False, True])
def test_a_block_writes_to_a_path(tmp_path: Path, durable: bool) -> None:
    """Other names in the folder stay as they are; the draft is one nobody has."""
    target = tmp_path / "model.bin"
    target.write_bytes(b"old")
    with atomic_file(target, durable=durable) as draft:
        assert draft.parent == tmp_path
        assert not draft.exists()
        draft.write_bytes(b"new")
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [target]


def test_a_block_that_fails_or_writes_nothing_leaves_the_old_file(tmp_path: Path) -> None:
    """Also one that is interrupted."""
    target = tmp_path / "model.bin"
    target.write_bytes(b"old")

    def write_half() -> None:
        with atomic_file(target) as draft:
            draft.write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    with pytest.raises(FileNotFoundError), atomic_file(target):
        pass
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_two_at_once_do_not_share_a_draft(tmp_path: Path) -> None:
    """The last to end wins, whole."""
    target = tmp_path / "model.bin"
    with atomic_file(target) as first, atomic_file(target) as second:
        assert first != second
        first.write_bytes(b"first")
        second.write_bytes(b"second")
    assert target.read_bytes() == b"first"


def test_the_draft_of_a_killed_process_is_removed(tmp_path: Path) -> None:
    """The next writer removes it once it is old; a fresh one, and other files' drafts, are somebody's work."""
    target = tmp_path / "state.json"
    names = (".state.json.0000abcd.draft", ".state.json.1111abcd.draft", ".other.0000abcd.draft")
    abandoned, fresh, other = (tmp_path / name for name in names)
    for draft in (abandoned, fresh, other):
        draft.write_text("half")
    for draft in (abandoned, other):
        os.utime(draft, (0, time.time() - ABANDONED_S - 1))
    replace_file(target, "whole")
    assert sorted(tmp_path.iterdir()) == sorted([target, fresh, other])


def test_drafts_of_a_file_are_found(tmp_path: Path) -> None:
    """Those of other files are not."""
    target = tmp_path / "a.mp4"
    with atomic_file(target) as draft:
        draft.touch()
        (tmp_path / ".b.mp4.0123abcd.draft").touch()
        assert drafts_of(target) == {draft}
    assert drafts_of(target) == set()
