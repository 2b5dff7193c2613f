"""Reports what an agent believes, which plan it chose and what it intends, as events of the run."""

from collections.abc import Callable
from typing import Any

from agentspeak.runtime import Plan

from mosaic_worker_spade.deliberation.reasoner import Reasoner, belief_text, plan_label
from mosaic_workerkit.telemetry import Telemetry

BELIEF, PLAN, INTENTION = "bdi.belief", "bdi.plan", "bdi.intention"
OPTION, MESSAGE = "bdi.option", "bdi.message"
_TEXT_CHARS = 300
"""Characters kept of a text that somebody else wrote, such as a message."""


class Trace:
    """Events of one agent, each with its place: the episode, and the step that comes next (0: before the first).

    Args:
        place: env, episode and step now.
        is_reported: whether this moment is reported; beliefs that change meanwhile are reported with the next one.
        sureness: how sure the agent is of what it will do; None where no step is being chosen.
    """

    def __init__(
        self,
        telemetry: Telemetry,
        name: str,
        place: Callable[[], dict[str, int]],
        is_reported: Callable[[], bool],
        sureness: Callable[[], float | None],
    ) -> None:
        self._telemetry = telemetry
        self._name = name
        self._place = place
        self._is_reported = is_reported
        self._sureness = sureness
        self._changes: list[tuple[str, Any]] = []
        self.reasoner: Reasoner | None = None

    def believed(self, change: str, belief: Any) -> None:
        """A belief came (`+`) or went (`-`)."""
        self._changes.append((change, belief))

    def planned(self, trigger: str, plan: Plan) -> None:
        """A plan was chosen for what happened."""
        if not self._is_reported():
            return
        self.report_beliefs()
        chosen: dict[str, Any] = {
            **self._where(),
            "trigger": trigger,
            "plan": plan_label(plan),
            "context": plan.context_text[:_TEXT_CHARS],
        }
        sureness = self._sureness()
        if sureness is not None:
            chosen["confidence"] = sureness
        self._telemetry.extra(PLAN, chosen)
        self._report_intentions("adopted", {})

    def failed(self, goal: str, reason: str, recovered_by: Plan | None) -> None:
        """A plan failed; another takes over, or the intention is given up."""
        more = {"goal": goal, "reason": reason[:_TEXT_CHARS]}
        if recovered_by is not None:
            more["plan"] = plan_label(recovered_by)
        self._report_intentions("recovered" if recovered_by is not None else "dropped", more)

    def option(self, data: dict[str, Any]) -> None:
        """What came of an option."""
        self._telemetry.extra(OPTION, {**self._where(), **data})

    def message(self, way: str, peer: str, kind: str, content: str, reason: str = "") -> None:
        """A message `sent`, `received` or `ignored`."""
        data = {"way": way, "peer": peer, "performative": kind, "content": content[:_TEXT_CHARS]}
        self._telemetry.extra(
            MESSAGE, {**self._where(), **data, **({"reason": reason} if reason else {})}
        )

    def report_beliefs(self) -> None:
        """Report which beliefs have changed since the last report."""
        net: dict[str, str] = {}
        for change, belief in self._changes:
            text = belief_text(belief)
            before = net.pop(text, None)
            if (
                before is None or before == change
            ):  # else it went and came back: nothing has changed
                net[text] = change
        self._changes = []
        if net:
            added = [text for text, change in net.items() if change == "+"]
            removed = [text for text, change in net.items() if change == "-"]
            self._telemetry.extra(BELIEF, {**self._where(), "added": added, "removed": removed})

    def _report_intentions(self, change: str, more: dict[str, str]) -> None:
        stacks = self.reasoner.stacks() if self.reasoner is not None else []
        self._telemetry.extra(
            INTENTION, {**self._where(), "change": change, "stacks": stacks, **more}
        )

    def _where(self) -> dict[str, Any]:
        return {"agent": self._name, **self._place()}
