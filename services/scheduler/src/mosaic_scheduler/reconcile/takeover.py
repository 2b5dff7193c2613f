"""What a scheduler does once when it starts: adopt what runs, end what an earlier scheduler left behind."""

from pathlib import Path

from mosaic_contracts.stack import RUNS_DIR
from mosaic_scheduler.credentials.renewal import CredentialRenewal
from mosaic_scheduler.executors.protocol import Executor
from mosaic_scheduler.gpus.ledger import LeaseLedger
from mosaic_scheduler.queue.duration import PastDurations
from mosaic_scheduler.runs.store import RunStore
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.privacy import close_to_others

_PRIVATE = ("cache", "db", RUNS_DIR)


class Takeover:
    """Takes over from an earlier scheduler, once."""

    def __init__(
        self,
        store: RunStore,
        executor: Executor,
        ledger: LeaseLedger,
        durations: PastDurations,
        credentials: CredentialRenewal,
    ) -> None:
        self._store = store
        self._executor = executor
        self._ledger = ledger
        self._durations = durations
        self._credentials = credentials
        self._is_done = False

    async def ensure(self) -> None:
        """Take over unless that was done. Raises EngineUnavailable while the engine is away."""
        if not self._is_done:
            await self._take_over()
            self._is_done = True

    async def _take_over(self) -> None:
        adopted = await self._executor.adopt()
        await self._ledger.rebuild()
        await self._durations.load()
        alive = await self._store.unfinished_ids()
        # A run that has ended may at most have a shipper that is still at work.
        alive |= {run.record.run_id for run in await self._store.with_leftovers()}
        swept = await self._executor.sweep_orphans(lambda run_id: run_id in alive)
        for ref in adopted:
            if ref.run_id in alive:
                self._credentials.renew(ref)
        get_log().info("runs.adopted", adopted=len(adopted), orphans_ended=swept)


def close_home(home: Path) -> None:
    """Close to other users what an older version may have left open below `home`. Blocks: there may be many runs."""
    for folder in (home / name for name in _PRIVATE):
        if folder.is_dir():
            close_to_others(folder)
    runs = home / RUNS_DIR
    for folder in runs.iterdir() if runs.is_dir() else ():
        if folder.is_dir() and not folder.is_symlink():
            close_to_others(folder)
