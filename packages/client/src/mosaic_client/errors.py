"""What can go wrong between a client and a stack. Messages say what to do next."""

from typing import TYPE_CHECKING, Any

from mosaic_contracts.problem_codes import ProblemCode

if TYPE_CHECKING:
    from mosaic_contracts.problems import Problem


class ClientError(Exception):
    """Root of everything that this package raises on purpose."""


class StackUnreachable(ClientError):
    """No stack answers: none is up, it is elsewhere, or it does not come back."""


class TokenUnreadable(StackUnreachable):
    """A stack is known, but its token cannot be read."""


class CertificateRefused(StackUnreachable):
    """The stack's certificate is not believed, or the file that is to tell whether it is cannot be used."""


class AnswerInvalid(ClientError):
    """Something answered, but not as a gateway of this version would."""


class WaitTimedOut(ClientError):
    """The run had not ended within the time that was given; it goes on."""


class NotebookMissing(ClientError):
    """numpy or pandas is needed and not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(
            f"{package} is not installed here. Install the client with what notebooks need: "
            "`pip install 'mosaic-client[notebook]'`."
        )
        self.package = package

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.package,)


class ParquetMissing(ClientError):
    """pyarrow is needed and not installed."""

    def __init__(self) -> None:
        super().__init__(
            "pyarrow is not installed here. Install the client with what Parquet needs: "
            "`pip install 'mosaic-client[parquet]'`."
        )


class ExportRefused(ClientError):
    """The export cannot be written where it should be."""


class MosaicProblem(ClientError):
    """The stack refused or failed a request and said why. Raised as one of its subclasses, by the problem's code.

    Attributes:
        problem: code, title, detail and per-field findings, as sent.
    """

    def __init__(self, problem: "Problem") -> None:
        title = problem.title.rstrip(".")
        super().__init__(f"{title}. {problem.detail}".strip() if problem.detail else title)
        self.problem = problem

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problem,)  # an exception that crosses a process keeps its problem


class SpecRefused(MosaicProblem):
    """Worker, algorithm, environment, a parameter or the resources of a spec cannot be had; `.problem.fields`."""


class RequestRefused(MosaicProblem):
    """The request itself is wrong: a query, a cursor, a range."""


class ThingUnknown(MosaicProblem):
    """There is nothing of that name or number."""


class RunUnknown(ThingUnknown):
    """There is no such run, or it was deleted for good."""


class EpisodeUnknown(ThingUnknown):
    """The run has no such episode, or none of its steps were recorded."""


class MetricUnknown(ThingUnknown):
    """The run has no metric of that name."""


class ArtifactUnknown(ThingUnknown):
    """The run announced no such file."""


class SecretUnknown(ThingUnknown):
    """No secret of that name is kept."""


class StateConflict(MosaicProblem):
    """It cannot be done as things stand."""


class RunEnded(StateConflict):
    """The run has ended already."""


class RunLive(StateConflict):
    """The run has not ended yet."""


class RunNotQueued(StateConflict):
    """The run does not wait in the queue (any more)."""


class WorkerNotReady(StateConflict):
    """The worker's environment is not there or does not answer."""


class IdempotencyConflict(StateConflict):
    """The key was used for something else."""


class ConsentRequired(StateConflict):
    """The run needs something from outside that its spec does not agree to; `preflight` shows what."""


class AccessRefused(MosaicProblem):
    """Token, host, origin or ticket is not accepted."""


class StackUnavailable(MosaicProblem):
    """The stack cannot do it now: broker, scheduler or store is away. `.problem.retry_after_s` may say when."""


class DiskLow(StackUnavailable):
    """There is too little room on the stack's disk."""


class GatewayFailed(MosaicProblem):
    """The gateway met an error of its own; its log says more."""


_CLASSES: dict[ProblemCode, type[MosaicProblem]] = {
    ProblemCode.SPEC_INVALID: SpecRefused,
    ProblemCode.WORKER_UNKNOWN: SpecRefused,
    ProblemCode.WORKER_NOT_READY: WorkerNotReady,
    ProblemCode.XMPP_UNAVAILABLE: StackUnavailable,
    ProblemCode.ALGORITHM_UNKNOWN: SpecRefused,
    ProblemCode.ENVIRONMENT_UNKNOWN: SpecRefused,
    ProblemCode.PARAMETER_UNKNOWN: SpecRefused,
    ProblemCode.PARAMETER_INVALID: SpecRefused,
    ProblemCode.RESOURCES_IMPOSSIBLE: SpecRefused,
    ProblemCode.RUN_UNKNOWN: RunUnknown,
    ProblemCode.EPISODE_UNKNOWN: EpisodeUnknown,
    ProblemCode.METRIC_UNKNOWN: MetricUnknown,
    ProblemCode.ARTIFACT_UNKNOWN: ArtifactUnknown,
    ProblemCode.NOT_FOUND: ThingUnknown,
    ProblemCode.RUN_ENDED: RunEnded,
    ProblemCode.RUN_LIVE: RunLive,
    ProblemCode.RUN_NOT_QUEUED: RunNotQueued,
    ProblemCode.IDEMPOTENCY_CONFLICT: IdempotencyConflict,
    ProblemCode.CONSENT_REQUIRED: ConsentRequired,
    ProblemCode.SECRET_UNKNOWN: SecretUnknown,
    ProblemCode.RANGE_INVALID: RequestRefused,
    ProblemCode.TICKET_INVALID: AccessRefused,
    ProblemCode.CURSOR_INVALID: RequestRefused,
    ProblemCode.REQUEST_INVALID: RequestRefused,
    ProblemCode.UNAUTHORIZED: AccessRefused,
    ProblemCode.HOST_REFUSED: AccessRefused,
    ProblemCode.ORIGIN_REFUSED: AccessRefused,
    ProblemCode.METHOD_REFUSED: RequestRefused,
    ProblemCode.MEDIA_TYPE_REFUSED: RequestRefused,
    ProblemCode.DISK_LOW: DiskLow,
    ProblemCode.BROKER_UNAVAILABLE: StackUnavailable,
    ProblemCode.SERVICE_UNAVAILABLE: StackUnavailable,
    ProblemCode.STORE_UNAVAILABLE: StackUnavailable,
    ProblemCode.INTERNAL: GatewayFailed,
}


def problem_error(problem: "Problem") -> MosaicProblem:
    """Create the error for a problem.

    Args:
        problem: what the stack answered.

    Returns:
        An error of the class of the problem's code.
    """
    return _CLASSES.get(problem.code, MosaicProblem)(problem)
