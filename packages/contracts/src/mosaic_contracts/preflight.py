"""`POST /preflight`: whether a run would start now, line by line."""

from typing import Any, Literal

from pydantic import Field

from mosaic_contracts.models import PeerModel


class PreflightLine(PeerModel):
    """One thing that a run needs."""

    id: str
    """Stable: `spec`, `worker`, `image`, `packages`, `plan`, `cpus`, `memory`, `internet`, `device`, `disk`, `broker`,
    `recorder`, `secrets`, `consent`; `xmpp` for a run that needs it, `tracking` for one that is tracked."""
    title: str
    level: Literal["ok", "warning", "blocking"]
    message: str = ""
    todo: str = ""
    """What to do about it; empty when it is ok."""
    where: str = ""
    """Field of the spec, where there is one."""
    code: str = ""
    """A problem code, where there is one."""
    nearest: list[str] = Field(default_factory=list)


class PlacementPlan(PeerModel):
    """What the placement would start around the worker's plan. `RUN` is a placeholder for the id of the run."""

    placement: str
    """`process` or `docker`."""
    command: list[str]
    """The worker's whole argv."""
    image: str = ""
    """Name of the container image and its digest; empty: in no container."""
    environment: dict[str, str] = Field(default_factory=dict)
    """What it is given in addition to what every process has; secrets as paths of files."""
    mounts: list[str] = Field(default_factory=list)
    """In words: what of this machine it can read or write."""
    devices: str = ""
    network: str = ""
    limits: list[str] = Field(default_factory=list)
    """In words, each that it is held to."""


class PreflightReport(PeerModel):
    """All lines; nothing was started."""

    ok: bool
    """No line is blocking."""
    lines: list[PreflightLine]
    plan: dict[str, Any] = Field(default_factory=dict)
    """The worker's exact plan; empty when it could not be made."""
    launch: PlacementPlan | None = None
    """How that would be started; None when there is no plan."""
    needs: list[str] = Field(default_factory=list)
    """What takes consent, in words: internet access, a script from outside."""
    digest: str = ""
    """Names the plan and its needs; a spec that needs consent carries it in `consent`."""
