"""The accounts as the broker gets them, with the runs whose credentials are revoked.

The broker reads them at its start (`accounts.conf`, included by its configuration), and a service sends it
changes while it runs (`revocation`).
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from mosaic_base.locks import held_lock
from mosaic_contracts import subjects
from mosaic_contracts.stack_files import BROKER_SECRETS
from mosaic_servicekit import jwt
from mosaic_servicekit.credentials import (
    RUN_LIFETIME_S,
    creds_path,
    run_template,
    write_secret,
)
from mosaic_servicekit.errors import CredentialsInvalid

KEYS_FILE = f"{BROKER_SECRETS}/keys.json"
REVOKED_FILE = f"{BROKER_SECRETS}/revoked.json"
ACCOUNTS_NAME = "accounts.conf"
ACCOUNTS_FILE = f"nats/config/{ACCOUNTS_NAME}"
REVOKER = "revoker"
"""User of the system account that may replace the account's JWT, and nothing else."""
_KEPT_S = int(RUN_LIFETIME_S) + 60
"""An entry is needed for as long as a JWT that was minted just before it lives; a little more, for clocks are set."""


class Accounts:
    """Their JWTs, and which users are revoked."""

    def __init__(
        self, home: Path, keys: Mapping[str, str], now: Callable[[], float] = time.time
    ) -> None:
        self._home = home
        self._keys = keys
        self._now = now

    @property
    def public_key(self) -> str:
        """Public key of the account that services and runs belong to."""
        return jwt.public_key(self._keys["account"])

    def write(self) -> str:
        """Write what the broker reads at its start. Return the account's JWT."""
        return self.revoke([])

    def revoke(self, users: Iterable[str], kept_s: int = _KEPT_S) -> str:
        """Revoke every JWT of these users (public keys) for good, and write it down. Return the account's JWT.

        Entries that nothing can need any more are dropped. `kept_s`: how long the new ones are needed.

        Raises:
            OSError: it cannot be written.
        """
        with self._locked():
            now = int(self._now())
            # All that was issued before that moment, which is also when nothing of it is valid any more; later than
            # now, for the clock may have been set back since the minting.
            until = now + kept_s
            revoked = {user: at for user, at in self._revoked().items() if at > now}
            revoked |= dict.fromkeys(users, until)
            write_secret(self._home / REVOKED_FILE, json.dumps(revoked))
            account_jwt = self._account_jwt(revoked)
            write_secret(self._home / ACCOUNTS_FILE, self._config(account_jwt))
        return account_jwt

    def _account_jwt(self, revoked: Mapping[str, int]) -> str:
        scope = (jwt.public_key(self._keys["run_signer"]), run_template())
        return jwt.account_jwt(self._keys["operator"], self.public_key, "mosaic", scope, revoked)

    def _config(self, account_jwt: str) -> str:
        system = jwt.public_key(self._keys["system"])
        system_jwt = jwt.account_jwt(self._keys["operator"], system, "system", None)
        return f"""\
# Written by mosaic_servicekit.account at every start and whenever a run has ended.
resolver_preload: {{
  {self.public_key}: "{account_jwt}"
  {system}: "{system_jwt}"
}}
"""

    def _revoked(self) -> dict[str, int]:
        path = self._home / REVOKED_FILE
        try:
            found: dict[str, int] = json.loads(path.read_text())
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise CredentialsInvalid(
                f"{path} is damaged ({error}); delete it: credentials of runs that ended within the last hour then "
                "hold until they expire"
            ) from error
        return found

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """A start of the stack and a scheduler may write at once."""
        path = self._home / BROKER_SECRETS / ".accounts.lock"
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with held_lock(path):
            yield


def update_subject(account: str) -> str:
    """Where the broker takes a new JWT of an account."""
    return f"$SYS.REQ.ACCOUNT.{account}.CLAIMS.UPDATE"


def write_revoker(home: Path, keys: Mapping[str, str]) -> None:
    """Write the credentials with which a service sends revocations to a running broker."""
    permitted = jwt.permissions(
        [update_subject(jwt.public_key(keys["account"]))], [f"{subjects.inbox_prefix(REVOKER)}.>"]
    )
    system, user = jwt.public_key(keys["system"]), jwt.public_key(keys[REVOKER])
    token = jwt.user_jwt(keys["system"], system, user, REVOKER, permitted)
    write_secret(creds_path(home, REVOKER), jwt.creds_text(token, keys[REVOKER]))


def load_keys(home: Path) -> dict[str, str]:
    """The keys that `broker init` made.

    Raises:
        CredentialsInvalid: there are none, or they are damaged.
    """
    path = home / KEYS_FILE
    try:
        keys: dict[str, str] = json.loads(path.read_text())
    except OSError as error:
        raise CredentialsInvalid(
            f"{path} cannot be read ({error}); run `python -m mosaic_servicekit.broker init`"
        ) from error
    except ValueError as error:
        raise CredentialsInvalid(
            f"{path} is damaged ({error}); delete it, and all runs that live must be started again"
        ) from error
    return keys
