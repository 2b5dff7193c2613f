"""How the stack is, as the gateway sees it, with what to do about it in words."""

import asyncio
import shutil
from pathlib import Path

import mosaic_gateway
from mosaic_contracts import verbs
from mosaic_contracts.models import PeerModel
from mosaic_contracts.problems import ProblemError
from mosaic_contracts.runs import RunSummary
from mosaic_contracts.services import ListRequest, NoRequest, RecorderStatus, SchedulerStatus
from mosaic_contracts.stack import BROKER_LOG, StackProxies, StackStatus
from mosaic_contracts.states import RunState
from mosaic_gateway.history import History
from mosaic_gateway.runs.service import has_lost_telemetry
from mosaic_gateway.scheduler import SchedulerClient
from mosaic_servicekit.broker_clock import clock_text
from mosaic_servicekit.bus import Bus

_LOOKED_AT = 50
"""Ended runs that are asked whether the store still knows them."""


class Health:
    """Asks every part how it is."""

    def __init__(
        self,
        bus: Bus,
        scheduler: SchedulerClient,
        history: History,
        home: Path,
        reserve_bytes: int,
    ) -> None:
        self._bus = bus
        self._scheduler = scheduler
        self._history = history
        self._home = home
        self._reserve_bytes = reserve_bytes

    async def stack(self) -> StackStatus:
        """`status`, and what is worth knowing although new runs can be started and recorded."""
        (status, scheduler), lost = await asyncio.gather(self._look(), self._lost_findings())
        clocks = clock_text(scheduler.broker_ahead_s) if scheduler is not None else None
        volumes = [volume.message for volume in scheduler.volumes] if scheduler else []
        status.findings += [
            *filter(None, volumes),
            *(scheduler.findings if scheduler else []),
            *([clocks] if clocks is not None else []),
            *lost,
        ]
        return status

    async def status(self) -> StackStatus:
        """Ask all parts at once; takes two seconds at most."""
        return (await self._look())[0]

    async def _look(self) -> tuple[StackStatus, SchedulerStatus | None]:
        scheduler, recorder, store = await asyncio.gather(
            self._ask_scheduler(), self._ask_recorder(), self._store_findings()
        )
        findings = [*scheduler[1], *recorder[1], *store, *self._disk_findings()]
        broker = self._bus.connected.is_set()
        if not broker:
            # One cause, said once: without the broker nobody can answer.
            findings = [
                self._bus.refusal
                or f"The broker at {self._bus.url} cannot be reached; see {self._broker_log()}.",
                *store,
                *self._disk_findings(),
            ]
        status = StackStatus(
            version=mosaic_gateway.VERSION,
            ready=not findings,
            broker=broker,
            scheduler=_plain(scheduler[0]),
            recorder=_plain(recorder[0]),
            findings=findings,
            proxies=scheduler[0].proxies if scheduler[0] is not None else StackProxies(),
        )
        return status, scheduler[0]

    async def _ask_scheduler(self) -> tuple[SchedulerStatus | None, list[str]]:
        try:
            return await self._scheduler.call(verbs.STATUS, NoRequest()), []
        except ProblemError as error:
            return None, [str(error)]

    async def _ask_recorder(self) -> tuple[RecorderStatus | None, list[str]]:
        try:
            status = await self._bus.call(verbs.RECORDER_STATUS, NoRequest())
        except ProblemError as error:
            return None, [str(error)]
        if status.accepting:
            return status, []
        why = status.reason or "it does not say why"
        return status, [f"The recorder stores nothing now: {why}. Runs wait; nothing is lost."]

    async def _store_findings(self) -> list[str]:
        try:
            await self._history.marks("0" * 26)
        except ProblemError as error:
            return [str(error)]
        return []

    async def _lost_findings(self) -> list[str]:
        ended = [state.value for state in RunState if state.is_final]
        none: dict[str, RunSummary] = {}
        try:
            request = ListRequest(limit=_LOOKED_AT, states=ended)
            records = (await self._scheduler.call(verbs.LIST, request)).runs
            ids = [record.run_id for record in records]
            summaries = await self._history.read(lambda reader: reader.summaries(ids), none)
        except ProblemError:
            # `status` says which part is away.
            return []
        lost = [r.run_id for r in records if has_lost_telemetry(r, summaries.get(r.run_id))]
        if not lost:
            return []
        return [
            f"The telemetry store has no event of {len(lost)} of the last {len(records)} ended runs "
            f"({', '.join(lost[:3])}{', ...' if len(lost) > 3 else ''}), which had some: it was deleted or exchanged. "
            "Put a copy of db/telemetry.sqlite3 back if you have one; new runs are recorded."
        ]

    def _broker_log(self) -> str:
        """Name the place of the broker's log: a file of the embedded stack, else what its engine keeps."""
        path = self._home / BROKER_LOG
        return f"its log, {path}" if path.exists() else "`docker compose logs broker`"

    def _disk_findings(self) -> list[str]:
        free = shutil.disk_usage(self._home).free
        if free >= self._reserve_bytes:
            return []
        return [
            f"Disk full: {free >> 20} MiB are free below {self._home}, and {self._reserve_bytes >> 20} MiB are kept "
            "(MOSAIC_DISK_RESERVE_BYTES). Nothing is recorded and no run is accepted until there is room."
        ]


def _plain(model: PeerModel | None) -> dict[str, object] | None:
    return model.model_dump(mode="json") if model is not None else None
