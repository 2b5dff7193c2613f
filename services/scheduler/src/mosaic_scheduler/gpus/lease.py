"""Leases in the database: the devices of one attempt under one token, which every write must show."""

import secrets
import sqlite3
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from mosaic_contracts.gpus import GpuGrant
from mosaic_scheduler.database import Database, transaction
from mosaic_scheduler.errors import LeaseTaken
from mosaic_scheduler.executors.protocol import AttemptRef
from mosaic_servicekit.logging import get_log


@dataclass(frozen=True)
class Lease:
    """One attempt's claim on devices."""

    grant: GpuGrant
    ref: AttemptRef
    taken_at: float
    """Wall clock, seconds since the epoch."""
    is_ending: bool = False
    """Its processes were seen to be gone."""


def new_grant(devices: Sequence[str], memory_mb: int | None) -> GpuGrant:
    """A grant under a new token."""
    return GpuGrant(token=secrets.token_hex(16), devices=list(devices), memory_mb=memory_mb)


class LeaseStore:
    """Reads and ends leases; they are taken with the state that needs them (`RunStore.write`)."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> list[Lease]:
        """Every lease, oldest first."""
        return await self._database.call(_select)

    async def of(self, ref: AttemptRef) -> Lease | None:
        """The lease of an attempt."""
        return next((lease for lease in await self.all() if lease.ref == ref), None)

    async def mark_ending(self, lease: Lease) -> bool:
        """Note that its processes are gone. False: the token is not good any more, and nothing was written."""
        sql = "UPDATE gpu_leases SET ending = 1 WHERE token = ? AND ending = 0"
        return await self._write(sql, lease)

    async def end(self, lease: Lease) -> bool:
        """Give its devices back. False as above."""
        return await self._write("DELETE FROM gpu_leases WHERE token = ?", lease)

    async def rebuild(self, running: Collection[Lease]) -> None:
        """Make the table agree with what really runs, which wins over every lease that contradicts it."""
        await self._database.call(_rebuild, running)

    async def _write(self, sql: str, lease: Lease) -> bool:
        rows = await self._database.call(_execute, sql, lease.grant.token)
        if rows == 0:
            get_log().info("lease.write_stale", run_id=lease.ref.run_id, token=lease.grant.token)
        return rows > 0


def take(connection: sqlite3.Connection, ref: AttemptRef, grant: GpuGrant) -> None:
    """Take all devices of a grant, inside the caller's transaction.

    Raises:
        LeaseTaken: one of them cannot be had; the caller rolls back.
    """
    for device in grant.devices:
        row = connection.execute(
            "SELECT token FROM gpu_leases WHERE device = ? AND (memory_mb IS NULL OR ? IS NULL)",
            (device, grant.memory_mb),
        ).fetchone()
        if row is not None:
            raise LeaseTaken(device)
    _insert(connection, Lease(grant, ref, time.time()))


def _execute(connection: sqlite3.Connection, sql: str, token: str) -> int:
    return connection.execute(sql, (token,)).rowcount


def _insert(connection: sqlite3.Connection, lease: Lease) -> None:
    connection.executemany(
        "INSERT INTO gpu_leases (token, device, run_id, attempt, memory_mb, taken_at, ending)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (
                lease.grant.token,
                device,
                lease.ref.run_id,
                lease.ref.attempt,
                lease.grant.memory_mb,
                lease.taken_at,
                int(lease.is_ending),
            )
            for device in lease.grant.devices
        ],
    )


def _select(connection: sqlite3.Connection) -> list[Lease]:
    rows = connection.execute(
        "SELECT token, device, run_id, attempt, memory_mb, taken_at, ending FROM gpu_leases"
        " ORDER BY taken_at, token, rowid"
    ).fetchall()
    found: dict[str, Lease] = {}
    for token, device, run_id, attempt, memory_mb, taken_at, ending in rows:
        if token in found:
            found[token].grant.devices.append(device)
            continue
        grant = GpuGrant(token=token, devices=[device], memory_mb=memory_mb)
        found[token] = Lease(grant, AttemptRef(run_id, attempt), taken_at, bool(ending))
    return list(found.values())


def _rebuild(connection: sqlite3.Connection, running: Collection[Lease]) -> None:
    with transaction(connection):
        known = {lease.grant.token: lease for lease in _select(connection)}
        refs = {lease.ref for lease in running}
        kept = [
            lease
            for lease in known.values()
            if lease.ref not in refs and not any(_collide(lease, other) for other in running)
        ]
        real = [
            Lease(lease.grant, lease.ref, known.get(lease.grant.token, lease).taken_at)
            for lease in running
        ]
        after = {lease.grant.token: lease for lease in [*kept, *real]}
        for token in known.keys() - after.keys():
            get_log().warning("lease.contradicted", run_id=known[token].ref.run_id, token=token)
        for token in after.keys() - known.keys():
            get_log().warning("lease.rebuilt", run_id=after[token].ref.run_id, token=token)
        connection.execute("DELETE FROM gpu_leases")
        for lease in after.values():
            _insert(connection, lease)


def _collide(one: Lease, other: Lease) -> bool:
    shared = one.grant.memory_mb is not None and other.grant.memory_mb is not None
    return not shared and not set(one.grant.devices).isdisjoint(other.grant.devices)
