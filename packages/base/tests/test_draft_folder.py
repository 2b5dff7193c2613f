"""Folders in which files are made."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mosaic_base import draft_folder as module
from mosaic_base.draft_folder import draft_folder
from mosaic_base.locks import open_lock

PROGRAM = """\
import sys, time, pathlib
from mosaic_base.draft_folder import draft_folder
with draft_folder(pathlib.Path(sys.argv[1])) as folder:
    (folder / "archive").write_bytes(b"half")
    print("made", flush=True)
    time.sleep(600)
"""


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    """By the next draft in that folder, whatever its name; the draft of a process that lives stays."""
    first, other = tmp_path / "a.zip", tmp_path / "b.sif"
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(first)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"made\n"
        with draft_folder(other):
            assert len(list(tmp_path.iterdir())) == 2
        assert len(list(tmp_path.iterdir())) == 1
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert len(list(tmp_path.iterdir())) == 1
    with draft_folder(other) as folder:
        assert list(tmp_path.iterdir()) == [folder]
    assert list(tmp_path.iterdir()) == []


def test_a_draft_that_was_killed_before_its_lock_is_removed(tmp_path: Path) -> None:
    """An empty folder of such a name is nobody's."""
    with draft_folder(tmp_path / "a") as folder:
        name = folder.name
    (tmp_path / name).mkdir()
    with draft_folder(tmp_path / "a") as folder:
        assert list(tmp_path.iterdir()) == [folder]


def test_a_draft_that_its_owner_removes_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is gone between the lock and the removal: the next draft is made all the same."""
    abandoned = tmp_path / ".a.00000000.mosaic-draft"
    abandoned.mkdir()

    def lock_and_lose(path: Path) -> int | None:
        lock = open_lock(path)
        shutil.rmtree(abandoned, ignore_errors=True)
        return lock

    monkeypatch.setattr(module, "open_lock", lock_and_lose)
    with draft_folder(tmp_path / "a") as folder:
        assert list(tmp_path.iterdir()) == [folder]
