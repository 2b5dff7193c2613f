"""Words about why a stack cannot be used, and what to do."""

from dataclasses import dataclass
from enum import StrEnum

from mosaic_gui.state.language import tr


class Trouble(StrEnum):
    """Result of the test of an address."""

    NOBODY = "nobody"
    """Nothing listens there."""
    HOST_UNKNOWN = "host_unknown"
    SILENT = "silent"
    """It takes the connection and does not answer."""
    NOT_BELIEVED = "not_believed"
    """Its certificate is not trusted."""
    SPEAKS_PLAIN = "speaks_plain"
    """The server speaks http, not https."""
    SPEAKS_TLS = "speaks_tls"
    """The server closes http connections: it may speak https."""
    TOKEN_WRONG = "token_wrong"
    HOST_REFUSED = "host_refused"
    """The server does not allow this host name."""
    NOT_MOSAIC = "not_mosaic"
    NOT_READY = "not_ready"
    """A gateway answers, and a part of the stack is not up yet."""
    FINE = "fine"
    """Nothing is wrong (any more)."""


_LASTING = frozenset(
    {
        Trouble.TOKEN_WRONG,
        Trouble.HOST_REFUSED,
        Trouble.NOT_BELIEVED,
        Trouble.NOT_MOSAIC,
        Trouble.SPEAKS_PLAIN,
    }
)


@dataclass(frozen=True)
class Diagnosis:
    """For the connection page."""

    trouble: Trouble
    headline: str = ""
    todo: str = ""

    @property
    def is_lasting(self) -> bool:
        """Trying again is of no use until the user changes something."""
        return self.trouble in _LASTING


def diagnose(trouble: Trouble, url: str, *, is_local: bool, detail: str = "") -> Diagnosis:
    """Describe a trouble. `is_local`: it is the stack of this machine, which this client may start."""
    host = url.partition("://")[2]
    words = {
        Trouble.NOBODY: (
            tr("The stack of this machine is not running")
            if is_local
            else tr("Nothing listens at {host}", host=host),
            tr("Start it; it reattaches to runs that are still alive.")
            if is_local
            else tr(
                "Start the stack there (./mosaic up -d) and check its port (./mosaic "
                "status). If you use a tunnel, check that its ssh is still connected."
            ),
        ),
        Trouble.HOST_UNKNOWN: (
            tr("Unknown host name in {host}", host=host),
            tr("Check the spelling, or use its IP address."),
        ),
        Trouble.SILENT: (
            tr("{host} does not answer", host=host),
            tr(
                "A firewall may be in between: use an SSH tunnel (docs/remote.md), or ask that machine's administrator."
            ),
        ),
        Trouble.NOT_BELIEVED: (
            tr("The certificate of {host} is not trusted", host=host),
            tr(
                "If it is the stack's own, copy its secrets/gateway.crt here and name the copy as certificate below."
            )
            + f" {detail}",
        ),
        Trouble.SPEAKS_PLAIN: (
            tr("{host} speaks http, not https", host=host),
            tr(
                "Write http:// in the address. Do this only through a tunnel or on this "
                "machine, because http is not encrypted."
            ),
        ),
        Trouble.SPEAKS_TLS: (
            tr("{host} closes http connections", host=host),
            tr(
                "It may use https: write https:// in the address, and choose its "
                "secrets/gateway.crt as certificate."
            ),
        ),
        Trouble.TOKEN_WRONG: (
            tr("The token is not that of the stack at {host}", host=host),
            tr(
                "Copy secrets/gateway.token from that stack's MOSAIC_HOME once more, and name the copy."
            ),
        ),
        Trouble.HOST_REFUSED: (
            tr("The stack does not allow the host name in {host}", host=host),
            f"{detail} "
            + tr("Use a host name from its MOSAIC_ALLOWED_HOSTS, or 127.0.0.1 through a tunnel."),
        ),
        Trouble.NOT_MOSAIC: (
            tr("The server at {host} is no MOSAIC gateway", host=host),
            f"{detail} " + tr("./mosaic status prints the address of a stack."),
        ),
        Trouble.NOT_READY: (
            tr("The stack is not ready"),
            detail or tr("Its services are starting; the client tries again by itself."),
        ),
        Trouble.FINE: ("", ""),
    }
    headline, todo = words[trouble]
    return Diagnosis(trouble, headline, todo.strip())


def version_words(stack: str, own: str) -> str:
    """Words about a stack of another version; empty where the versions are compatible."""
    if stack.split(".")[:2] == own.split(".")[:2]:
        return ""
    words = tr(
        "The stack has version {stack} and this client {own}: some data may not be shown.",
        stack=stack,
        own=own,
    )
    todo = (
        tr("To be sure, update this client.")
        if _parts(stack) > _parts(own)
        else tr("To be sure, update the stack, or use the client that came with it.")
    )
    return f"{words} {todo}"


def _parts(version: str) -> list[int]:
    return [int(part) if part.isdigit() else 0 for part in version.split(".")]
