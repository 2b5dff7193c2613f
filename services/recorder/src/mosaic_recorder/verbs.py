"""What other services and shippers may ask of the recorder."""

import asyncio

from mosaic_contracts.alerts import EvaluateRequest, EvaluateResult
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.recorder_messages import (
    Pruned,
    RecorderStatus,
    RunRequest,
    StoredAnswer,
    StoredRequest,
)
from mosaic_contracts.replays import EpisodeEvents, EpisodeRequest
from mosaic_contracts.shipper_messages import Committed, CommittedRequest
from mosaic_contracts.store_upkeep import (
    KnownThinningRequest,
    KnownThinningResult,
    RunSpaces,
    StoreSpace,
    ThinRequest,
    ThinResult,
    WalCheckpoint,
)
from mosaic_contracts.stored_files import StoredFiles, StoredFilesRequest, StoredRunFiles
from mosaic_recorder import VERSION
from mosaic_recorder.alerts import RuleEvaluator
from mosaic_recorder.disk import DiskGuard
from mosaic_recorder.recorder import Recorder
from mosaic_recorder.upkeep import Upkeep
from mosaic_servicekit.bus import Verb
from mosaic_servicekit.logging import get_log
from mosaic_store import EpisodeNotStored, Reader, StoreError, StoreMissing

SERVICE = "recorder"
_STORED_WAIT_S = 1.0
"""Longest wait before an answer: shorter than the time limit of a request."""


