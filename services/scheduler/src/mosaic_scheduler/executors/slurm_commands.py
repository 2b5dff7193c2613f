"""Slurm's own commands, as child processes."""

import asyncio
import os
import shutil
from collections.abc import Mapping

from mosaic_scheduler.errors import EngineUnavailable, LaunchFailed

TIMEOUT_S = 30.0
"""Slurm's commands give up by themselves after 9 to 18 s without a controller."""
_AWAY = ("Unable to contact slurm controller", "Connection refused", "Socket timed out")
_OURS = ("MOSAIC_", "SLURM_", "SBATCH_", "SQUEUE_", "SCANCEL_", "SALLOC_", "SRUN_")
_KEPT = ("MOSAIC_HOME", "MOSAIC_ROOT", "SLURM_CONF")


class SlurmRefused(LaunchFailed):
    """Slurm answered, and refused."""


class SlurmCommands:
    """Runs them with the environment of a user: what the scheduler or a job around it was given is left out."""

    def environment(self) -> Mapping[str, str]:
        """Variables of a command, which Slurm passes on to the job."""
        return {
            name: value
            for name, value in os.environ.items()
            if name in _KEPT or not name.startswith(_OURS)
        }

    async def run(self, *argv: str, errors_too: bool = False) -> str:
        """What the command printed; `errors_too`: on stderr as well, where `sbatch --test-only` answers.

        Raises:
            EngineUnavailable: the controller does not answer, or the command is not there or cannot be started.
            SlurmRefused: Slurm refused.
        """
        if shutil.which(argv[0]) is None:
            raise EngineUnavailable(
                f"Slurm's command {argv[0]} is not on the PATH. Start the stack on a login node of the cluster, or "
                "install Slurm's client programs with the cluster's slurm.conf."
            )
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self.environment(),
            )
        except OSError as error:
            # Too many processes or open files, or too little memory, at this moment
            raise EngineUnavailable(f"Slurm's {argv[0]} cannot be started: {error}.") from error
        try:
            async with asyncio.timeout(TIMEOUT_S):
                printed, errors = await process.communicate()
        except TimeoutError as error:
            raise EngineUnavailable(f"Slurm's {argv[0]} did not end in {TIMEOUT_S:g} s.") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        said = " ".join(errors.decode(errors="replace").split())
        if any(words in said for words in _AWAY):
            raise EngineUnavailable(f"Slurm's controller does not answer: {said}")
        if process.returncode != 0:
            raise SlurmRefused(f"{argv[0]}: {said or f'exit code {process.returncode}'}")
        return printed.decode(errors="replace") + (said if errors_too else "")
