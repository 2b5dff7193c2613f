"""What keeps the gateway from starting or from answering."""

from mosaic_contracts.problems import Problem, ProblemCode, ProblemError


class GatewayError(Exception):
    """Root of what ends the gateway; the message says what to do."""


class TokenFileInvalid(GatewayError):
    """The token file cannot be trusted."""


class AddressTaken(GatewayError):
    """Something else listens on the gateway's port."""


def store_unavailable(detail: str) -> ProblemError:
    """The store cannot be read now."""
    return ProblemError(
        Problem(
            code=ProblemCode.STORE_UNAVAILABLE,
            title="The telemetry store cannot be read now",
            detail=detail,
            retry_after_s=2.0,
        )
    )


def cursor_invalid(detail: str) -> ProblemError:
    """A cursor that no page gave."""
    return ProblemError(
        Problem(
            code=ProblemCode.CURSOR_INVALID,
            title="The cursor cannot be read",
            detail=f"{detail}. Send back the cursor of a page unchanged.",
        )
    )


def run_unknown(run_id: str) -> ProblemError:
    """No such run."""
    return ProblemError(
        Problem(
            code=ProblemCode.RUN_UNKNOWN,
            title="There is no such run",
            detail=f"{run_id[:60]!r} is not known here; GET /api/v1/runs lists the runs.",
        )
    )
