"""Groups as clients see them: what the scheduler knows of their runs, with the returns that the store has."""

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from statistics import fmean
from typing import TypeVar

from pydantic import BaseModel

from mosaic_contracts.choices import RUN_ID_PATTERN
from mosaic_contracts.groups import GROUP_ID_PATTERN, GroupView
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.services import GroupOrder
from mosaic_contracts.verbs import GROUP, ServiceVerb
from mosaic_gateway.history import History
from mosaic_gateway.scheduler import SchedulerClient
from mosaic_store import RunMarks

RequestT = TypeVar("RequestT", bound=BaseModel)
_ID = re.compile(f"{GROUP_ID_PATTERN}|{RUN_ID_PATTERN}")
_CLOCK_GRAIN = timedelta(milliseconds=2)
"""Resolution of the creation time of a group."""


def parse_group_id(text: str) -> str:
    """Check the form of the id of a group or a sweep. Raises ProblemError `run_unknown`: nothing has such an id."""
    if _ID.fullmatch(text) is None:
        raise ProblemError(
            Problem(
                code=ProblemCode.RUN_UNKNOWN,
                title="There is no such group",
                detail=f"{text[:60]!r} is not known here; GET /api/v1/groups lists the groups.",
            )
        )
    return text


class Groups:
    """All that is asked about groups."""

    def __init__(self, scheduler: SchedulerClient, history: History) -> None:
        self._scheduler = scheduler
        self._history = history

    async def start(self, order: GroupOrder) -> tuple[GroupView, bool]:
        """Start a group. Return it, and whether it is new: with an idempotency key it may be there already."""
        asked_at = datetime.now(UTC)
        view = await self.ask(GROUP, order)
        is_new = order.idempotency_key is None or view.created_at > asked_at - _CLOCK_GRAIN
        return view, is_new

    async def ask(self, verb: ServiceVerb[RequestT, GroupView], request: RequestT) -> GroupView:
        """Ask the scheduler for a group. Raises ProblemError: why it does not do that."""
        view = await self._scheduler.call(verb, request)
        return (await self.with_returns([view]))[0]

    async def with_returns(self, views: Sequence[GroupView]) -> list[GroupView]:
        """Groups with the returns of their runs, by one read of the store. Raises ProblemError: it cannot be read."""
        if not any(view.run_ids for view in views):
            return list(views)
        none = dict[str, RunMarks]()
        marks = await self._history.read(lambda reader: reader.run_marks(), none)
        return [_with_returns(view, marks) for view in views]


def _with_returns(view: GroupView, marks: dict[str, RunMarks]) -> GroupView:
    known = [marks[run_id] for run_id in view.run_ids if run_id in marks]
    best = [mark.best_return for mark in known if mark.best_return is not None]
    means = [mark.mean_return for mark in known if mark.mean_return is not None]
    finite = [mean for mean in means if math.isfinite(mean)]
    changes = {
        "best_return": max(best, default=None),
        "mean_return": fmean(finite) if finite else None,
    }
    return view.model_copy(update=changes)
