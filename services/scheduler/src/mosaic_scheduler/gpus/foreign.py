"""Find users of a device without a lease on it, from one reading. Pure: tables of cases test it."""

from collections.abc import Callable, Collection

from mosaic_contracts.gpus import ForeignUser
from mosaic_scheduler.gpus.owner import Owner
from mosaic_scheduler.gpus.reading import DeviceReading
from mosaic_scheduler.size_text import size_text

UNEXPLAINED_BYTES = 512 * 2**20
"""Memory without a process up to this is the driver's own. Above it is somebody whom the driver does not name: a
process of another container, where the scheduler is in one."""
OwnerOf = Callable[[int], Owner]


def foreign_users(
    device: DeviceReading, holders: Collection[str], owner_of: OwnerOf
) -> list[ForeignUser]:
    """Everybody on `device` but the runs `holders`, which have a lease on it."""
    users = [
        ForeignUser(
            kind=process.kind,
            pid=process.pid,
            name=owner.name,
            user=owner.user,
            memory_bytes=process.memory_bytes,
            run_id=owner.run_id,
        )
        for process in device.processes
        if not _belongs(owner := owner_of(process.pid), holders)
    ]
    hidden = hidden_bytes(device)
    if not holders and not device.processes and hidden > UNEXPLAINED_BYTES:
        users.append(ForeignUser(kind="memory", memory_bytes=hidden))
    return users


def _belongs(owner: Owner, holders: Collection[str]) -> bool:
    """To a run with a lease. One that cannot be seen from here, as from within a container, is taken for one."""
    if owner.run_id is not None:
        return owner.run_id in holders
    return bool(holders) and not owner.name


def foreign_bytes(device: DeviceReading, users: Collection[ForeignUser]) -> int:
    """What they hold of the device; where one does not tell, all that nobody else accounts for."""
    known = sum(user.memory_bytes or 0 for user in users)
    if all(user.memory_bytes is not None for user in users):
        return known
    return max(known + hidden_bytes(device), known)


def in_words(user: ForeignUser) -> str:
    """`python (pid 7, ada, 512 MiB)`."""
    held = size_text(user.memory_bytes) if user.memory_bytes is not None else ""
    if user.kind == "memory":
        return f"somebody whom the driver does not name ({held})"
    name = user.name or "a process"
    if user.run_id is not None:
        name = f"{name} of run {user.run_id}, which has no lease on it"
    facts = [f"pid {user.pid}", user.user, "the desktop" if user.kind == "graphics" else "", held]
    return f"{name} ({', '.join(fact for fact in facts if fact)})"


def hidden_bytes(device: DeviceReading) -> int:
    """Memory that is used and that no process accounts for."""
    known = sum(process.memory_bytes or 0 for process in device.processes)
    return max((device.sample.memory_used_bytes or 0) - known, 0)
