"""A request that is sent twice makes one run: keys that clients choose, kept for a day."""

import hashlib
import json
import sqlite3
import time
from dataclasses import dataclass
from typing import Any

from mosaic_scheduler.errors import IdempotencyKeyReused

KEPT_S = 24 * 3600.0


@dataclass(frozen=True)
class IdempotencyKey:
    """The client's word for one request, and what was asked under it."""

    key: str
    digest: str

    @classmethod
    def of(cls, key: str | None, asked: dict[str, Any]) -> "IdempotencyKey | None":
        """The key with the digest of what is asked, in whatever order its fields came; None without a key."""
        if key is None:
            return None
        text = json.dumps(asked, sort_keys=True, separators=(",", ":"))
        return cls(key, hashlib.sha256(text.encode()).hexdigest())


def find(connection: sqlite3.Connection, key: IdempotencyKey) -> str | None:
    """The run that was made with `key` within a day.

    Raises:
        IdempotencyKeyReused: something else was asked under it.
    """
    row = connection.execute(
        "SELECT digest, run_id FROM idempotency_keys WHERE key = ? AND created_at > ?",
        (key.key, time.time() - KEPT_S),
    ).fetchone()
    if row is None:
        return None
    digest, run_id = row
    if digest != key.digest:
        raise IdempotencyKeyReused(key.key, run_id)
    return str(run_id)


def claim(connection: sqlite3.Connection, key: IdempotencyKey, run_id: str) -> str | None:
    """Take `key` for a new run, inside the transaction that adds it; or return the run that has it (see `find`)."""
    connection.execute(
        "DELETE FROM idempotency_keys WHERE created_at <= ?", (time.time() - KEPT_S,)
    )
    known = find(connection, key)
    if known is None:
        connection.execute(
            "INSERT INTO idempotency_keys (key, digest, run_id, created_at) VALUES (?, ?, ?, ?)",
            (key.key, key.digest, run_id, time.time()),
        )
    return known
