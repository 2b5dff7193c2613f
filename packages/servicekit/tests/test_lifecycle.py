"""How a service ends."""

import asyncio
import os
import signal

import pytest

from mosaic_servicekit.lifecycle import Service, run_service


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_cleanly(number: signal.Signals) -> None:
    """SIGTERM and SIGINT set the stop event, and the exit code is 0."""

    async def main(service: Service) -> None:
        os.kill(os.getpid(), number)
        await service.stop.wait()

    assert run_service(main) == 0


def test_a_dead_task_ends_the_service_with_its_error(capsys: pytest.CaptureFixture[str]) -> None:
    """An exception in a background task stops the service, is shown, and the exit code is 1."""

    async def die() -> None:
        raise ZeroDivisionError("the real error")

    async def main(service: Service) -> None:
        service.spawn("dying", die())
        await service.stop.wait()

    assert run_service(main) == 1
    shown = capsys.readouterr()
    assert "the real error" in shown.out + shown.err


def test_an_error_of_main_is_not_swallowed() -> None:
    """A main that raises gives exit code 1, and tasks next to it are cancelled."""
    cancelled = False

    async def linger() -> None:
        nonlocal cancelled
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled = True
            raise

    async def main(service: Service) -> None:
        service.spawn("linger", linger())
        await asyncio.sleep(0)
        raise ValueError("broken")

    assert run_service(main) == 1
    assert cancelled


def test_a_task_that_swallows_a_cancellation_is_cancelled_again() -> None:
    """As `wait_for` of Python 3.11 does when a result is there at the same time: the service ends all the same."""

    async def deaf_once() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.Event().wait()

    async def main(service: Service) -> None:
        service.spawn("deaf", deaf_once())
        await asyncio.sleep(0)
        await service.end_tasks()

    assert run_service(main) == 0
