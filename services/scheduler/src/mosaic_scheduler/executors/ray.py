"""Executor `ray`: a run is a job of a Ray cluster that exists already. Ray places it and counts its resources.

What Ray says of a job is the weakest witness there is: processes live on when a raylet or the head dies, and Ray calls
them FAILED, or knows nothing of them any more. So the runner's report comes first, then heartbeats, then Ray.
"""

import asyncio
import hashlib
import io
import shlex
import time
import zipfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from mosaic_base.atomic import replace_file
from mosaic_base.own_machine import first_elsewhere
from mosaic_contracts.interpreter import python_module
from mosaic_contracts.launch import RUNNER_LOG, WORKER_LOG, ExitPhase
from mosaic_contracts.preflight import PlacementPlan
from mosaic_contracts.stack_files import RUNS_DIR, STOP_MARK
from mosaic_scheduler.errors import EngineUnavailable, LaunchFailed
from mosaic_scheduler.executors.carried import carried_script, exit_words, refuse_xmpp
from mosaic_scheduler.executors.cluster_jobs import (
    JOB_KINDS,
    JobNames,
    as_job,
    was_handed_over,
)
from mosaic_scheduler.executors.log_tail import last_lines
from mosaic_scheduler.executors.preview import plan_of
from mosaic_scheduler.executors.process import ProcessExecutor
from mosaic_scheduler.executors.protocol import (
    ABSENT,
    AttemptPhase,
    AttemptRef,
    AttemptStatus,
    Bounds,
    EngineEnd,
    EngineEndKind,
    GpuHold,
    Internet,
    Inventory,
    LaunchSpec,
)
from mosaic_scheduler.executors.ray_jobs import RayJob, RayJobs, RayNode, RayStatus
from mosaic_scheduler.executors.run_folder import (
    DRAIN_S,
    NODE_DRAIN_S,
    RUNNER_MODULE,
    RunFolder,
    fault_words,
)
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.waiting import wait_up_to

JOB_FILE = "control/ray_job"
"""The job's id in the run's folder; without it the attempt was never handed to Ray."""
POLL_S = 10.0
"""Between two lists of all jobs, while runs of ours are there."""
QUEUE_LIMIT = 50
"""Jobs that may wait in Ray at once; the others wait in our queue, where their order can be changed."""
ASK_AGAIN_S = 0.5
FORGOTTEN_S = 10.0
"""So long Ray must not list a job before it counts as never submitted."""
_AT_REST_S = 3600.0
_RETRY_S = 5.0
"""Between two tries while Ray does not answer."""
_STOP_MARGIN_S = 5.0
_MIB = 2**20
_SCRIPT = "job.sh"
"""Carried to a node that shares nothing, in a package: Ray's dashboard shows entry points."""
_WAITS = "queued at Ray: it waits for free cores, GPUs or memory, or a node prepares it"

AskStop = Callable[[AttemptRef], Awaitable[bool]]


