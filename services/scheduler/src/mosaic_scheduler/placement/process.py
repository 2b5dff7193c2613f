"""Placement `process`: a run is a runner with its children on this machine. No Docker needed."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from mosaic_contracts import launch
from mosaic_contracts.gpus import GpuGrant
from mosaic_contracts.interpreter import python_module
from mosaic_contracts.preflight import PlacementPlan
from mosaic_contracts.stack import RUNS_DIR
from mosaic_scheduler.errors import PlacementFailed
from mosaic_scheduler.placement import proc
from mosaic_scheduler.placement.log_tail import last_lines
from mosaic_scheduler.placement.preview import plan_of
from mosaic_scheduler.placement.protocol import (
    ABSENT,
    Bounds,
    Holding,
    Internet,
    Inventory,
    LaunchOrder,
    Placed,
    PlacedKind,
    PlacedRef,
    RunProcess,
)
from mosaic_scheduler.placement.run_folder import (
    RUNNER_MODULE,
    SHIPPER_MODULE,
    RunFolder,
    grant_variable,
)
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.privacy import umask

_RUNNER_LOCKED = 75
"""Exit code of a runner that found another one holding the run."""
_KEPT = ("MOSAIC_HOME", "MOSAIC_ROOT")
"""MOSAIC's own variables that reach a run; the others are the scheduler's business (credentials, ports)."""
_DRAIN_MARGIN_S = 10.0
"""Beyond the shipper's own timeout, before it is ended."""


@dataclass
class _Tracked:
    """A runner that is watched."""

    process: RunProcess
    child: subprocess.Popen[bytes] | None
    """When this scheduler started it: it must be reaped."""
    handle: int
    """pidfd: readable once the runner has ended."""


