"""What a run's agents log in with: a file for its processes, for as long as it lives."""

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import SecretStr

from mosaic_contracts.xmpp import ACCESS_FILE, CA_FILE, ENV_XMPP_FILE, XmppAccess, XmppAccount
from mosaic_scheduler.secrets.vault import write_private


@dataclass(frozen=True)
class XmppLogin:
    """The server and the accounts of one attempt."""

    host: str
    port: int
    domain: str
    certificate: str
    accounts: list[XmppAccount] = field(default_factory=list)


def deliver(run_dir: Path, login: XmppLogin | None) -> None:
    """Write the file and the certificate that it names."""
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


def variables(run_dir: Path, login: XmppLogin | None) -> dict[str, str]:
    """The environment variable that says where the file is."""
    return {} if login is None else {ENV_XMPP_FILE: str(run_dir / ACCESS_FILE)}


def withdraw(run_dir: Path) -> None:
    """Delete it: the run has ended."""
    folder = (run_dir / ACCESS_FILE).parent
    if folder.is_dir():
        shutil.rmtree(folder)
