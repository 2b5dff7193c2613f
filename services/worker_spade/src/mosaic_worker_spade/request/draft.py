"""A run while it is worked out, and what was found wrong with it."""

from dataclasses import dataclass, field

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.worker import Finding
from mosaic_worker_spade.deliberation.library import PlanSource
from mosaic_worker_spade.environment.world import TableWorld
from mosaic_worker_spade.learning.checkpoint import LearnerCheckpoint
from mosaic_worker_spade.learning.choice import LoopChoice
from mosaic_worker_spade.parameter import Parameters
from mosaic_worker_spade.recording import Sampling


@dataclass
class RunDraft:
    """Complete only while no finding is blocking."""

    parameters: Parameters = field(default_factory=Parameters)
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
    findings: list[Finding] = field(default_factory=list)

    @property
    def reported_loop(self) -> dict[str, str] | None:
        """For `check` and the config event: which loop, and why this one."""
        return None if self.loop is None else {"name": self.loop.loop, "reason": self.loop.reason}

    @property
    def is_blocked(self) -> bool:
        """Whether the run must not start."""
        return any(finding.level == "blocking" for finding in self.findings)

    @property
    def refusal(self) -> str:
        """Every reason why the run must not start, in words."""
        return " ".join(f.message for f in self.findings if f.level == "blocking")

    def block(
        self, where: str, message: str, code: ProblemCode, nearest: list[str] | None = None
    ) -> None:
        """Add a reason why the run must not start."""
        finding = Finding(
            level="blocking", where=where, message=message, code=code.value, nearest=nearest or []
        )
        self.findings.append(finding)

    def warn(self, where: str, message: str) -> None:
        """Add something the person should know."""
        self.findings.append(Finding(level="warning", where=where, message=message))
