"""How a run is tracked by W&B, once that is checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class TrackingPlan:
    """How a run is tracked."""

    is_online: bool
    is_required: bool
    """Whether the run fails when W&B does not take it at its start."""
    server: str
    proxies: Mapping[str, str] = field(default_factory=dict)
    """The run's own, by the variable that programs read; the stack's are in the environment already."""
    init: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of `wandb.init` that take the place of the script's."""

    def shown(self) -> dict[str, Any]:
        """What the plan of `check` says of it."""
        mode = "online" if self.is_online else "offline"
        return {"tracker": "wandb", "mode": mode, "server": self.server if self.is_online else None}
