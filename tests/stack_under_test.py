"""A whole embedded stack in a folder of its own, as a user has it, with every pid in reach of `kill -9`.

The tests talk to it through the client and look into the store afterwards; nothing in it is replaced.
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import psutil

from mosaic_client import Client, Location, MosaicProblem, StackUnreachable
from mosaic_contracts import launch, stack
from mosaic_contracts.runs import RunView
from mosaic_contracts.spec import RunSpec

ROOT = Path(__file__).resolve().parent.parent
VENVS = Path(os.environ.get("MOSAIC_VENVS") or ROOT / "var" / "venvs")

T = TypeVar("T")

SYNTHETIC_TOML = """
id = "synthetic"
title = "Synthetic"
room = "tests"
command = ["{python}", "-m", "mosaic_workerkit.testing.synthetic"]
"""


SERVICES = ("cli", "broker", "recorder", "scheduler", "gateway", "tests")
"""Environments of every stack; `tests` has the synthetic worker."""

REPEAT = int(os.environ.get("MOSAIC_TEST_REPEAT", "1"))
"""How many times as long tests kill at random, or keep a service away; a nightly run may ask for more."""

PAUSE_S = 0.05
"""Between the first two questions to another process."""
LONGEST_PAUSE_S = 0.3
"""The same at the most: a question costs 8 ms of processor time in all processes, or a look at every process here."""


class StackUnderTest:
    """One stack with its own MOSAIC_HOME.

    Args:
        home: its data root.
        venvs: environments of its services and workers; None: all of this checkout.
    """

    def __init__(self, home: Path, venvs: Path | None = None) -> None:
        self.home = home
        self.environ = {
            **os.environ,
            "MOSAIC_ROOT": str(ROOT),
            "MOSAIC_HOME": str(home),
            "MOSAIC_VENVS": str(venvs or VENVS),
        }
        for name in ("MOSAIC_URL", "MOSAIC_TOKEN_FILE", "MOSAIC_CA_FILE"):
            self.environ.pop(name, None)
        workers = home / "workers.d"
        workers.mkdir(parents=True, exist_ok=True)
        (workers / "synthetic.toml").write_text(SYNTHETIC_TOML)

    def cli(
        self, *args: str, timeout_s: float = 120, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """One call of the command line, output captured; `cwd` None: from the current folder."""
        return subprocess.run(
            [VENVS / "cli" / "bin" / "python", "-m", "mosaic_cli", *args],
            cwd=cwd,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def start(self) -> None:
        """`up -d`, ready when it returns."""
        done = self.cli("up", "-d")
        if done.returncode != 0:
            raise AssertionError(
                f"up -d ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
            )

    def stop(self) -> None:
        """`down` with its runs, and nothing of this stack may be left."""
        done = self.cli("down", "--stop-runs")
        assert done.returncode == 0, done.stdout + done.stderr
        assert self.leftovers() == []

    def client(self) -> Client:
        """A client with the stack's own address and token."""
        token = (self.home / stack.TOKEN_FILE).read_text().strip()
        return Client(Location(url=self.stack_file().gateway_url, token=token))

    def stack_file(self) -> stack.StackFile:
        """What the supervisor says."""
        return stack.StackFile.model_validate_json((self.home / stack.STACK_FILE).read_bytes())

    def service_pid(self, name: str) -> int:
        """Pid of a service that is up; waits until it is."""

        def pid() -> int | None:
            entry = next(s for s in self.stack_file().services if s.name == name)
            alive = entry.pid is not None and psutil.pid_exists(entry.pid)
            return entry.pid if alive and entry.state == "up" else None

        return until(pid, f"{name} is up", 60, longest_pause_s=PAUSE_S)

    def kill_service(self, name: str) -> None:
        """kill -9 a service; the supervisor is to bring it back."""
        kill9(self.service_pid(name))

    def kill_broker_and_its_store(self) -> None:
        """kill -9 the broker and delete everything it had stored."""
        pid = self.service_pid("broker")
        supervisor = self.stack_file().supervisor_pid
        # Stopped for this moment, so that the next broker cannot start on half a folder.
        os.kill(supervisor, signal.SIGSTOP)
        try:
            kill9(pid)
            shutil.rmtree(self.home / "nats" / "jetstream")
        finally:
            os.kill(supervisor, signal.SIGCONT)

    def run_dir(self, run_id: str) -> Path:
        """Folder of a run."""
        return self.home / stack.RUNS_DIR / run_id

    def run_pid(self, run_id: str, part: str) -> int:
        """Pid of a run's `runner`, `worker` or `shipper`; waits until there is one alive."""

        def pid() -> int | None:
            path = self.run_dir(run_id) / launch.RUNNER_FILE
            if not path.exists():
                return None
            found = getattr(launch.RunnerInfo.model_validate_json(path.read_bytes()), f"{part}_pid")
            return found if found is not None and psutil.pid_exists(found) else None

        return until(pid, f"{part} of {run_id} is alive", 60, longest_pause_s=PAUSE_S)

    def kill_run_part(self, run_id: str, part: str) -> None:
        """kill -9 one process of a run."""
        kill9(self.run_pid(run_id, part))

    def submit(self, worker: str, algorithm: str, environment: str, **fields: object) -> RunView:
        """Submit a run through the gateway, once everything behind it is ready."""
        self.wait_ready()
        spec = RunSpec.model_validate(
            {"worker": worker, "algorithm": algorithm, "environment": environment, **fields}
        )
        with self.client() as client:
            return client.submit(spec)

    def run(self, run_id: str) -> RunView:
        """The run as a client sees it; waits for a gateway that restarts."""

        def view() -> RunView | None:
            try:
                with self.client() as client:
                    return client.run(run_id)
            except StackUnreachable:
                return None  # a gateway that was killed comes back on the same port
            except MosaicProblem as refused:
                if refused.problem.status != 503:
                    raise
                return None  # the scheduler or the broker that was killed comes back

        return until(view, "the gateway answers", 60)

    def wait_ready(self) -> None:
        """Wait until every service is up and answers; after a kill that takes the supervisor a moment."""

        until(self.is_ready, "the whole stack is ready", 60)

    def is_ready(self) -> bool:
        """Whether every service is up and answers now."""
        try:
            with self.client() as client:
                return client.ready().ready
        except StackUnreachable:
            return False

    def wait_final(self, run_id: str, within_s: float = 120) -> RunView:
        """Wait for the run's end with everything stored; survives a gateway that restarts."""

        def final() -> RunView | None:
            view = self.run(run_id)
            # one that is shown as last known, while the scheduler is away, is not its word
            is_over = view.state.is_final and not view.telemetry_pending and not view.stale
            return view if is_over else None

        return until(final, f"{run_id} is final and stored", within_s)

    def wait_stored(self, run_id: str, events: int, within_s: float = 60) -> None:
        """Wait until the store holds at least so many events of a run."""

        def enough() -> bool:
            summary = self.run(run_id).summary
            return summary is not None and summary.events >= events

        until(enough, f"{events} events of {run_id} are stored", within_s)

    def leftovers(self) -> list[str]:
        """Processes that belong to this stack or its runs, by environment; there must be none after `down`."""
        return [
            f"{p.pid} {' '.join(p.cmdline())}" for p in self._processes("MOSAIC_HOME", self.home)
        ]

    def processes_of(self, run_id: str) -> list[int]:
        """Live processes of a run, whatever their parent."""
        return [p.pid for p in self._processes(launch.ENV_RUN_ID, run_id)]

    @staticmethod
    def _processes(variable: str, value: object) -> Iterator[psutil.Process]:
        for process in psutil.process_iter():
            try:
                if (
                    process.environ().get(variable) == str(value)
                    and process.status() != psutil.STATUS_ZOMBIE
                    and process.pid != os.getpid()
                ):
                    yield process
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue


