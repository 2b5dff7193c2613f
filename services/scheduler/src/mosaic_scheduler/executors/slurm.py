"""Executor `slurm`: a run is one Slurm job with the same runner, worker and shipper in it, on a shared folder.

MOSAIC_HOME and the workers' environments lie on a file system that all nodes see under the same path. Slurm owns cores,
memory and GPUs. The truth is the runner's exit report in the run's folder; Slurm is asked for what cannot be there.
"""

import asyncio
import math
import os
import re
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from mosaic_base.atomic import replace_file
from mosaic_contracts import launch
from mosaic_contracts.preflight import PlacementPlan
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.stack import RUNS_DIR
from mosaic_contracts.stack_files import STOP_MARK
from mosaic_scheduler.errors import EngineUnavailable, LaunchFailed
from mosaic_scheduler.executors.carried import carried_script, exit_words, refuse_xmpp
from mosaic_scheduler.executors.cluster_jobs import (
    JOB_KINDS,
    JobNames,
    as_job,
    was_handed_over,
)
from mosaic_scheduler.executors.job_images import JobImages, job_images
from mosaic_scheduler.executors.job_start import NO_PROGRAM, JobStart, start_in_environment
from mosaic_scheduler.executors.local_drain import drain_here
from mosaic_scheduler.executors.log_tail import last_lines
from mosaic_scheduler.executors.preview import plan_of
from mosaic_scheduler.executors.process import ProcessExecutor
from mosaic_scheduler.executors.protocol import (
    AttemptPhase,
    AttemptRef,
    AttemptStatus,
    Bounds,
    GpuHold,
    Internet,
    Inventory,
    LaunchSpec,
)
from mosaic_scheduler.executors.run_folder import (
    DRAIN_S,
    NODE_DRAIN_S,
    RunFolder,
    fault_words,
)
from mosaic_scheduler.executors.slurm_commands import SlurmCommands, SlurmRefused
from mosaic_scheduler.executors.slurm_jobs import SlurmJob, attempt_status, is_whole
from mosaic_scheduler.executors.slurm_limit import SubmitLimit, is_submit_limit
from mosaic_scheduler.executors.slurm_moves import SlurmMoves
from mosaic_scheduler.executors.slurm_queue import SlurmQueue
from mosaic_scheduler.executors.slurm_site import SlurmSite
from mosaic_scheduler.settings import SchedulerSettings
from mosaic_servicekit.logging import get_log

JOB_FILE = "control/job.sh"
"""The job's script in the run's folder; without it the attempt was never handed to Slurm."""
_TIME_MARGIN_S = 120.0
"""Between MOSAIC's own limit of a run and Slurm's, whose clock may be off by a minute."""
_RUNNER_LINES = 3
_NO_NODE = "Requested node configuration is not available"
"""What `sbatch` says of a job that it lists as failed for `BadConstraints`."""


@dataclass(frozen=True)
class SlurmOptions:
    """How jobs are submitted."""

    partition: str = ""
    """Empty: the cluster's default."""
    account: str = ""
    qos: str = ""
    more: tuple[str, ...] = ()
    """Further options of `sbatch`, e.g. `--constraint=a100`."""
    poll_s: float = 30.0
    """How often Slurm is asked while runs wait or live."""
    pending: int = 50
    """Runs that may wait in Slurm's queue at once."""
    node_home: str = ""
    """Folder of runs on the nodes, which then share nothing with this machine; empty: they share MOSAIC_HOME."""
    images: JobImages | None = None
    """Apptainer images of the workers; None: jobs run in the environments of the nodes."""


def slurm_options(settings: SchedulerSettings) -> SlurmOptions:
    """The options that the settings give."""
    return SlurmOptions(
        partition=settings.slurm_partition,
        account=settings.slurm_account,
        qos=settings.slurm_qos,
        more=tuple(shlex.split(settings.slurm_options)),
        poll_s=settings.slurm_poll_s,
        pending=settings.slurm_pending,
        node_home=settings.node_home,
        images=job_images(settings),
    )


