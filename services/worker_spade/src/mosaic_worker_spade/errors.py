"""What can go wrong in this worker. Every message says what to do next."""


class RunRefused(RuntimeError):
    """`train` was asked for a run that `check` calls blocking."""


class EnvironmentUnusable(ValueError):
    """An environment cannot be made here, or is none that this worker can learn in."""

    def __init__(self, message: str, nearest: list[str] | None = None) -> None:
        super().__init__(message)
        self.nearest = nearest or []
        """Known ids close to the one asked for, best first."""


class MapInvalid(ValueError):
    """The text of a custom map is no map."""


class LoopMissing(ValueError):
    """The compiled loop is asked for where it cannot be made."""


class PlanInvalid(ValueError):
    """An AgentSpeak plan cannot be read."""


class PlanStuck(RuntimeError):
    """The agent's plans go on failing without a step being taken."""


class CheckpointUnusable(ValueError):
    """A checkpoint cannot be read, or is of another world."""


class XmppUnusable(RuntimeError):
    """The agents cannot log in; `part` says what is wrong: name, port, TLS or account."""

    def __init__(self, part: str, message: str) -> None:
        super().__init__(f"XMPP, {part}: {message}")
        self.part = part
