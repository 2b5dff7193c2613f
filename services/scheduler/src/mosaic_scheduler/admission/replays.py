"""New runs that rebuild a recorded episode of an earlier one."""

import asyncio
from contextlib import suppress
from typing import NamedTuple
from weakref import WeakValueDictionary

from pydantic import ValidationError

from mosaic_contracts.problems import ProblemError
from mosaic_contracts.replays import REPLAY_WALL_TIME_S, ReplayRequest, ReplaySource
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import ReplayOrder
from mosaic_contracts.spec import RecordLevel, RunKind, RunSpec
from mosaic_contracts.worker import WorkerDescription
from mosaic_scheduler import problem
from mosaic_scheduler.admission.admission import Admission
from mosaic_scheduler.admission.recorded import find_episode, impossible
from mosaic_scheduler.events.episodes import RecordedEpisodes
from mosaic_scheduler.runs.idempotency import IdempotencyKey
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.runs.view import RunViews
from mosaic_scheduler.workers.catalogue import WorkerCatalogue
from mosaic_servicekit.bus import Verb

MEMORY_MB = 4096
"""Limit of memory for one replay, in MiB, where the machine has more."""
_OUTBOX_BYTES = 16 * 2**20
"""A replay records a few events; frames go another way. One that records its steps waits while its outbox is full."""
_GRACE_S = 5.0
_PLAYS = "play"
"""Worker that makes environments of Gymnasium by their ids alone."""
_NAME_LENGTH = 200


class _Episode(NamedTuple):
    """Which episode is rebuilt: one replay of it serves everybody."""

    run_id: str
    attempt: int
    env: int
    episode: int


class RunReplays:
    """The verb `replay`."""

    def __init__(
        self,
        store: RunStore,
        catalogue: WorkerCatalogue,
        admission: Admission,
        episodes: RecordedEpisodes,
        views: RunViews,
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._admission = admission
        self._episodes = episodes
        self._views = views
        self._locks: WeakValueDictionary[_Episode, asyncio.Lock] = WeakValueDictionary()

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {"replay": (ReplayOrder, self.replay)}

    async def replay(self, order: ReplayOrder) -> RunRecord:
        """Queue a replay of one episode. While one of the same episode lives, that one is the answer."""
        try:
            asked = ReplayRequest.model_validate(order.replay)
        except ValidationError as error:
            raise problem.request_invalid("replay", error) from error
        key = IdempotencyKey.of(
            order.idempotency_key, {"replay": order.run_id, "asked": asked.model_dump()}
        )
        known = await self._admission.find_existing(key)
        if known is not None:
            return known
        record = await self._store.require(order.run_id)
        found = await find_episode(self._episodes, record, asked)
        wanted = asked.model_dump(include={"draws", "from_episode", "observations"})
        source = found.source.model_copy(update=wanted)
        worker, description = await self._replayer(record)
        episode = _Episode(source.run_id, source.attempt, source.env, source.episode)
        # Two requests at once start one replay.
        async with self._locks.setdefault(episode, asyncio.Lock()):
            living = await self._find_living(source)
            if living is not None:
                return await self._admission.answer_with(living, key)
            return await self._admission.queue_derived(
                _spec(record, source, worker), description, key
            )

    async def _replayer(self, record: RunRecord) -> tuple[str, WorkerDescription]:
        """The worker that rebuilds: the run's own, as no other one has its environments.

        A script of the user's own has environments that it does not describe. Where it makes one that the worker for
        plays has, that one rebuilds it; what differs from the script's is found by the comparison.
        """
        name = record.spec.worker
        description = await self._catalogue.describe(self._catalogue.find(name))
        if RunKind.REPLAY in description.modes:
            return name, description
        if not description.environments or description.own_environments:
            with suppress(ProblemError):  # it is not installed
                other = await self._catalogue.describe(self._catalogue.find(_PLAYS))
                known = {environment.id for environment in other.environments}
                if RunKind.REPLAY in other.modes and record.spec.environment in known:
                    return _PLAYS, other
        raise impossible(
            f"The worker {record.spec.worker} cannot replay",
            f"Its version {description.version} does not have the verb `replay`. A worker gets it from "
            "`mosaic_gymkit`; docs/worker_author.md says how.",
        )

    async def _find_living(self, source: ReplaySource) -> RunRecord | None:
        """A replay of this episode that has not ended and does all that is asked for."""
        for run in reversed(await self._store.unfinished()):
            living = run.record.spec.replay
            if (
                living is not None
                and run.record.stop_requested is None
                and not self._views.is_draining(run.record.run_id)
                and living.model_copy(update={"draws": source.draws}) == source
                and living.draws >= source.draws
            ):
                return run.record
        return None


def _spec(record: RunRecord, source: ReplaySource, worker: str) -> RunSpec:
    spec = record.spec
    return RunSpec(
        worker=worker,
        algorithm=spec.algorithm,
        environment=spec.environment,
        seed=spec.seed,
        parameters=spec.parameters,
        kind=RunKind.REPLAY,
        record=RecordLevel.FULL if source.observations else RecordLevel.METRICS,
        wall_time_s=REPLAY_WALL_TIME_S,
        grace_s=_GRACE_S,
        memory_mb=MEMORY_MB,
        outbox_bytes=_OUTBOX_BYTES,
        name=f"{_title(source)} of {record.name}"[:_NAME_LENGTH],
        parent=record.run_id,
        replay=source,
    )


def _title(source: ReplaySource) -> str:
    if source.from_episode is None:
        return f"Episode {source.episode}"
    return f"Episodes {source.from_episode} to {source.episode}"
