"""Steps as the live connection tells them: the newest of a batch."""

from typing import Any

from mosaic_gui.state.follow import Columns, EventBatch

STEP_TYPES = ("step", "episode_start")
"""What a subscription asks for beside the usual to know where an agent stands."""


def newest_step(batch: EventBatch) -> dict[str, Any] | None:
    """The last step or episode's start of the first environment; its `hash` is hexadecimal."""
    found = [e for e in batch.events if e["type"] in STEP_TYPES and e["env"] == 0]
    if (table := batch.columns.get("step")) is not None:
        found += _last_row(table)
    return max(found, key=lambda event: (event["attempt"], event["seq"]), default=None)


def _last_row(table: Columns) -> list[dict[str, Any]]:
    row = next((n for n in reversed(range(len(table["seq"]))) if table["env"][n] == 0), None)
    if row is None:
        return []
    step = {name: v[row] if isinstance(v, list) else v for name, v in table.items()}
    return [step | {"type": "step", "hash": bytes(step["hash"]).hex()}]
