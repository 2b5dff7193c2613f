"""What `check_worker` found."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from mosaic_workerkit.check_worker.rules import RULES

NOT_ASKED = "not asked for"
"""Why a rule was skipped that belongs to a part nobody asked for."""

Result = Literal["ok", "failed", "skipped"]


@dataclass(frozen=True)
class CheckResult:
    """One rule, checked once: of the worker, or of one algorithm."""

    rule: str
    subject: str
    """The algorithm, or empty."""
    result: Result
    message: str = ""
    """What was seen, when it was not ok."""

    @property
    def claim(self) -> str:
        """What must hold."""
        return RULES[self.rule].claim

    @property
    def remedy(self) -> str:
        """What to do, when it does not."""
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
        """How many results of one kind."""
        return sum(known.result == result for known in self.results)

    def rule(self, name: str, fault: str | None, subject: str = "") -> bool:
        """Note whether a rule holds; `fault` is what speaks against it. Returns whether it holds."""
        result: Result = "ok" if fault is None else "failed"
        self.results.append(CheckResult(name, subject, result, fault or ""))
        return fault is None

    def skip(self, names: list[str], why: str, subject: str = "") -> None:
        """Note what could not be checked."""
        self.results += [CheckResult(name, subject, "skipped", why) for name in names]

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "worker": self.worker,
            "ok": self.is_ok,
            "verdicts": [
                {**asdict(v), "claim": v.claim, "remedy": v.remedy if v.result == "failed" else ""}
                for v in self.results
            ],
        }
