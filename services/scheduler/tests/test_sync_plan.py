"""The plan of a sync, without a stack: what it asks of the disk."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.records import make_record

from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import SyncOrder
from mosaic_contracts.states import RunState
from mosaic_contracts.syncs import SyncPlan, SyncRequest
from mosaic_contracts.tracking import WANDB_SECRET
from mosaic_scheduler.admission import syncs
from mosaic_scheduler.admission.sendable import Sendable, find_sendable
from mosaic_scheduler.admission.tracker_look import ReachLook
from mosaic_scheduler.executors.protocol import Internet
from mosaic_scheduler.proxy import Proxies

ADDRESS = "https://wandb.example"


class Parts:
    """What a plan asks other parts of the scheduler."""

    bounds = SimpleNamespace(internet=Internet.OPEN)
    default_address = ADDRESS
    proxies = Proxies()

    def __init__(self, record: RunRecord) -> None:
        self._record = record

    async def require(self, _run_id: str) -> RunRecord:
        """The run."""
        return self._record

    async def workers(self) -> Any:
        """One worker, which has wandb."""
        entry = SimpleNamespace(
            manifest=SimpleNamespace(id=self._record.spec.worker),
            ready=True,
            description=SimpleNamespace(modes=["train", "sync"]),
        )
        return SimpleNamespace(workers=[entry])

    def names(self) -> list[str]:
        """Names of secrets."""
        return [WANDB_SECRET]

    def address(self, _spec: object, _description: object) -> str:
        """Where the run would send."""
        return ADDRESS

    async def look_at(self, address: str, _proxies: Proxies, *, has_key: bool) -> ReachLook:
        """The server answers."""
        assert has_key
        return ReachLook(address, "")


async def test_a_plan_walks_the_folder_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run with a hundred thousand files is looked through once for each answer."""
    walks: list[Path] = []

    def walk(folder: Path, request: SyncRequest) -> Sendable:
        walks.append(folder)
        return find_sendable(folder, request)

    monkeypatch.setattr(syncs, "find_sendable", walk)
    record = make_record(RunState.SUCCEEDED)
    parts: Any = Parts(record)
    settings: Any = SimpleNamespace(home=tmp_path, disk_reserve_bytes=0)
    (tmp_path / "runs" / record.run_id).mkdir(parents=True)
    made = syncs.RunSyncs(settings, parts, parts, parts, parts, parts, parts, parts)
    plan = await made.send(SyncOrder(run_id=record.run_id, sync={}, dry_run=True))
    assert isinstance(plan, SyncPlan)
    assert len(walks) == 1
