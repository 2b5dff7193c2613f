"""What can be asked of the run list, and in which order it comes.

The order by creation is that of the ids, and a cursor is an id. Any other order is by a value and, where values are
equal, newest first; its cursor names value and id of the last run of a page (keyset), so that a run which is added or
deleted between two pages makes no other run come twice or never.
"""

import base64
import json
import math
from enum import StrEnum
from typing import Annotated, NamedTuple

from pydantic import Field, StringConstraints

from mosaic_contracts.group_words import GROUP_ID_PATTERN
from mosaic_contracts.id_fields import RunIdField, WorkerIdField
from mosaic_contracts.ids import RUN_ID_PATTERN, parse_run_id
from mosaic_contracts.models import UserModel
from mosaic_contracts.run_search import MAX_SEARCH
from mosaic_contracts.services import ListRequest
from mosaic_contracts.spec import Name, RunKind, Tag
from mosaic_contracts.states import RunState

Value = float | str | None
"""What a run is sorted by; None: it has no such value."""


_LISTED_KINDS = tuple(kind for kind in RunKind if not kind.is_derived)
"""A replay is shown with the run that it rebuilds, a dashboard in a browser."""


class RunSortKey(StrEnum):
    """What the run list can be sorted by."""

    CREATED = "created"
    STARTED = "started"
    ENDED = "ended"
    NAME = "name"
    STEPS = "steps"
    EPISODES = "episodes"
    LAST_RETURN = "last_return"
    BEST_RETURN = "best_return"
    MEAN_RETURN = "mean_return"


class Order(StrEnum):
    """Which way."""

    DESCENDING = "desc"
    ASCENDING = "asc"


class RunQuery(UserModel):
    """Query of the run list. Filters that are given several times take a run that fits any of them, tags all."""

    cursor: Annotated[str, Field(max_length=4096)] | None = None
    """What the page before gave, for the same sort and order."""
    limit: Annotated[int, Field(ge=1, le=500)] = 100
    state: list[RunState] | None = None
    worker: list[WorkerIdField] | None = None
    algorithm: list[Name] | None = None
    environment: list[Name] | None = None
    kind: list[RunKind] | None = None
    """None: all kinds but `replay` and `dashboard`."""
    tag: list[Tag] | None = None
    text: Annotated[str, StringConstraints(max_length=200)] | None = None
    """Part of name, id, note or tag, whatever its case."""
    q: Annotated[str, StringConstraints(max_length=MAX_SEARCH)] = ""
    """A search, e.g. `lr>=1e-3 best>400 state:failed tag:ablation -tag:old` (docs/search.md)."""
    group: (
        Annotated[str, StringConstraints(pattern=f"{GROUP_ID_PATTERN}|{RUN_ID_PATTERN}")] | None
    ) = None
    """Only runs of this group or, of a sweep, of its trials."""
    members: bool = True
    """Whether runs of groups are listed, too; false: see `GET /groups` for them."""
    parent: RunIdField | None = None
    trials: bool = True
    """Whether runs of trials are listed, too; false: the sweep alone."""
    deleted: bool = False
    """List deleted runs instead of the others."""
    sort: RunSortKey = RunSortKey.CREATED
    order: Order = Order.DESCENDING
    """Missing values and NaN come last in both."""

    def request(self, limit: int, before: str | None = None) -> ListRequest:
        """The filters, as the scheduler takes them."""
        return ListRequest(
            before=before,
            limit=limit,
            states=[state.value for state in self.state] if self.state else None,
            workers=self.worker or None,
            algorithms=self.algorithm or None,
            environments=self.environment or None,
            kinds=[kind.value for kind in self.kind or _LISTED_KINDS],
            tags=self.tag or None,
            text=self.text or None,
            search=self.q,
            group=self.group,
            members=self.members,
            parent=self.parent,
            trials=self.trials,
            deleted=self.deleted,
        )


class SortPosition(NamedTuple):
    """Position of a run in a sorted list."""

    value: Value
    run_id: str


def position_of(run_id: str, value: Value) -> SortPosition:
    """A run with its value; NaN is no value."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return SortPosition(None if is_nan else value, run_id)


def arrange(positions: list[SortPosition], order: Order) -> list[SortPosition]:
    """Places in order: by value, equal ones newest first, those without a value last."""
    newest_first = sorted(positions, key=lambda position: position.run_id, reverse=True)
    valued = [position for position in newest_first if position.value is not None]
    # Stable both ways: equal values keep the order they have.
    valued.sort(key=lambda position: position.value, reverse=order is Order.DESCENDING)  # type: ignore[arg-type, return-value]  # one type in one list
    return valued + [position for position in newest_first if position.value is None]


def is_behind(position: SortPosition, cursor: SortPosition, order: Order) -> bool:
    """Whether `position` comes after `cursor`, which need not be in the list any more."""
    if position.value == cursor.value:
        return position.run_id < cursor.run_id
    if position.value is None or cursor.value is None:
        return position.value is None
    if order is Order.DESCENDING:
        return position.value < cursor.value  # type: ignore[operator]
    return position.value > cursor.value  # type: ignore[operator]


def format_position(position: SortPosition, sort: RunSortKey, order: Order) -> str:
    """A cursor that stands behind `position`."""
    text = json.dumps([sort, order, position.value, position.run_id])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def parse_position(text: str, sort: RunSortKey, order: Order) -> SortPosition:
    """Read a cursor.

    Raises:
        ValueError: not made by `format_position` for this sort and order.
    """
    try:
        padded = text + "=" * (-len(text) % 4)
        sort_of, order_of, value, run_id = json.loads(base64.urlsafe_b64decode(padded))
        parse_run_id(run_id)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError("this is no cursor of the run list") from error
    if (sort_of, order_of) != (sort, order):
        raise ValueError("the cursor belongs to another sort or order")
    fits = isinstance(value, str) if sort is RunSortKey.NAME else type(value) in (int, float)
    if value is not None and (not fits or value != value):
        raise ValueError("this is no cursor of the run list")
    return SortPosition(value, run_id)
