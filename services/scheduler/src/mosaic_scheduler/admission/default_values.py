"""Values of the parameters that a spec does not give, by which runs are distinguished and searched. Pure."""

from mosaic_contracts.spec import ParameterValue, RunKind, RunSpec
from mosaic_contracts.worker import WorkerDescription


def default_values(spec: RunSpec, description: WorkerDescription) -> dict[str, ParameterValue]:
    """Defaults of a training's algorithm, by the description of its worker.

    Left out are parameters that the spec gives, those that fields of the spec set (seed, environment, steps), and
    defaults that are no single value.
    """
    algorithm = description.find_algorithm(spec.algorithm)
    if algorithm is None or spec.kind is not RunKind.TRAIN:
        return {}
    of_spec = {algorithm.seed_parameter, algorithm.environment_parameter}
    if spec.steps is not None:
        of_spec.add(algorithm.steps_parameter)
    return {
        name: schema["default"]
        for name, schema in algorithm.parameters.get("properties", {}).items()
        if name not in spec.parameters
        and name not in of_spec
        and isinstance(schema.get("default"), bool | int | float | str)
    }
