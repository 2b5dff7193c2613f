"""The supervisor: keeps the services of one embedded stack running until it gets a signal to end."""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress

from mosaic_cli.errors import StackLockLost, StackStartProblem
from mosaic_cli.stack.keeper import Keeper
from mosaic_cli.stack.layout import Layout
from mosaic_cli.stack.lock import StackLock, lost_holders
from mosaic_cli.stack.plan import ServicePlan, StackPlan, plan_stack
from mosaic_cli.stack.ports import choose_ports
from mosaic_cli.stack.start_options import StartOptions
from mosaic_cli.stack.state import (
    KeptStack,
    earlier_stack,
    end_strays,
    is_same_file,
    ports_of,
    write_stack_file,
)
from mosaic_cli.stack.xmpp import plan_xmpp
from mosaic_cli.stack.xmpp_wish import is_wanted

FIRST_READY_S = 0.03
"""Until the stack is ready for the first time: somebody waits for it."""
READY_EVERY_S = 0.2
RECHECK_EVERY_S = 2.0
LOCK_EVERY_S = 0.5
XMPP_EVERY_S = 0.5
LOST_END_S = 60.0
"""Four services, each with its own time to stop."""

Watch = Callable[[KeptStack], None]


class Supervisor:
    """Runs a plan. `watch` gets the state at every change, after it was written to stack.json.

    A stack whose lock file is gone cannot be seen by `down` or `status`, and a second one may start on the
    same files; so it takes itself down.
    """

    def __init__(
        self, layout: Layout, plan: StackPlan, lock: StackLock, watch: Watch | None = None
    ) -> None:
        self._layout = layout
        self._plan = plan
        self._lock = lock
        self.lost_lock = False
        self.refusal: str | None = None
        """Why the stack cannot start, in the words of the service that refused to work."""
        self._was_ready = False
        self._is_write_due = False
        self._written: os.stat_result | None = None
        """The stack.json that this supervisor wrote last."""
        self._watch = watch
        self._stopping = asyncio.Event()
        self._kept: dict[Keeper, asyncio.Task[None]] = {}
        """In the order of start."""
        self._xmpp: Keeper | None = None
        self.stack = KeptStack(
            supervisor_pid=os.getpid(),
            gateway_url=plan.ports.gateway_url,
            broker_url=plan.ports.broker_url,
            started_at=time.time(),
            placement=os.environ.get("MOSAIC_PLACEMENT", "") or "process",
            partition=os.environ.get("MOSAIC_SLURM_PARTITION", ""),
            ray_address=os.environ.get("MOSAIC_RAY_ADDRESS", ""),
            node_home=os.environ.get("MOSAIC_NODE_HOME", ""),
        )

    def stop(self) -> None:
        """Begin to take the stack down; `run` returns when it is."""
        self._stopping.set()

    async def run(self) -> None:
        """Start everything, keep it, and take it down in order."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.stop)
        # first, for the broker waits for it
        setting_up = asyncio.create_task(self._set_up())
        self._keep_all(self._plan.services)
        checking = [
            setting_up,
            asyncio.create_task(self._check_readiness()),
            asyncio.create_task(self._check_lock()),
            asyncio.create_task(self._check_xmpp()),
        ]
        await self._stopping.wait()
        for task in checking:
            task.cancel()
        await asyncio.wait(checking)
        self.stack.ready = False
        self._write()
        # The gateway stops first, the broker last: no new request comes in, and work under way can still be reported.
        for keeper in reversed(list(self._kept)):
            keeper.stop()
            await self._kept[keeper]
        self._write()

    async def _set_up(self) -> None:
        if self._plan.setup is None:
            return
        try:
            await self._plan.setup.make()
        except StackStartProblem as error:
            self.refusal = str(error)
            self.stop()

    def _keep_all(self, plans: list[ServicePlan]) -> list[Keeper]:
        keepers = [Keeper(plan, self._layout.home, self._service_changed) for plan in plans]
        self.stack.services += [keeper.entry for keeper in keepers]
        # the last one first: the gateway takes longest, and the broker waits for its configuration anyway
        tasks = {keeper: asyncio.create_task(keeper.keep()) for keeper in reversed(keepers)}
        self._kept |= {keeper: tasks[keeper] for keeper in keepers}
        self._changed()
        return keepers

    async def _drop(self, keeper: Keeper) -> None:
        keeper.stop()
        await asyncio.wait(
            [self._kept[keeper]]
        )  # not the task itself: a cancellation must not reach it
        del self._kept[keeper]
        self.stack.services.remove(keeper.entry)
        self._changed()

    async def _check_xmpp(self) -> None:
        """The one service that comes and goes while the stack is up. A file says whether it is wanted."""
        while not self._stopping.is_set():
            wanted = is_wanted(self._layout)
            if wanted and self._xmpp is None:
                (self._xmpp,) = self._keep_all([plan_xmpp(self._layout)])
            elif not wanted and self._xmpp is not None:
                keeper, self._xmpp = self._xmpp, None
                await self._drop(keeper)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), XMPP_EVERY_S)

    async def _check_readiness(self) -> None:
        # asks the event itself: a wait_for that is cancelled as its event comes true swallows the cancellation
        while not self._stopping.is_set():
            ready = await self._plan.probe()
            if ready != self.stack.ready:
                self.stack.ready = ready
                self._was_ready |= ready
                self._changed()
            with suppress(TimeoutError):
                wait_s = RECHECK_EVERY_S if ready else READY_EVERY_S
                wait_s = wait_s if self._was_ready else FIRST_READY_S
                await asyncio.wait_for(self._stopping.wait(), wait_s)

    async def _check_lock(self) -> None:
        while not self._stopping.is_set():
            if not self._lock.is_in_place():
                self._lose_lock()
            elif self._written is None or not is_same_file(self._layout.stack_file, self._written):
                self._changed()  # somebody deleted or damaged it, and others find the stack by it
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), LOCK_EVERY_S)

    def _lose_lock(self) -> None:
        self.lost_lock = True
        self.stop()

    def _service_changed(self) -> None:
        self._changed()
        refused = [keeper for keeper in self._kept if keeper.refusal is not None]
        if refused and not self._was_ready:
            # starting it again helps nobody; a stack that was ready has runs, and goes on trying
            self.refusal = f"The {refused[0].plan.name} cannot start: {refused[0].refusal}"
            self.stop()

    def _changed(self) -> None:
        """Write stack.json soon: once for all changes of this turn of the event loop."""
        if not self._is_write_due:
            self._is_write_due = True
            asyncio.get_running_loop().call_soon(self._write)

    def _write(self) -> None:
        self._is_write_due = False
        if not self.lost_lock and self._lock.is_in_place():
            try:
                self._written = write_stack_file(self._layout.stack_file, self.stack)
            except FileNotFoundError:  # its folder was deleted this moment
                self._lose_lock()
        else:  # the file may be another supervisor's by now
            self._lose_lock()
        if self._watch is not None:
            self._watch(self.stack)


def supervise(layout: Layout, options: StartOptions, watch: Watch | None = None) -> None:
    """Be the supervisor of this data root until SIGTERM or Ctrl-C.

    Raises:
        StackStartProblem: it cannot be (another one is, no room on the disk, a port is taken, ...).
        StackLockLost: its lock file was deleted meanwhile; everything is down.
    """
    layout.prepare_home()
    lock = StackLock.take(layout.lock_file)
    try:
        for lost in lost_holders(layout.lock_file):
            lost.end(LOST_END_S)  # its services are on the same files
        earlier = earlier_stack(layout.home)
        if earlier is not None:
            end_strays(earlier)
        ports = choose_ports(
            options.port,
            options.broker_port,
            ports_of(earlier) if earlier else None,
            options.broker_bind or "",
        )
        plan = plan_stack(layout, ports, options.broker_runs_url)
        asyncio.run(_run(layout, plan, lock, watch))
    finally:
        lock.release()


async def _run(layout: Layout, plan: StackPlan, lock: StackLock, watch: Watch | None) -> None:
    supervisor = Supervisor(layout, plan, lock, watch)
    await supervisor.run()
    if supervisor.refusal is not None:
        raise StackStartProblem(supervisor.refusal)
    if supervisor.lost_lock:
        raise StackLockLost(
            f"{lock.path} was deleted or replaced while the stack was up, so the stack ended itself. "
            "Take a stack down with `./mosaic down` before you delete its files; `./mosaic up -d` starts a new one."
        )
