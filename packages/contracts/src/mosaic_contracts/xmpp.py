"""XMPP for agents that talk: where the stack's server is, and the accounts that a run gets for its lifetime."""

from pydantic import Field, SecretStr, field_serializer

from mosaic_contracts.models import PeerModel
from mosaic_contracts.stack_files import XMPP_SERVER_FILE as SERVER_FILE

__all__ = [
    "ACCESS_FILE",
    "CA_FILE",
    "ENV_XMPP_FILE",
    "SERVER_FILE",
    "SERVICE",
    "XmppAccess",
    "XmppAccount",
    "XmppServer",
]

SERVICE = "xmpp"
"""Name in `Algorithm.services` of a worker whose runs need the server."""
ENV_XMPP_FILE = "MOSAIC_XMPP_FILE"
"""Variable in the environment of a run's processes: path of a JSON file (0600) with an `XmppAccess`."""
ACCESS_FILE = "control/xmpp/access.json"
"""Path of that file relative to the run's folder. The file and its accounts are removed when the run has ended."""
CA_FILE = "control/xmpp/ca.pem"
"""Copy of the server's certificate, because a run in a container sees its own folder only."""


class XmppServer(PeerModel):
    """Content of `xmpp/server.json`: what the scheduler needs to make accounts. Paths are relative to its folder."""

    v: int = 1
    host: str
    """Host name under which runs reach the server."""
    port: int
    """Port for clients. STARTTLS is required."""
    domain: str
    """Domain of every address, named by the certificate."""
    ca_file: str
    """Certificate that verifies the server's own."""
    api_url: str
    """Address of the HTTP API for the scheduler."""
    user: str
    """User whom the API permits `register` and `unregister` only."""
    password_file: str


class XmppAccount(PeerModel):
    """Account of one agent."""

    name: str
    """Agent of the run: `agent-1`, `agent-2`, ..."""
    jid: str
    password: SecretStr

    @field_serializer("password", when_used="json")
    def _revealed(self, value: SecretStr) -> str:
        return value.get_secret_value()


class XmppAccess(PeerModel):
    """Content of the file in `MOSAIC_XMPP_FILE`: how a run's agents log in. Only JIDs may appear in events and
    logs."""

    v: int = 1
    host: str
    """Host to connect to, whatever the domain is."""
    port: int
    domain: str
    ca_file: str
    """Absolute path of the certificate that verifies the server, whose name is `domain`."""
    accounts: list[XmppAccount] = Field(default_factory=list)
