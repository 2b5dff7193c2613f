"""Which runs have accounts on the server: written down before the first is made, forgotten after the last is gone."""

import sqlite3
from typing import NamedTuple

from mosaic_scheduler.database import Database, transaction


class AccountClaim(NamedTuple):
    """The accounts of one run: `<run id>-1` to `<run id>-<agents>`."""

    run_id: str
    agents: int
    domain: str

    @property
    def users(self) -> list[str]:
        """Left sides of their addresses."""
        return [f"{self.run_id.lower()}-{number + 1}" for number in range(self.agents)]


class AccountLedger:
    """The table `xmpp_accounts`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, claim: AccountClaim) -> None:
        """From now on the accounts may be there."""
        await self._database.call(_add, claim)

    async def remove(self, claim: AccountClaim) -> None:
        """They are gone."""
        await self._database.call(_remove, claim.run_id)

    async def all(self) -> list[AccountClaim]:
        """Every run with accounts."""
        return await self._database.call(_all)


def _add(connection: sqlite3.Connection, claim: AccountClaim) -> None:
    with transaction(connection):
        connection.execute(
            "INSERT INTO xmpp_accounts (run_id, agents, domain) VALUES (?, ?, ?) ON CONFLICT (run_id)"
            " DO UPDATE SET agents = max(agents, excluded.agents), domain = excluded.domain",
            claim,
        )


def _remove(connection: sqlite3.Connection, run_id: str) -> None:
    with transaction(connection):
        connection.execute("DELETE FROM xmpp_accounts WHERE run_id = ?", (run_id,))


def _all(connection: sqlite3.Connection) -> list[AccountClaim]:
    rows = connection.execute("SELECT run_id, agents, domain FROM xmpp_accounts ORDER BY run_id")
    return [AccountClaim(*row) for row in rows.fetchall()]
