"""Steps and metrics as columns: one list a field, which is a third of the bytes and a tenth of the work of objects."""

from collections.abc import Callable, Sequence
from typing import Any

from mosaic_contracts.wire import Batch

STEP = ("seq", "t", "env", "episode", "step", "action", "reward", "flags", "hash", "actor")
"""Keys as in `mosaic_contracts.wire.Step`, with `t` (seconds since the epoch) for `dt`; `observation` if any."""
METRIC = ("seq", "t", "name", "step", "value")


def event_columns(events: list[dict[str, Any]], names: tuple[str, ...]) -> dict[str, Any]:
    """Columns of events as the store gives them."""
    table: dict[str, Any] = {name: [event[name] for event in events] for name in names}
    if "hash" in table:
        table["hash"] = [bytes.fromhex(value) for value in table["hash"]]
    if names is STEP and any(event.get("observation") is not None for event in events):
        table["observation"] = [event.get("observation") for event in events]
    return table


def record_columns(records: Sequence[tuple[int, Any]], names: tuple[str, ...]) -> dict[str, Any]:
    """Columns of (t0 of its batch in microseconds, record)."""
    return {
        name: [(t0_us + record.dt) / 1e6 for t0_us, record in records]
        if name == "t"
        else [getattr(record, name) for _, record in records]
        for name in names
    }


def step_columns(
    batch: Batch,
    steps: Sequence[tuple[int, Any]],
    plain: Callable[[dict[str, Any]], dict[str, Any]],
) -> dict[str, Any]:
    """Columns of steps; raw bytes of actions and observations become lists."""
    table = record_columns(steps, STEP)
    if any(step.observation is not None for _, step in steps):
        table["observation"] = [step.observation for _, step in steps]
    head = {"type": "step", "attempt": batch.attempt, "source": batch.source}
    for name in ("action", "observation"):
        values = table.get(name, ())
        if any(isinstance(value, bytes) for value in values):
            table[name] = [plain({**head, name: value})[name] for value in values]
    return table