class Verbs:
    """Answers from the store and from what the recorder says of itself."""

    def __init__(
        self, recorder: Recorder, upkeep: Upkeep, reader: Reader, guard: DiskGuard
    ) -> None:
        self._recorder = recorder
        self._upkeep = upkeep
        self._reader = reader
        self._guard = guard
        self._rules = RuleEvaluator(reader)

    def table(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {
            "committed": (CommittedRequest, self.committed),
            "episode": (EpisodeRequest, self.episode),
            "evaluate": (EvaluateRequest, self.evaluate),
            "status": (None, self.status),
            "stored": (StoredRequest, self.stored),
            "prune": (RunRequest, self.prune),
            "files": (StoredFilesRequest, self.files),
            "thin": (ThinRequest, self.thin),
            "know_thinned": (KnownThinningRequest, self.know_thinned),
            "space": (None, self.space),
        }

    async def committed(self, request: CommittedRequest) -> Committed:
        """How far the sources of a run are in the store."""
        try:
            marks = await asyncio.to_thread(self._reader.marks, request.run_id, request.from_seq)
        except StoreError as error:
            raise _unavailable(error) from error
        return Committed(run_id=request.run_id, marks=marks)

    async def episode(self, request: EpisodeRequest) -> EpisodeEvents:
        """One page of an episode's events, or the config event of an attempt."""
        try:
            return await asyncio.to_thread(self._read_episode, request)
        except EpisodeNotStored as error:
            raise _episode_unknown(str(error)) from error
        except StoreError as error:
            raise _unavailable(error) from error

    def _read_episode(self, request: EpisodeRequest) -> EpisodeEvents:
        if request.episode is None:
            config = self._reader.config_event(request.run_id, request.attempt)
            return EpisodeEvents(events=[] if config is None else [config])
        return self._reader.episode_events(
            request.run_id,
            request.attempt,
            request.env,
            request.episode,
            request.after_seq,
            request.limit,
            request.from_episode,
        )

    async def stored(self, request: StoredRequest) -> StoredAnswer:
        """Answer when a message of the stream is in the store, or after a second."""
        cursor = await self._recorder.wait_stored(request.stream_seq, _STORED_WAIT_S)
        return StoredAnswer(cursor=cursor)

    async def evaluate(self, request: EvaluateRequest) -> EvaluateResult:
        """Move alert rules of a run on to what is stored."""
        try:
            return await asyncio.to_thread(self._rules.evaluate, request)
        except StoreMissing:
            return EvaluateResult(rules=request.rules)
        except StoreError as error:
            raise _unavailable(error) from error

    async def status(self) -> RecorderStatus:
        """How the recorder is."""
        now = self._recorder.condition
        return RecorderStatus(
            version=VERSION,
            cursor=now.cursor,
            stream_last=now.stream_last,
            lag=max(0, now.stream_last - now.cursor),
            accepting=now.reason is None,
            reason=now.reason,
            quarantined=await self._quarantined(),
            disk_free_bytes=self._guard.free,
            healed=now.healed,
            store=await self._space(),
        )

    async def prune(self, request: RunRequest) -> Pruned:
        """Delete a run from the store; whether it still lives is for the scheduler to know."""
        try:
            freed = await self._upkeep.prune(request.run_id)
        except StoreError as error:
            raise _unavailable(error) from error
        get_log().info("run.pruned", run_id=request.run_id, freed_bytes=freed)
        return Pruned(run_id=request.run_id, freed_bytes=freed)

    async def files(self, request: StoredFilesRequest) -> StoredFiles:
        """Files of the first of these runs, as the events have them."""
        try:
            runs = await asyncio.to_thread(self._reader.stored_files, request.run_ids)
        except StoreMissing:
            runs = [StoredRunFiles(run_id=run_id) for run_id in request.run_ids]
        except StoreError as error:
            raise _unavailable(error) from error
        return StoredFiles(runs=runs)

    async def thin(self, request: ThinRequest) -> ThinResult:
        """Remove steps of a run; that it has ended and all of it is stored is for the scheduler to know."""
        try:
            step = await self._upkeep.thin(request)
            summary = await asyncio.to_thread(self._reader.summary, request.run_id)
        except StoreError as error:
            raise _unavailable(error) from error
        if step.removed_steps:
            get_log().info(
                "run.thinned",
                run_id=request.run_id,
                every=request.every,
                rule=request.rule,
                removed_steps=step.removed_steps,
                removed_bytes=step.removed_bytes,
                freed_bytes=step.freed_bytes,
                done=step.done,
            )
        return ThinResult(
            run_id=request.run_id,
            removed_steps=step.removed_steps,
            removed_bytes=step.removed_bytes,
            freed_bytes=step.freed_bytes,
            kept_steps=summary.steps - summary.thinned_steps,
            done=step.done,
        )

    async def know_thinned(self, request: KnownThinningRequest) -> KnownThinningResult:
        """Count what is missing of an imported run as thinned steps."""
        thinning = request.thinning
        try:
            noted = await self._upkeep.note_known_thinning(request.run_id, thinning)
        except StoreError as error:
            raise _unavailable(error) from error
        get_log().info(
            "run.known_thinned", run_id=request.run_id, steps=thinning.steps, noted=noted
        )
        return KnownThinningResult(run_id=request.run_id, noted=noted)

    async def space(self) -> RunSpaces:
        """Room that runs take in the store."""
        try:
            runs = await asyncio.to_thread(self._reader.run_spaces)
            store = await asyncio.to_thread(self._reader.space)
        except StoreError as error:
            raise _unavailable(error) from error
        return RunSpaces(store=store.model_copy(update=self._newest_checkpoint()), runs=runs)

    async def _space(self) -> StoreSpace | None:
        try:
            store = await asyncio.to_thread(self._reader.space)
        except StoreMissing:
            return None
        return store.model_copy(update=self._newest_checkpoint())

    def _newest_checkpoint(self) -> dict[str, WalCheckpoint | None]:
        return {"checkpoint": self._upkeep.checkpoint}

    async def _quarantined(self) -> int:
        try:
            return await asyncio.to_thread(self._reader.quarantined)
        except StoreMissing:
            return 0


def _episode_unknown(detail: str) -> ProblemError:
    return ProblemError(
        Problem(
            code=ProblemCode.EPISODE_UNKNOWN,
            title="There is no such episode",
            detail=f"{detail[:1].upper()}{detail[1:]}.",
        )
    )


def _unavailable(error: StoreError) -> ProblemError:
    return ProblemError(
        Problem(
            code=ProblemCode.STORE_UNAVAILABLE,
            title="The telemetry store is not available now",
            detail=str(error),
            retry_after_s=1.0,
        )
    )