class RayExecutor:
    """See `Executor`."""

    name = "ray"

    def __init__(
        self,
        home: Path,
        jobs: RayJobs,
        ask_stop: AskStop,
        poll_s: float = POLL_S,
        node_home: str = "",
    ) -> None:
        """Prepare; Ray is not asked yet.

        Args:
            home: MOSAIC_HOME.
            jobs: the cluster's job API.
            ask_stop: asks a run's shipper to have its runner stopped; returns whether it heard that.
            poll_s: seconds between two lists of all jobs.
            node_home: folder of runs on the nodes, which then share nothing with this machine; empty: they see
                MOSAIC_HOME at the same path.
        """
        self.bounds = Bounds(
            memory=False,
            internet=Internet.OPEN,
            files=True,
            queues=True,
            shares_folder=not node_home,
        )
        self._node_home = node_home
        self._runs = home / RUNS_DIR
        self._names = JobNames(home)
        self._jobs = jobs
        self._ask_stop = ask_stop
        self._poll_s = poll_s
        self._here = ProcessExecutor(home, cores=1)
        self._here.on_change(self._changed)
        self._stops: dict[AttemptRef, asyncio.Task[None]] = {}
        """Also of stops that were heard, for the note in the run's folder may not be writable."""
        self._listed: dict[str, RayJob] = {}
        self._listed_at: float | None = None
        self._missing_since: dict[str, float] = {}
        self._unavailable: str | None = None
        self._nodes: dict[str, RayNode] = {}
        self._looking = asyncio.Lock()
        self._watch: asyncio.Task[None] | None = None
        self._due = asyncio.Event()
        self._callbacks: list[Callable[[], None]] = []

    async def inventory(self) -> Inventory:
        """The most that any node has now: what is larger waits until a larger node joins."""
        await self._list()
        living = [node for node in self._nodes.values() if not node.is_dead]
        gpus = max((node.gpus for node in living), default=0)
        addresses = {node.address for node in living if node.address}
        return Inventory(
            cpus=max((node.cpus for node in living), default=0),
            memory_mb=max((node.memory_mb for node in living), default=0),
            gpus=gpus,
            gpu_problem="" if gpus else "no node of the Ray cluster has a GPU",
            queue_limit=QUEUE_LIMIT,
            elsewhere=await asyncio.to_thread(first_elsewhere, sorted(addresses)),
        )

    async def ready(self) -> None:
        """See `Executor.ready`."""
        await self._list()

    async def plan(self, launch_spec: LaunchSpec) -> PlacementPlan:
        """See `Executor.plan`."""
        if launch_spec.spec.kind not in JOB_KINDS:
            return await self._here.plan(launch_spec)
        there = self._there(launch_spec.ref)
        where = "on the file system that Ray's nodes share"
        if not self.bounds.shares_folder:
            where = "on the node; its files come here over the broker"
        mounts = [
            f"{there.path}: its own folder, {where}",
            "whatever else the user of Ray's processes can read and write there",
        ]
        job = as_job(launch_spec, shares_folder=self.bounds.shares_folder)
        plan = plan_of(job, there, self.name, mounts, "everything that the node reaches")
        return plan.model_copy(
            update={"limits": [f"a job of the Ray cluster at {self._jobs.address}", *plan.limits]}
        )

    async def submit(self, launch_spec: LaunchSpec) -> None:
        """See `Executor.submit`."""
        if launch_spec.spec.kind not in JOB_KINDS:
            await self._here.submit(launch_spec)
            return
        ref = launch_spec.ref
        if (await self.status(ref)).phase is not AttemptPhase.ABSENT:
            return
        if not self.bounds.shares_folder:
            refuse_xmpp(launch_spec)
        request = self._request(launch_spec)
        folder, there = self._folder(ref), self._there(ref)
        job = as_job(launch_spec, shares_folder=self.bounds.shares_folder)
        package = await asyncio.to_thread(_prepare, folder, there, job, self._names.of(ref))
        try:
            if package is not None:
                name = f"_ray_pkg_{hashlib.sha256(package).hexdigest()[:32]}.zip"
                request["runtime_env"]["working_dir"] = await asyncio.to_thread(
                    self._jobs.upload, name, package
                )
            await asyncio.to_thread(self._jobs.submit, request)
        finally:
            self._outdate()  # also when it is not known whether Ray took it

    async def status(self, ref: AttemptRef) -> AttemptStatus:
        """See `Executor.status`."""
        folder, job_id = self._folder(ref), self._names.of(ref)
        if not was_handed_over(folder, JOB_FILE):
            return await self._here.status(ref)
        if _has_ended(folder):
            self._forget(ref)
            return attempt_status(folder, _as_ended(self._listed.get(job_id)))
        job = (await self._list()).get(job_id)
        if job is not None and job.status is RayStatus.PENDING and folder.has_lock_file():
            self._outdate()  # it has begun, and its node is to be known
        if job is None and not folder.has_lock_file() and not _is_settled(folder):
            self._check_missing(job_id)
        death = "" if job is None else node_death(job, self._nodes)
        status = await asyncio.to_thread(attempt_status, folder, job, death)
        if status.phase not in (AttemptPhase.QUEUED, AttemptPhase.ALIVE):
            self._forget(ref)
        return status

    async def image(self, ref: AttemptRef) -> str | None:
        """None: processes of the node."""
        return None

    async def cancel(self, ref: AttemptRef, kill: bool = False) -> None:
        """See `Executor.cancel`.

        Ray's own stop signals the worker and the shipper as well as the runner, so a polite stop goes by the broker.
        """
        folder = self._folder(ref)
        if not was_handed_over(folder, JOB_FILE):
            await self._here.cancel(ref, kill)
            return
        try:
            job = (await self._list()).get(self._names.of(ref))
        except EngineUnavailable:
            if kill or not folder.has_lock_file():
                raise
            self._ask_politely(ref, folder)  # the broker is enough for that
            return
        if job is None or job.status.is_final:
            return
        if job.status is RayStatus.PENDING and not folder.has_lock_file():
            folder.mark_stop()  # Ray keeps a stop until the job has a node: until then the mark holds it back
            await self._stop(ref)
        elif kill:
            await self._stop(ref)
        else:
            self._ask_politely(ref, folder)

    async def logs(self, ref: AttemptRef, lines: int) -> list[str]:
        """See `Executor.logs`."""
        return await asyncio.to_thread(last_lines, self._folder(ref).path / WORKER_LOG, lines)

    async def adopt(self) -> list[AttemptRef]:
        """See `Executor.adopt`."""
        own = [ref for ref, job in await self._own() if not job.status.is_final]
        # Ray sees an end some moments after the runner's report
        jobs = [ref for ref in own if not _has_ended(self._folder(ref))]
        return jobs + await self._here.adopt()

    async def gpu_holds(self) -> list[GpuHold]:
        """None that are ours: Ray holds them."""
        return []

    async def sweep_orphans(self, may_live: Callable[[str], bool]) -> int:
        """See `Executor.sweep_orphans`."""
        ended = await self._here.sweep_orphans(may_live)
        for ref, job in await self._own():
            if not job.status.is_final and not may_live(ref.run_id):
                ended += await self._stop(ref)
        return ended

    async def sweep(self, ref: AttemptRef) -> int:
        """See `Executor.sweep`."""
        if not was_handed_over(self._folder(ref), JOB_FILE):
            return await self._here.sweep(ref)
        job = (await self._list()).get(self._names.of(ref))
        if job is None or job.status.is_final:
            return 0
        return int(await self._stop(ref))

    async def drain(self, ref: AttemptRef, timeout_s: float) -> bool:
        """See `Executor.drain`: here, where the folder is the same one. A node's own disk is out of reach."""
        launched = self._folder(ref).read_launch()
        if launched is not None and not launched.shares_folder:
            return True
        return await self._here.drain(ref, timeout_s)

    def folder(self, ref: AttemptRef) -> Path:
        """The run's folder."""
        return self._folder(ref).path

    def on_change(self, callback: Callable[[], None]) -> None:
        """See `Executor.on_change`."""
        self._callbacks.append(callback)

    def close(self) -> None:
        """Stop looking at Ray; the jobs go on."""
        self._here.close()
        for task in (self._watch, *self._stops.values()):
            if task is not None:
                task.cancel()

    def _request(self, launch_spec: LaunchSpec) -> dict[str, Any]:
        """What Ray gets, and shows to everybody who may see its dashboard: nothing of it is secret."""
        spec, there = launch_spec.spec, self._there(launch_spec.ref)
        runner = python_module(launch_spec.python, RUNNER_MODULE, "--run-dir", str(there.path))
        is_shared = self.bounds.shares_folder
        stop_wait_s = round(
            spec.grace_s + (DRAIN_S if is_shared else NODE_DRAIN_S) + _STOP_MARGIN_S
        )
        return {
            "submission_id": self._names.of(launch_spec.ref),
            "entrypoint": _entrypoint(there.path, runner) if is_shared else f"exec sh ./{_SCRIPT}",
            "entrypoint_num_cpus": spec.cpus,
            "entrypoint_num_gpus": spec.gpus,
            "entrypoint_memory": spec.memory_mb * _MIB if spec.memory_mb else None,
            "metadata": {"mosaic_run": launch_spec.ref.run_id, "mosaic_worker": spec.worker},
            "runtime_env": {
                "env_vars": {
                    **there.environment(),
                    # Ray's own is 3 s, and a checkpoint takes longer
                    "RAY_JOB_STOP_WAIT_TIME_S": str(stop_wait_s),
                }
            },
        }

    def _there(self, ref: AttemptRef) -> RunFolder:
        """The run's folder as its node has it."""
        if self.bounds.shares_folder:
            return self._folder(ref)
        return RunFolder(Path(self._node_home) / RUNS_DIR / ref.run_id, ref)

    def _folder(self, ref: AttemptRef) -> RunFolder:
        return RunFolder(self._runs / ref.run_id, ref)

    async def _own(self) -> list[tuple[AttemptRef, RayJob]]:
        listed = await self._list()
        refs = ((self._names.ref(name), job) for name, job in listed.items())
        return [(ref, job) for ref, job in refs if ref is not None]

    def _ask_politely(self, ref: AttemptRef, folder: RunFolder) -> None:
        if ref not in self._stops and not folder.was_stop_marked():
            self._stops[ref] = asyncio.create_task(self._ask_until_heard(ref, folder))

    async def _ask_until_heard(self, ref: AttemptRef, folder: RunFolder) -> None:
        """Ask for a stop until the run's shipper has heard it once, for it may have to connect first."""
        while not await self._ask_stop(ref):
            if await asyncio.to_thread(folder.report) is not None:
                return
            await asyncio.sleep(ASK_AGAIN_S)  # its connection is no event here
        folder.mark_stop()

    async def _stop(self, ref: AttemptRef) -> bool:
        stopped = await asyncio.to_thread(self._jobs.stop, self._names.of(ref))
        self._outdate()
        return stopped

    def _outdate(self) -> None:
        """Something was changed: the next answer asks Ray again."""
        self._listed_at = None
        self._due.set()

    def _forget(self, ref: AttemptRef) -> None:
        self._missing_since.pop(self._names.of(ref), None)
        if asking := self._stops.pop(ref, None):
            asking.cancel()

    def _check_missing(self, job_id: str) -> None:
        """Raise EngineUnavailable until Ray has not listed a job for a while: a submit may be on its way."""
        now = time.monotonic()
        since = self._missing_since.setdefault(job_id, now)
        if now - since < FORGOTTEN_S:
            self._outdate()
            raise EngineUnavailable("Ray does not list its job; it is asked once more.")

    async def _list(self) -> dict[str, RayJob]:
        """All jobs, as of the last look. While Ray is away, only the task that watches it waits for an answer."""
        if self._callbacks and (self._watch is None or self._watch.done()):
            self._watch = asyncio.create_task(self._poll())
        is_watched = self._watch is not None and asyncio.current_task() is not self._watch
        if self._unavailable is not None and is_watched:
            raise EngineUnavailable(self._unavailable)
        async with self._looking:
            now = time.monotonic()
            if self._listed_at is None or now - self._listed_at >= self._poll_s:
                await self._look()
            return self._listed

    async def _look(self) -> None:
        began = time.monotonic()
        self._listed_at = began  # what is outdated from here on is looked at again
        try:
            self._listed = await asyncio.to_thread(self._jobs.list)
            self._nodes = await asyncio.to_thread(self._jobs.nodes)
        except EngineUnavailable as error:
            self._unavailable, self._listed_at = str(error), None
            if asyncio.current_task() is not self._watch:
                self._due.set()  # the watch may be at rest, and it alone asks from here on
            raise
        self._unavailable = None

    async def _poll(self) -> None:
        """Look for changes while jobs of ours are there, and notify who listens."""
        seen: dict[str, RayStatus] = {}
        while True:
            try:
                own = {self._names.of(ref): job.status for ref, job in await self._own()}
                await self._clear()
            except EngineUnavailable as error:
                get_log().warning("engine.away", error=str(error))
                self._changed()
                await asyncio.sleep(min(_RETRY_S, self._poll_s))  # Ray has no event for its return
                continue
            if own != seen:
                seen = own
                self._changed()
            is_busy = any(not status.is_final for status in own.values())
            await wait_up_to(self._due, self._poll_s if is_busy else _AT_REST_S)
            self._due.clear()

    async def _clear(self) -> None:
        """Take ended jobs off Ray's list, which is read whole each time; their folders have all there is to know."""
        for ref, job in await self._own():
            if job.status.is_final and _is_settled(self._folder(ref)):
                await asyncio.to_thread(self._jobs.forget, self._names.of(ref))

    def _changed(self) -> None:
        for callback in self._callbacks:
            callback()


