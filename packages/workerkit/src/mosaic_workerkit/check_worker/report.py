"""What `check_worker` found."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from mosaic_workerkit.check_worker.rules import RULES

NOT_ASKED = "not asked for"
"""Reason for skipping a rule of a part that was not requested."""

Result = Literal["ok", "failed", "skipped"]


@dataclass(frozen=True)
class CheckResult:
    """The result of one rule for the worker or for one algorithm."""

    rule: str
    subject: str
    """Name of the algorithm; empty for the worker."""
    result: Result
    message: str = ""
    """What was observed, if the rule failed."""

    @property
    def claim(self) -> str:
        """What the rule requires."""
        return RULES[self.rule].claim

    @property
    def remedy(self) -> str:
        """What to do if the rule failed."""
        return RULES[self.rule].remedy


@dataclass
class Report:
    """Every result of checking one worker."""

    worker: str
    results: list[CheckResult] = field(default_factory=list)

    @property
    def is_ok(self) -> bool:
        """Whether nothing failed and something was checked."""
        return all(v.result != "failed" for v in self.results) and bool(self.results)

    def count(self, result: Result) -> int:
        """Return the number of results of one kind."""
        return sum(known.result == result for known in self.results)

    def rule(self, name: str, fault: str | None, subject: str = "") -> bool:
        """Record the result of a rule. `fault` is the evidence against it."""
        result: Result = "ok" if fault is None else "failed"
        self.results.append(CheckResult(name, subject, result, fault or ""))
        return fault is None

    def skip(self, names: list[str], why: str, subject: str = "") -> None:
        """Record a rule that could not be checked."""
        self.results += [CheckResult(name, subject, "skipped", why) for name in names]

    def to_json(self) -> dict[str, Any]:
        """Return the report as `--json` prints it."""
        return {
            "worker": self.worker,
            "ok": self.is_ok,
            "verdicts": [
                {**asdict(v), "claim": v.claim, "remedy": v.remedy if v.result == "failed" else ""}
                for v in self.results
            ],
        }
