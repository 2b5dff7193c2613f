"""How a service lives and ends: SIGTERM and SIGINT ask it to stop; a background task that dies ends it."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any

from mosaic_contracts.stack_files import REFUSED_EVENT, SERVICE_REFUSED
from mosaic_servicekit.errors import ServiceRefused
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.privacy import umask

CLOSE_DEADLINE_S = 10.0
"""Time for `main` to return after the stop event, before it is cancelled."""
CANCEL_AGAIN_S = 0.1


class Service:
    """The frame in which a service's `main` runs."""

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        """Set when the service shall end."""
        self.failure: BaseException | None = None
        """What the first dead background task raised."""
        self._tasks: set[asyncio.Task[Any]] = set()

    def spawn(self, name: str, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run `work` concurrently with `main`. When it raises, the service stops with that error."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._on_done)
        return task

    def _on_done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or task.exception() is None:
            return
        error = task.exception()
        if not isinstance(error, ServiceRefused):
            log_death(task)
        self.failure = self.failure or error
        self.stop.set()

    async def end_tasks(self) -> None:
        """Cancel the spawned tasks that still run and wait for them."""
        await cancel_all(self._tasks)


def log_death(task: asyncio.Task[Any]) -> None:
    """Log what an ended task raised, if it did: for tasks that nobody waits for."""
    if not task.cancelled() and (error := task.exception()) is not None:
        get_log().error("task.died", task=task.get_name(), error=repr(error), exc_info=error)


async def cancel_all(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel tasks and wait until they have ended, whatever they raise.

    Repeated, because `asyncio.wait_for` of Python 3.11 swallows a cancellation that meets a result (nats-py uses
    it in every request); the task would go on as if nothing had been asked. Python 3.12 does not do that.
    """
    pending = {task for task in tasks if not task.done()}
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=CANCEL_AGAIN_S)


Main = Callable[[Service], Awaitable[None]]


async def serve_until_stopped(main: Main) -> int:
    """Run `main` with signal handlers; return the exit code (0: asked to stop, 1: something died, 78: refused)."""
    service = Service()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, service.stop.set)
    running = asyncio.ensure_future(main(service))
    stopping = asyncio.ensure_future(service.stop.wait())
    try:
        await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            await asyncio.wait({running}, timeout=CLOSE_DEADLINE_S)
        if not running.done():
            get_log().error("service.close_timed_out", seconds=CLOSE_DEADLINE_S)
            await cancel_all([running])
        outcome = (await asyncio.gather(running, return_exceptions=True))[0]
    finally:
        stopping.cancel()
        await service.end_tasks()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
    for failure in (outcome, service.failure):
        if isinstance(failure, ServiceRefused):
            return refuse(failure)
    if isinstance(outcome, BaseException):
        get_log().error("service.died", error=repr(outcome), exc_info=outcome)
        return 1
    return 1 if service.failure is not None else 0


def refuse(error: ServiceRefused) -> int:
    """Log why the service cannot work, and return its exit code."""
    get_log().error(REFUSED_EVENT, message=str(error))
    return SERVICE_REFUSED


def run_service(main: Main) -> int:
    """Run a service until it gets a signal to stop. For `sys.exit(run_service(main))`.

    Files that it makes are its user's alone.
    """
    umask.make_private()
    return asyncio.run(serve_until_stopped(main))
