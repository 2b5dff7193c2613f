"""Where a run that was interrupted goes on: at its newest checkpoint, with the steps that are left."""

from pathlib import Path

from mosaic_contracts.runs import Resumption, RunRecord
from mosaic_contracts.spec import RunKind, RunSpec
from mosaic_contracts.worker import WorkerDescription
from mosaic_scheduler.executors.inputs import RunInput, checkpoint_parameters, inputs_of
from mosaic_scheduler.executors.run_files import listed_checkpoints


def start_parameter(spec: RunSpec, description: WorkerDescription) -> str | None:
    """The parameter by which a training of this algorithm goes on from a checkpoint; None: it cannot."""
    algorithm = description.find_algorithm(spec.algorithm)
    if algorithm is None or spec.kind.plays or not algorithm.resumes:
        return None
    return next(iter(checkpoint_parameters(algorithm)), None)


def resume_point(
    record: RunRecord, description: WorkerDescription | None, run_dir: Path
) -> Resumption:
    """Where the run's next attempt goes on.

    Args:
        record: the run.
        description: of its worker; None: it cannot be asked now, and the checkpoint is kept in mind all the same.
        run_dir: the run's folder.
    """
    following = record.attempt + 1
    takes = description is None or start_parameter(record.spec, description) is not None
    known = listed_checkpoints(run_dir)
    if not takes or not known:
        return Resumption(attempt=following)
    newest = known[-1]
    before = {each.attempt: each.step for each in record.resumptions}
    step = before.get(newest.attempt, 0) + newest.step
    return Resumption(attempt=following, checkpoint=newest.path, step=step)


def inputs_of_attempt(
    record: RunRecord, description: WorkerDescription
) -> tuple[RunSpec, list[RunInput]]:
    """The spec of the run's current attempt, and the files that it begins with."""
    spec = record.spec
    inputs = inputs_of(spec, description)
    here = next((each for each in record.resumptions if each.attempt == record.attempt), None)
    parameter = start_parameter(spec, description)
    if here is None or here.checkpoint is None or parameter is None:
        return spec, inputs
    kept = [each for each in inputs if each.parameter != parameter]
    own = RunInput(parameter, record.run_id, here.checkpoint)
    return _with_what_is_left(spec, description, here.step), [*kept, own]


def steps_left(spec: RunSpec, description: WorkerDescription, step: int) -> int | None:
    """Steps that are left after `step`; None: nobody knows how many the run is to make."""
    total = total_steps(spec, description)
    return None if total is None else max(0, total - step)


def _with_what_is_left(spec: RunSpec, description: WorkerDescription, step: int) -> RunSpec:
    left = steps_left(spec, description, step)
    # One more step ends a run that was interrupted after its last: it then ends as every other does.
    return spec if left is None else with_steps(spec, description, max(1, left))


def total_steps(spec: RunSpec, description: WorkerDescription) -> int | None:
    """Steps that the run is to make, as far as spec and schema tell; the trainer's own word replaces it."""
    if spec.steps is not None:
        return spec.steps
    algorithm = description.find_algorithm(spec.algorithm)
    if spec.kind is not RunKind.TRAIN or algorithm is None or algorithm.steps_parameter is None:
        return None
    schema = algorithm.parameters.get("properties", {}).get(algorithm.steps_parameter, {})
    total = spec.parameters.get(algorithm.steps_parameter, schema.get("default"))
    return total if isinstance(total, int) else None


def with_steps(spec: RunSpec, description: WorkerDescription, steps: int) -> RunSpec:
    """The spec with other steps in all, named where this spec names them."""
    algorithm = description.find_algorithm(spec.algorithm)
    name = None if algorithm is None else algorithm.steps_parameter
    if name is not None and name in spec.parameters:
        return spec.model_copy(update={"parameters": {**spec.parameters, name: steps}})
    return spec.model_copy(update={"steps": steps})
