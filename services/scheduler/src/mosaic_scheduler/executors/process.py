"""Executor `process`: a run is a runner with its children on this machine. No Docker needed."""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from mosaic_base.procfs import start_ticks
from mosaic_contracts import launch
from mosaic_contracts.gpus import GpuGrant
from mosaic_contracts.interpreter import python_module
from mosaic_contracts.preflight import PlacementPlan
from mosaic_contracts.stack import RUNS_DIR
from mosaic_scheduler.errors import LaunchFailed
from mosaic_scheduler.executors import proc
from mosaic_scheduler.executors.local_drain import drain_here
from mosaic_scheduler.executors.log_tail import last_lines
from mosaic_scheduler.executors.preview import plan_of
from mosaic_scheduler.executors.protocol import (
    ABSENT,
    AttemptPhase,
    AttemptRef,
    AttemptStatus,
    Bounds,
    GpuHold,
    Internet,
    Inventory,
    LaunchSpec,
    RunProcess,
)
from mosaic_scheduler.executors.run_folder import (
    RUNNER_MODULE,
    SHIPPER_MODULE,
    RunFolder,
    grant_variable,
)
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.privacy import umask

_RUNNER_LOCKED = 75
"""Exit code of a runner that found another one holding the run."""
_ENDS_KEPT = 4096
"""Ends whose time is remembered, for their sweeps; a sweep of an older one looks at all processes again."""
_KEPT = ("MOSAIC_HOME", "MOSAIC_ROOT")
"""MOSAIC's own variables that reach a run; the others are the scheduler's business (credentials, ports)."""


@dataclass(frozen=True)
class _Look:
    """Which runs had processes, but shippers, when all processes were looked at."""

    began: float
    """By the monotonic clock."""
    run_ids: frozenset[str]


@dataclass
class _Tracked:
    """A runner that is watched."""

    process: RunProcess
    child: subprocess.Popen[bytes] | None
    """When this scheduler started it: it must be reaped."""
    handle: int
    """pidfd: readable once the runner has ended."""


