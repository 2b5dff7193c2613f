"""stack.json: written whole at every change, read by everybody who looks for the stack."""

import os
from pathlib import Path

from mosaic_cli.stack.keeper import KeptService
from mosaic_cli.stack.lock import lock_holder
from mosaic_cli.stack.ports import Ports
from mosaic_cli.stack.process import Process, utf8_text
from mosaic_client import StackUnreachable, read_stack_file
from mosaic_contracts.stack import StackFile

STRAY_TERM_S = 5.0


def write_stack_file(path: Path, stack: StackFile) -> None:
    """Replace the file in one step: a reader sees the old or the new one."""
    part = path.with_suffix(f".{os.getpid()}.part")
    # as any: the entries are KeptService, with more than their field's type knows
    part.write_text(stack.model_dump_json(indent=1, serialize_as_any=True), "utf-8")
    part.replace(path)


def running_stack(home: Path, lock: Path) -> StackFile | None:
    """The stack of this data root if its supervisor lives, else None."""
    holder = lock_holder(lock)
    if holder is None:
        return None
    stack = read_stack_file(home)
    # right after the lock was taken the file may still be the earlier supervisor's
    return stack if stack is not None and stack.supervisor_pid == holder.pid else None


def earlier_stack(home: Path) -> StackFile | None:
    """What the last supervisor left, if it can be read."""
    try:
        return read_stack_file(home)
    except StackUnreachable:
        return None


def ports_of(stack: StackFile) -> Ports | None:
    """The ports that stack.json names."""
    try:
        gateway, broker = (
            int(url.rpartition(":")[2]) for url in (stack.gateway_url, stack.broker_url)
        )
    except ValueError:
        return None
    return Ports(gateway, broker)


def end_strays(stack: StackFile) -> list[str]:
    """End services that outlived their supervisor; returns their names.

    Only processes that began when stack.json says and still run the program that it names are ours.
    """
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
