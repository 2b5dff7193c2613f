"""What a run may use for as long as it lives: secrets and the login of its agents, as files that only it can read."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import SecretStr

from mosaic_contracts.xmpp import ACCESS_FILE, CA_FILE, ENV_XMPP_FILE, XmppAccess, XmppAccount
from mosaic_scheduler.secrets import write_private

SECRETS_FOLDER = "control/secrets"
"""Below the run's folder."""


@dataclass(frozen=True)
class XmppLogin:
    """The server and the accounts of one attempt."""

    host: str
    port: int
    domain: str
    certificate: str
    accounts: list[XmppAccount] = field(default_factory=list)


def deliver_secrets(run_dir: Path, secrets: Mapping[str, SecretStr]) -> None:
    """Write each secret into a file of its own."""
    if not secrets:
        return
    folder = run_dir / SECRETS_FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    for name, value in secrets.items():
        write_private(folder / name, value)


def secret_variables(run_dir: Path, names: list[str]) -> dict[str, str]:
    """Environment variables that say where the files are: `MOSAIC_SECRET_<NAME>_FILE`, the name in capitals."""
    return {
        f"MOSAIC_SECRET_{name.upper()}_FILE": str(run_dir / SECRETS_FOLDER / name) for name in names
    }


def deliver_login(run_dir: Path, login: XmppLogin | None) -> None:
    """Write the file that the agents log in with, and the certificate that it names."""
    if login is None:
        return
    (run_dir / ACCESS_FILE).parent.mkdir(mode=0o700, exist_ok=True)
    access = XmppAccess(
        host=login.host,
        port=login.port,
        domain=login.domain,
        ca_file=str(run_dir / CA_FILE),
        accounts=login.accounts,
    )
    write_private(run_dir / CA_FILE, SecretStr(login.certificate))
    write_private(run_dir / ACCESS_FILE, SecretStr(access.model_dump_json(indent=1)))


def login_variables(run_dir: Path, login: XmppLogin | None) -> dict[str, str]:
    """The environment variable that names the login file."""
    return {} if login is None else {ENV_XMPP_FILE: str(run_dir / ACCESS_FILE)}


def withdraw_login(run_dir: Path) -> None:
    """Delete the login file: the accounts are gone."""
    _delete((run_dir / ACCESS_FILE).parent)


def withdraw_all(run_dir: Path) -> None:
    """Delete secrets and login: the attempt has ended."""
    _delete(run_dir / SECRETS_FOLDER)
    withdraw_login(run_dir)


def _delete(folder: Path) -> None:
    if folder.is_dir():
        shutil.rmtree(folder)
