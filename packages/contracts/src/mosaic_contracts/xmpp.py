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
"""In `Algorithm.services` of a worker whose runs need it."""
ENV_XMPP_FILE = "MOSAIC_XMPP_FILE"
"""In the environment of a run's processes: path of a JSON file, 0600, that is an `XmppAccess`."""
ACCESS_FILE = "control/xmpp/access.json"
"""Relative to the run's folder. Gone when the run has ended, as its accounts are."""
CA_FILE = "control/xmpp/ca.pem"
"""Copy of the server's certificate; a run in a container sees its own folder only."""


class XmppServer(PeerModel):
    """`xmpp/server.json`: what the scheduler must know to provision accounts. Paths are relative to its folder."""

    v: int = 1
    host: str
    """As runs reach it."""
    port: int
    """Clients, STARTTLS required."""
    domain: str
    """Right side of every address; the certificate names it."""
    ca_file: str
    """Certificate that the server's own is checked against."""
    api_url: str
    """HTTP API, as the scheduler reaches it."""
    user: str
    """Whom the API allows `register` and `unregister`, and nothing else."""
    password_file: str


class XmppAccount(PeerModel):
    """One agent's account."""

    name: str
    """`agent-1`, `agent-2`, ...: which agent of the run it is for."""
    jid: str
    password: SecretStr

    @field_serializer("password", when_used="json")
    def _revealed(self, value: SecretStr) -> str:
        return value.get_secret_value()


class XmppAccess(PeerModel):
    """`MOSAIC_XMPP_FILE`: how a run's agents log in. Nothing of it belongs into an event or a log but JIDs."""

    v: int = 1
    host: str
    """Connect here, whatever the domain is."""
    port: int
    domain: str
    ca_file: str
    """Absolute. Verify the server's certificate with it; the name in it is `domain`."""
    accounts: list[XmppAccount] = Field(default_factory=list)
