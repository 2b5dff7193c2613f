"""How many bytes a run will need, from runs of its kind before it: what they have in the store and in their folders."""

import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from mosaic_contracts.problems import ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.states import RunState
from mosaic_contracts.store_upkeep import RunSpaces
from mosaic_contracts.stored_files import StoredFiles, StoredFilesRequest
from mosaic_contracts.worker import WorkerDescription
from mosaic_scheduler.database import Database
from mosaic_scheduler.runs.resumption import total_steps
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.logging import get_log

ENOUGH_RUNS = 3
"""Past runs from which on a run is refused for its need: fewer may be unlike it."""
_LOOKED_AT = 2000
"""Newest runs among which those of a kind are sought."""
_TAKEN = 10
_KEPT_S = 60.0
"""Seconds for which sizes are taken as they were: a sweep or a script submits many runs of a kind."""
_ANSWER_S = 2.0
"""For the recorder: a user waits."""

_Kind = tuple[str, str, str, str, str]


@dataclass(frozen=True)
class PastSize:
    """One past run."""

    bytes: int
    steps: int | None
    """Environment steps that it did; None: it counts none."""


@dataclass(frozen=True)
class SpaceNeed:
    """What a run will need."""

    bytes: int
    """As past runs needed in the median, for as many steps."""
    least_bytes: int
    """As the smallest of them needed."""
    runs: int
    """Number of past runs."""
    steps: int | None
    """Steps for which it is reckoned; None: past runs are taken as they were."""


def space_need(past: Iterable[PastSize], steps: int | None) -> SpaceNeed | None:
    """Reckon the need of a run with so many steps; None: there was no run like it."""
    known = [each for each in past if each.bytes > 0]
    scaled = [each.bytes / each.steps * steps for each in known if steps and each.steps]
    found = scaled or [float(each.bytes) for each in known]
    if not found:
        return None
    return SpaceNeed(int(median(found)), int(min(found)), len(found), steps if scaled else None)


class _Known(NamedTuple):
    """What the recorder said of runs of a kind."""

    at: float
    """Monotonic."""
    run_ids: list[str]
    sizes: Mapping[str, int]
    """Bytes by run; empty: it did not answer."""


class PastSizes:
    """Asks the database for past runs of a kind, and the recorder for their sizes."""

    def __init__(self, database: Database, bus: Bus) -> None:
        self._database = database
        self._bus = bus
        self._known: dict[_Kind, _Known] = {}

    async def need(self, spec: RunSpec, description: WorkerDescription) -> SpaceNeed | None:
        """The need of a run; None: nobody knows, or the recorder did not answer just now."""
        kind = _kind(spec)
        records = await self._database.call(_of_kind, kind)
        return space_need(await self._past(kind, records), total_steps(spec, description))

    async def _past(self, kind: _Kind, records: Sequence[RunRecord]) -> list[PastSize]:
        run_ids = [record.run_id for record in records]
        known = self._known.get(kind)
        now = time.monotonic()
        if known is None or known.run_ids != run_ids or now - known.at > _KEPT_S:
            known = self._known[kind] = _Known(now, run_ids, await self._read(run_ids))
        return [_past(record, known.sizes) for record in records]

    async def _read(self, run_ids: list[str]) -> Mapping[str, int]:
        if not run_ids:
            return {}
        try:
            return await self._sizes(run_ids)
        except ProblemError as error:
            get_log().warning("run.need_unknown", error=str(error))
            return {}

    async def _sizes(self, run_ids: list[str]) -> dict[str, int]:
        """Bytes by run, in folder and store. Raises ProblemError: the recorder does not answer."""
        asked = StoredFilesRequest(run_ids=run_ids)
        files = await self._bus.request("recorder", "files", asked, StoredFiles, _ANSWER_S)
        spaces = await self._bus.request("recorder", "space", None, RunSpaces, _ANSWER_S)
        sizes = {space.run_id: space.bytes for space in spaces.runs}
        for run in files.runs:
            sizes[run.run_id] = sizes.get(run.run_id, 0) + sum(run.bytes)
        return sizes


def _past(record: RunRecord, sizes: Mapping[str, int]) -> PastSize:
    steps = record.progress.step if record.progress is not None else None
    if not steps and record.state is RunState.SUCCEEDED:
        steps = record.spec.steps
    return PastSize(sizes.get(record.run_id, 0), steps or None)


def _kind(spec: RunSpec) -> _Kind:
    return spec.worker, spec.algorithm, spec.environment, spec.kind, spec.record


def _of_kind(connection: sqlite3.Connection, kind: _Kind) -> list[RunRecord]:
    """The newest runs of a kind that did what they were to do, or ended early after some steps."""
    rows = connection.execute(
        "SELECT record FROM (SELECT record, state FROM runs ORDER BY run_id DESC LIMIT ?1)"
        " WHERE state IN ('succeeded', 'cancelled', 'timed_out', 'interrupted')"
        " AND json_extract(record, '$.spec.worker') = ?2"
        " AND json_extract(record, '$.spec.algorithm') = ?3"
        " AND json_extract(record, '$.spec.environment') = ?4"
        " AND json_extract(record, '$.spec.kind') = ?5"
        " AND json_extract(record, '$.spec.record') = ?6 LIMIT ?7",
        (_LOOKED_AT, *kind, _TAKEN),
    ).fetchall()
    return [RunRecord.model_validate_json(record) for (record,) in rows]
