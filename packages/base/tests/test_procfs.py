"""What Linux says of a process."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mosaic_base import procfs

GONE = 2**22 + 1
"""Above the highest pid that Linux gives."""


def test_a_process_and_its_family() -> None:
    """State, parent, children, command and environment of a process that this one started."""
    argv = [sys.executable, "-c", "import sys; sys.stdin.read()", "", "x"]
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, env={"MARK": "a=b", "EMPTY": ""})
    try:
        while not procfs.command(child.pid)[1:]:  # between fork and exec it is still this program
            time.sleep(0.01)
        stat = procfs.process_stat(child.pid)
        assert stat is not None
        assert (stat.parent, stat.group) == (os.getpid(), os.getpgid(0))
        assert not stat.is_dead
        assert stat.start_ticks == procfs.start_ticks(child.pid)
        assert child.pid in procfs.children(os.getpid())
        assert child.pid in procfs.pids()
        assert procfs.command(child.pid) == [os.fsencode(word) for word in argv]
        assert set(procfs.environment(child.pid)) >= {b"MARK=a=b", b"EMPTY="}
    finally:
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    dead = procfs.process_stat(child.pid)
    assert dead is not None
    assert dead.is_dead
    assert procfs.start_ticks(child.pid) is None
    assert procfs.command(child.pid) == []
    child.communicate()
    assert procfs.process_stat(child.pid) is None


def test_a_name_may_hold_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spaces, parentheses and bytes that are no UTF-8 do not shift the fields."""
    line = b"7 (a) b ((\xff) R 5 6 " + b" ".join(b"%d" % n for n in range(6, 53)) + b"\n"
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "stat").write_bytes(line)
    monkeypatch.setattr(procfs, "_PROC", tmp_path)
    assert procfs.process_stat(7) == procfs.ProcessStat("R", 5, 6, 14 + 15, 22, 24)
    assert procfs.pids() == [7]


def test_figures_are_those_of_this_process() -> None:
    """CPU time in ticks and memory in pages."""
    stat = procfs.process_stat(os.getpid())
    assert stat is not None
    used_s = sum(os.times()[:2])
    assert abs(stat.cpu_ticks / os.sysconf("SC_CLK_TCK") - used_s) < 1
    assert 2**20 < stat.rss_pages * os.sysconf("SC_PAGE_SIZE") < 2**32
    assert procfs.stat_fields("self")[1] == str(os.getppid())


def test_what_is_gone_is_none_or_an_error() -> None:
    """Where an empty answer could be a true one, it is an error."""
    assert procfs.process_stat(GONE) is None
    assert procfs.start_ticks(GONE) is None
    for ask in (procfs.children, procfs.command, procfs.environment):
        with pytest.raises(OSError, match="No such file"):
            ask(GONE)


def test_a_boot_has_a_name() -> None:
    """The same for all processes."""
    assert len(procfs.boot_id()) == 36
    assert procfs.boot_id() == procfs.boot_id()
