"""Reads the records of replays and branches that wait, and writes them into the folders of their runs.

A record may be large and the recorder may be away: neither may hold up the reconciler. So each record is read in a task
of its own while its run waits in the queue, and the run starts once its file is there.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from pydantic_core import to_json

from mosaic_base.atomic import atomic_file
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.replays import REPLAY_FILE, ReplaySource
from mosaic_contracts.runs import RunRecord
from mosaic_scheduler.errors import LaunchFailed, RecordUnusable
from mosaic_scheduler.events.episodes import RecordedEpisodes
from mosaic_scheduler.executors.run_folder import fault_words
from mosaic_scheduler.queue.outside import OUTSIDE
from mosaic_scheduler.reconcile.episode_record import EpisodeFilter
from mosaic_scheduler.runs.resets import needs_earlier_episodes
from mosaic_servicekit.lifecycle import cancel_all
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.privacy import private_folder

RETRY_S = 1.0
READING = "reads the record of its episode"


@dataclass
class _Reading:
    """One record on its way."""

    task: asyncio.Task[None] | None = None
    waits_for: str = READING
    """Why the run cannot start yet; empty: it can."""
    failure: str = ""
    """Why it never can."""


@dataclass
class ReplayRecords:
    """One reading for each replay or branch that waits."""

    episodes: RecordedEpisodes
    folder: Callable[[RunRecord], Path]
    """The run's folder."""
    wake: asyncio.Event
    """Set when a record is there, or cannot be had."""
    _readings: dict[str, _Reading] = field(default_factory=dict)

    async def look(self, waiting: Iterable[RunRecord]) -> dict[str, str]:
        """Take the runs that wait now, in the order of the queue. Return what each waits for that is not ready."""
        wanted = {record.run_id: record for record in waiting if record.spec.rebuilt_episode}
        gone = [self._readings.pop(run_id) for run_id in set(self._readings) - set(wanted)]
        await cancel_all([reading.task for reading in gone if reading.task is not None])
        # Read no more of them than can start soon.
        room = dict(OUTSIDE)
        for record in [each for each in wanted.values() if not each.held]:
            kind = record.spec.kind
            room[kind] = room.get(kind, 0) - 1
            if room[kind] >= 0 and record.run_id not in self._readings:
                self._begin(record)
        return {
            run_id: self._readings[run_id].waits_for if run_id in self._readings else READING
            for run_id in wanted
            if run_id not in self._readings or self._readings[run_id].waits_for
        }

    def require(self, record: RunRecord) -> None:
        """Check that the record of a run that starts is there, if it rebuilds an episode.

        Raises:
            RecordUnusable: it cannot be had.
            LaunchFailed: its file is gone; another attempt reads it again.
        """
        if record.spec.rebuilt_episode is None:
            return
        reading = self._readings.get(record.run_id)
        if reading is not None and reading.failure:
            raise RecordUnusable(reading.failure)
        file = self.folder(record) / REPLAY_FILE
        if not file.is_file():
            raise LaunchFailed(f"{file} is not there any more.")

    def _begin(self, record: RunRecord) -> None:
        reading = _Reading()
        self._readings[record.run_id] = reading
        work = self._read(record, reading)
        reading.task = asyncio.get_running_loop().create_task(work, name=f"read {record.run_id}")

    async def _read(self, record: RunRecord, reading: _Reading) -> None:
        while True:
            try:
                await self._deliver(record)
            except RecordUnusable as error:
                reading.failure = str(error)
            except ProblemError as error:
                if error.problem.code is not ProblemCode.EPISODE_UNKNOWN:
                    # Recorder, broker or store are away: the run waits for them.
                    said = f"{error.problem.title}. {error.problem.detail}".strip()
                    reading.waits_for = f"{READING}: {said}"
                    await asyncio.sleep(RETRY_S)
                    continue
                reading.failure = error.problem.detail
            except OSError as error:
                reading.failure = fault_words(self.folder(record), error)
            except Exception as error:  # noqa: BLE001 - boundary of a task: the run would wait for ever
                get_log().error("replay.read_failed", run_id=record.run_id, exc_info=error)
                reading.failure = f"Its record cannot be read: {error!r}."
            reading.waits_for = ""
            self.wake.set()
            return

    async def _deliver(self, record: RunRecord) -> None:
        source = record.spec.rebuilt_episode
        if source is None:
            raise RecordUnusable("Its spec names no episode.")
        config = await self.episodes.config(source.run_id, source.attempt)
        if config is None:
            raise RecordUnusable(
                f"The configuration of attempt {source.attempt} of run {source.run_id} is not in the store."
            )
        start = await self.episodes.first_event(source)
        is_chain = start is not None and needs_earlier_episodes(start.get("reset") or {})
        async with _events_file(self.folder(record)) as file:
            await asyncio.to_thread(_write, file, [config])
            await self._copy(source, is_chain, file)

    async def _copy(self, source: ReplaySource, is_chain: bool, file: BinaryIO) -> None:
        first = source.episode if source.from_episode is None else source.from_episode
        first = 0 if is_chain else first
        checked = EpisodeFilter(source, first, is_chain=is_chain)
        async for page in self.episodes.pages(source, first):
            await asyncio.to_thread(_write, file, checked.usable(page))
        checked.finish()


@asynccontextmanager
async def _events_file(run_dir: Path) -> AsyncIterator[BinaryIO]:
    """The file of events below the run's folder; it is there when the block is done, and not before."""
    target = run_dir / REPLAY_FILE
    private_folder(run_dir)
    private_folder(target.parent)
    with atomic_file(target) as draft:
        with draft.open("xb") as file:
            draft.chmod(0o600)
            yield file
            await asyncio.to_thread(os.fsync, file.fileno())
        draft.chmod(0o444)


def _write(file: BinaryIO, events: Iterable[dict[str, Any]]) -> None:
    for event in events:
        file.write(to_json(event, inf_nan_mode="strings") + b"\n")
