"""Findings of a check: what is wrong with a run, and what its user should know."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.worker import CheckReport, Finding
from mosaic_workerkit.errors import RunRefused


@dataclass
class Findings:
    """Collects the findings of one check. A worker's plan of a run may derive from it."""

    findings: list[Finding] = field(default_factory=list, kw_only=True)
    """In the order in which they were made."""

    @property
    def is_blocked(self) -> bool:
        """Whether the run must not start."""
        return any(finding.level == "blocking" for finding in self.findings)

    @property
    def refusal(self) -> str:
        """Every reason why the run must not start, in words."""
        return " ".join(f.message for f in self.findings if f.level == "blocking")

    def block(
        self,
        where: str,
        message: str,
        code: ProblemCode,
        nearest: Sequence[str] = (),
        offers: Mapping[str, str] | None = None,
    ) -> None:
        """Add a reason why the run must not start.

        Args:
            where: field of the spec or part of the system, e.g. `parameters.gamma`.
            nearest: closest known names, best first.
            offers: values of fields of the spec with which it could start, e.g. `{"environment": "CartPole-v1"}`.
        """
        finding = Finding(
            level="blocking",
            where=where,
            message=message,
            code=code.value,
            nearest=list(nearest),
            offers=dict(offers or {}),
        )
        self.findings.append(finding)

    def warn(self, where: str, message: str) -> None:
        """Add something that the user should know."""
        self.findings.append(Finding(level="warning", where=where, message=message))

    def report(self, plan: Mapping[str, Any]) -> CheckReport:
        """Return the answer of `check`, with what would run."""
        return CheckReport(ok=not self.is_blocked, findings=self.findings, plan=dict(plan))

    def require_none(self) -> None:
        """Refuse the run when a finding is blocking, with the words that `check` gives.

        Raises:
            RunRefused: a finding is blocking.
        """
        if self.is_blocked:
            raise RunRefused(f"{self.refusal} `check` says the same before a run is started.")
