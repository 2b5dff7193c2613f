"""Runs of this worker as a placement starts them, and what they left."""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic_contracts.choices import RunKind
from mosaic_contracts.xmpp import ENV_XMPP_FILE
from mosaic_workerkit.testing.forked import ForkedProgram, ForkServer
from mosaic_workerkit.testing.recorded import read_events, write_spec

TIMEOUT_S = 120.0
TEMPORARY = "temporary"
PROGRAM = "mosaic_worker_spade"
OUTPUT = "output"
_server = ForkServer(["tests.preloaded"])

Event = dict[str, Any]


@dataclass(frozen=True)
class FinishedRun:
    """A run that has ended."""

    folder: Path
    code: int
    stderr: str
    events: list[Event]

    def of_type(self, *kinds: str) -> list[Event]:
        """Its events of these types."""
        return [event for event in self.events if event["type"] in kinds]

    def data(self, kind: str) -> list[dict[str, Any]]:
        """What its extras of a type say."""
        return [event["data"] for event in self.of_type(kind)]

    @property
    def counts(self) -> Counter[str]:
        """How many of each type."""
        return Counter(event["type"] for event in self.events)

    def plain(self) -> list[dict[str, Any]]:
        """Its events without what differs from run to run: times, addresses."""
        reported = []
        for event in self.events:
            kept = {k: v for k, v in event.items() if k not in ("t", "duration_s", "sha256")}
            reported.append(kept)
        return reported


def start(folder: Path, access: Path | None = None, **spec: Any) -> ForkedProgram:
    """Start one, in a child of a process that has imported the worker and what agents need."""
    given = _write(folder, access, spec)
    return _server.start(
        PROGRAM, given.words, folder=folder, environ=given.environ, output=folder / OUTPUT
    )


def run_program(folder: Path, access: Path | None = None, **spec: Any) -> FinishedRun:
    """Run one to its end, as a program that imports everything itself."""
    given = _write(folder, access, spec)
    with (folder / OUTPUT).open("wb") as output:
        ended = subprocess.run(
            [sys.executable, "-m", PROGRAM, *given.words],
            env=given.environ,
            stdout=output,
            stderr=output,
            timeout=TIMEOUT_S,
            check=False,
        )
    said = (folder / OUTPUT).read_text(errors="replace")
    return FinishedRun(folder, ended.returncode, said, read_events(folder))


@dataclass(frozen=True)
class _Given:
    words: list[str]
    environ: dict[str, str]


def _write(folder: Path, access: Path | None, spec: dict[str, Any]) -> _Given:
    """Make the folder of a run; return what its worker is given."""
    (folder / "control").mkdir(parents=True, exist_ok=True)
    whole = {"worker": "spade", "algorithm": "q_learning", "environment": "FrozenLake-v1", **spec}
    write_spec(folder, whole)
    environ = {k: v for k, v in os.environ.items() if not k.startswith("MOSAIC_")}
    if access is not None:
        environ[ENV_XMPP_FILE] = str(access)
    environ["MOSAIC_RUN_DIR"] = str(folder)
    environ["TMPDIR"] = str(folder / TEMPORARY)
    (folder / TEMPORARY).mkdir(exist_ok=True)
    verb = RunKind(str(whole.get("kind", "train"))).worker_verb
    return _Given([verb, "--run-dir", str(folder)], environ)


def finish(process: ForkedProgram, folder: Path) -> FinishedRun:
    """Wait for its end."""
    said = process.finish(TIMEOUT_S)
    return FinishedRun(folder, process.returncode or 0, said, read_events(folder))


def run(folder: Path, access: Path | None = None, **spec: Any) -> FinishedRun:
    """Run one to its end."""
    return finish(start(folder, access, **spec), folder)


def wait_for(folder: Path, process: ForkedProgram, found: Callable[[list[Event]], bool]) -> None:
    """Wait until its events say so; polled, for a file has no other signal."""
    deadline, pause_s = time.monotonic() + TIMEOUT_S / 2, 0.05
    while time.monotonic() < deadline and process.poll() is None:
        if found(read_events(folder)):
            return
        time.sleep(pause_s)
        pause_s = min(0.3, 1.2 * pause_s)  # each look reads all that was written
    raise AssertionError(f"it did not come to that; exit code {process.poll()}")


def has(kind: str) -> Callable[[list[Event]], bool]:
    """Whether there is an event of a type."""
    return lambda events: any(event["type"] == kind for event in events)
