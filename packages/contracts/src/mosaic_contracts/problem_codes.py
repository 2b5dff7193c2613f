"""Codes of problems. Without pydantic, so that a program can look at a code before it needs a model."""

from mosaic_contracts.compat import StrEnum


class ProblemCode(StrEnum):
    """Stable codes of problems, for programs. Each code has one HTTP status."""

    SPEC_INVALID = "spec_invalid"
    WORKER_UNKNOWN = "worker_unknown"
    WORKER_NOT_READY = "worker_not_ready"
    XMPP_UNAVAILABLE = "xmpp_unavailable"
    ALGORITHM_UNKNOWN = "algorithm_unknown"
    ENVIRONMENT_UNKNOWN = "environment_unknown"
    PARAMETER_UNKNOWN = "parameter_unknown"
    PARAMETER_INVALID = "parameter_invalid"
    RESOURCES_IMPOSSIBLE = "resources_impossible"
    RUN_UNKNOWN = "run_unknown"
    EPISODE_UNKNOWN = "episode_unknown"
    METRIC_UNKNOWN = "metric_unknown"
    ARTIFACT_UNKNOWN = "artifact_unknown"
    NOT_FOUND = "not_found"
    RUN_ENDED = "run_ended"
    RUN_LIVE = "run_live"
    RUN_NEEDED = "run_needed"
    RUN_PROTECTED = "run_protected"
    RUN_NOT_QUEUED = "run_not_queued"
    RUN_NOT_STARTED = "run_not_started"
    REPLAY_IMPOSSIBLE = "replay_impossible"
    CHECKPOINT_REFUSED = "checkpoint_refused"
    ARCHIVE_REFUSED = "archive_refused"
    UPLOAD_TOO_LARGE = "upload_too_large"
    DASHBOARD_IMPOSSIBLE = "dashboard_impossible"
    SYNC_IMPOSSIBLE = "sync_impossible"
    FRAMES_UNAVAILABLE = "frames_unavailable"
    IDEMPOTENCY_CONFLICT = "idempotency_conflict"
    CONSENT_REQUIRED = "consent_required"
    SECRET_UNKNOWN = "secret_unknown"
    RANGE_INVALID = "range_invalid"
    TICKET_INVALID = "ticket_invalid"
    CURSOR_INVALID = "cursor_invalid"
    REQUEST_INVALID = "request_invalid"
    UNAUTHORIZED = "unauthorized"
    HOST_REFUSED = "host_refused"
    ORIGIN_REFUSED = "origin_refused"
    METHOD_REFUSED = "method_refused"
    MEDIA_TYPE_REFUSED = "media_type_refused"
    DISK_LOW = "disk_low"
    BROKER_UNAVAILABLE = "broker_unavailable"
    SERVICE_UNAVAILABLE = "service_unavailable"
    STORE_UNAVAILABLE = "store_unavailable"
    INTERNAL = "internal"

    @property
    def http_status(self) -> int:
        """HTTP status of the code."""
        return _STATUS[self]


_STATUS: dict[ProblemCode, int] = {
    ProblemCode.SPEC_INVALID: 422,
    ProblemCode.WORKER_UNKNOWN: 422,
    ProblemCode.WORKER_NOT_READY: 409,
    ProblemCode.XMPP_UNAVAILABLE: 409,
    ProblemCode.ALGORITHM_UNKNOWN: 422,
    ProblemCode.ENVIRONMENT_UNKNOWN: 422,
    ProblemCode.PARAMETER_UNKNOWN: 422,
    ProblemCode.PARAMETER_INVALID: 422,
    ProblemCode.RESOURCES_IMPOSSIBLE: 422,
    ProblemCode.RUN_UNKNOWN: 404,
    ProblemCode.EPISODE_UNKNOWN: 404,
    ProblemCode.METRIC_UNKNOWN: 404,
    ProblemCode.ARTIFACT_UNKNOWN: 404,
    ProblemCode.NOT_FOUND: 404,
    ProblemCode.RUN_ENDED: 409,
    ProblemCode.RUN_LIVE: 409,
    ProblemCode.RUN_NEEDED: 409,
    ProblemCode.RUN_PROTECTED: 409,
    ProblemCode.RUN_NOT_QUEUED: 409,
    ProblemCode.RUN_NOT_STARTED: 409,
    ProblemCode.REPLAY_IMPOSSIBLE: 422,
    ProblemCode.CHECKPOINT_REFUSED: 422,
    ProblemCode.ARCHIVE_REFUSED: 422,
    ProblemCode.UPLOAD_TOO_LARGE: 413,
    ProblemCode.DASHBOARD_IMPOSSIBLE: 422,
    ProblemCode.SYNC_IMPOSSIBLE: 409,
    ProblemCode.FRAMES_UNAVAILABLE: 409,
    ProblemCode.IDEMPOTENCY_CONFLICT: 409,
    ProblemCode.CONSENT_REQUIRED: 409,
    ProblemCode.SECRET_UNKNOWN: 404,
    ProblemCode.RANGE_INVALID: 416,
    ProblemCode.TICKET_INVALID: 401,
    ProblemCode.CURSOR_INVALID: 422,
    ProblemCode.REQUEST_INVALID: 422,
    ProblemCode.UNAUTHORIZED: 401,
    ProblemCode.HOST_REFUSED: 421,
    ProblemCode.ORIGIN_REFUSED: 403,
    ProblemCode.METHOD_REFUSED: 405,
    ProblemCode.MEDIA_TYPE_REFUSED: 415,
    ProblemCode.DISK_LOW: 507,
    ProblemCode.BROKER_UNAVAILABLE: 503,
    ProblemCode.SERVICE_UNAVAILABLE: 503,
    ProblemCode.STORE_UNAVAILABLE: 503,
    ProblemCode.INTERNAL: 500,
}
