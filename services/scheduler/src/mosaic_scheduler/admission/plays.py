"""New runs that show what an earlier one has learned."""

from typing import Any

from pydantic import ValidationError

from mosaic_contracts.changes import PlayRequest
from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import PlayOrder
from mosaic_contracts.spec import RunKind
from mosaic_contracts.worker import (
    WORLD_MARK,
    Algorithm,
    DeviceNeed,
    Finding,
    WorkerDescription,
    WorkerManifest,
)
from mosaic_scheduler import problem
from mosaic_scheduler.admission.admission import Admission
from mosaic_scheduler.admission.copies import overridden
from mosaic_scheduler.executors.inputs import checkpoint_parameters
from mosaic_scheduler.runs.idempotency import IdempotencyKey
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.workers.catalogue import WorkerCatalogue
from mosaic_servicekit.bus import Verb

_SAME = ("worker", "algorithm", "environment", "seed", "cpus", "memory_mb")
"""What a play takes over; its recording, priority and limits in time are its own."""
_GPUS = ("gpus", "gpu_memory_mb")


class RunPlays:
    """The verb `play`."""

    def __init__(self, store: RunStore, catalogue: WorkerCatalogue, admission: Admission) -> None:
        self._store = store
        self._catalogue = catalogue
        self._admission = admission

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {"play": (PlayOrder, self.play)}

    async def play(self, order: PlayOrder) -> RunRecord:
        """Queue a play of a run, also of one that still trains: it takes what is saved by now."""
        try:
            asked = PlayRequest.model_validate(order.play)
        except ValidationError as error:
            raise problem.request_invalid("play", error) from error
        key = IdempotencyKey.of(
            order.idempotency_key, {"play": order.run_id, "asked": asked.model_dump()}
        )
        known = await self._admission.find_existing(key)
        if known is not None:
            return known
        record = await self._store.require(order.run_id)
        worker = self._catalogue.find(record.spec.worker)
        algorithm = _playing(record, await self._catalogue.describe(worker))
        needs_gpu = needs_a_gpu(algorithm, worker.manifest)
        spec = _spec(record, algorithm, asked, needs_gpu=needs_gpu)
        return await self._admission.queue(spec, key)


def _playing(record: RunRecord, description: WorkerDescription) -> Algorithm:
    """The run's algorithm. Raises ProblemError when it cannot play from a checkpoint."""
    name = record.spec.algorithm
    algorithm = description.find_algorithm(name)
    if algorithm is None or not algorithm.play or not checkpoint_parameters(algorithm):
        raise problem.refused(
            [
                Finding(
                    level="blocking",
                    where="algorithm",
                    message=f"{record.spec.worker} {name} cannot play: its worker shows no trained policy. "
                    "`./mosaic describe WORKER` says which algorithms can.",
                    code=ProblemCode.SPEC_INVALID,
                )
            ]
        )
    return algorithm


def _spec(
    record: RunRecord, algorithm: Algorithm, asked: PlayRequest, *, needs_gpu: bool
) -> dict[str, Any]:
    parameter = checkpoint_parameters(algorithm)[0]
    run = start = record.run_id
    if record.spec.kind.plays:
        # A play has no checkpoints of its own: it shows one of another run.
        run = record.spec.parent or record.run_id
        start = str(record.spec.parameters.get(parameter, record.run_id))
    if asked.checkpoint is not None:
        start = f"{run}/{asked.checkpoint}"
    spec = {
        **taken_over(record, needs_gpu=needs_gpu),
        "kind": RunKind.PLAY.value,
        "parameters": {**world_of(record, algorithm), parameter: start},
    }
    return {**overridden(spec, asked.overrides), "parent": run}


def needs_a_gpu(algorithm: Algorithm, manifest: WorkerManifest) -> bool:
    """Whether an algorithm cannot work without a GPU; if it does not say, its worker does."""
    return (algorithm.device or manifest.device) is DeviceNeed.REQUIRED


def taken_over(record: RunRecord, *, needs_gpu: bool) -> dict[str, Any]:
    """The fields of a run's spec that a play has too. A policy that acts needs no GPU where it can do without one:
    the play would wait for the trainings that hold them."""
    fields = record.spec.model_dump(mode="json")
    return {name: fields[name] for name in (*_SAME, *(_GPUS if needs_gpu else ()))}


def world_of(record: RunRecord, algorithm: Algorithm) -> dict[str, Any]:
    """The run's parameters that belong to its world."""
    properties = algorithm.parameters.get("properties", {})
    return {
        name: value
        for name, value in record.spec.parameters.items()
        if properties.get(name, {}).get(WORLD_MARK) is True
    }
