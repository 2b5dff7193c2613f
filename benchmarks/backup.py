"""What a backup costs: its rate against the disk's, memory, and what ingest loses meanwhile.

    var/venvs/tests/bin/python benchmarks/backup.py [--events N] [--files N] [--mib N]

Method: a data root is made with a telemetry store of N synthetic events, one run's folder of N files of 4 KiB (a
quarter of each random) and one file of random bytes. `./mosaic backup`, `backup check` and `backup restore` run as
processes of their own; wall time, CPU time and peak memory are those of the process. While the backup is made, a writer
goes on storing batches; its transactions are compared with those of the five seconds before. The disk's rate is that of
writing the same number of bytes with one fsync, just before. One JSON object on stdout.
"""

import argparse
import json
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import zstandard

from mosaic_contracts.stack_files import RUNS_DIR, SCHEDULER_DB, TELEMETRY_DB
from mosaic_contracts.wire import ENCODING_ZSTD
from mosaic_store import StreamCursor, Writer, open_writer, read_batch
from mosaic_store.testing import RUN_ID, messages

ROOT = Path(__file__).resolve().parent.parent
VENVS = Path(os.environ.get("MOSAIC_VENVS") or ROOT / "var" / "venvs")
BATCH = 1_000
BATCHES_PER_COMMIT = 10
QUIET_S = 5.0
_MIB = 2**20


class Ingest:
    """Stores the same batches of new runs, again and again."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._numbers = count(1)
        unpack = zstandard.ZstdDecompressor().decompress
        self._batches = [
            unpack(message.payload) for message in messages(BATCH * BATCHES_PER_COMMIT, BATCH)
        ]
        self._pack = zstandard.ZstdCompressor(level=1).compress
        self._seq = 0

    def store(self) -> float:
        """Store 10,000 events of a run of their own; milliseconds of the transaction."""
        run_id = f"{RUN_ID[:-6]}{next(self._numbers):06d}"
        stored = [
            read_batch(self._pack(batch.replace(RUN_ID.encode(), run_id.encode())), ENCODING_ZSTD)
            for batch in self._batches
        ]
        self._seq += len(stored)
        began = time.perf_counter()
        self._writer.apply(stored, StreamCursor("benchmark", self._seq))
        return 1e3 * (time.perf_counter() - began)

    def until(self, is_over: Callable[[], bool]) -> list[float]:
        """Store ten times a second until it is over."""
        took = []
        while not is_over():
            next_at = time.monotonic() + 0.1
            took.append(self.store())
            time.sleep(max(0.0, next_at - time.monotonic()))
        return took


def make_home(home: Path, files: int, mib: int) -> None:
    """A scheduler's database with one run, and its folder."""
    (home / "db").mkdir(parents=True)
    scheduler = sqlite3.connect(home / SCHEDULER_DB)
    scheduler.executescript(
        "PRAGMA journal_mode = WAL; CREATE TABLE runs (run_id TEXT, state TEXT)"
    )
    scheduler.execute("INSERT INTO runs VALUES (?, 'running')", (RUN_ID,))
    scheduler.commit()
    scheduler.close()
    folder = home / RUNS_DIR / RUN_ID
    for number in range(files):
        place = folder / f"{number // 1000:04d}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.json").write_bytes(os.urandom(1024) + bytes(3072))
    with (folder / "large.bin").open("wb") as file:
        for _ in range(mib):
            file.write(os.urandom(_MIB))


def disk_mib_per_s(folder: Path, size: int) -> float:
    """Rate of writing so many bytes with one fsync."""
    piece, path = os.urandom(_MIB), folder / "rate"
    began = time.perf_counter()
    with path.open("wb") as file:
        for _ in range(size // _MIB):
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    took = time.perf_counter() - began
    path.unlink()
    return round(size / _MIB / took, 1)


def run(home: Path, *args: str) -> dict[str, float]:
    """Run a verb; wall and CPU seconds, and peak memory in MiB."""
    python = str(VENVS / "cli" / "bin" / "python")
    environment = {**os.environ, "MOSAIC_HOME": str(home), "MOSAIC_ROOT": str(ROOT)}
    began = time.perf_counter()
    argv = [python, "-m", "mosaic_cli", "backup", *args]
    pid = os.posix_spawn(python, argv, environment, file_actions=[(os.POSIX_SPAWN_DUP2, 2, 1)])
    _, status, usage = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status):
        sys.exit(f"{' '.join(argv)} ended with {os.waitstatus_to_exitcode(status)}")
    return {
        "s": round(time.perf_counter() - began, 2),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_mib": round(usage.ru_maxrss / 1024, 1),
    }


def size_of(folder: Path) -> int:
    """Bytes of all files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def measure(folder: Path, events: int, files: int, mib: int) -> dict[str, object]:
    """All figures."""
    home, target = folder / "home", folder / "backup.zip"
    make_home(home, files, mib)
    with open_writer(home / TELEMETRY_DB) as writer:
        ingest = Ingest(writer)
        for _ in range(events // (BATCH * BATCHES_PER_COMMIT)):
            ingest.store()
        size = size_of(home)
        rate = disk_mib_per_s(folder, size)
        quiet_until = time.monotonic() + QUIET_S
        before = ingest.until(lambda: time.monotonic() > quiet_until)
        made: dict[str, float] = {}
        thread = threading.Thread(target=lambda: made.update(run(home, "create", str(target))))
        thread.start()
        during = ingest.until(lambda: not thread.is_alive())
        thread.join()
    checked = run(home, "check", str(target))
    restored = run(folder / "restored", "restore", str(target))
    return {
        "events": events,
        "files": files,
        "mib": round(size / _MIB, 1),
        "backup_mib": round(target.stat().st_size / _MIB, 1),
        "disk_mib_per_s": rate,
        "backup": {**made, "mib_per_s": round(size / _MIB / made["s"], 1)},
        "check": {**checked, "mib_per_s": round(size / _MIB / checked["s"], 1)},
        "restore": {**restored, "mib_per_s": round(size / _MIB / restored["s"], 1)},
        "commit_ms_p50": [round(statistics.median(took), 2) for took in (before, during)],
        "commit_ms_max": [round(max(took), 2) for took in (before, during)],
    }


def main() -> None:
    """Measure once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--mib", type=int, default=512)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="mosaic-backup-"))
    try:
        print(json.dumps(measure(folder, given.events, given.files, given.mib)))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
