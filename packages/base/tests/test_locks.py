"""Locks between processes, which end with their holder."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mosaic_base.locks import held_lock, is_locked, open_lock, try_lock

HOLD = """
import sys, pathlib
from mosaic_base.locks import open_lock
assert open_lock(pathlib.Path(sys.argv[1])) is not None
print("held", flush=True)
sys.stdin.read()
"""


def test_one_holds_it_until_it_closes(tmp_path: Path) -> None:
    """Another gets None, and a look says so."""
    path = tmp_path / "lock"
    fd = open_lock(path)
    assert fd is not None
    assert path.stat().st_mode & 0o777 == 0o600
    assert open_lock(path) is None
    assert is_locked(path)
    os.close(fd)
    assert not is_locked(path)


def test_a_killed_holder_leaves_it_free(tmp_path: Path) -> None:
    """Whatever the files say."""
    path = tmp_path / "lock"
    argv = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert is_locked(path)
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert not is_locked(path)


def test_several_may_share_it(tmp_path: Path) -> None:
    """An exclusive one waits for all of them; a look disturbs nobody who shares."""
    path = tmp_path / "lock"
    with path.open("wb") as first, path.open("rb") as second, path.open("rb") as third:
        assert try_lock(first.fileno(), shared=True)
        assert try_lock(second.fileno(), shared=True)
        assert not try_lock(third.fileno())
        assert not is_locked(path)


def test_a_block_waits_for_it(tmp_path: Path) -> None:
    """It begins when the other has let go, and lets go itself when it fails."""
    path = tmp_path / "lock"
    fd = open_lock(path)
    assert fd is not None
    threading.Timer(0.1, lambda: os.close(fd)).start()

    def fail_inside() -> None:
        with held_lock(path):
            assert is_locked(path)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_inside()
    assert not is_locked(path)


def test_a_missing_file_is_no_lock(tmp_path: Path) -> None:
    """The caller decides what that means."""
    with pytest.raises(FileNotFoundError):
        is_locked(tmp_path / "lock")
