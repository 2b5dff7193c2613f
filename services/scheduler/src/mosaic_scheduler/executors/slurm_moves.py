"""What a user changes of runs that wait at Slurm, and what Slurm says of a run before it is submitted."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from mosaic_contracts.spec import RunSpec
from mosaic_scheduler.errors import EngineUnavailable
from mosaic_scheduler.executors.cluster_jobs import JOB_KINDS, JobNames
from mosaic_scheduler.executors.protocol import AttemptRef, Forecast
from mosaic_scheduler.executors.slurm_commands import SlurmCommands, SlurmRefused
from mosaic_scheduler.executors.slurm_jobs import moment, start_estimate
from mosaic_scheduler.executors.slurm_limit import is_submit_limit
from mosaic_scheduler.executors.slurm_queue import SlurmQueue
from mosaic_scheduler.executors.slurm_site import SlurmSite
from mosaic_servicekit.logging import get_log

_TO_START = re.compile(r"to start at (\S+)")
_NEVER = re.compile(r"\binvalid\b", re.IGNORECASE)
"""In what `sbatch` says of names and features that the cluster does not have. Its words for a request that no node can
fulfil are the same whether nodes are too small or down."""
_AT_ONCE = timedelta(minutes=1)


class SlurmMoves:
    """See `EngineQueue`."""

    def __init__(
        self,
        commands: SlurmCommands,
        queue: SlurmQueue,
        names: JobNames,
        site: SlurmSite,
        limits: Callable[[RunSpec], list[str]],
    ) -> None:
        """`limits`: what is asked of `sbatch` for a run."""
        self._commands, self._queue, self._names = commands, queue, names
        self._site, self._limits = site, limits
        self._nice: dict[str, int] = {}
        """By name of a job: what was set last. What its owner sets by hand later stays."""

    async def hold(self, ref: AttemptRef, is_held: bool) -> None:
        """See `EngineQueue.hold`."""
        job = await self._queue.find(self._names.of(ref))
        if job is None or not job.waits:
            raise SlurmRefused(f"Slurm has started its job {job.job_id if job else ''}".rstrip())
        # A hold of the owner's, also where an administrator sets it: others can see who may release it.
        await self._run("scontrol", "uhold" if is_held else "release", job.job_id)

    async def order(self, priorities: Mapping[AttemptRef, int]) -> None:
        """See `EngineQueue.order`.

        Slurm lets a user only lower the priority of a job. So the first ones keep theirs, and the others are lowered.
        """
        by_name = {self._names.of(ref): priority for ref, priority in priorities.items()}
        jobs = [job for job in await self._queue.jobs() if job.waits and job.name in by_name]
        self._nice = {job.name: self._nice.get(job.name, job.nice) for job in jobs}
        highest = max((by_name[job.name] for job in jobs), default=0)
        wanted: dict[int, list[tuple[str, str]]] = {}
        for job in jobs:
            nice = highest - by_name[job.name]
            # Slurm may release a held job whose priority it computes again.
            if nice != self._nice[job.name] and not job.is_held:
                wanted.setdefault(nice, []).append((job.job_id, job.name))
        for nice, changed in wanted.items():
            self._nice |= dict.fromkeys((name for _, name in changed), nice)
            ids = ",".join(job_id for job_id, _ in changed)
            try:
                await self._run("scontrol", "update", f"JobId={ids}", f"Nice={nice}")
            except SlurmRefused as error:
                # One of them has started meanwhile; Slurm has changed the others.
                get_log().info("slurm.not_ordered", jobs=ids, error=str(error))

    async def forecast(self, spec: RunSpec) -> Forecast | None:
        """See `EngineQueue.forecast`."""
        if spec.kind not in JOB_KINDS:
            return None
        if limit_words := await self._beyond_time_limit(spec):
            return Forecast(limit_words, never=True)
        try:
            said = await self._commands.run(
                "sbatch", "--test-only", "--wrap=true", *self._limits(spec), errors_too=True
            )
        except SlurmRefused as error:
            return _refusal(str(error))
        found = _TO_START.search(said)
        starts_at = start_estimate(moment(found[1]) if found else None)
        if starts_at is None:
            return Forecast("Slurm takes it, and cannot say when it would start.")
        if starts_at - datetime.now(UTC) < _AT_ONCE:
            return Forecast("Slurm takes it, and as things are starts it at once.")
        return Forecast(
            f"Slurm takes it, and as things are starts it about {starts_at:%Y-%m-%d %H:%M}."
        )

    async def _beyond_time_limit(self, spec: RunSpec) -> str:
        """That a run asks for more time than its partition gives: Slurm takes it, and lets it wait for ever."""
        most = (await self._site.largest_node()).minutes
        asked = next(
            (
                float(word.split("=")[1])
                for word in self._limits(spec)
                if word.startswith("--time=")
            ),
            0.0,
        )
        if not most or asked <= most:
            return ""
        return (
            f"Its job would ask for {asked:g} min, and the partition gives {most:g}: it would wait for ever. "
            "Give a shorter `wall_time_s`, or start the stack with another `--partition`."
        )

    async def _run(self, *argv: str) -> None:
        try:
            await self._commands.run(*argv)
        except EngineUnavailable as error:
            self._queue.fail(error)
            raise
        finally:
            self._queue.look_soon()


def _refusal(said: str) -> Forecast:
    said = said.removeprefix("sbatch: ").replace("allocation failure: ", "")
    if is_submit_limit(said):
        return Forecast(
            f"You have as many jobs at Slurm as your site permits: it would wait ({said})."
        )
    if _NEVER.search(said):
        return Forecast(f"Slurm would refuse it: {said}.", never=True)
    return Forecast(
        f"As the cluster is now, Slurm would not start it: {said}. If all its nodes are up (`sinfo`), it would wait "
        "for ever.",
        waits=True,
    )
