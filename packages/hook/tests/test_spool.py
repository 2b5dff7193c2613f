"""The spool keeps every line whole, in files that a reader may delete behind the writer."""

import os
import time
from pathlib import Path

import pytest
from tests.listened import spooled

from mosaic_hook import spool as spool_module
from mosaic_hook.spool import BELL, Spool


def test_lines_follow_in_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full file is followed by another; all lines are there in order."""
    monkeypatch.setattr(spool_module, "SEGMENT_BYTES", 100)
    monkeypatch.setattr(spool_module, "UNREAD_SEGMENTS", 100)
    spool = Spool(str(tmp_path))
    for number in range(50):
        spool.add({"number": number, "text": "ä"})
    assert [line["number"] for line in spooled(tmp_path)] == list(range(50))
    assert len(list(tmp_path.glob("*.jsonl"))) > 5


def test_a_slow_reader_holds_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With too many unread files the writer waits until the reader deletes one."""
    monkeypatch.setattr(spool_module, "SEGMENT_BYTES", 10)
    monkeypatch.setattr(spool_module, "UNREAD_SEGMENTS", 3)
    waits = []

    def delete_oldest(_seconds: float) -> None:
        oldest = min(tmp_path.glob("*.jsonl"))
        waits.append(oldest.name)
        oldest.unlink()

    monkeypatch.setattr(time, "sleep", delete_oldest)
    spool = Spool(str(tmp_path))
    for number in range(8):
        spool.add({"number": number})
    assert len(waits) == 3
    assert [line["number"] for line in spooled(tmp_path)] == [3, 4, 5, 6, 7]


def test_a_process_waits_for_the_files_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is of all processes together; the file that each writes to does not count."""
    monkeypatch.setattr(spool_module, "SEGMENT_BYTES", 10)
    monkeypatch.setattr(spool_module, "UNREAD_SEGMENTS", 3)
    for number in range(5):
        (tmp_path / f"77-1-{number:06d}.jsonl").write_text("{}\n")
    waits = []

    def delete_oldest(_seconds: float) -> None:
        waits.append(min(tmp_path.glob("77-1-*.jsonl")))
        waits[-1].unlink()

    monkeypatch.setattr(time, "sleep", delete_oldest)
    Spool(str(tmp_path)).add({"number": 1})
    assert len(waits) == 1


def test_the_bell_rings(tmp_path: Path) -> None:
    """A reader with the named pipe open is woken by a line."""
    os.mkfifo(tmp_path / BELL)
    bell = os.open(tmp_path / BELL, os.O_RDWR | os.O_NONBLOCK)
    try:
        Spool(str(tmp_path)).add({"number": 1})
        assert os.read(bell, 10) == b"."
    finally:
        os.close(bell)
