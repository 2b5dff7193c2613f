"""Keys, credentials and configuration of the broker, made by the scheduler's environment at every start."""

import asyncio
import os
import socket
import sys
from pathlib import Path
from urllib.parse import urlsplit

from mosaic_cli.errors import StackStartProblem
from mosaic_cli.stack import tether
from mosaic_cli.stack.layout import Layout
from mosaic_cli.stack.ports import HOST, Ports
from mosaic_contracts.interpreter import python_module
from mosaic_contracts.stack_files import BROKER_CA, BROKER_CONFIG, BROKER_SECRETS

INIT_TIMEOUT_S = 60.0
_SECRETS = ("keys.json", "run_signer.json", "recorder.creds", "scheduler.creds", "gateway.creds")


class BrokerSetup:
    """Makes them once; the broker waits for that, and at the very first start all services do."""

    def __init__(
        self, layout: Layout, ports: Ports, python: str, runs_url: str | None = None
    ) -> None:
        self._home = layout.home
        self._argv = python_module(
            python, "mosaic_servicekit.broker", "init", "--home", str(layout.home)
        )
        self._argv += ["--port", str(ports.broker)]
        self.ca: Path | None = None
        """Certificate of the authority to trust, where the broker speaks TLS."""
        if ports.broker_bind:
            self.ca = layout.home / BROKER_CA
            self._argv += ["--host", ports.broker_bind]
            for host in _certificate_hosts(ports, runs_url):
                self._argv += ["--tls-host", host]
        self.config = layout.home / BROKER_CONFIG
        secrets = [layout.home / BROKER_SECRETS / name for name in _SECRETS]
        needed = [self.config, *secrets, *([] if self.ca is None else [self.ca])]
        self.is_first = not all(path.exists() for path in needed)
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


def _certificate_hosts(ports: Ports, runs_url: str | None) -> list[str]:
    """Names by which services and runs may call the broker."""
    named = urlsplit(runs_url).hostname if runs_url else None
    hosts = {HOST, "localhost", socket.gethostname(), ports.broker_host, named}
    return sorted(host for host in hosts if host)
