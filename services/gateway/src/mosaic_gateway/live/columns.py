"""Steps and metrics as columns: one list a field, which is a third of the bytes and a tenth of the work of objects."""

from collections.abc import Callable, Sequence
from itertools import chain
from operator import attrgetter
from types import NoneType
from typing import Any

from mosaic_contracts.wire import Batch

STEP = ("seq", "t", "env", "episode", "step", "action", "reward", "flags", "hash", "actor")
"""Keys as in `mosaic_contracts.wire.Step`, with `t` (seconds since the epoch) for `dt`; `observation` if any."""
METRIC = ("seq", "t", "name", "step", "value")

Part = tuple[int, list[Any]]
"""Records of one kind and one batch, behind the batch's t0 in microseconds."""


def event_columns(events: list[dict[str, Any]], names: tuple[str, ...]) -> dict[str, Any]:
    """Columns of events as the store gives them."""
    table: dict[str, Any] = {name: [event[name] for event in events] for name in names}
    if "hash" in table:
        table["hash"] = [bytes.fromhex(value) for value in table["hash"]]
    if names is STEP and any(event.get("observation") is not None for event in events):
        table["observation"] = [event.get("observation") for event in events]
    return table


def record_columns(parts: Sequence[Part], names: tuple[str, ...]) -> dict[str, Any]:
    """Columns of records."""
    records = list(chain.from_iterable(part for _, part in parts))
    # `map` with `attrgetter` stays in C: half the time of a comprehension for each field.
    table: dict[str, Any] = {
        name: list(map(attrgetter(name), records)) for name in names if name != "t"
    }
    table["t"] = [(t0_us + record.dt) / 1e6 for t0_us, part in parts for record in part]
    return table


def step_columns(
    batch: Batch,
    parts: Sequence[Part],
    plain: Callable[[dict[str, Any]], dict[str, Any]],
) -> dict[str, Any]:
    """Columns of steps; raw bytes of actions and observations become lists."""
    table = record_columns(parts, (*STEP, "observation"))
    if set(map(type, table["observation"])) <= {NoneType}:
        del table["observation"]
    head = {"type": "step", "attempt": batch.attempt, "source": batch.source}
    for name in ("action", "observation"):
        values = table.get(name, ())
        if bytes in set(map(type, values)):
            table[name] = [plain({**head, name: value})[name] for value in values]
    return table
