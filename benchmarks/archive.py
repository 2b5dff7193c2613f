"""What an archive of a large run costs, and how fast it comes back on another stack.

    var/venvs/tests/bin/python benchmarks/archive.py [--events 10000000] [--folder DIR]

Needs `./mosaic sync --dev tests` and `./mosaic sync cli broker recorder scheduler gateway`.

Method. A stack of its own gets one run with N synthetic events (85 % steps), stored as the recorder stores them. Then
`./mosaic archive` writes it, as a process of its own, and `./mosaic import` gives it to a second, empty stack.
`archive` is the time of the whole command: all events are read through the gateway, written in three forms, and the
file is read again and compared; `batches_alone` is the same with `--without jsonl,parquet`. `import` ends when the
stack has compared every digest, decoded every event and added the run; `stored` ends when the recorder has all events.
The disk's rate is that of writing as many bytes as the archive has, with fsync, and of reading them, in the same folder
and the same run. `mb_s` counts bytes of the archive, `lines_mb_s` bytes of the events as JSON lines. CPU is that of the
command and of all processes that it started. Memory of a command is the highest proportional set size of it and these
processes together, looked at four times a second; of the scheduler and gateway of the second stack it is the peak
resident size, what they have more than before; `services_cpu_s` is their CPU time from the start of the import. One
JSON object on stdout.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from past_runs import add_events, add_records
from stack_under_test import VENVS, StackUnderTest

_PIECE = os.urandom(2**20)


def command(stack: StackUnderTest, *words: str) -> dict[str, Any]:
    """Run a verb; wall and CPU time, and peak memory."""
    begun = time.monotonic()
    python = VENVS / "cli" / "bin" / "python"
    pid = os.posix_spawn(python, [str(python), "-m", "mosaic_cli", *words], stack.environ)
    memory = TreeMemory(pid)
    _, status, used = os.wait4(pid, 0)
    peak = memory.end()
    if status:
        raise SystemExit(f"{words[0]} ended with status {status}")
    return {
        "s": round(time.monotonic() - begun, 2),
        "cpu_s": round(used.ru_utime + used.ru_stime, 2),
        "peak_mib": round(peak / 1024),
    }


class TreeMemory:
    """Looks at the memory of a process and all that it started."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._peak_kib = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def end(self) -> int:
        """End, and return the highest proportional set size in KiB."""
        self._is_over.set()
        self._thread.join()
        return self._peak_kib

    def _look(self) -> None:
        while not self._is_over.wait(0.25):
            self._peak_kib = max(self._peak_kib, tree_kib(self._pid))


def tree_kib(pid: int) -> int:
    """Proportional set size of a process and its descendants in KiB; 0: it ended."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(word) for task in tasks for word in (task / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return 0
    own = sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return own + sum(map(tree_kib, children))


def peak_mib(pid: int) -> float:
    """Peak resident size of a live process."""
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def cpu_s(pid: int) -> float:
    """User and system time of a live process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def disk_rate(folder: Path, size: int) -> dict[str, float]:
    """Bytes a second of writing with fsync, and of reading what the kernel no longer has."""
    path = folder / "rate"
    begun = time.monotonic()
    with path.open("wb", 0) as file:
        for _ in range(max(1, size // len(_PIECE))):
            file.write(_PIECE)
        os.fsync(file.fileno())
    written = time.monotonic() - begun
    done = path.stat().st_size
    with path.open("rb", 0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        begun = time.monotonic()
        while file.read(2**20):
            pass
    read = time.monotonic() - begun
    path.unlink()
    return {"write_mb_s": round(done / written / 1e6), "read_mb_s": round(done / read / 1e6)}


def lines_bytes(path: Path) -> int:
    """Size of the events as JSON lines, unpacked."""
    program = (
        "import sys, zstandard\n"
        "total = 0\n"
        "for piece in zstandard.ZstdDecompressor().read_to_iter(sys.stdin.buffer): total += len(piece)\n"
        "print(total)"
    )
    with zipfile.ZipFile(path) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("events.jsonl.zst")]
        python = VENVS / "cli" / "bin" / "python"
        with subprocess.Popen(
            [python, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as counter:
            if counter.stdin is None or counter.stdout is None:
                raise SystemExit("no pipe")
            with archive.open(name) as file:
                while piece := file.read(2**20):
                    counter.stdin.write(piece)
            counter.stdin.close()
            return int(counter.stdout.read())


def large_run(home: Path, events: int) -> tuple[StackUnderTest, str]:
    """A stack with a run of so many events."""
    stack = StackUnderTest(home)
    stack.start()
    like = stack.wait_final(stack.submit("synthetic", "synthetic", "Synthetic-v0", steps=10).run_id)
    stack.stop()
    (run_id,) = add_records(home, like.run_id, 1)
    add_events(home, run_id, events)
    stack.start()
    stack.wait_ready()
    return stack, run_id


def main() -> None:
    """Archive, import, and print what both took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument(
        "--folder",
        type=Path,
        help="where everything is written; default: the folder for temporary files",
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mosaic-archive-", dir=asked.folder) as made:
        folder = Path(made)
        target = folder / "run.mosaic.zip"
        stack, run_id = large_run(folder / "one", asked.events)
        try:
            archive = command(stack, "archive", run_id, "-o", str(target))
            small = folder / "small.mosaic.zip"
            words = ("archive", run_id, "--without", "jsonl,parquet", "-o", str(small))
            batches_alone = command(stack, *words)
        finally:
            stack.stop()
        size, small_size = target.stat().st_size, small.stat().st_size
        lines = lines_bytes(target)
        disk = disk_rate(folder, size)
        other = StackUnderTest(folder / "two")
        other.start()
        try:
            other.wait_ready()
            pids = {name: other.service_pid(name) for name in ("scheduler", "gateway", "recorder")}
            before = {name: peak_mib(pid) for name, pid in pids.items()}
            used = {name: cpu_s(pid) for name, pid in pids.items()}
            begun = time.monotonic()
            imported = command(other, "import", str(target))
            imported["services_cpu_s"] = {
                name: round(cpu_s(pid) - used[name], 2) for name, pid in pids.items()
            }
            run = other.wait_final(run_id, within_s=3600)
            stored_s = time.monotonic() - begun
            stored_cpu = {name: round(cpu_s(pid) - used[name], 2) for name, pid in pids.items()}
            grown = {name: round(peak_mib(pid) - before[name]) for name, pid in pids.items()}
        finally:
            other.stop()
    summary = run.summary
    if summary is None or summary.events < asked.events or summary.gaps:
        raise SystemExit(f"events are missing: {summary}")
    for part, file_bytes in ((archive, size), (batches_alone, small_size), (imported, size)):
        seconds = part["s"]
        part["mb_s"] = round(file_bytes / seconds / 1e6, 1)
        part["lines_mb_s"] = round(lines / seconds / 1e6, 1)
        part["events_s"] = round(asked.events / seconds)
    figures = {
        "events": asked.events,
        "archive_mb": round(size / 1e6, 1),
        "lines_mb": round(lines / 1e6, 1),
        "disk": disk,
        "archive": archive,
        "batches_alone": batches_alone,
        "import": imported,
        "stored": {
            "s": round(stored_s, 2),
            "events_s": round(asked.events / stored_s),
            "lines_mb_s": round(lines / stored_s / 1e6, 1),
            "services_cpu_s": stored_cpu,
        },
        "grown_mib": grown,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
