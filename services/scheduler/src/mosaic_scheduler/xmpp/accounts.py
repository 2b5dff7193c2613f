"""Accounts for the agents of a run: made at its launch, taken away when it has ended, strays swept."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path

from pydantic import SecretStr, ValidationError

from mosaic_contracts.ids import parse_run_id
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.stack import RUNS_DIR
from mosaic_contracts.worker import WorkerDescription
from mosaic_contracts.xmpp import ACCESS_FILE, SERVICE, XmppAccess, XmppAccount
from mosaic_scheduler.errors import XmppUnavailable
from mosaic_scheduler.executors.access import XmppLogin, withdraw_login
from mosaic_scheduler.xmpp.account_api import AccountApi
from mosaic_scheduler.xmpp.ledger import AccountClaim, AccountLedger
from mosaic_scheduler.xmpp.server import read_server
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.waiting import wait_up_to

SWEEP_EVERY_S = 60.0
PASSWORD_BYTES = 24
MOST_ADOPTED = 64
"""Accounts of one run that are looked for on the word of its folder."""

LivingRuns = Callable[[], Awaitable[set[str]]]
"""Ids of the runs that have not ended."""


class RunAccounts:
    """One account for each agent of each run that lives."""

    def __init__(self, home: Path, ledger: AccountLedger, living: LivingRuns) -> None:
        self._home = home
        self._ledger = ledger
        self._living = living
        self._wake = asyncio.Event()
        self._complaint = ""

    async def provision(self, run_id: str, agents: int) -> XmppLogin:
        """Make the accounts of an attempt, with passwords that no attempt before had.

        Raises:
            XmppUnavailable: the server cannot be used.
        """
        server = await asyncio.to_thread(read_server, self._home)
        facts, api = server.facts, AccountApi(server)
        claim = AccountClaim(run_id, agents, facts.domain)
        await self._ledger.add(claim)
        accounts = []
        for number, user in enumerate(claim.users, start=1):
            password = secrets.token_urlsafe(PASSWORD_BYTES)
            await api.register(user, password)
            jid = f"{user}@{facts.domain}"
            account = XmppAccount(name=f"agent-{number}", jid=jid, password=SecretStr(password))
            accounts.append(account)
        get_log().info("xmpp.provisioned", run_id=run_id, accounts=len(accounts))
        return XmppLogin(facts.host, facts.port, facts.domain, server.certificate, accounts)

    def wake(self) -> None:
        """A run has ended."""
        self._wake.set()

    async def run(self) -> None:
        """Take accounts of ended runs away, for ever: at the start, at each end, and now and then."""
        await self.adopt()
        while True:
            self._wake.clear()
            await self.sweep()
            await wait_up_to(self._wake, SWEEP_EVERY_S)

    async def adopt(self) -> None:
        """Take over accounts of which only the run's folder still knows: the ledger was lost with the database.

        The server lists no accounts to us, but their names follow from the run, and a run that has accounts has them
        in its folder.
        """
        known = {claim.run_id for claim in await self._ledger.all()}
        for claim in await asyncio.to_thread(_claims_in_folders, self._home / RUNS_DIR):
            if claim.run_id not in known:
                get_log().warning("xmpp.adopted", run_id=claim.run_id, accounts=claim.agents)
                await self._ledger.add(claim)

    async def sweep(self) -> None:
        """Once. What cannot be taken away now stays in the ledger."""
        claims = await self._ledger.all()
        # Asked afterwards: a run that was queued in between is no stray.
        living = await self._living() if claims else set()
        strays = [claim for claim in claims if claim.run_id not in living]
        try:
            for claim in strays:
                await self._take_away(claim)
        except XmppUnavailable as error:
            self._complain(str(error))
        else:
            self._complaint = ""

    async def _take_away(self, claim: AccountClaim) -> None:
        server = await asyncio.to_thread(read_server, self._home)
        # A server for another domain has never heard of them.
        if claim.domain == server.facts.domain:
            api = AccountApi(server)
            for user in claim.users:
                await api.unregister(user)
        await asyncio.to_thread(withdraw_login, self._home / RUNS_DIR / claim.run_id)
        await self._ledger.remove(claim)
        get_log().info("xmpp.removed", run_id=claim.run_id, accounts=claim.agents)

    def _complain(self, words: str) -> None:
        """Once for each cause: a server may be away for long."""
        if words != self._complaint:
            get_log().warning("xmpp.not_removed", error=words)
        self._complaint = words


def _claims_in_folders(runs: Path) -> list[AccountClaim]:
    """What the folders of runs say of accounts; a worker may have written anything there, so only names of its own."""
    found = []
    for path in sorted(runs.glob(f"*/{ACCESS_FILE}")):
        try:
            run_id = parse_run_id(path.relative_to(runs).parts[0])
            access = XmppAccess.model_validate_json(path.read_bytes())
        except (OSError, ValueError, ValidationError):
            continue
        found.append(AccountClaim(run_id, min(len(access.accounts), MOST_ADOPTED), access.domain))
    return found


def agents_of(spec: RunSpec, description: WorkerDescription) -> int:
    """How many agents of the run need an account; 0 when its algorithm does without XMPP."""
    algorithm = description.find_algorithm(spec.algorithm)
    if algorithm is None or SERVICE not in algorithm.services:
        return 0
    name = algorithm.agents_parameter
    if name is None:
        return 1
    schema = algorithm.parameters.get("properties", {}).get(name, {})
    count = spec.parameters.get(name, schema.get("default"))
    return count if isinstance(count, int) and count > 0 else 1
