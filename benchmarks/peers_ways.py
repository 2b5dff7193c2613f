"""Running one logger of peers.py: to its end, with what that cost, or to a SIGKILL, with what a reader then finds."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import psutil
from warm_stack import VENVS, WarmStack, cpu_s, until_stored

from mosaic_contracts.runs import RunView

sys.path.insert(0, str(Path(__file__).resolve().parent / "peer_loggers"))

from scalars import NAMES, Ask, wait_for

PROGRAMS = Path(__file__).resolve().parent / "peer_loggers"

MANIFEST = f"""
id = "scalars"
title = "Scalars"
room = "tests"
command = ["{{python}}", "{PROGRAMS / "worker.py"}"]
"""
OWN_EVENTS = 2
"""Events for config and lifecycle, which a worker emits before its first scalar."""
READ_S = 600.0
HELPERS_S = 30.0
_MARK = "MOSAIC_BENCHMARK_PEER"


@dataclass(frozen=True)
class Cost:
    """What one logger cost that ran to its end."""

    scalars: int
    accepted_s: float
    """How long the training loop was in it."""
    durable_s: float
    """The same until nothing was left to write."""
    trainer_cpu_s: float
    total_cpu_s: float
    """With every process that does its work."""
    kept: int


class Way(Protocol):
    """One logger."""

    name: str

    def cost(self, ask: Ask) -> Cost:
        """Log to the end."""

    def kept_after_kill(self, ask: Ask) -> int:
        """Log until the SIGKILL; how many scalars a reader finds when nothing of it is at work any more."""


class PeerWay:
    """A logger of `peer_loggers/loggers.py` in a process of its own."""

    def __init__(self, name: str, interpreter: Path, reader: Path) -> None:
        self.name = name
        self._interpreter, self._reader = interpreter, reader

    def cost(self, ask: Ask) -> Cost:
        """Return the cost that the logger's process reports, child processes included."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            process = self._start(folder, ask)
            if process.wait() != 0:
                raise RuntimeError(f"{self.name} ended with {process.returncode}")
            report = json.loads((folder / "report.json").read_text())
            return _cost_of(report, report["durable_s"], report["tree_cpu_s"], self._count(folder))

    def kept_after_kill(self, ask: Ask) -> int:
        """Its helper processes get `HELPERS_S` to end by themselves, as the runner's do."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            process = self._start(folder, ask)
            if process.wait() != -signal.SIGKILL:
                raise RuntimeError(f"{self.name} ended with {process.returncode} before its kill")
            helpers = _marked(folder)
            _, left = psutil.wait_procs(helpers, HELPERS_S)
            for helper in left:
                print(f"  {self.name}: {helper} did not end by itself", file=sys.stderr)
                helper.kill()
            return self._count(folder)

    def _start(self, folder: Path, ask: Ask) -> "subprocess.Popen[bytes]":
        program = [str(self._interpreter), str(PROGRAMS / "loggers.py")]
        asked = [str(number) for number in (ask.scalars, ask.rate, ask.kill_at)]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [*program, "log", self.name, str(folder), *asked],
                env={**os.environ, _MARK: str(folder)},
                stdout=log,
                stderr=log,
            )
        while not (folder / "ready").exists():
            if process.poll() is not None:
                raise RuntimeError(f"{self.name} did not begin:\n{(folder / 'log').read_text()}")
            time.sleep(0.05)  # a file made by another process is no event here
        (folder / "go").touch()
        return process

    def _count(self, folder: Path) -> int:
        done = subprocess.run(
            [self._reader, PROGRAMS / "loggers.py", "count", self.name, folder],
            stdout=subprocess.PIPE,
            text=True,
            timeout=READ_S,
            check=True,
        )
        return int(done.stdout)


class MosaicWay:
    """A run on a real stack: worker, outbox, shipper, broker, recorder, store."""

    name = "mosaic"

    def __init__(self, stack: WarmStack) -> None:
        self._stack = stack
        (stack.home / "workers.d" / "scalars.toml").write_text(MANIFEST)

    def cost(self, ask: Ask) -> Cost:
        """From the worker's first scalar to the look, every 20 ms, that finds all of them in the store."""
        stack = self._stack
        view, folder = self._submit(ask)
        wait_for(folder / "ready")
        before = self._helpers_cpu_s(view.run_id)
        (folder / "go").touch()
        with stack.reader() as reader:
            until_stored(reader, view.run_id, ask.scalars + OWN_EVENTS, 120)
            stored = time.time()
            wait_for(folder / "report.json")
            helpers = self._helpers_cpu_s(view.run_id) - before
            (folder / "leave").touch()
            report = json.loads((folder / "report.json").read_text())
            stack.wait_final(view.run_id)
            total = helpers + report["tree_cpu_s"]
            return _cost_of(report, stored - report["began"], total, self._count(view.run_id))

    def kept_after_kill(self, ask: Ask) -> int:
        """The runner sees the death and drains what the outbox holds."""
        view, folder = self._submit(ask)
        wait_for(folder / "ready")
        (folder / "go").touch()
        final = self._stack.wait_final(view.run_id, 300)
        if final.end is None or final.end.signal != signal.SIGKILL:
            raise RuntimeError(f"the run ended as {final.state}: {final.end}")
        return self._count(view.run_id)

    def _submit(self, ask: Ask) -> tuple[RunView, Path]:
        asked = {"scalars": ask.scalars, "rate": ask.rate, "kill_at": ask.kill_at}
        view = self._stack.submit(
            "scalars", "scalars", "None-v0", record="metrics", parameters=asked
        )
        return view, self._stack.run_dir(view.run_id)

    def _helpers_cpu_s(self, run_id: str) -> float:
        """CPU seconds of everything but the worker: runner, shipper, and all services of the stack."""
        parts = sum(cpu_s(self._stack.run_pid(run_id, part)) for part in ("runner", "shipper"))
        return parts + sum(self._stack.service_cpu_s().values())

    def _count(self, run_id: str) -> int:
        with self._stack.reader() as reader:
            names = reader.metric_names(run_id)
        return sum(metric.points for metric in names if metric.name in NAMES)


def peer_interpreter() -> Path:
    """The interpreter of the loggers' environment, which is made when it is not there."""
    command = [sys.executable, "-I", PROGRAMS / "environment.py"]
    made = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Path(made.stdout.strip())


def peer_ways() -> list[Way]:
    """Return every logger other than MOSAIC's; torch's writer is the one that CleanRL's scripts import."""
    peers, torch = peer_interpreter(), VENVS / "worker_cleanrl" / "bin" / "python"
    names = ["bare", "tensorboard", "torch_summary_writer", "wandb_offline"]
    names += ["mlflow_log_batch", "mlflow", "mlflow_async"]
    return [PeerWay(n, torch if n.startswith("torch") else peers, peers) for n in names]


def peer_versions() -> dict[str, str]:
    """What is measured."""
    command = [str(peer_interpreter()), str(PROGRAMS / "loggers.py"), "versions"]
    found: dict[str, str] = json.loads(subprocess.check_output(command))
    return found


def _cost_of(report: dict[str, Any], durable_s: float, total_cpu_s: float, kept: int) -> Cost:
    return Cost(
        scalars=report["scalars"],
        accepted_s=report["accepted_s"],
        durable_s=durable_s,
        trainer_cpu_s=report["trainer_cpu_s"],
        total_cpu_s=total_cpu_s,
        kept=kept,
    )


def _marked(folder: Path) -> list[psutil.Process]:
    """Live processes that a logger left, by its environment."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(_MARK) == str(folder):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found