class ProcessExecutor:
    """See `Executor`."""

    name = "process"
    bounds = Bounds(memory=False, internet=Internet.OPEN, files=True)

    def __init__(
        self, home: Path, cores: int, is_elsewhere: Callable[[Path], bool] = lambda _: False
    ) -> None:
        """Start and find processes of this machine.

        Args:
            home: MOSAIC_HOME.
            cores: to give away.
            is_elsewhere: whether a run's folder is in the hands of another executor, whose node may be this machine.
        """
        self._is_elsewhere = is_elsewhere
        self._runs = home / RUNS_DIR
        self._cores = cores
        self._tracked: dict[AttemptRef, _Tracked] = {}
        self._refusals: dict[AttemptRef, str] = {}
        self._stops_sent: set[AttemptRef] = set()
        """Attempts that were sent a stop signal, because a second one kills.

        The note in the run's folder records this too, but the folder may not be writable.
        """
        self._callbacks: list[Callable[[], None]] = []
        self._ended_at: dict[AttemptRef, float] = {}
        """When the end of a runner was noticed, by the monotonic clock; the newest `_ENDS_KEPT`."""
        self._look: _Look | None = None

    async def inventory(self) -> Inventory:
        """Cores; a process can be given any GPU."""
        return Inventory(cpus=self._cores)

    async def ready(self) -> None:
        """Always: this machine is the engine."""

    async def plan(self, launch_spec: LaunchSpec) -> PlacementPlan:
        """See `Executor.plan`."""
        folder = self._folder(launch_spec.ref)
        mounts = [
            f"{folder.path}: its own folder",
            "whatever else this user's programs can read and write",
        ]
        return plan_of(
            _without_image(launch_spec),
            folder,
            self.name,
            mounts,
            "everything that this machine reaches",
        )

    async def submit(self, launch_spec: LaunchSpec) -> None:
        """See `Executor.submit`."""
        if (await self.status(launch_spec.ref)).phase is not AttemptPhase.ABSENT:
            return
        self._refusals.pop(launch_spec.ref, None)
        folder = self._folder(launch_spec.ref)
        child = await asyncio.to_thread(_start_runner, folder, _without_image(launch_spec))
        process = RunProcess(
            child.pid,
            start_ticks(child.pid) or 0,
            launch_spec.ref.run_id,
            folder.path,
            launch_spec.ref.attempt,
        )
        self._track(launch_spec.ref, process, child)

    async def status(self, ref: AttemptRef) -> AttemptStatus:
        """See `Executor.status`."""
        folder = self._folder(ref)
        tracked = self._tracked.get(ref) or await self._find(ref)
        if tracked is not None and _is_alive(tracked):
            return AttemptStatus(AttemptPhase.ALIVE, folder.report())
        if tracked is not None:
            self._forget(ref, tracked)
        report = folder.report()
        if report is not None:
            return folder.ended(report)
        if folder.has_lock_file():
            if folder.is_locked():
                return AttemptStatus(AttemptPhase.ALIVE)
            return folder.lost()
        if ref in self._refusals:
            return AttemptStatus(AttemptPhase.REFUSED, detail=self._refusals[ref])
        return ABSENT

    async def image(self, ref: AttemptRef) -> str | None:
        """None: processes of this machine."""
        return None

    async def cancel(self, ref: AttemptRef, kill: bool = False) -> None:
        """See `Executor.cancel`."""
        tracked = self._tracked.get(ref) or await self._find(ref)
        if tracked is None or not _is_alive(tracked):
            return
        if kill:
            # The worker dies with its runner (PR_SET_PDEATHSIG).
            proc.send_signal(tracked.process, signal.SIGKILL)
        elif ref not in self._stops_sent and self._folder(ref).mark_stop():
            self._stops_sent.add(ref)
            proc.send_signal(tracked.process, signal.SIGTERM)

    async def logs(self, ref: AttemptRef, lines: int) -> list[str]:
        """See `Executor.logs`."""
        path = self._folder(ref).path / launch.WORKER_LOG
        return await asyncio.to_thread(last_lines, path, lines)

    async def adopt(self) -> list[AttemptRef]:
        """See `Executor.adopt`."""
        for process in await self._own_processes():
            ref = AttemptRef(process.run_id, process.attempt)
            if _is_runner(process) and ref not in self._tracked:
                self._track(ref, process, None)
        return list(self._tracked)

    async def gpu_holds(self) -> list[GpuHold]:
        """See `Executor.gpu_holds`: by the environment of a runner, or of what it left behind, but its shipper."""
        found: dict[AttemptRef, GpuHold] = {}
        # A runner last: what a worker gives its children could say anything.
        for process in sorted(await self._own_processes(), key=_is_runner):
            if process.gpu_grant and SHIPPER_MODULE not in process.argv:
                ref = AttemptRef(process.run_id, process.attempt)
                try:
                    grant = GpuGrant.model_validate_json(process.gpu_grant)
                except ValidationError as error:
                    get_log().warning("grant.unreadable", run_id=ref.run_id, error=str(error))
                    continue
                found[ref] = GpuHold(ref, grant)
        return list(found.values())

    async def sweep(self, ref: AttemptRef) -> int:
        """See `Executor.sweep`. A thousand runs that end together take one look at all processes.

        A run without a process at a look after its runner's end has none later, for only processes of its own could
        start one.
        """
        ended_at = self._ended_at.pop(ref, None)
        look = self._look
        is_later = ended_at is not None and look is not None and look.began > ended_at
        if look is not None and is_later and ref.run_id not in look.run_ids:
            return 0
        return await self._end(
            lambda process: process.run_id == ref.run_id and SHIPPER_MODULE not in process.argv
        )

    async def sweep_orphans(self, may_live: Callable[[str], bool]) -> int:
        """End processes of runs below our home that may not live (any more). Return how many."""
        return await self._end(lambda process: not may_live(process.run_id))

    async def drain(self, ref: AttemptRef, timeout_s: float) -> bool:
        """See `Executor.drain`."""
        return await drain_here(self._folder(ref), timeout_s, _base_environment())

    def on_change(self, callback: Callable[[], None]) -> None:
        """See `Executor.on_change`."""
        self._callbacks.append(callback)

    def folder(self, ref: AttemptRef) -> Path:
        """The run's folder."""
        return self._folder(ref).path

    def runners(self) -> dict[str, int]:
        """Pids of the runners that are watched, by run id."""
        return {ref.run_id: tracked.process.pid for ref, tracked in self._tracked.items()}

    def close(self) -> None:
        """Stop watching; the runners go on."""
        for ref, tracked in list(self._tracked.items()):
            self._forget(ref, tracked)

    def _folder(self, ref: AttemptRef) -> RunFolder:
        return RunFolder(self._runs / ref.run_id, ref)

    async def _find(self, ref: AttemptRef) -> _Tracked | None:
        """Look for a runner that this scheduler did not start."""
        info = self._folder(ref).runner_info()
        hinted = proc.run_process(info.runner_pid) if info is not None else None
        # Another stack on this machine may have the same run: a backup was restored here, or made here.
        candidates = [hinted] if hinted is not None and self._is_own(hinted) else []
        if self._folder(ref).read_launch() is not None:
            candidates += await self._own_processes()
        for process in candidates:
            if AttemptRef(process.run_id, process.attempt) == ref and _is_runner(process):
                return self._track(ref, process, None)
        return None

    async def _own_processes(self) -> list[RunProcess]:
        began = time.monotonic()
        found = await asyncio.to_thread(proc.run_processes)
        own = [process for process in found if self._is_own(process)]
        left = (process.run_id for process in own if SHIPPER_MODULE not in process.argv)
        self._look = _Look(began, frozenset(left))
        return own

    def _is_own(self, process: RunProcess) -> bool:
        is_below = process.run_dir.parent == self._runs
        return is_below and not self._is_elsewhere(process.run_dir)

    async def _end(self, condemned: Callable[[RunProcess], bool]) -> int:
        victims = [process for process in await self._own_processes() if condemned(process)]
        return sum(proc.send_signal(process, signal.SIGKILL) for process in victims)

    def _track(
        self, ref: AttemptRef, process: RunProcess, child: subprocess.Popen[bytes] | None
    ) -> _Tracked | None:
        try:
            handle = os.pidfd_open(process.pid)
        except ProcessLookupError:
            return None
        tracked = _Tracked(process, child, handle)
        self._tracked[ref] = tracked
        asyncio.get_running_loop().add_reader(handle, self._on_end, ref, handle)
        return tracked

    def _on_end(self, ref: AttemptRef, handle: int) -> None:
        asyncio.get_running_loop().remove_reader(handle)
        self._ended_at[ref] = time.monotonic()
        if len(self._ended_at) > _ENDS_KEPT:
            del self._ended_at[next(iter(self._ended_at))]
        for callback in self._callbacks:
            callback()

    def _forget(self, ref: AttemptRef, tracked: _Tracked) -> None:
        asyncio.get_running_loop().remove_reader(tracked.handle)
        os.close(tracked.handle)
        del self._tracked[ref]
        self._stops_sent.discard(ref)
        code = tracked.child.returncode if tracked.child is not None else None
        if code is not None and code not in (0, _RUNNER_LOCKED):
            lines = last_lines(self._folder(ref).path / launch.RUNNER_LOG, 3)
            self._refusals[ref] = (
                f"its runner ended with {code}: {' / '.join(lines) or 'no output'}"
            )


