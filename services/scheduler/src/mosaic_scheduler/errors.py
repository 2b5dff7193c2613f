"""What can go wrong inside the scheduler. What a user sees is made in `problem`."""

from typing import Literal

from mosaic_contracts.problems import Problem, ProblemCode, ProblemError


class DatabaseUnavailable(ProblemError):
    """The database file stays locked by somebody else, or its disk is full."""

    def __init__(self, why: str) -> None:
        super().__init__(
            Problem(
                code=ProblemCode.STORE_UNAVAILABLE,
                title="The scheduler's database cannot be used just now",
                detail=f"SQLite reports: {why}. Close other programs that have it open, and check "
                "the free disk space.",
                retry_after_s=1.0,
            )
        )


class RunTransitionInvalid(RuntimeError):
    """A transition that the state machine does not have was asked for: a fault of the scheduler."""


class IdempotencyKeyReused(ProblemError):
    """An idempotency key came again with another request."""

    def __init__(self, key: str, run_id: str) -> None:
        super().__init__(
            Problem(
                code=ProblemCode.IDEMPOTENCY_CONFLICT,
                title="The idempotency key was used for another request",
                detail=f"Under {key!r} run {run_id} was made from another spec within the last day. "
                "Send a new key with a new request.",
            )
        )


class SecretMissing(ProblemError):
    """No secret has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(
            Problem(
                code=ProblemCode.SECRET_UNKNOWN,
                title="There is no such secret",
                detail=f"No secret is called {name!r}. `./mosaic secret list` shows their names, "
                "`./mosaic secret set NAME` makes one.",
            )
        )


class SecretNameInvalid(ProblemError):
    """A secret cannot be called that."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(
            Problem(
                code=ProblemCode.REQUEST_INVALID,
                title="A secret cannot have this name",
                detail=f"{name!r} is not a valid name. {why}",
            )
        )


class AlertRuleUnknown(ProblemError):
    """No alert rule has this id."""

    def __init__(self, rule_id: str) -> None:
        super().__init__(
            Problem(
                code=ProblemCode.NOT_FOUND,
                title="There is no such alert rule",
                detail=f"No rule for all runs has the id {rule_id!r}. `./mosaic alerts` lists them.",
            )
        )


class AlertTargetUnknown(ProblemError):
    """No target of alerts has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(
            Problem(
                code=ProblemCode.NOT_FOUND,
                title="There is no such target",
                detail=f"No target of alerts is called {name!r}. `./mosaic alerts` lists them, "
                "`./mosaic alerts target add NAME` makes one.",
            )
        )


class AlertTargetRefused(ProblemError):
    """A target of alerts cannot be made; the message says why, without its secrets."""

    def __init__(self, why: str) -> None:
        super().__init__(
            Problem(
                code=ProblemCode.REQUEST_INVALID,
                title="The target is not valid",
                detail=f"{why[:1].upper()}{why[1:]}.",
            )
        )


class XmppUnavailable(ProblemError):
    """Agents could not log in at the stack's XMPP server."""

    def __init__(
        self, part: Literal["setup", "name", "port", "tls", "account"], message: str, todo: str
    ) -> None:
        self.part = part
        self.message = message
        self.todo = todo
        super().__init__(
            Problem(
                code=ProblemCode.XMPP_UNAVAILABLE,
                title="The run needs XMPP, and it cannot be used",
                detail=f"{message} {todo}",
                fields=[{"where": "xmpp", "message": message}],
            )
        )


class InputUnusable(ValueError):
    """A checkpoint that a run was to begin with cannot be had; `nearest` are known names close to it."""

    def __init__(self, message: str, nearest: list[str] | None = None) -> None:
        super().__init__(message)
        self.nearest = nearest or []


class FileRefused(ValueError):
    """A file cannot be imported; the message says why, and what to do. `where` is the part of the request."""

    def __init__(self, message: str, where: str = "file", nearest: list[str] | None = None) -> None:
        super().__init__(message)
        self.where = where
        self.nearest = nearest or []


class InspectionFailed(RuntimeError):
    """A worker did not come to an answer about a file; the message says why."""


class LaunchFailed(RuntimeError):
    """A run's processes could not be started; the message says why and what to do."""


class RecordUnusable(RuntimeError):
    """An episode cannot be rebuilt from what is stored of it; the message says why."""


class LeaseTaken(RuntimeError):
    """A device that was to be leased is not free any more; the message is its UUID."""


class EngineUnavailable(OSError):
    """The engine does not answer: of no attempt anything is known now. The message says what to do."""


class WorkerUnknown(LookupError):
    """No registered worker has this id or alias."""

    def __init__(self, name: str, nearest: list[str]) -> None:
        super().__init__(name)
        self.name = name
        self.nearest = nearest


class WorkerUnready(RuntimeError):
    """A registered worker cannot be used now; the message says why and what to do."""


class WorkerFailed(WorkerUnready):
    """A worker was started and gave no answer that can be used."""

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output
        """What it printed on stderr."""
