"""Fill a scheduler's database by the mosaic_scheduler that PYTHONPATH names, and write down what it has of each run.

tests/older_data/make_databases.py runs this with the code of older versions; it uses what all of them have.
"""

import asyncio
import json
import sqlite3
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from mosaic_contracts.runs import RunRecord, StoredSpec
from mosaic_contracts.states import RunState
from mosaic_scheduler.database import Database
from mosaic_scheduler.runs.store import RunStore

IDS = [f"01ARZ3NDEKTSV4RRFFQ69G5FA{number}" for number in range(4)]
"""A queued run, a running one, one that has succeeded, and a queued one with a note."""


async def fill(path: Path) -> dict[str, Any]:
    """Submit four runs and bring them on; their records."""
    database = Database(path)
    store = RunStore(database)
    for number, run_id in enumerate(IDS):
        await store.insert(make_run(number, run_id), f"nonce {number}")
    starts = (RunState.STARTING, RunState.RUNNING)
    await bring_on(store, IDS[1], *starts)
    await bring_on(store, IDS[2], *starts, RunState.SUCCEEDED)
    if hasattr(store, "work"):  # not in version 1
        noted = {"note": "by hand", "tags": ["old"]}
        await store.work(IDS[3], lambda _, record: record.model_copy(update=noted))
    records = {run_id: await contents(store, run_id) for run_id in IDS}
    await database.close()
    return records


def make_run(number: int, run_id: str) -> RunRecord:
    """A queued run."""
    return RunRecord(
        run_id=run_id,
        name=f"run {number}",
        spec=StoredSpec(worker="synthetic", algorithm="synthetic", environment="Synthetic-v0"),
        state=RunState.QUEUED,
        revision=1,
        created_at=datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=number),
        run_dir=f"runs/{run_id}",
    )


async def bring_on(store: RunStore, run_id: str, *states: RunState) -> None:
    """Write one state after the other."""
    for state in states:
        stored = await store.get(run_id)
        if stored is None or await store.write(stored.record, state=state) is None:
            raise RuntimeError(f"{run_id} cannot become {state}")


async def contents(store: RunStore, run_id: str) -> Any:
    """A run's record as JSON has it."""
    stored = await store.get(run_id)
    return None if stored is None else json.loads(stored.record.model_dump_json())


def main() -> None:
    """Fill the database that the first argument names; the second is the file for its contents."""
    path = Path(sys.argv[1])
    records = asyncio.run(fill(path))
    with sqlite3.connect(path) as database:
        (version,) = database.execute("PRAGMA user_version").fetchone()
    database.close()
    found = {"version": version, "runs": records}
    Path(sys.argv[2]).write_text(json.dumps(found, sort_keys=True), "utf-8")


if __name__ == "__main__":
    main()