def _without_image(launch_spec: LaunchSpec) -> LaunchSpec:
    """A worker may have an image as well; here nothing runs in it, and devices are named by variables."""
    return replace(launch_spec, image=None)


def _start_runner(folder: RunFolder, launch_spec: LaunchSpec) -> subprocess.Popen[bytes]:
    """Raises LaunchFailed: a file cannot be written, or the interpreter not be executed."""
    folder.prepare(launch_spec)
    with folder.open_log(launch.RUNNER_LOG) as log:
        try:
            return subprocess.Popen(
                python_module(launch_spec.python, RUNNER_MODULE, "--run-dir", str(folder.path)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder.path,
                env={
                    **_base_environment(),
                    **folder.environment(),
                    **grant_variable(launch_spec.grant),
                },
                start_new_session=True,  # it outlives us, and a Ctrl-C at our terminal
                umask=umask.of_user,  # what the user's program makes elsewhere is the user's business
            )
        except OSError as error:
            raise LaunchFailed(f"{launch_spec.python} cannot be executed: {error}") from error


def _base_environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("MOSAIC_") or name in _KEPT
    }


def _is_alive(tracked: _Tracked) -> bool:
    if tracked.child is not None:
        return tracked.child.poll() is None
    return start_ticks(tracked.process.pid) == tracked.process.start_ticks


def _is_runner(process: RunProcess) -> bool:
    return RUNNER_MODULE in process.argv
