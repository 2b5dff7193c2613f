"""Runs one training or play as a placement does: real runner, real outbox, a run folder that is thrown away."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic_base.logs import read_end
from mosaic_contracts.interpreter import python_module
from mosaic_contracts.launch import (
    EXIT_FILE,
    LAUNCH_FILE,
    SPEC_FILE,
    WORKER_LOG,
    ExitReport,
    Launch,
    RunFile,
)
from mosaic_contracts.wire import BatchInvalid, Config, Lifecycle, Record, decode_record
from mosaic_workerkit.check_worker.worker_under_test import (
    WorkerUnderTest,
    clean_environment,
    new_run_id,
)
from mosaic_workerkit.errors import OutboxCorrupted
from mosaic_workerkit.outbox import OutboxReader, outbox_dir
from mosaic_workerkit.stray import end_strays

_LOOK_S = 0.05
_RUNNER_ENDS_S = 15.0
"""For the runner itself, beyond the worker's grace."""
_OUTBOX_BYTES = 4 * 2**30
"""Nothing is freed, for nothing is sent: a short training may not reach it."""
_TAIL_BYTES = 2000


@dataclass(frozen=True)
class TrialOutcome:
    """Result of a trial run."""

    run_dir: Path
    exit: ExitReport | None
    """Exit report of the runner; None: the runner did not end."""
    stop_sent: bool
    timed_out: bool
    seconds_after_stop: float
    records: list[Record]
    fault: str | None
    """Why the events could not be read to the end."""

    @property
    def log_tail(self) -> str:
        """Last lines of the log."""
        path = self.run_dir / WORKER_LOG
        text = read_end(path, _TAIL_BYTES)[0] if path.exists() else ""
        return text.strip() or "(it printed nothing)"

    @property
    def terminals(self) -> list[str]:
        """Phases of the terminal lifecycle events."""
        return [
            r.phase
            for r in self.records
            if isinstance(r, Lifecycle) and r.phase in ("done", "stopped", "error")
        ]


class TrialRun:
    """Runs a worker once, without a stack.

    Args:
        stop: send the polite stop as soon as it trains.
        timeout_s: after that it is stopped in any case.
        verb: `train`, or `play`.
    """

    def __init__(
        self,
        worker: WorkerUnderTest,
        spec: dict[str, Any],
        run_dir: Path,
        *,
        stop: bool,
        timeout_s: float,
        verb: str = "train",
    ) -> None:
        self._worker = worker
        self._spec = spec
        self._run_dir = run_dir
        self._stop = stop
        self._verb = verb
        self._timeout_s = timeout_s
        self._run_id = new_run_id()
        self._stopped_at: float | None = None

    def run(self) -> TrialOutcome:
        """Run to the end, or stop at the time limit."""
        self._write_folder()
        timed_out = False
        with self._runner() as runner:
            deadline = time.monotonic() + self._timeout_s
            while runner.poll() is None and time.monotonic() < deadline:
                if self._stop and self._stopped_at is None and self._trains():
                    self._send_stop(runner)
                    deadline = time.monotonic() + float(self._spec["grace_s"]) + _RUNNER_ENDS_S
                time.sleep(_LOOK_S)  # a file has no event to wait for
            if runner.poll() is None:
                timed_out = True
                self._end(runner)
        ended = time.monotonic()
        records, fault = read_records(self._run_dir)
        return TrialOutcome(
            run_dir=self._run_dir,
            exit=self._read_exit(),
            stop_sent=self._stopped_at is not None,
            timed_out=timed_out,
            seconds_after_stop=ended - (self._stopped_at or ended),
            records=records,
            fault=fault,
        )

    @contextmanager
    def _runner(self) -> Iterator[subprocess.Popen[bytes]]:
        with (self._run_dir / "logs/runner.log").open("ab") as log:
            runner = subprocess.Popen(
                python_module(
                    sys.executable, "mosaic_workerkit.runner", "--run-dir", str(self._run_dir)
                ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=clean_environment(self._worker.manifest.device),
                start_new_session=True,
            )
        try:
            yield runner
        finally:
            if runner.poll() is None:
                runner.kill()
                runner.wait()
            # Only after a killed runner is there anything left to find.
            end_strays(self._run_id, -1, None, {os.getpid()})

    def _write_folder(self) -> None:
        control = self._run_dir / "control"
        control.mkdir(parents=True, mode=0o700)
        (self._run_dir / "logs").mkdir()
        run = RunFile(run_id=self._run_id, attempt=1, spec=self._spec)
        (self._run_dir / SPEC_FILE).write_text(run.model_dump_json())
        launch = Launch(
            run_id=self._run_id,
            attempt=1,
            nonce="worker-check",
            worker_argv=[*self._worker.command, self._verb, "--run-dir", str(self._run_dir)],
            shipper_argv=python_module(
                sys.executable, "mosaic_workerkit.check_worker.idle_shipper"
            ),
            env={"OMP_NUM_THREADS": "1"},
            broker_url="",
            grace_s=float(self._spec["grace_s"]),
            outbox_bytes=_OUTBOX_BYTES,
        )
        (self._run_dir / LAUNCH_FILE).write_text(launch.model_dump_json())

    def _trains(self) -> bool:
        """Whether something came after the config: a stop before that says little of the loop."""
        records, _ = read_records(self._run_dir, at_most=20)
        return any(not isinstance(record, Config | Lifecycle) for record in records)

    def _send_stop(self, runner: subprocess.Popen[bytes]) -> None:
        self._stopped_at = time.monotonic()
        runner.send_signal(signal.SIGTERM)

    def _end(self, runner: subprocess.Popen[bytes]) -> None:
        runner.send_signal(signal.SIGTERM)
        try:
            runner.wait(2.0)
        except subprocess.TimeoutExpired:
            runner.send_signal(signal.SIGTERM)  # the second one ends the grace
        try:
            runner.wait(_RUNNER_ENDS_S)
        except subprocess.TimeoutExpired:
            return  # killed by whoever made it

    def _read_exit(self) -> ExitReport | None:
        path = self._run_dir / EXIT_FILE
        return ExitReport.model_validate(json.loads(path.read_bytes())) if path.exists() else None


def read_records(run_dir: Path, at_most: int | None = None) -> tuple[list[Record], str | None]:
    """Return the events of an outbox that was not shipped, and why reading stopped early, if it did."""
    reader = OutboxReader(outbox_dir(run_dir, 1))
    records: list[Record] = []
    try:
        while at_most is None or len(records) < at_most:
            region = reader.read()
            if region is None:
                return records, None
            for record in region.split():
                records.append(decode_record(record))
    except (BatchInvalid, OutboxCorrupted) as error:
        return records, f"event {len(records) + 1}: {error}"
    finally:
        reader.close()
    return records, None
