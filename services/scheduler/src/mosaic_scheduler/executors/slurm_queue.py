"""What Slurm knows of this stack's jobs: one `squeue` for all runs, every so often."""

import asyncio
import time
from collections.abc import Callable

from mosaic_scheduler.errors import EngineUnavailable
from mosaic_scheduler.executors.slurm_commands import SlurmCommands, SlurmRefused
from mosaic_scheduler.executors.slurm_jobs import FORMAT, SlurmJob, newest_by_name, parse_jobs
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.waiting import wait_up_to

SOON_S = 2.0
"""After something changed, before Slurm is asked again: its sites forbid fast polling."""
FORGOTTEN_S = 10.0
"""So long a job must stay unknown, over two looks, before it counts as never submitted."""


class SlurmQueue:
    """Looks at the queue while somebody is interested, and remembers the last look."""

    def __init__(self, commands: SlurmCommands, prefix: str, poll_s: float) -> None:
        """`prefix`: of the names of this stack's jobs."""
        self._commands = commands
        self._prefix = prefix
        self._poll_s = poll_s
        self._jobs: dict[str, SlurmJob] = {}
        self._new: dict[str, tuple[float, SlurmJob]] = {}
        """Submitted by us since the last look, with the moment."""
        self._missing_since: dict[str, float] = {}
        """Names that were asked for and not found, by the beginning of the look that did not find them."""
        self._looked_at: float | None = None
        self._problem: EngineUnavailable | None = None
        self._has_looked = asyncio.Event()
        self._poke = asyncio.Event()
        self._watched: set[str] = set()
        self._task: asyncio.Task[None] | None = None
        self.on_look: Callable[[], None] = lambda: None

    async def find(self, name: str) -> SlurmJob | None:
        """The job of this name; None: Slurm was asked twice, some time apart, and does not know it.

        Raises:
            EngineUnavailable: Slurm does not answer, or was not asked often enough yet.
        """
        await self._ensure()
        if name not in self._watched:
            self._watched.add(name)
            self.look_soon()  # the watch may rest: nobody was interested in anything
        job = self._jobs.get(name)
        if job is not None:
            self._missing_since.pop(name, None)
            return job
        looked_at = self._looked_at or 0.0
        since = self._missing_since.setdefault(name, looked_at)
        if looked_at - since >= min(FORGOTTEN_S, 2 * self._poll_s):
            return None
        self.look_soon()
        raise EngineUnavailable("Slurm does not list its job; it is asked once more.")

    async def jobs(self) -> list[SlurmJob]:
        """All jobs of this stack, as of the last look. Raises EngineUnavailable."""
        await self._ensure()
        return list(self._jobs.values())

    def known(self, name: str) -> SlurmJob | None:
        """The job of this name as of the last look, without a question."""
        return self._jobs.get(name)

    def add(self, job: SlurmJob) -> None:
        """A job that was submitted now."""
        self._jobs[job.name] = job
        self._new[job.name] = (time.monotonic(), job)
        self.look_soon()

    def forget(self, name: str) -> None:
        """Nobody is interested in this job any more."""
        self._watched.discard(name)
        self._missing_since.pop(name, None)

    def look_soon(self) -> None:
        """Something has changed: look before the next turn."""
        self._poke.set()

    def fail(self, error: EngineUnavailable) -> None:
        """Another command found the controller away."""
        self._problem = error
        self._poke.set()

    def close(self) -> None:
        """Stop looking."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _ensure(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._watch())
        if not self._has_looked.is_set():
            await self._has_looked.wait()
        if self._problem is not None:
            raise self._problem

    async def _watch(self) -> None:
        while True:
            self._poke.clear()
            await self._look()
            self._has_looked.set()
            self.on_look()
            await asyncio.sleep(min(SOON_S, self._poll_s))
            is_idle = not self._watched and self._problem is None
            if is_idle:
                await self._poke.wait()
            else:
                await wait_up_to(self._poke, self._poll_s)

    async def _look(self) -> None:
        began = time.monotonic()
        try:
            printed = await self._commands.run(
                "squeue", "--noheader", "--all", "--me", "--states=all", f"--format={FORMAT}"
            )
            jobs = parse_jobs(printed)
        except EngineUnavailable as error:
            self._note(error)
            return
        except (SlurmRefused, ValueError) as error:
            self._note(EngineUnavailable(f"Slurm's queue cannot be read: {error}"))
            return
        if self._problem is not None:
            get_log().info("engine.back")
        self._problem = None
        self._new = {name: new for name, new in self._new.items() if new[0] >= began}
        ours = newest_by_name(job for job in jobs if job.name.startswith(self._prefix))
        self._jobs = {
            **ours,
            **{name: job for name, (_, job) in self._new.items() if name not in ours},
        }
        self._looked_at = began

    def _note(self, error: EngineUnavailable) -> None:
        if self._problem is None:
            get_log().warning("engine.away", error=str(error))
        self._problem = error
