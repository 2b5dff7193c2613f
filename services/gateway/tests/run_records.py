"""Records of runs as a scheduler sends them."""

from datetime import UTC, datetime
from typing import Any

from mosaic_contracts.runs import RunRecord


def make_record(run_id: str, state: str = "running", revision: int = 1, **more: Any) -> RunRecord:
    """A run as a scheduler sends it."""
    fields = {
        "run_id": run_id,
        "name": "CartPole-v1__ppo__1",
        "spec": {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1"},
        "state": state,
        "revision": revision,
        "created_at": datetime.now(UTC),
        "run_dir": f"runs/{run_id}",
        **more,
    }
    return RunRecord.model_validate(fields)
