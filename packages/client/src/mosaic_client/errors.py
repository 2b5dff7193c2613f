"""What can go wrong between a client and a stack. Messages say what to do next."""

from typing import TYPE_CHECKING, Any

from mosaic_contracts.problem_codes import ProblemCode

if TYPE_CHECKING:
    from mosaic_contracts.problems import Problem


class ClientError(Exception):
    """Base of all errors that this package raises on purpose."""


class StackUnreachable(ClientError):
    """No stack answers: none is up, it is at another address, or it does not come back."""


class TokenUnreadable(StackUnreachable):
    """A stack is known, but its token cannot be read."""


class CertificateRefused(StackUnreachable):
    """The stack's certificate is not trusted, or the CA file cannot be used."""


class AnswerInvalid(ClientError):
    """The answer is not one of a gateway of this version."""


class WaitTimedOut(ClientError):
    """The run had not ended within the given time. It continues."""


class NotebookMissing(ClientError):
    """numpy, pandas or Pillow is needed and is not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(
            f"{package} is not installed here. Install the client with what notebooks need: "
            "`pip install 'mosaic-client[notebook]'`."
        )
        self.package = package

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.package,)


class ReplayFailed(ClientError):
    """A replay ended without a result; the message says why."""


class PictureMissing(ClientError):
    """A frame has no picture; the message says why."""


class ParquetMissing(ClientError):
    """pyarrow is needed and is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "pyarrow is not installed here. Install the client with what Parquet needs: "
            "`pip install 'mosaic-client[parquet]'`."
        )


class FileUnusable(ClientError):
    """A file that was to be sent cannot be read, or is none that a stack takes; the message says why."""


class ExportRefused(ClientError):
    """The target of an export cannot be written."""


class ArchiveRefused(ClientError):
    """Runs cannot be archived now; the message says why and what to do."""


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
    """Worker, algorithm, environment, a parameter or a resource of a spec is not available; see `.problem.fields`."""


class ReplayImpossible(SpecRefused):
    """The episode cannot be rebuilt: its steps were not recorded, or the worker cannot replay."""


class ImportRefused(SpecRefused):
    """The file cannot be imported as a checkpoint; see `.problem.fields`."""


class ArchiveInvalid(SpecRefused):
    """The archive cannot be imported; see `.problem.fields`."""


class DashboardImpossible(SpecRefused):
    """TensorBoard cannot be opened: no worker has it, or a run has no curves of its own."""


class RequestRefused(MosaicProblem):
    """The request itself is wrong: a query, a cursor, a range."""


class ThingUnknown(MosaicProblem):
    """Nothing has this name or number."""


class RunUnknown(ThingUnknown):
    """No run has this id, or it was deleted."""


class EpisodeUnknown(ThingUnknown):
    """The run has no such episode, or none of its steps were recorded."""


class MetricUnknown(ThingUnknown):
    """The run has no metric of this name."""


class ArtifactUnknown(ThingUnknown):
    """The run announced no such file."""


class SecretUnknown(ThingUnknown):
    """No secret has this name."""


class StateConflict(MosaicProblem):
    """The request does not fit the current state."""


class RunEnded(StateConflict):
    """The run has ended already."""


class RunLive(StateConflict):
    """The run has not ended yet."""


class RunNeeded(StateConflict):
    """The run is not deleted, because other runs need it or because it is pinned. `force` deletes it all the same."""


class RunProtected(StateConflict):
    """Nothing of the run may be removed now: it is pinned, or something uses it."""


class RunNotQueued(StateConflict):
    """The run does not wait in the queue (any more)."""


class RunNotStarted(StateConflict):
    """The run has not started yet; `.problem.retry_after_s` says when to retry."""


class SyncImpossible(StateConflict):
    """The run cannot be sent to W&B: no key, no worker with wandb, or it is there already."""


class FramesUnavailable(StateConflict):
    """The run's worker sends no frames."""


class WorkerNotReady(StateConflict):
    """The worker's environment is missing or does not answer."""


class IdempotencyConflict(StateConflict):
    """The idempotency key was used for another request."""


class ConsentRequired(StateConflict):
    """The run needs consent for something outside this machine; `preflight` shows what."""


class AccessRefused(MosaicProblem):
    """Token, host, origin or ticket is not accepted."""


class StackUnavailable(MosaicProblem):
    """The stack cannot serve the request now: broker, scheduler or store does not answer. `.problem.retry_after_s`
    may say when to retry."""


class DiskLow(StackUnavailable):
    """The stack's disk has too little free space."""


class GatewayFailed(MosaicProblem):
    """The gateway failed with an internal error; its log says more."""


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
    ProblemCode.RUN_NEEDED: RunNeeded,
    ProblemCode.RUN_PROTECTED: RunProtected,
    ProblemCode.RUN_NOT_QUEUED: RunNotQueued,
    ProblemCode.RUN_NOT_STARTED: RunNotStarted,
    ProblemCode.REPLAY_IMPOSSIBLE: ReplayImpossible,
    ProblemCode.CHECKPOINT_REFUSED: ImportRefused,
    ProblemCode.ARCHIVE_REFUSED: ArchiveInvalid,
    ProblemCode.UPLOAD_TOO_LARGE: ImportRefused,
    ProblemCode.DASHBOARD_IMPOSSIBLE: DashboardImpossible,
    ProblemCode.SYNC_IMPOSSIBLE: SyncImpossible,
    ProblemCode.FRAMES_UNAVAILABLE: FramesUnavailable,
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