class ProcessPlacement:
    """See `Placement`."""

    name = "process"
    bounds = Bounds(memory=False, internet=Internet.OPEN, files=True)

    def __init__(self, home: Path, cores: int) -> None:
        self._runs = home / RUNS_DIR
        self._cores = cores
        self._tracked: dict[PlacedRef, _Tracked] = {}
        self._refusals: dict[PlacedRef, str] = {}
        self._stops_sent: set[PlacedRef] = set()
        """Attempts that were sent a stop signal, because a second one kills.

        The note in the run's folder records this too, but the folder may not be writable.
        """
        self._callbacks: list[Callable[[], None]] = []

    async def inventory(self) -> Inventory:
        """Cores; a process can be given any GPU."""
        return Inventory(cpus=self._cores)

    async def ready(self) -> None:
        """Always: this machine is the engine."""

    async def plan(self, order: LaunchOrder) -> PlacementPlan:
        """See `Placement.plan`."""
        folder = self._folder(order.ref)
        mounts = [
            f"{folder.path}: its own folder",
            "whatever else this user's programs can read and write",
        ]
        return plan_of(
            _without_image(order), folder, self.name, mounts, "whatever this machine reaches"
        )

    async def submit(self, order: LaunchOrder) -> None:
        """See `Placement.submit`."""
        if (await self.status(order.ref)).kind is not PlacedKind.ABSENT:
            return
        self._refusals.pop(order.ref, None)
        folder = self._folder(order.ref)
        child = await asyncio.to_thread(_start_runner, folder, _without_image(order))
        process = RunProcess(
            child.pid,
            proc.start_ticks(child.pid) or 0,
            order.ref.run_id,
            folder.path,
            order.ref.attempt,
        )
        self._track(order.ref, process, child)

    async def status(self, ref: PlacedRef) -> Placed:
        """See `Placement.status`."""
        folder = self._folder(ref)
        tracked = self._tracked.get(ref) or await self._find(ref)
        if tracked is not None and _is_alive(tracked):
            return Placed(PlacedKind.ALIVE, folder.report())
        if tracked is not None:
            self._forget(ref, tracked)
        report = folder.report()
        if report is not None:
            return folder.ended(report)
        if folder.has_lock_file():
            if folder.is_locked():
                return Placed(PlacedKind.ALIVE)
            return folder.lost()
        if ref in self._refusals:
            return Placed(PlacedKind.REFUSED, detail=self._refusals[ref])
        return ABSENT

    async def image(self, ref: PlacedRef) -> str | None:
        """None: processes of this machine."""
        return None

    async def cancel(self, ref: PlacedRef, kill: bool = False) -> None:
        """See `Placement.cancel`."""
        tracked = self._tracked.get(ref) or await self._find(ref)
        if tracked is None or not _is_alive(tracked):
            return
        if kill:
            # The worker dies with its runner (PR_SET_PDEATHSIG).
            proc.send_signal(tracked.process, signal.SIGKILL)
        elif ref not in self._stops_sent and self._folder(ref).mark_stop():
            self._stops_sent.add(ref)
            proc.send_signal(tracked.process, signal.SIGTERM)

    async def logs(self, ref: PlacedRef, lines: int) -> list[str]:
        """See `Placement.logs`."""
        path = self._folder(ref).path / launch.WORKER_LOG
        return await asyncio.to_thread(last_lines, path, lines)

    async def adopt(self) -> list[PlacedRef]:
        """See `Placement.adopt`."""
        for process in await self._own_processes():
            ref = PlacedRef(process.run_id, process.attempt)
            if _is_runner(process) and ref not in self._tracked:
                self._track(ref, process, None)
        return list(self._tracked)

    async def holdings(self) -> list[Holding]:
        """See `Placement.holdings`: by the environment of a runner, or of what it left behind, but its shipper."""
        found: dict[PlacedRef, Holding] = {}
        # A runner last: what a worker gives its children could say anything.
        for process in sorted(await self._own_processes(), key=_is_runner):
            if process.gpu_grant and SHIPPER_MODULE not in process.argv:
                ref = PlacedRef(process.run_id, process.attempt)
                try:
                    grant = GpuGrant.model_validate_json(process.gpu_grant)
                except ValidationError as error:
                    get_log().warning("grant.unreadable", run_id=ref.run_id, error=str(error))
                    continue
                found[ref] = Holding(ref, grant)
        return list(found.values())

    async def sweep(self, ref: PlacedRef) -> int:
        """See `Placement.sweep`."""
        return await self._end(
            lambda process: process.run_id == ref.run_id and SHIPPER_MODULE not in process.argv
        )

    async def sweep_orphans(self, may_live: Callable[[str], bool]) -> int:
        """End processes of runs below our home that may not live (any more). Return how many."""
        return await self._end(lambda process: not may_live(process.run_id))

    async def drain(self, ref: PlacedRef, timeout_s: float) -> bool:
        """See `Placement.drain`."""
        folder = self._folder(ref)
        order = folder.read_launch()
        if order is None and (folder.path / launch.LAUNCH_FILE).exists():
            raise PlacementFailed(f"{folder.path / launch.LAUNCH_FILE} cannot be read")
        if order is None:
            return True  # never started, or its folder was deleted: there is nothing to ship
        argv = [*order.shipper_argv, "--drain", "--timeout", f"{timeout_s:g}"]
        with folder.open_log(launch.SHIPPER_LOG) as log:
            try:
                process = await asyncio.create_subprocess_exec(
                    *argv,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=folder.path,
                    env={**_base_environment(), **folder.environment()},
                )
            except OSError as error:
                raise PlacementFailed(f"{argv[0]} cannot be executed: {error}") from error
        try:
            async with asyncio.timeout(timeout_s + _DRAIN_MARGIN_S):
                return await process.wait() == 0
        except TimeoutError:
            return False
        finally:
            if process.returncode is None:
                # What it had in hand is still in the outbox.
                process.kill()
                await process.wait()

    def on_change(self, callback: Callable[[], None]) -> None:
        """See `Placement.on_change`."""
        self._callbacks.append(callback)

    def folder(self, ref: PlacedRef) -> Path:
        """The run's folder."""
        return self._folder(ref).path

    def runners(self) -> dict[str, int]:
        """Pids of the runners that are watched, by run id."""
        return {ref.run_id: tracked.process.pid for ref, tracked in self._tracked.items()}

    def close(self) -> None:
        """Stop watching; the runners go on."""
        for ref, tracked in list(self._tracked.items()):
            self._forget(ref, tracked)

    def _folder(self, ref: PlacedRef) -> RunFolder:
        return RunFolder(self._runs / ref.run_id, ref)

    async def _find(self, ref: PlacedRef) -> _Tracked | None:
        """Look for a runner that this scheduler did not start."""
        info = self._folder(ref).runner_info()
        hinted = proc.run_process(info.runner_pid) if info is not None else None
        candidates = [hinted] if hinted is not None else []
        if self._folder(ref).read_launch() is not None:
            candidates += await self._own_processes()
        for process in candidates:
            if PlacedRef(process.run_id, process.attempt) == ref and _is_runner(process):
                return self._track(ref, process, None)
        return None

    async def _own_processes(self) -> list[RunProcess]:
        found = await asyncio.to_thread(proc.run_processes)
        return [process for process in found if process.run_dir.parent == self._runs]

    async def _end(self, condemned: Callable[[RunProcess], bool]) -> int:
        victims = [process for process in await self._own_processes() if condemned(process)]
        return sum(proc.send_signal(process, signal.SIGKILL) for process in victims)

    def _track(
        self, ref: PlacedRef, process: RunProcess, child: subprocess.Popen[bytes] | None
    ) -> _Tracked | None:
        try:
            handle = os.pidfd_open(process.pid)
        except ProcessLookupError:
            return None
        tracked = _Tracked(process, child, handle)
        self._tracked[ref] = tracked
        asyncio.get_running_loop().add_reader(handle, self._on_end, handle)
        return tracked

    def _on_end(self, handle: int) -> None:
        asyncio.get_running_loop().remove_reader(handle)
        for callback in self._callbacks:
            callback()

    def _forget(self, ref: PlacedRef, tracked: _Tracked) -> None:
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


def _without_image(order: LaunchOrder) -> LaunchOrder:
    """A worker may have an image as well; here nothing runs in it, and devices are named by variables."""
    return replace(order, image=None)


def _start_runner(folder: RunFolder, order: LaunchOrder) -> subprocess.Popen[bytes]:
    """Raises PlacementFailed: a file cannot be written, or the interpreter not be executed."""
    folder.prepare(order)
    with folder.open_log(launch.RUNNER_LOG) as log:
        try:
            return subprocess.Popen(
                python_module(order.python, RUNNER_MODULE, "--run-dir", str(folder.path)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder.path,
                env={**_base_environment(), **folder.environment(), **grant_variable(order.grant)},
                start_new_session=True,  # it outlives us, and a Ctrl-C at our terminal
                umask=umask.of_user,  # what the user's program makes elsewhere is the user's business
            )
        except OSError as error:
            raise PlacementFailed(f"{order.python} cannot be executed: {error}") from error


def _base_environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("MOSAIC_") or name in _KEPT
    }


def _is_alive(tracked: _Tracked) -> bool:
    if tracked.child is not None:
        return tracked.child.poll() is None
    return proc.start_ticks(tracked.process.pid) == tracked.process.start_ticks


def _is_runner(process: RunProcess) -> bool:
    return RUNNER_MODULE in process.argv
