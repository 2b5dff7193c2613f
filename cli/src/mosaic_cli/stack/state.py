"""stack.json: written whole at every change, read by everybody who looks for the stack."""

import os
from pathlib import Path

import msgspec

from mosaic_base.atomic import replace_file
from mosaic_cli.stack.lock import is_held, lock_holder
from mosaic_cli.stack.ports import Ports
from mosaic_cli.stack.process import Process, utf8_text
from mosaic_client import light
from mosaic_client.errors import StackUnreachable
from mosaic_client.location import stack_file_text
from mosaic_contracts.stack_files import STACK_FILE

STRAY_TERM_S = 5.0


class KeptService(light.ServiceFields):
    """An entry of stack.json with what is needed to recognise the process later."""

    start_ticks: int | None = None
    program: str = ""


class KeptStack(light.StackFileFields):
    """The whole of stack.json; `mosaic_contracts.stack.StackFile` is what others may rely on."""

    v: int = 1
    started_at: float = 0.0
    placement: str = ""
    """Where the stack starts runs; empty: of an older stack."""
    partition: str = ""
    """Partition of its jobs at Slurm; empty: the cluster's own."""
    ray_address: str = ""
    """Dashboard of the Ray cluster; empty: the default."""
    node_home: str = ""
    """Folder of runs on nodes that share nothing; empty: they share MOSAIC_HOME."""
    # every entry is one of these here
    services: list[KeptService] = msgspec.field(default_factory=list)  # type: ignore[assignment]


def write_stack_file(path: Path, stack: KeptStack) -> os.stat_result:
    """Replace the file in one step; return what the system says of the new one.

    A reader sees the old or the new file, and so does the next start after a loss of power.
    """
    data = msgspec.json.format(msgspec.json.encode(stack), indent=1)
    return replace_file(path, data, durable=True)


def is_same_file(path: Path, written: os.stat_result) -> bool:
    """Whether the file is still the one that was written, with the same content."""
    try:
        found = path.stat()
    except OSError:
        return False
    same_content = (found.st_size, found.st_mtime_ns) == (written.st_size, written.st_mtime_ns)
    return os.path.samestat(found, written) and same_content


def set_aside_damaged(home: Path, lock: Path) -> str | None:
    """Rename a stack.json that cannot be used, unless a supervisor is there to write it again.

    Returns:
        A sentence for the person; None when nothing was wrong.
    """
    path = home / STACK_FILE
    if is_held(lock) or not path.is_file() or earlier_stack(home) is not None:
        return None
    aside = path.with_suffix(".damaged.json")
    path.replace(aside)
    return f"{path} was damaged and is now {aside.name}; the stack starts without it."


def running_stack(home: Path, lock: Path) -> KeptStack | None:
    """The stack of this data root if its supervisor lives and has written a file that can be read, else None."""
    holder = lock_holder(lock)
    if holder is None:
        return None
    stack = earlier_stack(home)
    # right after the lock was taken the file may still be the earlier supervisor's
    return stack if stack is not None and stack.supervisor_pid == holder.pid else None


def earlier_stack(home: Path) -> KeptStack | None:
    """What the last supervisor wrote, if it can be read."""
    try:
        written = stack_file_text(home)
        return None if written is None else KeptStack.read(written)
    except (StackUnreachable, ValueError):
        return None


def ports_of(stack: KeptStack) -> Ports | None:
    """The ports that stack.json names."""
    try:
        gateway, broker = (
            int(url.rpartition(":")[2]) for url in (stack.gateway_url, stack.broker_url)
        )
    except ValueError:
        return None
    return Ports(gateway, broker)


def end_strays(stack: KeptStack) -> list[str]:
    """End services that outlived their supervisor; returns their names.

    Only processes that began when stack.json says and still run the program that it names are ours.
    """
    ended = []
    for kept in stack.services:
        if kept.pid is None or kept.start_ticks is None:
            continue
        process = Process(kept.pid, kept.start_ticks)
        command = map(utf8_text, process.command())
        if process.is_alive and kept.program in command:
            process.end(STRAY_TERM_S)
            ended.append(kept.name)
    return ended