def node_death(job: RayJob, nodes: dict[str, RayNode]) -> str:
    """Why the node of a job is dead; empty: it is not. Ray calls such a job RUNNING for ever."""
    if job.driver_node_id is None:
        return ""
    node = nodes.get(job.driver_node_id)
    if node is None:
        return "Ray does not know its node any more."
    return f"Ray says of its node: {node.message or 'dead'}." if node.is_dead else ""


def attempt_status(folder: RunFolder, job: RayJob | None, death: str = "") -> AttemptStatus:
    """How an attempt is, by its folder and by what Ray says.

    Args:
        folder: of the run.
        job: None: Ray does not know it.
        death: why the job's node is dead; empty: it is not.
    """
    report = folder.report()
    if job is not None and job.status is RayStatus.RUNNING and not death:
        return AttemptStatus(AttemptPhase.ALIVE, report, node=job.node)
    engine_end = _engine_end(folder, job)
    if report is not None:
        return folder.ended(report, engine_end=engine_end, node=job.node if job else "")
    has_begun = folder.has_lock_file()
    if job is None:
        # A new cluster, or a head that forgot it: its processes may live on.
        return _unseen(folder, "Ray does not know its job any more.") if has_begun else ABSENT
    if job.status is RayStatus.PENDING:
        return _of_pending(folder, job)
    if job.status is RayStatus.RUNNING:
        return _unseen(folder, death, job.node)
    said = (job.message or job.status.value).strip().splitlines()[0][:300]
    if has_begun and job.status is RayStatus.FAILED and job.driver_exit_code is None:
        return _unseen(folder, f"Ray says: {said}", job.node)
    if has_begun or engine_end is not None:
        ended_at = None if job.end_time is None else job.end_time / 1000
        words = f"Ray says: {said}"
        return folder.lost(words, trace_at=ended_at, engine_end=engine_end, node=job.node)
    return AttemptStatus(
        AttemptPhase.REFUSED, detail=f"Ray says: {said} {_why_not_begun(folder, job)}"
    )


