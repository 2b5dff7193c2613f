"""Runs as clients see them: the scheduler's record, the store's summary and the present rate, merged."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from mosaic_contracts.ids import parse_run_id
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.runs import RunPage, RunRecord, RunSummary, RunView
from mosaic_contracts.services import RunRequest
from mosaic_contracts.verbs import GET, ServiceVerb
from mosaic_gateway.errors import run_unknown
from mosaic_gateway.history import History
from mosaic_gateway.runs.known_runs import KnownRuns
from mosaic_gateway.runs.last_known import STALE, LastKnown
from mosaic_gateway.runs.listing import Listing
from mosaic_gateway.runs.query import RunQuery
from mosaic_gateway.runs.rate import RateTracker, eta_s, overall_sps
from mosaic_gateway.scheduler import SchedulerClient
from mosaic_servicekit.clock import age_s, present

TELEMETRY_LOST = (
    "The telemetry store knows no event of this run, although it had some: the store was deleted or exchanged. "
    "What its worker printed and the files in its folder are still there."
)
RequestT = TypeVar("RequestT", bound=BaseModel)
_AWAY = (ProblemCode.SERVICE_UNAVAILABLE, ProblemCode.BROKER_UNAVAILABLE)
_CLOCK_GRAIN = timedelta(milliseconds=2)
"""Resolution of the creation time in a record."""


def has_lost_telemetry(record: RunRecord, summary: RunSummary | None) -> bool:
    """Whether an ended run had events, all of them stored once, and the store knows none."""
    if not record.state.is_final or record.telemetry_pending or record.deleted_at is not None:
        return False
    return record.first_event_at is not None and (summary is None or summary.events == 0)


class Runs:
    """All that is asked about runs as a whole."""

    def __init__(
        self,
        scheduler: SchedulerClient,
        history: History,
        rates: RateTracker,
        runs_dir: Path,
        last_known: LastKnown | None = None,
    ) -> None:
        self._scheduler = scheduler
        self._history = history
        self._listing = Listing(scheduler, history)
        self._rates = rates
        self._runs_dir = runs_dir
        self._last_known = last_known or LastKnown(history, runs_dir)
        self._known_listing = Listing(KnownRuns(self._last_known), history)

    def view(self, record: RunRecord, summary: RunSummary | None) -> RunView:
        """Merge what is known of one run."""
        is_final = record.state.is_final
        sps = overall_sps(record, summary) if is_final else self._rates.sps(record.run_id)
        to_go = None if is_final else eta_s(record, sps)
        # Attributes, not a dump: nested models are taken over as they are.
        known = {**dict(record), **(record.model_extra or {})}
        elapsed_s = record.elapsed_s if is_final else age_s(record, present())
        merged = {"summary": summary, "sps": sps, "eta_s": to_go, "elapsed_s": elapsed_s}
        return RunView.model_validate({**known, **merged})

    async def get(self, run_id: str) -> RunView:
        """One run; while the scheduler does not answer, what was last known of it, marked as stale.

        Raises:
            ProblemError: unknown; or the scheduler does not answer and nothing else knows enough of the run.
        """
        try:
            record = await self._scheduler.call(GET, RunRequest(run_id=self.parse(run_id)))
        except ProblemError as error:
            if error.problem.code not in _AWAY:
                raise
            view = await self._stale(run_id)
            if view is None:
                raise
            return view
        self._last_known.remember(record)
        return await self.complete(record)

    async def _stale(self, run_id: str) -> RunView | None:
        views = await self._stale_views(await self._last_known.records([run_id]))
        return views[0] if views else None

    async def _stale_views(self, records: list[RunRecord]) -> list[RunView]:
        summaries = await self._summaries(records)
        views = [self.view(record, summaries.get(record.run_id)) for record in records]
        return [
            view.model_copy(update={"stale": True, "notes": [STALE, *view.notes]}) for view in views
        ]

    async def has_ended(self, run_id: str) -> bool:
        """Whether a run is final, as far as is known."""
        try:
            return (await self.get(run_id)).state.is_final
        except ProblemError:
            return False

    async def complete(self, record: RunRecord) -> RunView:
        """A record with its summary from the store."""
        summary = await self._history.read(lambda r: r.summary(record.run_id), None)
        return self._with_notes(record, summary)

    async def page(self, query: RunQuery) -> RunPage:
        """One page of the run list; while the scheduler does not answer, of what was last known, marked as stale.

        Raises:
            ProblemError: `cursor_invalid`; or the scheduler does not answer and no such run is known without it.
        """
        try:
            records, cursor = await self._listing.page(query)
        except ProblemError as error:
            if error.problem.code not in _AWAY:
                raise
            records, cursor = await self._known_listing.page(query)
            if not records and not query.cursor:
                raise
            return RunPage(runs=await self._stale_views(records), next_cursor=cursor)
        for record in records:
            self._last_known.remember(record)
        return RunPage(runs=await self.completed(records), next_cursor=cursor)

    async def start(
        self,
        verb: ServiceVerb[RequestT, RunRecord],
        request: RequestT,
        *,
        may_exist: bool = False,
    ) -> tuple[RunView, bool]:
        """Start a run by one of the scheduler's verbs.

        Args:
            verb: the verb.
            request: its request.
            may_exist: whether the scheduler may answer with a run that is there already: one with the same
                idempotency key, or a replay of the same episode.

        Returns:
            The run, and whether it is new.
        """
        asked_at = datetime.now(UTC)
        record = await self._scheduler.call(verb, request)
        # Only a run made before the scheduler was asked is old.
        if not may_exist or record.created_at > asked_at - _CLOCK_GRAIN:
            return self.view(record, None), True
        return await self.complete(record), False

    async def change(self, verb: ServiceVerb[RequestT, RunRecord], request: RequestT) -> RunView:
        """Change a run by one of the scheduler's verbs, and return it as it is now."""
        return await self.complete(await self._scheduler.call(verb, request))

    async def completed(self, records: list[RunRecord]) -> list[RunView]:
        """Records with their summaries, by one read of the store. Raises ProblemError: it cannot be read."""
        summaries = await self._summaries(records)
        return [self._with_notes(record, summaries.get(record.run_id)) for record in records]

    async def _summaries(self, records: list[RunRecord]) -> dict[str, RunSummary]:
        ids = [record.run_id for record in records]
        none: dict[str, RunSummary] = {}
        return await self._history.read(lambda r: r.summaries(ids), none)

    def _with_notes(self, record: RunRecord, summary: RunSummary | None) -> RunView:
        """Return the `view` of a run whose summary was just read, with a note where it should have events."""
        view = self.view(record, summary)
        if has_lost_telemetry(record, summary):
            view.notes = [*view.notes, TELEMETRY_LOST]
        return view

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
            await self._scheduler.call(GET, RunRequest(run_id=run_id))
        return run_id
