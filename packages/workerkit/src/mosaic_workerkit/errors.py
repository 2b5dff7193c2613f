"""What can go wrong in a worker's telemetry. Every message says what to do next."""

from collections.abc import Sequence


class ReportedError(RuntimeError):
    """An error whose message says all: `main` reports it without a traceback, and ends with its exit code."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class RunRefused(ReportedError):
    """`train` was asked for a run that `check` calls blocking."""


class EnvironmentUnusable(ValueError):
    """An environment cannot be made here, or the algorithm cannot act in it."""

    def __init__(self, message: str, nearest: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.nearest = list(nearest)
        """Known ids close to the one asked for, best first."""


class ContractViolation(RuntimeError):
    """The worker broke the event contract (config first, contiguous seq, one terminal lifecycle, ...)."""


class EventTooLarge(ContractViolation):
    """One encoded record is larger than the wire allows."""


class OutboxError(RuntimeError):
    """The outbox cannot be used."""


class OutboxInUse(OutboxError):
    """Another process holds this outbox."""


class OutboxWriteFailed(OutboxError):
    """The disk refused an event. The run must end, because facts may not be dropped."""


class OutboxCorrupted(OutboxError):
    """A segment holds bytes that its writer cannot have written, even if it was killed."""


class ArtifactPathRefused(ContractViolation):
    """An announced path is absolute, leaves the run folder, or does not exist."""


class RunFolderInvalid(RuntimeError):
    """The run folder lacks a file that its placement writes, or the file cannot be read."""


class CredentialsRefused(RuntimeError):
    """The broker refuses the run's credentials. The scheduler renews them."""


class BrokerNotTrusted(RuntimeError):
    """The broker's certificate is not signed by the authority that the run was given, or it speaks no TLS."""


class NodeRefused(RuntimeError):
    """The scheduler refuses a request of a run on another machine, and would again."""

    def __init__(self, words: str, *, is_over: bool) -> None:
        super().__init__(words)
        self.is_over = is_over
        """Whether the attempt has ended, or is another runner's."""


class NodeUnanswered(RuntimeError):
    """The scheduler does not answer a run on another machine now; the request is made again."""


class TrainerUnreachable(RuntimeError):
    """No process listens on the trainer's control socket."""


class PlayUnsupported(RuntimeError):
    """`play` was called for a worker that has no such method."""


class ReplayUnsupported(RuntimeError):
    """`replay` was asked of a worker that has no such method."""


class DashboardUnsupported(RuntimeError):
    """`dashboard` was asked of a worker that has no such method."""


class SweepUnsupported(RuntimeError):
    """`sweep` was called for a worker that has no such method."""


class SyncUnsupported(RuntimeError):
    """`sync` was asked of a worker that has no such method."""
