"""Trackers outside the stack: what a worker's parameters are to them, and the names that go with each.

A property of a parameter schema says by `x-tracking` which `TrackingRole` it has. A client shows these in a section of
their own, writes what was chosen as ordinary parameters, and adds what the tracker needs of the run: the secret with
its key, and the internet unless it is offline.
"""

from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import Field

from mosaic_contracts.compat import StrEnum
from mosaic_contracts.models import PeerModel

X_TRACKING = "x-tracking"
WANDB = "wandb"
WANDB_SECRET = "WANDB_API_KEY"
"""Name of the secret that holds the W&B key, and of the variable that wandb reads."""

TRACKING_RUN = "tracking.run"
"""Namespaced event: a worker records it once its tracker has begun. Its data is a `TrackedRun`."""


class TrackedRun(PeerModel):
    """A run's identity at a tracker outside the stack."""

    tracker: str
    """Name of the tracker: `wandb`, ..."""
    mode: Literal["online", "offline"]
    url: str | None = Field(default=None, pattern=r"^https?://")
    """Address of the run's page at the tracker; None: none yet, or offline."""
    folder: str | None = None
    """Folder of an offline run, relative to the run folder."""


class TrackingRole(StrEnum):
    """Role of a parameter for a tracker."""

    TRACK = "track"
    """Boolean parameter: whether the run is tracked."""
    PROJECT = "project"
    ENTITY = "entity"
    GROUP = "group"
    OFFLINE = "offline"
    """Boolean parameter: write to the run's folder only, to send later."""
    HTTP_PROXY = "http_proxy"
    HTTPS_PROXY = "https_proxy"


PROXY_ROLES = (TrackingRole.HTTP_PROXY, TrackingRole.HTTPS_PROXY)


def is_proxy(address: str) -> bool:
    """Report whether a text is the address of a proxy.

    Args:
        address: a text such as `http(s)://[NAME:PASSWORD@]HOST[:PORT]`.

    Returns:
        Whether it is one.
    """
    try:
        parts = urlsplit(address)
        _ = parts.port  # raises where it is no number of a port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def without_userinfo(address: str) -> str:
    """Remove name and password from an address.

    Args:
        address: an address.

    Returns:
        The address, fit to be shown.
    """
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
