"""Ships what an ended attempt left in a folder of this machine."""

import asyncio
from collections.abc import Mapping

from mosaic_contracts import launch
from mosaic_scheduler.errors import LaunchFailed
from mosaic_scheduler.executors.run_folder import RunFolder

_DRAIN_MARGIN_S = 10.0
"""Beyond the shipper's own timeout, before it is ended."""


async def drain_here(folder: RunFolder, timeout_s: float, environment: Mapping[str, str]) -> bool:
    """Run a shipper in a process of this machine. Return whether nothing is left.

    Args:
        folder: of the run.
        timeout_s: for the shipper.
        environment: variables of a process of this stack, without those of the run.

    Raises:
        LaunchFailed: the shipper cannot be started.
    """
    launch_spec = folder.read_launch()
    if launch_spec is None and (folder.path / launch.LAUNCH_FILE).exists():
        raise LaunchFailed(f"{folder.path / launch.LAUNCH_FILE} cannot be read")
    if launch_spec is None:
        return True  # never started, or its folder was deleted: there is nothing to ship
    shipper_argv = launch_spec.drain_argv or launch_spec.shipper_argv
    argv = [*shipper_argv, "--drain", "--timeout", f"{timeout_s:g}"]
    with folder.open_log(launch.SHIPPER_LOG) as log:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder.path,
                env={**environment, **folder.environment()},
            )
        except OSError as error:
            raise LaunchFailed(f"{argv[0]} cannot be executed: {error}") from error
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
