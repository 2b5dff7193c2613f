"""The list of checkpoints over all runs: what the store has of each file, and the scheduler of its run."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from mosaic_contracts.checkpoint_words import (
    MEAN_EPISODES,
    MEAN_RETURN,
    NORMALIZER,
    STEP_UNKNOWN,
    CheckpointMark,
    CheckpointState,
)
from mosaic_contracts.checkpoints import CheckpointPage, CheckpointRow, environment_version
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import ListRequest
from mosaic_gateway.checkpoints.query import (
    CheckpointQuery,
    format_cursor,
    key_at,
    parse_cursor,
    position_of,
)
from mosaic_gateway.errors import cursor_invalid
from mosaic_gateway.files.folder import PathRefused, resolve_inside
from mosaic_gateway.history import History
from mosaic_gateway.runs.listing import RunSource, records_of
from mosaic_gateway.runs.query import SortPosition, arrange, is_behind
from mosaic_store import CheckpointEntry, CheckpointKey, StoredCheckpoint

_AWAY = (ProblemCode.SERVICE_UNAVAILABLE, ProblemCode.BROKER_UNAVAILABLE)
T = TypeVar("T")
Marks = Mapping[CheckpointKey, list[CheckpointMark]]


class RunOrigin(NamedTuple):
    """What a run was asked to do; checkpoints of one worker, algorithm and environment are compared."""

    worker: str
    algorithm: str
    environment: str
    kind: str

    @property
    def group(self) -> tuple[str, str, str]:
        """Checkpoints of equal ones can be compared."""
        return self.worker, self.algorithm, self.environment


class CheckpointRegistry:
    """Lists checkpoints. While the scheduler does not answer, it takes what was last known of the runs."""

    def __init__(
        self, source: RunSource, known: RunSource, history: History, runs_dir: Path
    ) -> None:
        self._sources = (source, known)
        self._history = history
        self._runs_dir = runs_dir

    async def page(self, query: CheckpointQuery) -> CheckpointPage:
        """One page.

        Raises:
            ProblemError: `cursor_invalid`; the store cannot be read, or nothing is known of the runs.
        """
        source, known = self._sources
        try:
            return await self._page(query, source)
        except ProblemError as error:
            if error.problem.code not in _AWAY:
                raise
            page = await self._page(query, known)
            if not page.checkpoints and not query.cursor:
                raise
            return page

    async def rows(self, run_id: str) -> list[CheckpointRow]:
        """All checkpoints of one run, newest first. Raises ProblemError as `page`."""
        found: list[CheckpointRow] = []
        cursor: str | None = None
        while True:
            page = await self.page(CheckpointQuery(run=[run_id], limit=500, cursor=cursor))
            found += page.checkpoints
            cursor = page.next_cursor
            if cursor is None:
                return found

    async def _page(self, query: CheckpointQuery, source: RunSource) -> CheckpointPage:
        nothing: list[CheckpointEntry] = []
        entries = await self._history.read(lambda reader: reader.checkpoint_entries(), nothing)
        origins = await _origins(source)
        entries = [entry for entry in entries if entry.key.run_id in origins]
        marks = mark(entries, origins)
        wanted = await self._wanted(query, source, origins)
        places = arrange(
            [position_of(entry, query.sort) for entry in entries if entry.key.run_id in wanted],
            query.order,
        )
        if query.cursor:
            last = _read_cursor(query)
            places = [place for place in places if is_behind(place, last, query.order)]
        chosen = places[: query.limit]
        cursor = format_cursor(chosen[-1], query) if len(places) > query.limit else None
        rows = await self._rows([key_at(place) for place in chosen], source, marks)
        return CheckpointPage(checkpoints=rows, next_cursor=cursor)

    async def _wanted(
        self, query: CheckpointQuery, source: RunSource, origins: Mapping[str, RunOrigin]
    ) -> set[str]:
        """Ids of the runs whose checkpoints are listed."""
        one_of = (query.worker, query.algorithm, query.environment)
        found = {
            run_id
            for run_id, origin in origins.items()
            if all(
                not chosen or value in chosen for chosen, value in zip(one_of, origin, strict=False)
            )
        }
        if query.run:
            found &= set(query.run)
        if query.text:
            found &= set(await source.run_ids(ListRequest(text=query.text)))
        return found

    async def _rows(
        self, keys: list[CheckpointKey], source: RunSource, marks: Marks
    ) -> list[CheckpointRow]:
        none: dict[CheckpointKey, StoredCheckpoint] = {}
        stored = await self._history.read(lambda reader: reader.checkpoints(keys), none)
        runs = list(dict.fromkeys(key.run_id for key in keys))
        records = {record.run_id: record for record in await records_of(source, runs)}
        rows = [
            _row(key, stored[key], records[key.run_id], marks.get(key, []))
            for key in keys
            if key in stored and key.run_id in records
        ]
        return await asyncio.to_thread(self._with_states, rows)

    def _with_states(self, rows: list[CheckpointRow]) -> list[CheckpointRow]:
        """Each costs the disk a look."""
        for row in rows:
            if row.state is not CheckpointState.PRUNED:
                row.state = file_state(self._runs_dir / row.run_id, row)
        return rows


def file_state(folder: Path, row: CheckpointRow) -> CheckpointState:
    """Whether a file that nobody deleted on purpose is there, with its size; its content is not read."""
    try:
        size = resolve_inside(folder, row.path).stat().st_size
    except (PathRefused, OSError):
        return CheckpointState.MISSING
    return CheckpointState.PRESENT if size == row.bytes else CheckpointState.ALTERED


def mark(
    entries: Iterable[CheckpointEntry], origins: Mapping[str, RunOrigin]
) -> dict[CheckpointKey, list[CheckpointMark]]:
    """Find the best and the newest checkpoint of each worker, algorithm and environment."""
    groups: defaultdict[tuple[str, str, str], list[CheckpointEntry]] = defaultdict(list)
    for entry in entries:
        if entry.is_kept:
            groups[origins[entry.key.run_id].group].append(entry)
    found: defaultdict[CheckpointKey, list[CheckpointMark]] = defaultdict(list)
    for group in groups.values():
        rated = [entry for entry in group if entry.value is not None]
        if rated:
            best = max(rated, key=lambda entry: (entry.value or 0.0, entry.t or 0.0, entry.key))
            found[best.key].append(CheckpointMark.BEST)
        newest = max(group, key=lambda entry: (entry.t or 0.0, entry.step or 0, entry.key))
        found[newest.key].append(CheckpointMark.NEWEST)
    return found


async def _origins(source: RunSource) -> dict[str, RunOrigin]:
    """Origins of all runs that are not deleted."""
    rows = await source.run_values(ListRequest(), "origin")
    return {run_id: RunOrigin(*json.loads(text)) for run_id, text in rows if text is not None}


def _read_cursor(query: CheckpointQuery) -> SortPosition:
    try:
        return parse_cursor(query.cursor or "", query)
    except ValueError as error:
        raise cursor_invalid(str(error)) from error


def _row(
    key: CheckpointKey, stored: StoredCheckpoint, record: RunRecord, marks: list[CheckpointMark]
) -> CheckpointRow:
    spec, facts, config = record.spec, stored.facts, stored.config
    return CheckpointRow(
        run_id=key.run_id,
        run_name=record.name,
        kind=spec.kind.value,
        worker=spec.worker,
        algorithm=spec.algorithm,
        environment=spec.environment,
        environment_version=environment_version(spec.environment),
        path=key.path,
        sha256=stored.sha256,
        bytes=stored.bytes,
        step=None if facts.get(STEP_UNKNOWN) is True else stored.step,
        reason=stored.reason,
        t=stored.t,
        mean_return_20=_read(_NUMBER, facts.get(MEAN_RETURN)),
        mean_return_episodes=_read(_COUNT, facts.get(MEAN_EPISODES)),
        evaluation=stored.evaluation,
        normalizer=_read(_FLAG, facts.get(NORMALIZER)),
        spaces=_read(_SPACES, config.get("spaces")),
        packages=_read(_PACKAGES, config.get("packages")) or {},
        image=record.image,
        worker_lock=record.worker_lock,
        worker_version=record.worker_version,
        marks=marks,
        state=CheckpointState.PRESENT if stored.is_kept else CheckpointState.PRUNED,
    )


_NUMBER = TypeAdapter(float | None)
_COUNT = TypeAdapter(int | None)
_FLAG = TypeAdapter(bool | None)
_SPACES = TypeAdapter(dict[str, dict[str, Any]] | None)
_PACKAGES = TypeAdapter(dict[str, str] | None)


def _read(form: TypeAdapter[T | None], value: object) -> T | None:
    """A value that a worker recorded; None where it is of another form."""
    try:
        return form.validate_python(value, strict=True)
    except ValidationError:
        return None
