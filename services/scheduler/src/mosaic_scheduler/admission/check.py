"""What came of one check of a run, and how it is shown: as a finding, or as a line of a preflight report."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from mosaic_base.nearest import nearest_names
from mosaic_contracts.preflight import PreflightLine
from mosaic_contracts.problems import ProblemError
from mosaic_contracts.worker import Finding

Level = Literal["ok", "warning", "blocking"]

MAX_FINDINGS = 50
"""More help nobody, and each costs a search for near names while every other request waits."""
_MOST_NAMED = 8
"""Names in one message."""
_TITLES = {
    "worker": "Worker",
    "spec": "Run as asked for",
    "cpus": "Cores",
    "memory": "Memory",
    "internet": "Internet",
    "device": "Device",
    "packages": "Dependencies",
    "secrets": "Secrets",
    "restart": "After a shutdown",
    "tracking": "Tracking",
    "reach": "W&B",
    "xmpp": "XMPP",
    "sweep": "Sweep",
    "plan": "The worker's plan",
    "image": "Image",
    "cluster": "Cluster",
    "disk": "Disk",
    "broker": "Broker",
    "recorder": "Recorder",
    "consent": "Consent",
}
"""Topics, in the order in which a person would look at them."""
_ORDER = list(_TITLES)
_TOPIC_OF_FIELD = {
    "cpus": "cpus",
    "gpus": "device",
    "gpu_memory_mb": "device",
    "memory_mb": "memory",
    "internet": "internet",
    "secrets": "secrets",
    "xmpp": "xmpp",
    "sweep": "sweep",
}
"""Topic of a field of the spec; that of all others is `spec`, or `plan` where the worker names them."""
_TODO_OF_TOPIC = {
    "spec": "Correct the named field.",
    "plan": "Change the named values.",
    "sweep": "Correct the named field of the sweep.",
    "cpus": "Ask for fewer cores (`cpus`).",
    "memory": "Ask for less (`memory_mb`).",
    "internet": "Switch `internet` off, or start the stack with such a network.",
    "device": "Request what this machine has (`./mosaic gpus`), or use a worker that needs no GPU.",
    "packages": "Install the named packages, and check again.",
    "image": "Do that, and check again.",
    "secrets": "Set it with `./mosaic secret set NAME`.",
    "xmpp": "Do that, and check again; `./mosaic xmpp status` shows more.",
}
AS_IT_IS = "Change it, or start the run as it is."


@dataclass(frozen=True)
class Check:
    """Result of one check."""

    id: str
    """Topic; the `id` of its line in a preflight report."""
    level: Level
    message: str
    todo: str = ""
    where: str | None = None
    """Field of the spec that is wrong. All wrong fields are refused together; None: it is about no field."""
    code: str = ""
    nearest: list[str] = field(default_factory=list)
    problem: ProblemError | None = None
    """What a submit raises for it by itself."""

    @property
    def refuses(self) -> bool:
        """Whether a spec is refused for it."""
        return self.level == "blocking" and self.where is not None

    def finding(self) -> Finding:
        """The check as `check` shows it."""
        return Finding(
            level=self.level,
            where=self.id if self.where is None else self.where,
            message=self.message,
            code=self.code,
            nearest=self.nearest,
        )

    def line(self) -> PreflightLine:
        """The check as `preflight` shows it."""
        return PreflightLine(
            id=self.id,
            title=_TITLES[self.id],
            level=self.level,
            message=self.message if self.where is None else f"{self.where}: {self.message}",
            todo=self.todo,
            where=self.where or "",
            code=self.code,
            nearest=self.nearest,
        )


def passed(topic: str, message: str) -> Check:
    """Nothing is wrong."""
    return Check(topic, "ok", message)


def warned(topic: str, message: str, todo: str) -> Check:
    """The run would start all the same."""
    return Check(topic, "warning", message, todo)


def blocked(topic: str, message: str, todo: str) -> Check:
    """The run would not start."""
    return Check(topic, "blocking", message, todo)


def wrong(where: str, message: str, code: str, nearest: Iterable[str] = ()) -> Check:
    """A field of the spec is wrong."""
    finding = Finding(
        level="blocking", where=where, message=message, code=code, nearest=list(nearest)
    )
    return from_finding(finding, topic_of(where, "spec"))


def unknown(where: str, name: str, known: list[str], code: str) -> Check:
    """A field of the spec names something that is not there."""
    nearest = nearest_names(name, known)
    hint = f"did you mean {nearest[0]!r}?" if nearest else f"known are {_named(known)}"
    return wrong(where, f"there is no {where} {name!r} here; {hint}", code, nearest)


def from_finding(finding: Finding, topic: str) -> Check:
    """A finding as a check of this topic."""
    return Check(
        topic,
        finding.level,
        finding.message,
        _TODO_OF_TOPIC.get(topic, "") if finding.level == "blocking" else AS_IT_IS,
        finding.where,
        finding.code,
        finding.nearest,
    )


def topic_of(where: str, default: str) -> str:
    """Topic of a field of the spec; `default` where it has none of its own."""
    return _TOPIC_OF_FIELD.get(where.partition(".")[0], default)


def from_problem(topic: str, error: ProblemError, todo: str) -> Check:
    """The run would be refused for this problem."""
    said = error.problem.detail or error.problem.title
    return Check(topic, "blocking", said, todo, code=error.problem.code, problem=error)


def in_order(checks: Iterable[Check]) -> list[Check]:
    """First the wrong fields, then one check of each other topic, in the order of the topics."""
    checks = list(checks)
    refusals = [check for check in checks if check.where is not None]
    shown = {check.id for check in refusals}
    others = [check for check in checks if check.where is None and check.id not in shown]
    return [*refusals, *sorted(others, key=lambda check: _ORDER.index(check.id))]


def _named(known: list[str]) -> str:
    more = len(known) - _MOST_NAMED
    names = ", ".join(known[:_MOST_NAMED]) or "none"
    return f"{names} and {more} more" if more > 0 else names
