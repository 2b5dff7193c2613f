"""A service that is really gone for a while: killed, and its supervisor kept from bringing it back."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from stack_under_test import StackUnderTest, kill9

from mosaic_workerkit.outbox import outbox_dir


@contextmanager
def service_away(stack: StackUnderTest, name: str) -> Iterator[None]:
    """kill -9 a service; nothing brings it back before the end of the block."""
    pid = stack.service_pid(name)
    supervisor = stack.stack_file().supervisor_pid
    os.kill(supervisor, signal.SIGSTOP)
    try:
        kill9(pid)
        yield
    finally:
        os.kill(supervisor, signal.SIGCONT)


def outbox_bytes(stack: StackUnderTest, run_id: str) -> int:
    """Bytes that a run's outbox takes on the disk now."""
    total = 0
    for segment in outbox_dir(stack.run_dir(run_id), 1).glob("*.seg"):
        try:
            total += segment.stat().st_size
        except FileNotFoundError:
            continue  # freed between listing and looking
    return total
