"""What can go wrong in this worker. Every message says what to do next."""

from mosaic_workerkit.errors import ReportedError

EXIT_REFUSED = 2
"""A person's doing: a spec that `check` blocks, a server that cannot be used."""


class MapInvalid(ValueError):
    """The text of a custom map is no map."""


class LoopMissing(ValueError):
    """The compiled loop is asked for where it cannot be made."""


class PlanInvalid(ValueError):
    """An AgentSpeak plan cannot be read."""


class PlanStuck(ReportedError):
    """The agent's plans go on failing without a step being taken."""


class CheckpointUnusable(ValueError):
    """A checkpoint cannot be read, or is of another world."""


class XmppUnusable(ReportedError):
    """The agents cannot log in; `part` says what is wrong: name, port, TLS or account."""

    def __init__(self, part: str, message: str) -> None:
        super().__init__(f"XMPP, {part}: {message}", EXIT_REFUSED)
        self.part = part
