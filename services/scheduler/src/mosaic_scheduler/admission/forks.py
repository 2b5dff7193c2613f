"""New runs that go on from a step of a recorded episode."""

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mosaic_contracts.branches import ForkRequest
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import ForkOrder
from mosaic_contracts.spec import RunKind
from mosaic_contracts.worker import Algorithm, Finding
from mosaic_scheduler import problem
from mosaic_scheduler.admission.admission import Admission
from mosaic_scheduler.admission.copies import overridden
from mosaic_scheduler.admission.plays import needs_a_gpu, taken_over, world_of
from mosaic_scheduler.executors.inputs import checkpoint_parameters
from mosaic_scheduler.executors.run_files import listed_checkpoints
from mosaic_scheduler.runs.idempotency import IdempotencyKey
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.workers.catalogue import WorkerCatalogue
from mosaic_servicekit.bus import Verb

PERSONAL = ("play", "human")
"""Worker and algorithm in which a person acts, for episodes of workers that take no inputs."""


class RunForks:
    """The verb `fork`."""

    def __init__(
        self, home: Path, store: RunStore, catalogue: WorkerCatalogue, admission: Admission
    ) -> None:
        self._home = home
        self._store = store
        self._catalogue = catalogue
        self._admission = admission

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {"fork": (ForkOrder, self.fork)}

    async def fork(self, order: ForkOrder) -> RunRecord:
        """Queue a play that begins at a step of one of the run's episodes."""
        try:
            asked = ForkRequest.model_validate(order.fork)
        except ValidationError as error:
            raise problem.request_invalid("fork", error) from error
        key = IdempotencyKey.of(
            order.idempotency_key, {"fork": order.run_id, "asked": asked.model_dump()}
        )
        known = await self._admission.find_existing(key)
        if known is not None:
            return known
        record = await self._store.require(order.run_id)
        spec = await self._spec(record, asked)
        start_from = asked.model_dump(exclude={"checkpoint", "overrides"})
        spec |= {"kind": RunKind.PLAY.value, "start_from": {**start_from, "run_id": record.run_id}}
        whole = {**overridden(spec, asked.overrides), "parent": record.run_id}
        return await self._admission.queue(whole, key)

    async def _spec(self, record: RunRecord, asked: ForkRequest) -> dict[str, Any]:
        """Which worker goes on, with what."""
        if asked.checkpoint is not None:
            run_id, _, path = asked.checkpoint.partition("/")
            return await self._by_checkpoint(await self._store.require(run_id), path)
        algorithm = await self._algorithm(record)
        if asked.actor == "human" and algorithm.human:
            return {**self._same(record, algorithm), "parameters": dict(record.spec.parameters)}
        can_act = algorithm.hybrid if asked.actor == "human" else algorithm.play
        if can_act and algorithm.branches and self._has_checkpoint(record, algorithm):
            return await self._by_checkpoint(record, "")
        if asked.actor == "policy":
            raise _refused(
                f"run {record.run_id} has no policy that could go on. Name a checkpoint of another run"
            )
        worker, name = PERSONAL
        same = taken_over(record, needs_gpu=False)
        return {**same, "worker": worker, "algorithm": name, "parameters": {}}

    async def _by_checkpoint(self, record: RunRecord, path: str) -> dict[str, Any]:
        """A play of a checkpoint of this run; without a path of the one by which it plays, or its newest."""
        algorithm = await self._algorithm(record)
        names = checkpoint_parameters(algorithm)
        if not (algorithm.play and names):
            raise _refused(f"{record.spec.worker} {algorithm.id} has no checkpoints that act")
        start = f"{record.run_id}/{path}" if path else record.run_id
        given = record.spec.parameters.get(names[0])
        if record.spec.kind.plays and not path and isinstance(given, str):
            start = given
        parameters = {**world_of(record, algorithm), names[0]: start}
        return {**self._same(record, algorithm), "parameters": parameters}

    def _has_checkpoint(self, record: RunRecord, algorithm: Algorithm) -> bool:
        names = checkpoint_parameters(algorithm)
        if record.spec.kind.plays and names:
            return bool(record.spec.parameters.get(names[0]))
        return bool(listed_checkpoints(self._home / record.run_dir))

    def _same(self, record: RunRecord, algorithm: Algorithm) -> dict[str, Any]:
        manifest = self._catalogue.find(record.spec.worker).manifest
        return taken_over(record, needs_gpu=needs_a_gpu(algorithm, manifest))

    async def _algorithm(self, record: RunRecord) -> Algorithm:
        worker = self._catalogue.find(record.spec.worker)
        description = await self._catalogue.describe(worker)
        algorithm = description.find_algorithm(record.spec.algorithm)
        if algorithm is None:
            raise _refused(
                f"{record.spec.worker} has no algorithm {record.spec.algorithm} any more"
            )
        return algorithm


def _refused(message: str) -> ProblemError:
    finding = Finding(
        level="blocking", where="fork", message=message, code=ProblemCode.SPEC_INVALID
    )
    return problem.refused([finding])
