"""`POST /preflight`: whether a run would start now, line by line."""

from typing import Any, Literal

from pydantic import Field

from mosaic_contracts.models import PeerModel


class PreflightLine(PeerModel):
    """One thing that a run needs."""

    id: str
    """Stable: `spec`, `worker`, `plan`, `cpus`, `device`, `disk`, `broker`, `recorder`, `secrets`, `consent`;
    `xmpp` for a run that needs it."""
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


class PreflightReport(PeerModel):
    """All lines; nothing was started."""

    ok: bool
    """No line is blocking."""
    lines: list[PreflightLine]
    plan: dict[str, Any] = Field(default_factory=dict)
    """The worker's exact plan; empty when it could not be made."""
    needs: list[str] = Field(default_factory=list)
    """What takes consent, in words: internet access, a script from outside."""
    digest: str = ""
    """Names the plan and its needs; a spec that needs consent carries it in `consent`."""
