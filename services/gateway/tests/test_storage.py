"""`/storage`: what is asked of the scheduler, and what is answered."""

from typing import Any

import pytest

from mosaic_contracts.storage_reports import PruneOrder, StorageQuery, UndoOrder
from mosaic_store.testing import RUN_ID

pytestmark = pytest.mark.broker


async def test_the_report_is_of_all_runs_or_of_one(gateway: Any, peers: Any, record: Any) -> None:
    """The query reaches the scheduler; a run that is not there is a 404."""
    peers.records[RUN_ID] = record(RUN_ID)
    assert (await gateway.get("/storage")).json()["run_count"] == 1
    assert (await gateway.get(f"/storage?run={RUN_ID}&limit=7")).status_code == 200
    assert peers.asked[-1] == StorageQuery(run=RUN_ID, limit=7)
    unknown = await gateway.get(f"/storage?run={RUN_ID[:-1]}Z")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "run_unknown")


async def test_a_plan_and_a_removal_are_asked_for_alike(gateway: Any, peers: Any) -> None:
    """The scheduler gets the request as it came, and validates it."""
    asked = {"run_ids": [RUN_ID], "kinds": ["video"]}
    plan = await gateway.ask("POST", "/storage/plan", json=asked)
    assert plan.json()["items"] == []
    assert peers.asked[-1] == PruneOrder(asked=asked)
    done = await gateway.ask("POST", "/storage/prune", json={**asked, "empty_trash": True})
    assert (done.json()["files"], done.json()["left"]) == (2, 1)
    assert peers.asked[-1] == PruneOrder(asked={**asked, "empty_trash": True})


async def test_removed_files_are_brought_back_by_run_or_number(gateway: Any, peers: Any) -> None:
    """Without a filter everything in the trash comes back."""
    for asked in ({}, {"items": [3, 4]}, {"run_ids": [RUN_ID]}):
        assert (await gateway.ask("POST", "/storage/undo", json=asked)).json()["files"] == 2
        assert peers.asked[-1] == UndoOrder(asked=asked)


async def test_profiles_are_listed_with_their_file(gateway: Any, peers: Any) -> None:
    """The ones that ship are there without a file."""
    found = (await gateway.get("/storage/profiles")).json()
    assert (found["exists"], found["content"]["default"]) == (False, "default")
    assert {"default", "lean", "keep_all"} <= found["content"]["profiles"].keys()