class SlurmExecutor:
    """See `Executor`."""

    name = "slurm"

    def __init__(
        self, home: Path, options: SlurmOptions, commands: SlurmCommands | None = None
    ) -> None:
        self._runs = home / RUNS_DIR
        self._options = options
        self._commands = commands or SlurmCommands()
        self._names = JobNames(home)
        self._queue = SlurmQueue(self._commands, self._names.prefix, options.poll_s)
        self._queue.on_look = self._changed
        self._site = SlurmSite(self._commands, options.partition)
        self._limit = SubmitLimit(options.poll_s)
        self.moves = SlurmMoves(self._commands, self._queue, self._names, self._site, self._limits)
        self._here = ProcessExecutor(home, 1, lambda run_dir: (run_dir / JOB_FILE).exists())
        self._here.on_change(self._changed)
        self.bounds = Bounds(
            memory=False,
            internet=Internet.OPEN,
            files=True,
            queues=True,
            shares_folder=not options.node_home,
        )
        """Memory is held to a limit where the site's configuration says so, once that is known."""
        self._callbacks: list[Callable[[], None]] = []
        self._kills: dict[AttemptRef, str] = {}
        """Jobs that were ended at once, by their ids: a second time is no use."""

    async def inventory(self) -> Inventory:
        """The largest node of the partition: what is larger never starts."""
        node = await self._site.largest_node()
        self.bounds = replace(self.bounds, memory=self._site.holds_memory)
        may_wait = self._options.pending
        if self._limit.is_reached:
            at_slurm = sum(job.waits for job in await self._queue.jobs())
            may_wait = min(may_wait, at_slurm + self._limit.number_waiting)
        return Inventory(
            cpus=node.cpus,
            memory_mb=node.memory_mb,
            gpus=node.gpus,
            gpu_problem="" if node.gpus else "no node of the partition has a GPU",
            queue_limit=may_wait,
            elsewhere=node.elsewhere,
        )

    async def ready(self) -> None:
        """See `Executor`."""
        await self._queue.jobs()

    async def plan(self, launch_spec: LaunchSpec) -> PlacementPlan:
        """See `Executor.plan`."""
        if launch_spec.spec.kind not in JOB_KINDS:
            return await self._here.plan(launch_spec)
        folder = self._folder(launch_spec.ref)
        there = self._there(folder, launch_spec.ref)
        where = "on the file system that all nodes share"
        if not self.bounds.shares_folder:
            where = "on the node; its files come here over the broker"
        mounts = [
            f"{there.path}: its own folder, {where}",
            "whatever else this user's programs can read and write on the node",
        ]
        job = await asyncio.to_thread(self._as_job, launch_spec)
        if job.job_image is not None:
            mounts.append(
                "and what the site's Apptainer shows of the node, such as the home folder"
            )
        plan = plan_of(job, there, self.name, mounts, "everything that the node reaches")
        line = shlex.join(["sbatch", *self._limits(launch_spec.spec)])
        limits = [*plan.limits, f"asked of Slurm: {line}"]
        return plan.model_copy(update={"limits": limits, "image": job.job_image or ""})

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
        if self._limit.is_reached:
            raise EngineUnavailable(self._limit.wait(ref))
        folder = self._folder(ref)
        job = await asyncio.to_thread(self._as_job, launch_spec)
        job = replace(job, engine_kill_wait_s=await self._kill_wait_s())
        there = self._there(folder, ref)
        await asyncio.to_thread(_prepare, folder, there, job, self._start(there, job))
        argv = ["sbatch", "--parsable", *self._limits(launch_spec.spec), *self._place(folder, ref)]
        try:
            printed = await self._commands.run(*argv)
        except EngineUnavailable as error:
            # It may have been taken all the same: the next look at the queue decides, by the job's name.
            self._queue.fail(error)
            raise
        except SlurmRefused as error:
            if not is_submit_limit(str(error)):
                raise SlurmRefused(_refusal_words(str(error))) from error
            (folder.path / JOB_FILE).unlink(missing_ok=True)  # it was not handed over
            raise EngineUnavailable(self._limit.reach(ref, str(error))) from error
        self._limit.let_go(ref)
        job_id = printed.strip().split(";")[0]
        self._queue.add(SlurmJob(job_id, "PENDING", "", None, self._names.of(ref), "None"))
        get_log().info("slurm.submitted", run_id=ref.run_id, attempt=ref.attempt, job=job_id)

    async def status(self, ref: AttemptRef) -> AttemptStatus:
        """See `Executor.status`."""
        if reason := self._limit.reason(ref):
            return AttemptStatus(AttemptPhase.QUEUED, detail=reason)
        folder, name = self._folder(ref), self._names.of(ref)
        look = await asyncio.to_thread(_look, folder)
        if not look.is_job:
            return await self._here.status(ref)
        if look.is_done:
            self._queue.forget(name)
            return await asyncio.to_thread(attempt_status, self._queue.known(name), folder, "")
        job = await self._queue.find(name)
        known_since = math.inf
        if job is None and look.has_report:
            known_since = time.time() - (await self._site.settings()).remembers_s
        status = await asyncio.to_thread(_status, job, folder, known_since)
        if job is not None and job.waits and status.phase is AttemptPhase.ALIVE:
            self._queue.look_soon()  # it has begun, and its node is to be known
        if status.phase in (AttemptPhase.LOST, AttemptPhase.REFUSED):
            self._queue.forget(name)
        if job is not None and status.phase is AttemptPhase.REFUSED:
            return replace(status, detail=status.detail + await self._node_words(job, folder))
        return status

    async def _node_words(self, job: SlurmJob, folder: RunFolder) -> str:
        """What the exit code of a job says, whose output stays on its node; empty: nothing."""
        launched = await asyncio.to_thread(folder.read_launch)
        if launched is None:
            return ""
        if launched.shares_folder:
            has_output = await asyncio.to_thread((folder.path / launch.RUNNER_LOG).exists)
            return "" if has_output else _not_shared(job.node, folder.path)
        try:
            shown = await self._commands.run("scontrol", "show", "job", job.job_id)
        except (SlurmRefused, EngineUnavailable) as error:
            get_log().info("slurm.exit_unknown", job=job.job_id, error=str(error))
            return ""
        found = re.search(r"\bExitCode=(\d+):", shown)
        code = int(found[1]) if found else 0
        if launched.job_image is not None and code == NO_PROGRAM:
            return f". On its node Apptainer or the image is not there ({launched.job_image})."
        words = exit_words(code, self._options.node_home, launched.shipper_argv[0])
        return f". On its node {words}." if words else ""

    async def image(self, ref: AttemptRef) -> str | None:
        """The Apptainer image of its job; None: its environment lies on the shared file system."""
        launched = self._folder(ref).read_launch()
        return None if launched is None else launched.job_image

    async def cancel(self, ref: AttemptRef, kill: bool = False) -> None:
        """See `Executor.cancel`."""
        self._limit.let_go(ref)
        folder = self._folder(ref)
        if not was_handed_over(folder, JOB_FILE):
            await self._here.cancel(ref, kill)
            return
        job = await self._queue.find(self._names.of(ref))
        if job is None or job.has_ended:
            return
        if kill:
            await self._kill(ref, job)
        elif folder.has_lock_file():
            await self._ask_to_stop(ref, folder, job)
        else:
            # Only while it waits: a job that has begun in this moment is asked politely next time.
            await self._scancel("--state=PENDING", f"--name={job.name}", job.job_id)

    async def logs(self, ref: AttemptRef, lines: int) -> list[str]:
        """See `Executor.logs`."""
        path = self._folder(ref).path / launch.WORKER_LOG
        return await asyncio.to_thread(last_lines, path, lines)

    async def adopt(self) -> list[AttemptRef]:
        """See `Executor.adopt`."""
        jobs = await self._queue.jobs()
        refs = [self._names.ref(job.name) for job in jobs if not job.has_ended]
        # Slurm says of a job for some seconds that it runs when its runner is done.
        looks = {
            ref: await asyncio.to_thread(_look, self._folder(ref))
            for ref in refs
            if ref is not None
        }
        alive = [ref for ref, look in looks.items() if not look.is_done]
        return alive + await self._here.adopt()

    async def gpu_holds(self) -> list[GpuHold]:
        """None that are ours: Slurm keeps account of its devices."""
        return []

    async def sweep(self, ref: AttemptRef) -> int:
        """See `Executor.sweep`."""
        self._kills.pop(ref, None)
        if not was_handed_over(self._folder(ref), JOB_FILE):
            return await self._here.sweep(ref)
        jobs = {job.name: job for job in await self._queue.jobs()}
        job = jobs.get(self._names.of(ref))
        self._queue.forget(self._names.of(ref))
        if job is None or job.has_ended:
            return 0
        return int(await self._scancel(f"--name={job.name}", job.job_id))

    async def sweep_orphans(self, may_live: Callable[[str], bool]) -> int:
        """See `Executor.sweep_orphans`."""
        ended = await self._here.sweep_orphans(may_live)
        for job in await self._queue.jobs():
            ref = self._names.ref(job.name)
            if ref is None or job.has_ended or may_live(ref.run_id):
                continue
            ended += await self._scancel(f"--name={job.name}", job.job_id)
        return ended

    async def drain(self, ref: AttemptRef, timeout_s: float) -> bool:
        """See `Executor.drain`: here, where the folder is the same one. A node's own disk is out of reach."""
        launched = self._folder(ref).read_launch()
        if launched is not None and not launched.shares_folder:
            return True
        return await drain_here(self._folder(ref), timeout_s, self._commands.environment())

    def folder(self, ref: AttemptRef) -> Path:
        """The run's folder."""
        return self._folder(ref).path

    def on_change(self, callback: Callable[[], None]) -> None:
        """See `Executor.on_change`."""
        self._callbacks.append(callback)

    def close(self) -> None:
        """Stop looking at Slurm; the jobs go on."""
        self._here.close()
        self._queue.close()

    def _changed(self) -> None:
        for callback in self._callbacks:
            callback()

    async def _kill_wait_s(self) -> float | None:
        """What Slurm leaves a job that it ends; None on nodes that share nothing.

        A runner knows by a mark in the folder here whether MOSAIC sent the signal. Where it does not see that folder, a
        user's stop would get Slurm's short time too.
        """
        if not self.bounds.shares_folder:
            return None
        return float((await self._site.settings()).kill_wait_s)

    async def _kill(self, ref: AttemptRef, job: SlurmJob) -> None:
        """A second SIGTERM makes the runner end the worker's tree at once, and it still writes its report."""
        if self._kills.get(ref) == job.job_id:
            return
        if await self._scancel(f"--name={job.name}", job.job_id):
            self._kills[ref] = job.job_id

    async def _ask_to_stop(self, ref: AttemptRef, folder: RunFolder, job: SlurmJob) -> None:
        if not folder.mark_stop():
            return
        is_sent = False
        try:
            # The runner alone: it asks the worker, and keeps the grace time of the run.
            is_sent = await self._scancel(
                "--batch", "--signal=TERM", f"--name={job.name}", job.job_id
            )
        finally:
            if not is_sent:
                (folder.path / STOP_MARK).unlink(missing_ok=True)  # it is tried again

    async def _scancel(self, *options: str) -> bool:
        """Return whether Slurm took it. Raises EngineUnavailable."""
        try:
            await self._commands.run("scancel", "--quiet", *options)
        except SlurmRefused as error:
            # It has ended meanwhile, or its node does not answer now; the next look says which.
            get_log().info("slurm.not_cancelled", error=str(error))
            return False
        except EngineUnavailable as error:
            self._queue.fail(error)
            raise
        finally:
            self._queue.look_soon()
        return True

    def _limits(self, spec: RunSpec) -> list[str]:
        """What is asked of Slurm for a run."""
        found = ["--no-requeue", "--nodes=1", "--ntasks=1", f"--cpus-per-task={spec.cpus}"]
        if spec.memory_mb is not None:
            found.append(f"--mem={spec.memory_mb}M")
        if spec.gpus:
            found.append(f"--gpus={spec.gpus}")
        if spec.wall_time_s is not None:
            drain_s = DRAIN_S if self.bounds.shares_folder else NODE_DRAIN_S
            limit_s = spec.wall_time_s + spec.grace_s + drain_s + _TIME_MARGIN_S
            found.append(f"--time={math.ceil(limit_s / 60)}")
        options = self._options
        named = {"partition": options.partition, "account": options.account, "qos": options.qos}
        return [
            *found,
            *(f"--{name}={value}" for name, value in named.items() if value),
            *options.more,
        ]

    def _place(self, folder: RunFolder, ref: AttemptRef) -> list[str]:
        """Where the job works, and its script. Slurm replaces `%` in names of files."""
        log = str(folder.path / launch.RUNNER_LOG).replace("%", "%%")
        is_shared = self.bounds.shares_folder
        return [
            f"--job-name={self._names.of(ref)}",
            f"--chdir={folder.path if is_shared else '/'}",
            f"--output={log if is_shared else os.devnull}",
            "--open-mode=append",
            str(folder.path / JOB_FILE),
        ]

    def _as_job(self, launch_spec: LaunchSpec) -> LaunchSpec:
        """In its Apptainer image or in none. Raises LaunchFailed: its image is not there."""
        images = self._options.images
        placed = launch_spec if images is None else images.inside(launch_spec)
        return as_job(placed, shares_folder=self.bounds.shares_folder)

    def _start(self, there: RunFolder, job: LaunchSpec) -> JobStart:
        images = self._options.images
        if images is None or job.job_image is None:
            return start_in_environment(there, job)
        return images.start(there, job)

    def _there(self, folder: RunFolder, ref: AttemptRef) -> RunFolder:
        """The run's folder as its node has it."""
        if self.bounds.shares_folder:
            return folder
        return RunFolder(Path(self._options.node_home) / RUNS_DIR / ref.run_id, ref)

    def _folder(self, ref: AttemptRef) -> RunFolder:
        return RunFolder(self._runs / ref.run_id, ref)


