"""How many environment steps a run is to make, and a spec for what is left of them."""

from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import Algorithm, WorkerDescription


def total_steps(spec: RunSpec, description: WorkerDescription) -> int | None:
    """Steps that the run is to make, as far as spec and schema tell; the trainer's own word replaces it."""
    if spec.steps is not None:
        return spec.steps
    algorithm = _algorithm(spec, description)
    if spec.kind.plays or algorithm is None or algorithm.steps_parameter is None:
        return None
    schema = algorithm.parameters.get("properties", {}).get(algorithm.steps_parameter, {})
    total = spec.parameters.get(algorithm.steps_parameter, schema.get("default"))
    return total if isinstance(total, int) else None


def with_steps(spec: RunSpec, description: WorkerDescription, steps: int) -> RunSpec:
    """The spec with other steps in all, named where this spec names them."""
    algorithm = _algorithm(spec, description)
    name = None if algorithm is None else algorithm.steps_parameter
    if name is not None and name in spec.parameters:
        return spec.model_copy(update={"parameters": {**spec.parameters, name: steps}})
    return spec.model_copy(update={"steps": steps})


def _algorithm(spec: RunSpec, description: WorkerDescription) -> Algorithm | None:
    return next((a for a in description.algorithms if a.id == spec.algorithm), None)
