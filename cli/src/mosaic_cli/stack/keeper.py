"""Keeps one service alive: start, probe, restart with back-off, stop within a bound."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from mosaic_base.backoff import Backoff
from mosaic_base.procfs import start_ticks
from mosaic_cli.stack import tether
from mosaic_cli.stack.plan import ServicePlan
from mosaic_cli.stack.ports import clash, is_free
from mosaic_cli.stack.private import open_log
from mosaic_cli.stack.process import utf8_text
from mosaic_cli.stack.service_log import last_message, rotate
from mosaic_cli.stack.service_states import BACKING_OFF, STARTING, STOPPED, UP
from mosaic_cli.stack.state import KeptService
from mosaic_contracts.stack_files import SERVICE_REFUSED

FIRST_DELAY_S = 0.2
LONGEST_DELAY_S = 10.0
STEADY_S = 30.0
"""Up for so long, and the next crash counts as the first."""
FIRST_PROBE_S, PROBE_GROWTH, LAST_PROBE_S = 0.02, 1.05, 0.2
"""Pauses between probes: short while a start is quick, rare where it is slow, for each costs the gateway CPU time."""


class Keeper:
    """One service, from start to stop. `entry` always says how it is; `on_change` is called when that changes."""

    def __init__(self, plan: ServicePlan, home: Path, on_change: Callable[[], None]) -> None:
        self.plan = plan
        self.entry = KeptService(
            name=plan.name,
            state=STOPPED,
            log=plan.log,
            program=plan.mark or utf8_text(plan.argv[0]),
        )
        self.refusal: str | None = None
        """Why the service cannot work until a person changes something, in its own words."""
        self._log = home / plan.log
        self._on_change = on_change
        self._stopping = asyncio.Event()
        self._process: Process | None = None
        self._backoff = Backoff(FIRST_DELAY_S, LONGEST_DELAY_S)

    async def keep(self) -> None:
        """Run the service until `stop`; returns when it is gone."""
        await self._wait_for_its_turn()
        while not self._stopping.is_set():
            began_s = _now()
            await self._run_once()
            if self._stopping.is_set():
                break
            if _now() - began_s > STEADY_S:
                self._backoff.reset()
            self.entry.restarts += 1
            self._change(BACKING_OFF)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), self._backoff.next_s())
        self._change(STOPPED)

    def stop(self) -> None:
        """Ask the service to end; `keep` returns when it has."""
        self._stopping.set()

    async def _wait_for_its_turn(self) -> None:
        if self.plan.after is not None:
            turn = asyncio.create_task(self.plan.after.wait())
            await _either(turn, self._stopping)
            turn.cancel()

    async def _run_once(self) -> None:
        process = await self._start()
        self.entry.pid = process.pid
        self.entry.start_ticks = start_ticks(process.pid)
        self._change(STARTING)
        probing = asyncio.create_task(self._probe_until_up())
        ended = asyncio.create_task(process.wait())
        await _either(ended, self._stopping)
        probing.cancel()
        if not ended.done():
            await self._end(process, ended)
        self.entry.last_exit = self._describe_exit(await ended)
        self.entry.pid = self.entry.start_ticks = None

    async def _start(self) -> Process:
        rotate(self._log)
        with open_log(self._log) as log:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", tether.__file__, str(os.getpid())),
                *self.plan.argv,
                stdin=DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self.plan.env},
                # a Ctrl-C in the terminal is the supervisor's: it ends the services in order
                start_new_session=True,
            )

    async def _probe_until_up(self) -> None:
        # nothing announces that a server listens, so there is no event to wait for
        pause_s = FIRST_PROBE_S
        while not await self.plan.probe():
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * PROBE_GROWTH, LAST_PROBE_S)
        self._change(UP)

    async def _end(self, process: Process, ended: "asyncio.Task[int]") -> None:
        with suppress(ProcessLookupError):  # it may end by itself this moment
            process.send_signal(signal.SIGTERM)
        await asyncio.wait([ended], timeout=self.plan.stop_s)
        if not ended.done():
            with suppress(ProcessLookupError):
                process.kill()
            await ended

    def _describe_exit(self, code: int) -> str:
        if code < 0:
            return f"signal {signal.Signals(-code).name}"
        if code == SERVICE_REFUSED:
            self.refusal = last_message(self._log) or f"It ended with exit code {code}."
            return f"refused: {self.refusal}"
        if code != 0 and self.plan.port is not None and not is_free(self.plan.port):
            return f"exit code {code}; {clash(self.plan.name, self.plan.port)}"
        return f"exit code {code}"

    def _change(self, state: str) -> None:
        self.entry.state = state
        self._on_change()


async def _either(work: "asyncio.Task[Any]", event: asyncio.Event) -> None:
    """Wait for the end of the work or for the event, whichever is first."""
    waiting = asyncio.create_task(event.wait())
    await asyncio.wait([work, waiting], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()


def _now() -> float:
    return asyncio.get_running_loop().time()