def _unseen(folder: RunFolder, words: str, node: str = "") -> AttemptStatus:
    """Ray lost a job that began: its heartbeats decide, and without them its node or the cluster failed."""
    end = EngineEnd(EngineEndKind.NODE_FAILED, f"its heartbeats have ended. {words}")
    lost = folder.lost(words, engine_end=end, node=node)
    return replace(lost, phase=AttemptPhase.UNSEEN)


def _why_not_begun(folder: RunFolder, job: RayJob) -> str:
    """The last words of a job whose runner did not begin: in the run's folder, or in what Ray read of its output."""
    launched = folder.read_launch()
    if launched is None or launched.shares_folder:
        words = " / ".join(last_lines(folder.path / RUNNER_LOG, 3))
        return f"Its runner: {words or 'no output'}"
    printed = " / ".join((job.message or "").strip().splitlines()[1:][-3:])
    # The runner's log is on the node, and what the script finds it prints itself.
    known = exit_words(job.driver_exit_code or 0, str(folder.path), launched.shipper_argv[0])
    return f"Its output: {printed or known or 'none'}"


def _engine_end(folder: RunFolder, job: RayJob | None) -> EngineEnd | None:
    """That somebody stopped a job in Ray; our own stops are noted in the folder first."""
    if job is None or job.status is not RayStatus.STOPPED or folder.was_stop_marked():
        return None
    return EngineEnd(EngineEndKind.CANCELLED, "Its job was stopped in Ray.")


