"""New runs that go on where an ended one stopped."""

import asyncio
from pathlib import Path
from typing import Any

from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import RunRequest
from mosaic_contracts.spec import RunKind
from mosaic_contracts.stack import RUNS_DIR
from mosaic_contracts.sweeps import SweepResume
from mosaic_contracts.worker import Finding, WorkerDescription
from mosaic_scheduler import problem
from mosaic_scheduler.admission.admission import Admission
from mosaic_scheduler.admission.copies import copied
from mosaic_scheduler.admission.sweeps import RunSweeps
from mosaic_scheduler.executors.inputs import checkpoint_parameters
from mosaic_scheduler.executors.run_files import listed_checkpoints
from mosaic_scheduler.runs.resumption import resume_point, start_parameter, steps_left, with_steps
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.workers.catalogue import WorkerCatalogue
from mosaic_servicekit.bus import Verb


class RunResumes:
    """The verb `resume`."""

    def __init__(
        self,
        home: Path,
        store: RunStore,
        catalogue: WorkerCatalogue,
        admission: Admission,
        sweeps: RunSweeps,
    ) -> None:
        self._runs = home / RUNS_DIR
        self._store = store
        self._catalogue = catalogue
        self._admission = admission
        self._sweeps = sweeps

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {"resume": (RunRequest, self.resume)}

    async def resume(self, request: RunRequest) -> RunRecord:
        """Queue a new run that begins with the newest checkpoint of an ended one and makes the steps that are left."""
        record = await self._store.require(request.run_id)
        if record.spec.kind is RunKind.SWEEP:
            return await self._sweeps.resume(record.run_id, SweepResume())
        if not record.state.is_final:
            raise problem.run_live(record.run_id, record.state, "resumed")
        worker = self._catalogue.find(record.spec.worker)
        description = await self._catalogue.describe(worker)
        spec = await asyncio.to_thread(self._spec, record, description)
        return await self._admission.queue(spec, group=record.group)

    def _spec(self, record: RunRecord, description: WorkerDescription) -> dict[str, Any]:
        parameter = start_parameter(record.spec, description)
        if record.spec.kind is RunKind.IMPORT:
            raise _refused(
                "kind",
                f"run {record.run_id} is an import, in which nothing was trained. A training begins with it by "
                f"`-p {parameter or 'checkpoint'}={record.run_id}`",
                again=False,
            )
        if record.spec.kind is not RunKind.TRAIN:
            raise _refused(
                "kind",
                f"run {record.run_id} is of the kind `{record.spec.kind.value}`, and only a training can go on",
            )
        if parameter is None:
            raise _refused("algorithm", self._why_not(record, description))
        point = resume_point(record, description, self._runs / record.run_id)
        if point.checkpoint is None:
            raise _refused(f"parameters.{parameter}", f"run {record.run_id} has no checkpoint")
        left = steps_left(record.spec, description, point.step)
        if left == 0:
            raise _refused(
                "steps",
                f"run {record.run_id} has made all of its steps; for more, `./mosaic clone {record.run_id} "
                f"-p {parameter}={record.run_id} --steps N`",
            )
        spec = record.spec
        if left is not None:
            spec = spec.model_validate(with_steps(spec, description, left).model_dump())
        wanted = copied(record.model_copy(update={"spec": spec}))
        start = f"{record.run_id}/{point.checkpoint}"
        return {**wanted, "parameters": {**wanted["parameters"], parameter: start}}

    def _why_not(self, record: RunRecord, description: WorkerDescription) -> str:
        """Why a training of this algorithm cannot go on, and what leads to something near."""
        words = f"{record.spec.worker} {record.spec.algorithm} cannot go on from a checkpoint"
        run, folder = record.run_id, self._runs / record.run_id
        checkpoints = listed_checkpoints(folder)
        if not checkpoints:
            return words
        algorithm = description.find_algorithm(record.spec.algorithm)
        if algorithm is not None and (starts := checkpoint_parameters(algorithm)):
            return (
                f"{words} with its counters and schedules. `./mosaic clone {run} -p {starts[0]}={run}/last` begins a "
                "training with what it has learned"
            )
        return (
            f"{words}: MOSAIC does not know how it loads one. Its newest file is {folder / checkpoints[-1].path}: "
            "start it again with its own argument for such a file, where it has one"
        )


def _refused(where: str, message: str, *, again: bool = True) -> ProblemError:
    detail = f"{message}. `./mosaic retry` begins again" if again else message
    code = ProblemCode.SPEC_INVALID
    return problem.refused([Finding(level="blocking", where=where, message=detail, code=code)])
