"""A real program under a real `mosaic-pipe` in a run folder."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.run_folder import RUN_ID, make_run_folder

from mosaic_contracts.wire import Record, event_type
from mosaic_workerkit.outbox.unshipped import read_unshipped
from mosaic_workerkit.shipper.heartbeat import worker_notes

PIPE = [sys.executable, "-m", "mosaic_workerkit.pipe"]


@dataclass
class ProgramRun:
    """What came of it."""

    folder: Path
    code: int
    log: bytes

    @property
    def records(self) -> list[Record]:
        """All events, checked by the wire: contiguous seq, known kinds."""
        return [record for _, record in read_unshipped(self.folder, RUN_ID)]

    def of(self, kind: str) -> list[Any]:
        """Events of one type."""
        return [record for record in self.records if event_type(record) == kind]

    @property
    def metrics(self) -> list[tuple[str, int | None, float]]:
        """Name, step and value of each metric."""
        return [(record.name, record.step, record.value) for record in self.of("metric")]

    @property
    def notes(self) -> list[str]:
        """What is shown with the run."""
        return worker_notes(self.folder)

    @property
    def refused(self) -> list[str]:
        """Reasons that were reported."""
        return [log.data["reason"] for log in self.of("log") if "reason" in log.data]


def python(code: str) -> list[str]:
    """A program."""
    return [sys.executable, "-c", code]


def start(folder: Path, program: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start `mosaic-pipe` in a new run folder, its output in the run's log as the runner has it."""
    make_run_folder(folder)
    (folder / "logs").mkdir()
    with (folder / "logs/worker.log").open("ab") as log:
        return subprocess.Popen(
            [*PIPE, "--run-dir", str(folder), "--", *program],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
        )


def finish(folder: Path, process: subprocess.Popen[bytes], timeout_s: float = 60) -> ProgramRun:
    """Wait for its end."""
    code = process.wait(timeout_s)
    return ProgramRun(folder, code, (folder / "logs/worker.log").read_bytes())


def run(folder: Path, program: Sequence[str]) -> ProgramRun:
    """From start to end."""
    return finish(folder, start(folder, program))