def _of_pending(folder: RunFolder, job: RayJob) -> AttemptStatus:
    """A job without a node. One that was stopped stays on Ray's list so, and its entry point starts nothing."""
    if folder.was_stop_marked():
        return ABSENT
    return AttemptStatus(AttemptPhase.QUEUED, detail=_WAITS, node=job.node)


def _entrypoint(folder: Path, runner: list[str]) -> str:
    """The shell command of a job: the runner in place of the shell, unless a stop came first."""
    place, log = shlex.quote(str(folder)), shlex.quote(str(folder / RUNNER_LOG))
    mark = shlex.quote(str(folder / STOP_MARK))
    return f"cd {place} && test ! -e {mark} && exec {shlex.join(runner)} >>{log} 2>&1"


def _has_ended(folder: RunFolder) -> bool:
    """Whether the runner wrote its last report."""
    report = folder.report()
    return report is not None and report.phase is not ExitPhase.WORKER_ENDED


def _is_settled(folder: RunFolder) -> bool:
    """Whether a job that has ended has nothing to say any more: it left a report, or was stopped before it began."""
    return folder.report() is not None or (folder.was_stop_marked() and not folder.has_lock_file())


def _as_ended(job: RayJob | None) -> RayJob | None:
    """A job as it was listed last, for a run whose runner has ended."""
    return None if job is None or not job.status.is_final else job


def _prepare(
    folder: RunFolder, there: RunFolder, launch_spec: LaunchSpec, job_id: str
) -> bytes | None:
    """Write the run's folder, and that it is a job.

    Returns:
        What is carried to the node; None: it sees the folder.

    Raises:
        LaunchFailed: the folder cannot be written.
    """
    folder.prepare(launch_spec)
    path = folder.path / JOB_FILE
    try:
        replace_file(path, job_id)
        if launch_spec.shares_folder:
            return None
        return _zipped(carried_script(folder, there, launch_spec, removes_itself=True))
    except OSError as error:
        raise LaunchFailed(fault_words(path, error)) from error


def _zipped(script: str) -> bytes:
    """A package of Ray's with the job's script, which is not for other users of the node."""
    entry = zipfile.ZipInfo(_SCRIPT)
    entry.external_attr = 0o600 << 16
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(entry, script)
    return packed.getvalue()
