"""Keys, credentials and configuration of the broker, made by the scheduler's environment at every start."""

import asyncio
import os
import sys

from mosaic_cli.errors import StackStartProblem
from mosaic_cli.stack import tether
from mosaic_cli.stack.layout import Layout
from mosaic_cli.stack.ports import Ports
from mosaic_contracts.interpreter import python_module
from mosaic_contracts.stack_files import BROKER_CONFIG, BROKER_SECRETS

INIT_TIMEOUT_S = 60.0
_SECRETS = ("keys.json", "run_signer.json", "recorder.creds", "scheduler.creds", "gateway.creds")


class BrokerSetup:
    """Makes them once; the broker waits for that, and at the very first start all services do."""

    def __init__(self, layout: Layout, ports: Ports, python: str) -> None:
        self._home = layout.home
        self._argv = python_module(
            python, "mosaic_servicekit.broker", "init", "--home", str(layout.home)
        )
        self._argv += ["--port", str(ports.broker)]
        self.config = layout.home / BROKER_CONFIG
        secrets = [layout.home / BROKER_SECRETS / name for name in _SECRETS]
        self.is_first = not all(path.exists() for path in (self.config, *secrets))
        """Whether credentials of an earlier start are missing, with which the services could begin."""
        self.done = asyncio.Event()

    async def make(self) -> None:
        """Make what is missing and set `done`.

        Raises:
            StackStartProblem: it cannot be made.
        """
        reason = await self._run()
        if reason is not None:
            raise StackStartProblem(
                f"The broker's configuration could not be made: {reason}. If the "
                "scheduler's environment is damaged, `./mosaic sync scheduler` makes it "
                "again."
            )
        self.done.set()

    async def _run(self) -> str | None:
        """Run the program; return why it failed."""
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", tether.__file__, str(os.getpid()), *self._argv),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                env={**os.environ, "MOSAIC_HOME": str(self._home)},
            )
        except OSError as error:
            return str(error)
        try:
            async with asyncio.timeout(INIT_TIMEOUT_S):
                _, said = await process.communicate()
        except TimeoutError:
            return f"it took more than {INIT_TIMEOUT_S:g} s"
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode == 0:
            return None
        lines = said.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"exit code {process.returncode}"
