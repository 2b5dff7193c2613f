"""`POST /preflight`: whether a run would start now, line by line."""

from typing import Any, Literal

from pydantic import Field

from mosaic_contracts.models import PeerModel


class PreflightLine(PeerModel):
    """One requirement of a run and whether it is met."""

    id: str
    """Stable: `spec`, `worker`, `image`, `packages`, `plan`, `cpus`, `memory`, `internet`, `device`, `disk`, `broker`,
    `recorder`, `secrets`, `consent`; `xmpp` for a run that needs it, `tracking` and `reach` for one that is tracked;
    `cluster` where a Slurm cluster was asked whether it would start the run."""
    title: str
    level: Literal["ok", "warning", "blocking"]
    message: str = ""
    todo: str = ""
    """What to do; empty when the line is ok."""
    where: str = ""
    """Field of the spec, where there is one."""
    code: str = ""
    """A problem code, where there is one."""
    nearest: list[str] = Field(default_factory=list)


class PlacementPlan(PeerModel):
    """What the placement would start for the worker's plan. `RUN` is a placeholder for the run's id."""

    placement: str
    """`process` or `docker`."""
    command: list[str]
    """The worker's complete argv."""
    image: str = ""
    """Name and digest of the container image; empty without a container."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Variables in addition to those of every process; secrets are paths of files."""
    mounts: list[str] = Field(default_factory=list)
    """What the run can read or write of this machine, in words."""
    devices: str = ""
    network: str = ""
    limits: list[str] = Field(default_factory=list)
    """Limits that are enforced, in words."""


class PreflightReport(PeerModel):
    """Result of a preflight. Nothing was started."""

    ok: bool
    """Whether no line is blocking."""
    lines: list[PreflightLine]
    plan: dict[str, Any] = Field(default_factory=dict)
    """The worker's exact plan; empty when it could not be made."""
    launch: PlacementPlan | None = None
    """How the plan would be started; None without a plan."""
    needs: list[str] = Field(default_factory=list)
    """What needs the user's consent, in words: internet access, a script from outside."""
    digest: str = ""
    """Digest of the plan and its needs. A spec that needs consent carries it in `consent`."""
