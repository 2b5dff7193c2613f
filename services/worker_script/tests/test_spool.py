"""The spool is read once, in order, and made again for another attempt of the run."""

from pathlib import Path

from mosaic_hook.spool import Spool
from mosaic_worker_script.spool import SpoolReader


def test_lines_are_read_once_and_files_deleted(tmp_path: Path) -> None:
    """Each line comes once, in order, also over several files; nothing is left after closing."""
    heard: list[bytes] = []
    reader = SpoolReader(tmp_path / "spool", lambda _process, lines: heard.extend(lines))
    spool = Spool(str(reader.folder))
    for number in range(5):
        spool.add({"number": number})
        reader.hear()
    reader.read()
    assert [line.decode() for line in heard] == [f'{{"number": {number}}}' for number in range(5)]
    reader.close()
    assert not reader.folder.exists()


def test_another_attempt_begins_empty(tmp_path: Path) -> None:
    """What a killed attempt has left is deleted, and its lines are not taken for those of this one."""
    folder = tmp_path / "spool"
    folder.mkdir()
    (folder / "1-2-000000.jsonl").write_text('{"type":"steps","steps":7}\n')
    heard: list[bytes] = []
    reader = SpoolReader(folder, lambda _process, lines: heard.extend(lines))
    reader.read()
    assert heard == []
    reader.close()