def _refusal_words(said: str) -> str:
    if _NO_NODE not in said:
        return said
    return f"no node that is up has what it asks for; ask for less, or for other nodes ({said})"


@dataclass(frozen=True)
class _FolderLook:
    """What a run's folder says. It may lie on a network file system, so it is read in a thread."""

    is_job: bool
    """Whether the attempt was handed to Slurm."""
    has_report: bool = False
    is_done: bool = False
    """Whether its report has all there is to know."""


def _look(folder: RunFolder) -> _FolderLook:
    report = folder.report()
    return _FolderLook(
        was_handed_over(folder, JOB_FILE),
        report is not None,
        report is not None and is_whole(report, folder),
    )


def _status(job: SlurmJob | None, folder: RunFolder, known_since: float) -> AttemptStatus:
    """See `attempt_status`; the runner's last lines are read where they count."""
    is_over = job is not None and job.has_ended
    lines = last_lines(folder.path / launch.RUNNER_LOG, _RUNNER_LINES) if is_over else []
    return attempt_status(job, folder, " / ".join(lines), known_since)


def _not_shared(node: str, folder: Path) -> str:
    """The usual reason of a job that has ended without a line, while it was to write into the run's folder."""
    return (
        f". Does its node {node} see {folder}? All nodes must see MOSAIC_HOME under the same path, and have the right "
        "to write there. Move it to a shared file system, or start the stack with `--node-home` for nodes that share "
        "nothing."
    )


def _prepare(folder: RunFolder, there: RunFolder, launch_spec: LaunchSpec, start: JobStart) -> None:
    """Write the run's folder and the job's script. Raises LaunchFailed."""
    folder.prepare(launch_spec)
    path = folder.path / JOB_FILE
    try:
        script = _shared_script(start)
        if not launch_spec.shares_folder:
            script = carried_script(folder, there, launch_spec, start)
        replace_file(path, script)
        path.chmod(0o700)
    except OSError as error:
        raise LaunchFailed(fault_words(path, error)) from error


def _shared_script(start: JobStart) -> str:
    lines = [
        "#!/bin/sh",
        "# Written by MOSAIC. The runner takes the place of the shell, so that signals to the job's script reach it.",
        "umask 077",
        *start.checks,
        *start.exports,
        f"exec {shlex.join(start.argv)}",
    ]
    return "\n".join(lines) + "\n"
