"""What the judge found."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from mosaic_workerkit.conformance.rule import RULES

NOT_ASKED = "not asked for"
"""Why a rule was skipped that belongs to a part nobody asked for."""

Result = Literal["ok", "failed", "skipped"]


@dataclass(frozen=True)
class Verdict:
    """One rule, judged once: of the worker, or of one algorithm."""

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
class Judgement:
    """All verdicts on a worker."""

    worker: str
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def is_ok(self) -> bool:
        """Whether nothing failed and something was judged."""
        return all(v.result != "failed" for v in self.verdicts) and bool(self.verdicts)

    def count(self, result: Result) -> int:
        """How many verdicts of one kind."""
        return sum(verdict.result == result for verdict in self.verdicts)

    def rule(self, name: str, fault: str | None, subject: str = "") -> bool:
        """Note whether a rule holds; `fault` is what speaks against it. Returns whether it holds."""
        result: Result = "ok" if fault is None else "failed"
        self.verdicts.append(Verdict(name, subject, result, fault or ""))
        return fault is None

    def skip(self, names: list[str], why: str, subject: str = "") -> None:
        """Note what could not be judged."""
        self.verdicts += [Verdict(name, subject, "skipped", why) for name in names]

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "worker": self.worker,
            "ok": self.is_ok,
            "verdicts": [
                {**asdict(v), "claim": v.claim, "remedy": v.remedy if v.result == "failed" else ""}
                for v in self.verdicts
            ],
        }
