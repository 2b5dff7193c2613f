"""What a start waits for: one moving line on a terminal, a line at each change and now and then elsewhere."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console

from mosaic_cli.stack.service_states import BACKING_OFF, STARTING, STOPPED, UP
from mosaic_cli.wording import duration
from mosaic_client.light import StackFileFields

REMIND_EVERY_S = 10.0
_STILL = {STARTING: "starting", BACKING_OFF: "ended, is tried again", STOPPED: "comes next"}
"""A service that has not been started yet is no failure, and must not read like one."""


class StartDisplay:
    """Shows a stack that comes up; use it as a context."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = console.status("Starting the stack ...") if console.is_terminal else None
        self._began_s = time.monotonic()
        self._said = ""
        self._remind_s = self._began_s + REMIND_EVERY_S

    def __enter__(self) -> Self:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, stack: StackFileFields | None) -> None:
        """Show how it is now."""
        words = waiting_for(stack)
        if self._status is not None:
            self._status.update(f"Starting the stack: {words}")
            return
        now_s = time.monotonic()
        if words == self._said and now_s < self._remind_s:
            return
        waited = f" ({duration(now_s - self._began_s)} so far)" if words == self._said else ""
        self._said, self._remind_s = words, now_s + REMIND_EVERY_S
        self._console.print(f"Starting the stack: {words}{waited}", markup=False, soft_wrap=True)


def waiting_for(stack: StackFileFields | None) -> str:
    """What is not there yet, in words."""
    if stack is None:
        return "waiting for its supervisor"
    missing = [f"{s.name} {_STILL[s.state]}" for s in stack.services if s.state != UP]
    return ", ".join(missing) or "all are up, waiting until they answer each other"
