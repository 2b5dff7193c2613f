"""Trackers outside the stack: what a worker's parameters are to them, and the names that go with each.

A property of a parameter schema says by `x-tracking` which `TrackingRole` it has. A client shows these in a section of
their own, writes what was chosen as ordinary parameters, and adds what the tracker needs of the run: the secret with
its key, and the internet unless it is offline.
"""

from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import Field

from mosaic_contracts.compat import StrEnum
from mosaic_contracts.models import PeerModel

X_TRACKING = "x-tracking"
WANDB = "wandb"
WANDB_SECRET = "WANDB_API_KEY"
"""Name of the secret that holds the W&B key, and of the variable that wandb reads."""

WANDB_SERVER = "https://api.forge.coreweave.com"
"""Server that wandb 0.31.0 sends to where a run names no other one."""


class TrackedRun(PeerModel):
    """A run's identity at a tracker outside the stack."""

    tracker: str
    """Name of the tracker: `wandb`, ..."""
    mode: Literal["online", "offline"]
    url: str | None = Field(default=None, pattern=r"^https?://")
    """Address of the run's page at the tracker; None: none yet, or offline."""
    folder: str | None = None
    """Folder of the tracker's own files, relative to the run folder. They can be sent later."""
    id: str | None = None
    """The run's id at the tracker."""
    name: str | None = None
    """The run's name at the tracker."""
    project: str | None = None
    entity: str | None = None
    """User or team that the project belongs to; None: the tracker decides when the run is sent."""


class UploadState(StrEnum):
    """What has become of a tracked run's upload."""

    OFFLINE = "offline"
    """Nothing is sent. The tracker's files are kept and can be sent later."""
    UPLOADING = "uploading"
    """The tracker takes what comes."""
    RETRYING = "retrying"
    """A request failed, and is tried again."""
    UPLOADED = "uploaded"
    """The run has ended and everything was sent."""
    INCOMPLETE = "incomplete"
    """No more is sent, and something is missing at the tracker. Its files are kept and can be sent later."""


class TrackedUpload(PeerModel):
    """State of a tracked run's upload."""

    tracker: str
    state: UploadState
    error: str | None = None
    """The last error, in words; None: none so far."""


def tracked_id(run_id: str, attempt: int) -> str:
    """Return the id that an attempt has at a tracker, so that what is sent twice is one run there.

    Args:
        run_id: the run's id.
        attempt: its number. Every attempt but the first is a run of its own.
    """
    return run_id.lower() if attempt == 1 else f"{run_id.lower()}-{attempt}"


class TrackingRole(StrEnum):
    """Role of a parameter for a tracker."""

    TRACK = "track"
    """Boolean parameter: whether the run is tracked."""
    PROJECT = "project"
    ENTITY = "entity"
    GROUP = "group"
    NAME = "name"
    """The run's name at the tracker."""
    TAGS = "tags"
    """Text parameter: tags with commas between them."""
    NOTES = "notes"
    OFFLINE = "offline"
    """Boolean parameter: write to the run's folder only, to send later."""
    MODE = "mode"
    """Parameter that is `online` or `offline`; a worker has it or one of the role `offline`."""
    REQUIRED = "required"
    """Boolean parameter: a run that the tracker does not take when it starts fails."""
    BASE_URL = "base_url"
    """Address of the tracker's server; None: the tracker's own."""
    HTTP_PROXY = "http_proxy"
    HTTPS_PROXY = "https_proxy"


PROXY_ROLES = (TrackingRole.HTTP_PROXY, TrackingRole.HTTPS_PROXY)


def parameters_by_role(schema: Mapping[str, Any]) -> dict[str, str]:
    """Return the name of the parameter that has each `TrackingRole`.

    Args:
        schema: JSON Schema of an algorithm's parameters.
    """
    parts = schema.get("properties") or {}
    return {part[X_TRACKING]: name for name, part in parts.items() if X_TRACKING in part}


def is_offline(parameters: Mapping[str, Any], names: Mapping[str, str]) -> bool:
    """Report whether a tracked run writes to its folder only.

    Args:
        parameters: of the run.
        names: the parameter of each role, as `parameters_by_role` returns them.
    """
    if value_of_role(parameters, names, TrackingRole.MODE) == "offline":
        return True
    return bool(value_of_role(parameters, names, TrackingRole.OFFLINE))


def value_of_role(
    parameters: Mapping[str, Any], names: Mapping[str, str], role: TrackingRole
) -> Any:
    """Return what a run gives for a role; None: nothing.

    Args:
        parameters: of the run. A name may be written with `-` in place of `_`.
        names: the parameter of each role, as `parameters_by_role` returns them.
        role: the role.
    """
    name = names.get(role, "")
    value = parameters.get(name)
    return parameters.get(name.replace("_", "-")) if value is None else value


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
