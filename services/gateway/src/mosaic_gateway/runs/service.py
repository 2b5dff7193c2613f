"""Runs as clients see them: the scheduler's record, the store's summary and the present rate, merged."""

from pathlib import Path
from typing import Any

from mosaic_contracts.ids import parse_run_id
from mosaic_contracts.runs import RunPage, RunRecord, RunSummary, RunView
from mosaic_contracts.states import RunState
from mosaic_contracts.worker import CheckReport
from mosaic_gateway.errors import run_unknown
from mosaic_gateway.history import History
from mosaic_gateway.peers import Scheduler
from mosaic_gateway.runs.rate import RateTracker, eta_s, overall_sps


class Runs:
    """All that is asked about runs as a whole."""

    def __init__(
        self, scheduler: Scheduler, history: History, rates: RateTracker, runs_dir: Path
    ) -> None:
        self._scheduler = scheduler
        self._history = history
        self._rates = rates
        self._runs_dir = runs_dir

    def view(self, record: RunRecord, summary: RunSummary | None) -> RunView:
        """Merge what is known of one run."""
        is_final = record.state.is_final
        sps = overall_sps(record, summary) if is_final else self._rates.sps(record.run_id)
        to_go = None if is_final else eta_s(record, sps)
        # Attributes, not a dump: nested models are taken over as they are.
        known = {**dict(record), **(record.model_extra or {})}
        return RunView.model_validate({**known, "summary": summary, "sps": sps, "eta_s": to_go})

    async def get(self, run_id: str) -> RunView:
        """One run. Raises ProblemError: unknown, or the scheduler does not answer."""
        record = await self._scheduler.get(self.parse(run_id))
        return await self.complete(record)

    async def complete(self, record: RunRecord) -> RunView:
        """A record with its summary from the store."""
        summary = await self._history.read(lambda r: r.summary(record.run_id), None)
        return self.view(record, summary)

    async def page(self, cursor: str | None, limit: int, states: list[RunState] | None) -> RunPage:
        """One page, newest first; the cursor is the id of the last run of the page before."""
        before = self.parse(cursor) if cursor else None
        found = await self._scheduler.list(before, limit + 1, states)
        more = found.cut or len(found.runs) > limit
        records = found.runs[:limit]
        ids = [record.run_id for record in records]
        none: dict[str, RunSummary] = {}
        summaries = await self._history.read(lambda r: r.summaries(ids), none)
        views = [self.view(record, summaries.get(record.run_id)) for record in records]
        return RunPage(runs=views, next_cursor=ids[-1] if more else None)

    async def submit(self, spec: dict[str, Any]) -> RunView:
        """Start a run."""
        return self.view(await self._scheduler.submit(spec), None)

    async def check(self, spec: dict[str, Any]) -> CheckReport:
        """What submitting would do; nothing is started."""
        return await self._scheduler.check(spec)

    async def stop(self, run_id: str) -> RunView:
        """Ask a run to stop."""
        return await self.complete(await self._scheduler.stop(self.parse(run_id)))

    def parse(self, run_id: str) -> str:
        """Check the form of a run id. Raises ProblemError `run_unknown`: nothing else can have such an id."""
        try:
            return parse_run_id(run_id)
        except ValueError as error:
            raise run_unknown(run_id) from error

    def folder(self, run_id: str) -> Path:
        """Where the files of a run lie (it need not exist)."""
        return self._runs_dir / self.parse(run_id)

    async def require(self, run_id: str) -> str:
        """Return `run_id` if there is such a run.

        What lies on disk is enough, so that history can be read while the scheduler is away; only a run without
        a trace is asked for.

        Raises:
            ProblemError: unknown, or without a trace while the scheduler does not answer.
        """
        if self.folder(run_id).is_dir():
            return run_id
        if not await self._history.marks(run_id):
            await self._scheduler.get(run_id)
        return run_id
