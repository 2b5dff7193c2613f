"""Takes the credentials of ended runs back: on a broker that runs, and on every later start of one."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import nats.errors

from mosaic_servicekit.account import REVOKER, Accounts, load_keys, update_subject
from mosaic_servicekit.credentials import RUN_LIFETIME_S, RunSigner, creds_path
from mosaic_servicekit.creds_file import CredsFile
from mosaic_servicekit.errors import CertificateUnusable, RevocationFailed
from mosaic_servicekit.visit import visit

TIMEOUT_S = 2


class RunRevoker:
    """Revokes runs' credentials. Its connection lives for one revocation: they are rare, and one less to keep."""

    def __init__(
        self,
        home: Path,
        url: str,
        signer: RunSigner,
        ca: Path | None = None,
        lifetime_s: float = RUN_LIFETIME_S,
    ) -> None:
        """`ca`: as `Bus` has it. `lifetime_s`: of the credentials that runs are given."""
        self._accounts = Accounts(home, load_keys(home))
        self._creds = CredsFile(creds_path(home, REVOKER))
        self._url = url
        self._signer = signer
        self._ca = ca
        self._kept_s = int(lifetime_s) + 60

    async def revoke(self, run_ids: Sequence[str]) -> None:
        """Make the credentials of these runs useless; open connections are closed. May be done again.

        Raises:
            OSError: it could not be written down; nothing was revoked.
            RevocationFailed: a broker that starts knows of it; the one that runs, if any, does not.
        """
        users = [self._signer.public_key(run_id) for run_id in run_ids]
        account_jwt = await asyncio.to_thread(self._accounts.revoke, users, self._kept_s)
        try:
            await self._tell(account_jwt)
        except (
            *(OSError, TimeoutError, nats.errors.Error, ValueError, KeyError),
            CertificateUnusable,
        ) as error:
            raise RevocationFailed(f"the broker was not informed: {error!r}") from error

    async def _tell(self, account_jwt: str) -> None:
        subject = update_subject(self._accounts.public_key)
        async with visit(self._url, REVOKER, REVOKER, self._creds, self._ca) as client:
            answer = await client.request(subject, account_jwt.encode(), timeout=TIMEOUT_S)
        reply = json.loads(answer.data)
        if reply.get("data", {}).get("code") != 200:
            raise RevocationFailed(f"the broker refused the account's new JWT: {reply}")
