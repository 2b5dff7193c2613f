"""CPU time of a sorted run list in the scheduler: the brief one that the gateway asks for, against whole records.
And of searches: the first one, which reads all records, and later ones by what they look at.

    var/venvs/scheduler/bin/python benchmarks/run_list.py [RUNS]

The scheduler's own database file with that many ended runs; CPU time of this process, one JSON object.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import ListRequest, RunIds
from mosaic_scheduler.database import Database, transaction
from mosaic_scheduler.runs import selection
from mosaic_scheduler.runs.store import RunStore

RUNS = 10_000
DEFAULTS = {f"parameter_{number}": number / 3 for number in range(25)}
SEARCHES = {
    "state": "state:failed",
    "three_terms": "lr>=1e-3 state:succeeded tag:ablation",
    "pattern": "env:CartPole* -tag:old",
    "text": "ppo__3",
}
LINES = ["a line of what the script printed, as long as they are " * 2] * 20


def row(number: int) -> tuple[object, ...]:
    """An ended run with the last lines of its output, as most records have them."""
    run_id = f"01JGXSYNTHET1CRVN{number:09d}"
    minute = f"2026-01-01T{number // 60 % 24:02d}:{number % 60:02d}:00Z"
    record = RunRecord.model_validate(
        {
            "run_id": run_id,
            "name": f"CartPole-v1__ppo__{number % 7}__{number}",
            "spec": {
                "worker": "cleanrl",
                "algorithm": "ppo",
                "environment": "CartPole-v1",
                "parameters": {"learning_rate": 10 ** -(number % 5)},
            },
            "defaults": DEFAULTS,
            "tags": ["ablation"] if number % 2 else ["old"],
            "state": "succeeded",
            "revision": 5,
            "created_at": minute,
            "started_at": minute,
            "ended_at": minute,
            "end": {"cause": "completed", "message": "Completed.", "last_lines": LINES},
            "run_dir": f"runs/{run_id}",
        }
    )
    return run_id, "succeeded", 5, 0, "nonce", record.model_dump_json()


async def brief(store: RunStore, value: str | None) -> list[RunIds]:
    """All pages of the list."""
    pages: list[RunIds] = []
    before: str | None = None
    while not pages or pages[-1].cut:
        wanted = selection.selection(ListRequest(before=before), 1)
        pages.append(await store.select_brief(wanted, value))
        before = pages[-1].run_ids[-1]
    return pages


async def search(store: RunStore, text: str) -> int:
    """A page of 100 records that a search finds."""
    wanted = selection.selection(ListRequest(search=text), 100)
    return len(await store.select(wanted))


async def whole(store: RunStore, runs: int) -> None:
    """All records, read and made ready for their messages."""
    for record in await store.select(selection.selection(ListRequest(), runs)):
        record.model_dump_json()


async def measured(work: Callable[[], Awaitable[Any]]) -> tuple[float, Any]:
    """Milliseconds of CPU time, and the result."""
    began = time.process_time()
    result = await work()
    return round(1000 * (time.process_time() - began), 1), result


async def main(runs: int) -> None:
    """Fill and ask."""
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder) / "scheduler.sqlite3")
        store = RunStore(database)
        insert = (
            "INSERT INTO runs (run_id, state, revision, pending, nonce, record)"
            " VALUES (?, ?, ?, ?, ?, ?)"
        )

        def fill(connection: Any) -> None:
            with transaction(connection):
                connection.executemany(insert, map(row, range(runs)))

        await database.call(fill)
        named_ms, pages = await measured(lambda: brief(store, "name"))
        started_ms, _ = await measured(lambda: brief(store, "started_at"))
        ids_ms, _ = await measured(lambda: brief(store, None))
        whole_ms, _ = await measured(lambda: whole(store, runs))
        first_ms, _ = await measured(lambda: search(store, SEARCHES["state"]))
        found = {}
        for name, text in SEARCHES.items():
            found[name], _ = await measured(lambda text=text: search(store, text))
        told = {
            "runs": sum(len(page.run_ids) for page in pages),
            "ids_ms": ids_ms,
            "ids_and_names_ms": named_ms,
            "ids_and_starts_ms": started_ms,
            "largest_message_bytes": max(len(page.model_dump_json()) for page in pages),
            "whole_records_ms": whole_ms,
            "first_search_ms": first_ms,
            "searches_ms": found,
        }
        print(json.dumps(told))
        await database.close()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS))
