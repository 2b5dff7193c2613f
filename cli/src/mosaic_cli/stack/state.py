"""stack.json: written whole at every change, read by everybody who looks for the stack."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mosaic_cli.stack.lock import is_held, lock_holder
from mosaic_cli.stack.ports import Ports
from mosaic_cli.stack.process import Process, utf8_text
from mosaic_client import light, reading
from mosaic_client.errors import StackUnreachable
from mosaic_client.location import read_stack_file
from mosaic_contracts.stack_files import STACK_FILE

if TYPE_CHECKING:
    from mosaic_contracts.stack import StackFile

STRAY_TERM_S = 5.0


def write_stack_file(path: Path, stack: "StackFile") -> os.stat_result:
    """Replace the file in one step; return what the system says of the new one.

    A reader sees the old or the new file, and so does the next start after a loss of power.
    """
    part = path.with_suffix(f".{os.getpid()}.part")
    with part.open("wb") as file:
        # as any: the entries are KeptService, with more than their field's type knows
        file.write(stack.model_dump_json(indent=1, serialize_as_any=True).encode())
        file.flush()
        os.fsync(file.fileno())
        written = os.fstat(file.fileno())
    part.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return written


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
    try:
        read_stack_file(home)
    except StackUnreachable:
        aside = path.with_suffix(".damaged.json")
        if is_held(lock) or not path.is_file():
            return None
        path.replace(aside)
        return f"{path} was damaged and is now {aside.name}; the stack starts without it."
    return None


def running_stack(home: Path, lock: Path) -> light.StackFile | None:
    """The stack of this data root if its supervisor lives and has written a file that can be read, else None."""
    holder = lock_holder(lock)
    if holder is None:
        return None
    try:
        stack = reading.stack_file(home)
    except StackUnreachable:
        return None
    # right after the lock was taken the file may still be the earlier supervisor's
    return stack if stack is not None and stack.supervisor_pid == holder.pid else None


def earlier_stack(home: Path) -> "StackFile | None":
    """What the last supervisor left, if it can be read."""
    try:
        return read_stack_file(home)
    except StackUnreachable:
        return None


def ports_of(stack: "StackFile | light.StackFile") -> Ports | None:
    """The ports that stack.json names."""
    try:
        gateway, broker = (
            int(url.rpartition(":")[2]) for url in (stack.gateway_url, stack.broker_url)
        )
    except ValueError:
        return None
    return Ports(gateway, broker)


def end_strays(stack: "StackFile") -> list[str]:
    """End services that outlived their supervisor; returns their names.

    Only processes that began when stack.json says and still run the program that it names are ours.
    """
    from mosaic_cli.stack.keeper import (
        KeptService,  # imports asyncio; a verb that only looks needs none
    )

    ended = []
    for entry in stack.services:
        kept = KeptService.model_validate(entry.model_dump())
        if kept.pid is None or kept.start_ticks is None:
            continue
        process = Process(kept.pid, kept.start_ticks)
        command = map(utf8_text, process.command())
        if process.is_alive and kept.program in command:
            process.end(STRAY_TERM_S)
            ended.append(kept.name)
    return ended
