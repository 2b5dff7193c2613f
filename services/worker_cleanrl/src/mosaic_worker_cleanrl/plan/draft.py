"""A plan while it is made: what would run, and what was found wrong with it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic_worker_cleanrl.algorithm import Script
from mosaic_worker_cleanrl.environment.probe import EnvironmentProbe
from mosaic_worker_cleanrl.environment.wrapping import wrappers_for
from mosaic_worker_cleanrl.plan.tracking_plan import TrackingPlan
from mosaic_worker_cleanrl.saved import SavedState
from mosaic_workerkit.findings import Findings
from mosaic_workerkit.spaces import Space, space_of


@dataclass
class ScriptPlan(Findings):
    """What would run: which script with which command line. Complete only while no finding is blocking."""

    script: Script | None = None
    path: Path | None = None
    argv: list[str] = field(default_factory=list)
    arguments: dict[str, Any] = field(default_factory=dict)
    """Every argument of the script with its value, derived ones included."""
    probe: EnvironmentProbe | None = None
    gl: str | None = None
    """OpenGL by which videos are made, as MUJOCO_GL has it; None: no video, or none is needed."""
    asked_steps: int = 0
    total_steps: int = 0
    """Environment steps that the script will really take: of those asked for, whole batches."""
    first_update_step: int | None = None
    """The step after which the script learns for the first time; None: it learns nothing."""
    checkpoint_every_steps: int = 0
    saved: SavedState | None = None
    """The checkpoint that a play acts with, where it can be read from here."""
    checkpoint: str = ""
    """Where it lies."""
    sampled: bool = False
    """Whether a play draws its actions as the training did."""
    tracking: TrackingPlan | None = None
    """How the run is tracked by W&B; None: it is not."""
    episodes: int | None = None
    """Episodes of a play; None: as many as its steps permit."""

    @property
    def wrappers(self) -> tuple[str, ...]:
        """What this worker puts between the environment and the script."""
        return wrappers_for(self.probe.observation_space) if self.probe is not None else ()

    @property
    def spaces(self) -> dict[str, Space]:
        """Spaces of the environment itself, as the `config` event has them."""
        if self.probe is None:
            return {}
        return {
            "observation": space_of(self.probe.observation_space),
            "action": space_of(self.probe.action_space),
        }
