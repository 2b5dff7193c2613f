"""The stack's XMPP server as this scheduler finds it: by the file that each of its starts writes."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr, ValidationError

from mosaic_contracts.xmpp import SERVER_FILE, XmppServer
from mosaic_scheduler.errors import XmppUnavailable

START = "Start it: `./mosaic xmpp up`, or in containers `docker compose up -d xmpp`."


@dataclass(frozen=True)
class KnownServer:
    """Where it is, and what only the scheduler may know."""

    facts: XmppServer
    certificate: str
    """PEM; what the server's own is checked against."""
    password: SecretStr


def read_server(home: Path) -> KnownServer:
    """What the last start of the server wrote.

    Raises:
        XmppUnavailable: there is none, or its files cannot be read.
    """
    path = home / SERVER_FILE
    try:
        facts = XmppServer.model_validate_json(path.read_bytes())
        certificate = (path.parent / facts.ca_file).read_text("ascii")
        password = (path.parent / facts.password_file).read_text("ascii").strip()
    except FileNotFoundError as error:
        raise XmppUnavailable("setup", "This stack has no XMPP server.", START) from error
    except (OSError, ValidationError, UnicodeDecodeError) as error:
        message = f"{path} or what it names cannot be read: {error}."
        raise XmppUnavailable("setup", message, f"{START} It writes them again.") from error
    return KnownServer(facts, certificate, SecretStr(password))
