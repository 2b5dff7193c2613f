"""Address and token of a gateway, checked once as a user gives them, and what follows from them. Without pydantic."""

from enum import Enum
from urllib.parse import urlsplit

from mosaic_contracts.http_api import FRAMES_PATH, LIVE_PATH

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class AddressFault(Enum):
    """Why an address is refused."""

    NOT_AN_ADDRESS = "not an address"
    """It has no scheme, another one than http or https, no host or no valid port."""
    EXTRA_PARTS = "extra parts"
    """It has a user, a password, a query or a fragment."""


class AddressInvalid(ValueError):
    """A text is no address of a gateway."""

    def __init__(self, fault: AddressFault, shown: str) -> None:
        """Keep why.

        Args:
            fault: what is wrong.
            shown: the text as it was given; with EXTRA_PARTS the address without them, for they may be secrets.
        """
        super().__init__(fault.value)
        self.fault = fault
        self.shown = shown


def checked_address(given: str) -> str:
    """Return the address of a gateway without what may have been copied with it.

    Args:
        given: what a user wrote or pasted, such as `https://lab:8443/api/v1/runs`.

    Returns:
        Scheme, host, port and the path below which the gateway is served, without a slash at the end.

    Raises:
        AddressInvalid: it is no such address.
    """
    try:
        parts = urlsplit(given.strip())
        is_good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good:
        raise AddressInvalid(AddressFault.NOT_AN_ADDRESS, given)
    if parts.username or parts.password or parts.query or parts.fragment:
        shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        raise AddressInvalid(AddressFault.EXTRA_PARTS, shown)
    # Behind a proxy a stack may live below a path; what follows /api is ours to add.
    return f"{parts.scheme}://{parts.netloc}{parts.path.partition('/api/')[0]}".rstrip("/")


def is_loopback(address: str) -> bool:
    """Return whether an address is on this machine, so that no proxy may be used."""
    return host_of(address) in _LOOPBACK


def host_of(address: str) -> str:
    """Return the host of an address that was checked."""
    return urlsplit(address).hostname or ""


def live_address(address: str) -> str:
    """Return the address of the WebSocket for events."""
    return "ws" + address.removeprefix("http") + LIVE_PATH


def frames_address(address: str) -> str:
    """Return the address of the WebSocket for frames."""
    return "ws" + address.removeprefix("http") + FRAMES_PATH


def token_in(text: str) -> str | None:
    """Return the token that the content of a token file holds; None if it holds none."""
    token = text.strip()
    if not token or not token.isascii() or any(c.isspace() for c in token):
        return None
    return token
