"""What can be asked of the list of checkpoints, and in which order it comes.

A cursor names the value and the checkpoint that a page ends with (keyset), so that a checkpoint which is added or
deleted between two pages makes no other one come twice or never.
"""

import base64
import json
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from mosaic_contracts.id_fields import RunIdField, WorkerIdField
from mosaic_contracts.models import UserModel
from mosaic_contracts.spec import Name
from mosaic_gateway.runs.query import Order, SortPosition, Value
from mosaic_store import CheckpointEntry, CheckpointKey


class CheckpointSortKey(StrEnum):
    """What the list of checkpoints can be sorted by."""

    DATE = "date"
    STEP = "step"
    RETURN = "return"
    """Mean return of the last 20 episodes, else that of its evaluation."""


VALUE_OF: dict[CheckpointSortKey, Callable[[CheckpointEntry], Value]] = {
    CheckpointSortKey.DATE: lambda entry: entry.t,
    CheckpointSortKey.STEP: lambda entry: entry.step,
    CheckpointSortKey.RETURN: lambda entry: entry.value,
}


class CheckpointQuery(UserModel):
    """Query of the list of checkpoints. Filters that are given several times take what fits any of them."""

    cursor: Annotated[str, Field(max_length=8192)] | None = None
    """What the page before gave, for the same sort and order."""
    limit: Annotated[int, Field(ge=1, le=500)] = 100
    worker: list[WorkerIdField] | None = None
    algorithm: list[Name] | None = None
    environment: list[Name] | None = None
    run: list[RunIdField] | None = None
    """Runs that the checkpoints are of."""
    text: Annotated[str, StringConstraints(max_length=200)] | None = None
    """Part of name, id, note or tag of the run, whatever its case."""
    sort: CheckpointSortKey = CheckpointSortKey.DATE
    order: Order = Order.DESCENDING
    """Missing values come last in both."""


def position_of(entry: CheckpointEntry, sort: CheckpointSortKey) -> SortPosition:
    """Place of a checkpoint in the list."""
    return SortPosition(VALUE_OF[sort](entry), f"{entry.key.run_id}/{entry.key.path}")


def key_at(position: SortPosition) -> CheckpointKey:
    """The checkpoint that a place is of."""
    run_id, _, path = position.run_id.partition("/")
    return CheckpointKey(run_id, path)


def format_cursor(position: SortPosition, query: CheckpointQuery) -> str:
    """A cursor that stands behind `position`."""
    text = json.dumps([query.sort, query.order, position.value, position.run_id])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def parse_cursor(text: str, query: CheckpointQuery) -> SortPosition:
    """Read a cursor.

    Raises:
        ValueError: `format_cursor` did not make it for this sort and order.
    """
    try:
        padded = text + "=" * (-len(text) % 4)
        sort, order, value, key = json.loads(base64.urlsafe_b64decode(padded))
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError("this is no cursor of the list of checkpoints") from error
    if (sort, order) != (query.sort, query.order):
        raise ValueError("the cursor belongs to another sort or order")
    if not isinstance(key, str) or (value is not None and type(value) not in (int, float)):
        raise ValueError("this is no cursor of the list of checkpoints")
    return SortPosition(value, key)
