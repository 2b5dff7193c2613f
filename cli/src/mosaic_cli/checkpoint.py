"""Checkpoints as a person names them: `last/checkpoints/final.npz`, or by a run's name. The stack knows ids only."""

from mosaic_cli.errors import RunNotFound
from mosaic_cli.reference import find_run
from mosaic_client import Client
from mosaic_contracts.spec import ParameterValue, RunSpec
from mosaic_contracts.worker import CHECKPOINT_MARK


def with_run_ids(client: Client, spec: RunSpec) -> RunSpec:
    """The spec, with the id of each run whose checkpoint a parameter names; what names none is left to the stack.

    Raises:
        ValueRefused: several runs are called so.
    """
    named = {
        name: value
        for name, value in spec.parameters.items()
        if isinstance(value, str) and not value.startswith(("/", "~"))
    }
    if not named:
        return spec
    described = client.worker(spec.worker).description
    algorithms = described.algorithms if described is not None else []
    schema = next((a.parameters for a in algorithms if a.id == spec.algorithm), {})
    changed: dict[str, ParameterValue] = {}
    for name, value in named.items():
        if schema.get("properties", {}).get(name, {}).get(CHECKPOINT_MARK) is True:
            changed[name] = _with_id(client, value)
    return spec.model_copy(update={"parameters": {**spec.parameters, **changed}})


def _with_id(client: Client, value: str) -> str:
    run, slash, path = value.partition("/")
    try:
        return f"{find_run(client, run).run_id}{slash}{path}"
    except RunNotFound:
        return value
