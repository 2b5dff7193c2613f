"""Why a stack cannot be used, and what to do about it, in words."""

from dataclasses import dataclass
from enum import StrEnum


class Trouble(StrEnum):
    """What a look at the address has shown."""

    NOBODY = "nobody"
    """Nothing listens there."""
    HOST_UNKNOWN = "host_unknown"
    SILENT = "silent"
    """It takes the connection and does not answer."""
    NOT_BELIEVED = "not_believed"
    """Its certificate is."""
    SPEAKS_PLAIN = "speaks_plain"
    """https was tried, and it speaks http."""
    SPEAKS_TLS = "speaks_tls"
    """http was tried, and it hangs up: it may speak https."""
    TOKEN_WRONG = "token_wrong"
    HOST_REFUSED = "host_refused"
    """It does not want to be called by this name."""
    NOT_MOSAIC = "not_mosaic"
    NOT_READY = "not_ready"
    """A gateway answers, and says what is not up yet."""
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
    """Words for a trouble. `is_local`: the stack of this machine, which this client may start."""
    host = url.partition("://")[2]
    words = {
        Trouble.NOBODY: (
            "The stack of this machine is not running"
            if is_local
            else f"Nothing listens at {host}",
            "Start it; runs that outlived it are taken up again."
            if is_local
            else "Start the stack there (./mosaic up -d) and see that the port is its own (./mosaic status). Through a "
            "tunnel: is the ssh that holds it still connected?",
        ),
        Trouble.HOST_UNKNOWN: (
            f"No machine is known by the name in {host}",
            "Look for a typing error, or name its IP address.",
        ),
        Trouble.SILENT: (
            f"{host} does not answer",
            "A firewall may be in between: use an SSH tunnel (docs/remote.md), or ask whoever runs that machine.",
        ),
        Trouble.NOT_BELIEVED: (
            f"The certificate of {host} is not believed",
            "If it is the stack's own, copy its secrets/gateway.crt here and name the copy as certificate below. "
            f"{detail}",
        ),
        Trouble.SPEAKS_PLAIN: (
            f"{host} speaks http, not https",
            "Write http:// in the address; only through a tunnel or on this machine, for nothing is encrypted then.",
        ),
        Trouble.SPEAKS_TLS: (
            f"{host} hangs up on http",
            "It may speak https: write https:// in the address, and name its secrets/gateway.crt as certificate.",
        ),
        Trouble.TOKEN_WRONG: (
            f"The token is not that of the stack at {host}",
            "Copy secrets/gateway.token from that stack's MOSAIC_HOME once more, and name the copy.",
        ),
        Trouble.HOST_REFUSED: (
            f"The stack does not go by the name in {host}",
            f"{detail} Use an address that it lists (MOSAIC_ALLOWED_HOSTS), or 127.0.0.1 through a tunnel.".strip(),
        ),
        Trouble.NOT_MOSAIC: (
            f"What answers at {host} is no MOSAIC gateway",
            f"{detail} ./mosaic status prints the address of a stack.".strip(),
        ),
        Trouble.NOT_READY: (
            "The stack is not ready",
            detail or "Its services come up by themselves; it is tried again.",
        ),
        Trouble.FINE: ("", ""),
    }
    headline, todo = words[trouble]
    return Diagnosis(trouble, headline, todo.strip())


def version_words(stack: str, own: str) -> str:
    """What to say of a stack of another version; empty where both understand each other."""
    if stack.split(".")[:2] == own.split(".")[:2]:
        return ""
    newer = _parts(stack) > _parts(own)
    todo = (
        "update this client" if newer else "update the stack, or use the client that came with it"
    )
    return f"The stack is version {stack} and this client {own}: some of it may not be shown. To be sure, {todo}."


def _parts(version: str) -> list[int]:
    return [int(part) if part.isdigit() else 0 for part in version.split(".")]
