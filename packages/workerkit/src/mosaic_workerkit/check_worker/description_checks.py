"""Checks the answer of `describe`."""

from collections import Counter
from typing import Any

from pydantic import ValidationError

from mosaic_contracts.parameter_bounds import default_fault
from mosaic_contracts.spec import RecordLevel
from mosaic_contracts.worker import CHECKPOINT_MARK, Algorithm, WorkerDescription
from mosaic_workerkit.check_worker.report import Report
from mosaic_workerkit.check_worker.worker_under_test import WorkerAnswer, WorkerUnderTest

_TYPES: dict[str, tuple[type, ...]] = {
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}


def check_description(
    worker: WorkerUnderTest, answer: WorkerAnswer, report: Report
) -> WorkerDescription | None:
    """Check the answer of `describe`, and return it if it is valid."""
    if not report.rule("describe.answers", answer.fault):
        return None
    try:
        document = answer.json()
    except ValueError as error:
        report.rule("describe.json", str(error))
        return None
    report.rule("describe.json", None)
    try:
        description = WorkerDescription.model_validate(document)
    except ValidationError as error:
        report.rule("describe.valid", str(error))
        return None
    report.rule("describe.valid", None)
    reported = description.worker
    other = f"worker.toml says {worker.manifest.id!r}, describe says {reported!r}"
    report.rule("describe.id", None if reported == worker.manifest.id else other)
    report.rule("describe.levels", _levels_fault(description))
    for algorithm in description.algorithms:
        report.rule("describe.parameters", parameters_fault(algorithm.parameters), algorithm.id)
        report.rule("describe.fields", _fields_fault(algorithm, description), algorithm.id)
    return description


def checkpoint_parameter(algorithm: Algorithm) -> str | None:
    """Name of the first property that takes a checkpoint."""
    properties = algorithm.parameters.get("properties", {})
    marked = (name for name, part in properties.items() if part.get(CHECKPOINT_MARK) is True)
    return next(marked, None)


def parameters_fault(schema: dict[str, Any]) -> str | None:
    """Return what is wrong with an algorithm's schema, in words."""
    properties = schema.get("properties")
    if schema.get("type") != "object" or not isinstance(properties, dict):
        return 'it is not {"type": "object", "properties": {...}}'
    missing = [name for name in schema.get("required", []) if name not in properties]
    if missing:
        return f"`required` names {missing[0]!r}, which is no property"
    faults = [(name, _property_fault(part)) for name, part in properties.items()]
    return next((f"{name}: {fault}" for name, fault in faults if fault is not None), None)


def _property_fault(schema: Any) -> str | None:
    if not isinstance(schema, dict):
        return "is no schema"
    if not any(key in schema for key in ("type", "enum", "const", "anyOf", "oneOf")):
        return "has neither type nor enum nor anyOf"
    if "default" in schema and not _fits(schema, schema["default"]):
        return f"its default {schema['default']!r} is not what the schema allows"
    return default_fault(schema)


def _fits(schema: dict[str, Any], value: Any) -> bool:
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return any(isinstance(choice, dict) and _fits(choice, value) for choice in choices)
    if "enum" in schema:
        return value in schema["enum"]
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    return not names or any(_is_of(name, value) for name in names)


def _is_of(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(name, ()))


def _levels_fault(description: WorkerDescription) -> str | None:
    known = [level.value for level in RecordLevel]
    strange = [level for level in description.record_levels if level not in known]
    if strange or not description.record_levels:
        return f"record_levels are {description.record_levels}, known are {known}"
    if not {"train", "play"} & set(description.modes):
        return f"modes are {description.modes}, with neither train nor play"
    plays = [algorithm.id for algorithm in description.algorithms if algorithm.play]
    if bool(plays) != ("play" in description.modes):
        return (
            f"modes are {description.modes}, and algorithms with play are {plays}: declare both "
            "or neither"
        )
    ids = Counter(algorithm.id for algorithm in description.algorithms)
    if not ids:
        return "there is no algorithm"
    twice = [name for name, count in ids.items() if count > 1]
    return f"algorithm {twice[0]!r} is there twice" if twice else None


def _fields_fault(algorithm: Algorithm, description: WorkerDescription) -> str | None:
    properties = algorithm.parameters.get("properties", {})
    for field in ("steps_parameter", "seed_parameter", "environment_parameter", "agents_parameter"):
        name = getattr(algorithm, field)
        if name is not None and name not in properties:
            return f"{field} is {name!r}, which is no property of its schema"
    if algorithm.play and not algorithm.human and checkpoint_parameter(algorithm) is None:
        return (
            f"it declares play, but no property has {CHECKPOINT_MARK!r}, so there is nothing to "
            "play"
        )
    known = [environment.id for environment in description.environments]
    default = algorithm.default_environment
    if default is not None and known and default not in known:
        return f"default_environment is {default!r}, which is not among its environments"
    return None
