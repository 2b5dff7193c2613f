"""A run while it is worked out, and what was found wrong with it."""

from dataclasses import dataclass, field

from mosaic_worker_spade.deliberation.library import PlanSource
from mosaic_worker_spade.environment.world import TableWorld
from mosaic_worker_spade.learning.checkpoint import LearnerCheckpoint
from mosaic_worker_spade.learning.choice import LoopChoice
from mosaic_worker_spade.parameter import LearningParameters
from mosaic_worker_spade.recording import Sampling
from mosaic_workerkit.findings import Findings


@dataclass
class RunDraft(Findings):
    """Complete only while no finding is blocking."""

    parameters: LearningParameters = field(default_factory=LearningParameters)
    world: TableWorld | None = None
    plan: PlanSource | None = None
    """What decides; None for plain Q-learning."""
    checkpoint: LearnerCheckpoint | None = None
    total_steps: int = 0
    episodes: int | None = None
    """How many episodes a play has; then `total_steps` is the most that they can take."""
    checkpoint_every_steps: int = 0
    loop: LoopChoice | None = None
    """What the learning runs in; None: nothing is learned."""
    sampling: Sampling = field(default_factory=Sampling)
    env_seed: int = 0

    @property
    def reported_loop(self) -> dict[str, str] | None:
        """For `check` and the config event: which loop, and why this one."""
        return None if self.loop is None else {"name": self.loop.loop, "reason": self.loop.reason}
