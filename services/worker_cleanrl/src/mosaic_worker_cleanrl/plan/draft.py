"""A plan while it is made: what would run, and what was found wrong with it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.worker import Finding
from mosaic_worker_cleanrl.algorithm import Script
from mosaic_worker_cleanrl.environment.probe import EnvironmentProbe
from mosaic_worker_cleanrl.environment.wrapping import wrappers_for


@dataclass
class ScriptPlan:
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
    findings: list[Finding] = field(default_factory=list)

    @property
    def is_blocked(self) -> bool:
        """Whether the run must not start."""
        return any(finding.level == "blocking" for finding in self.findings)

    @property
    def refusal(self) -> str:
        """Every reason why the run must not start, in words."""
        return " ".join(f.message for f in self.findings if f.level == "blocking")

    @property
    def wrappers(self) -> tuple[str, ...]:
        """What this worker puts between the environment and the script."""
        return wrappers_for(self.probe.observation_space) if self.probe is not None else ()

    def block(
        self, where: str, message: str, code: ProblemCode, nearest: list[str] | None = None
    ) -> None:
        """Add a reason why the run must not start."""
        self.findings.append(
            Finding(
                level="blocking",
                where=where,
                message=message,
                code=code.value,
                nearest=nearest or [],
            )
        )

    def warn(self, where: str, message: str) -> None:
        """Add something the person should know."""
        self.findings.append(Finding(level="warning", where=where, message=message))