def kill9(pid: int) -> None:
    """SIGKILL, and wait until the process is really gone."""
    process = psutil.Process(pid)
    process.kill()

    def gone() -> bool:
        try:
            return bool(process.status() == psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return True

    until(gone, f"process {pid} is gone", 60, longest_pause_s=PAUSE_S)


def until(
    claim: Callable[[], T | None],
    words: str,
    within_s: float,
    *,
    longest_pause_s: float = LONGEST_PAUSE_S,
) -> T:
    """Ask until the claim holds.

    Polling, for what is asked lies in another process that has no event for us.

    Args:
        claim: what is asked; a true value ends the wait.
        words: of the claim, for the error.
        within_s: seconds to wait at most.
        longest_pause_s: to which the time between two questions grows; PAUSE_S for what is cheap to ask or passes soon.

    Raises:
        AssertionError: it did not within `within_s`; the message has the words.
    """
    end, pause_s = time.monotonic() + within_s, PAUSE_S
    while True:
        found = claim()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not within {within_s:.0f} s: {words}")
        time.sleep(pause_s)
        pause_s = min(longest_pause_s, 1.2 * pause_s)


def last_json(text: str) -> dict[str, Any]:
    """The one JSON object that `--json` promises on stdout."""
    found = json.loads(text)
    assert isinstance(found, dict)
    return found


def link_environments(folder: Path, *workers: str) -> Path:
    """Make a folder with the environments of services and of these workers alone; return it.

    To a stack the other workers are not installed. Each scheduler that starts has every installed worker describe
    itself, which takes more processor time than the rest of its start.
    """
    folder.mkdir()
    for name in (*SERVICES, *workers):
        (folder / name).symlink_to(VENVS / name)
    return folder


@contextmanager
def running_stack(workers: Sequence[str] | None = None) -> Iterator[StackUnderTest]:
    """A whole stack in a folder of its own; nothing of it may be left afterwards.

    Args:
        workers: environments of the workers that it has next to the synthetic one; None: all of this checkout.
    """
    with tempfile.TemporaryDirectory(prefix="mosaic-test-") as made:
        folder = Path(made)
        venvs = None if workers is None else link_environments(folder / "venvs", *workers)
        under_test = StackUnderTest(folder / "home", venvs)
        try:
            under_test.start()
            yield under_test
        finally:
            under_test.stop()
