"""Errors that cross a wire: RFC 9457 problem details with stable codes."""

from typing import TYPE_CHECKING, Any

from mosaic_contracts.models import PeerModel
from mosaic_contracts.problem_codes import ProblemCode

if TYPE_CHECKING:
    from mosaic_contracts.run_search import SearchError  # no part of what a shipper reads

__all__ = ["Problem", "ProblemCode", "ProblemError", "search_problem"]


class Problem(PeerModel):
    """One refused or failed request (RFC 9457, `application/problem+json`)."""

    code: ProblemCode
    title: str
    """One short sentence."""
    detail: str = ""
    """What went wrong here and what to do next."""
    status: int = 0
    """HTTP status; filled from the code when left at 0."""
    type: str = "about:blank"
    instance: str | None = None
    retry_after_s: float | None = None
    """Seconds after which trying again makes sense; also sent as `Retry-After`."""
    fields: list[dict[str, Any]] = []
    """Findings for single fields: `{"where": "parameters.learning-rat", "message": "...", "nearest": [...]}`.
    `offers` has values of fields of the spec that would be accepted, e.g. `{"environment": "CartPole-v1"}`."""

    def model_post_init(self, _context: Any) -> None:
        if self.status == 0:
            self.status = self.code.http_status


class ProblemError(Exception):
    """Raised to answer a request with a problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.title}. {problem.detail}".strip())
        self.problem = problem


def search_problem(error: "SearchError") -> ProblemError:
    """Return the problem of a search of the run list that cannot be understood.

    Args:
        error: what is wrong with it.

    Returns:
        An error whose `fields` name the positions of the wrong word, so that a client can mark it.
    """
    place = {"where": "q", "message": error.reason, "start": error.start, "end": error.end}
    return ProblemError(
        Problem(
            code=ProblemCode.REQUEST_INVALID,
            title="The search cannot be understood",
            detail=f"{error}",
            fields=[place],
        )
    )
