"""Whether a plan can be read, asked before a run begins."""

from mosaic_worker_spade.deliberation.action import known_actions
from mosaic_worker_spade.deliberation.library import PlanSource
from mosaic_worker_spade.deliberation.reasoner import build_reasoner


def require_readable(plan: PlanSource) -> None:
    """Parse a plan and look its actions up.

    Raises:
        PlanInvalid: with file, line and column of each fault.
    """
    build_reasoner(plan, known_actions())
