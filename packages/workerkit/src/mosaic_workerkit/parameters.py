"""Parameters of an algorithm: declared as a dataclass, described as JSON Schema, checked in one way for all workers.

The values of a run's parameters are scalars, so the check knows the keywords of JSON Schema that concern scalars. It
does without a library for all of JSON Schema, which would take as long to import as the rest of a worker's start.
"""

import ast
import inspect
import math
import re
import textwrap
from collections.abc import Container, Mapping
from dataclasses import MISSING, field, fields, make_dataclass
from enum import Enum
from itertools import pairwise
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from mosaic_base.nearest import nearest_names
from mosaic_contracts.parameter_bounds import range_fault
from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import ParameterValue
from mosaic_workerkit.findings import Findings

Schema = Mapping[str, Any]
P = TypeVar("P")

_HELP, _SCHEMA = "help", "schema"
_TYPE_NAMES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
_INT64 = range(-(2**63), 2**63)


class ParameterInvalid(ValueError):
    """A value does not fit the schema of its parameter. The message ends a sentence that begins with its name."""


def parameter(default: Any = MISSING, help: str = "", **schema: Any) -> Any:
    """Declare one parameter as the field of a dataclass.

    Args:
        default: its value in a run that sets none; without one the user must give a value.
        help: what it means, for forms and `./mosaic describe`. A docstring below the field does as well.
        schema: keywords of JSON Schema, e.g. `minimum=0`; `x_group="network"` becomes `x-group`.

    Example:
        >>> @dataclass(frozen=True)
        ... class Parameters:
        ...     gamma: float = parameter(0.99, "Discount.", minimum=0, maximum=1)
    """
    keywords = {
        f"x-{name[2:]}".replace("_", "-") if name.startswith("x_") else name: value
        for name, value in schema.items()
    }
    metadata = {_HELP: help, _SCHEMA: keywords}
    return field(default=default, metadata=metadata)


def with_defaults(parameters: type[P], **defaults: ParameterValue) -> type[P]:
    """Return a dataclass of the same parameters with other defaults, for an algorithm that differs in nothing else.

    Args:
        parameters: a frozen dataclass of parameters.
        **defaults: new defaults by name.

    Raises:
        TypeError: there is no parameter of this name.
    """
    known = {part.name: part for part in fields(parameters)}  # type: ignore[arg-type]
    if unknown := sorted(set(defaults) - set(known)):
        raise TypeError(f"{parameters.__name__} has no parameter {', '.join(unknown)}")
    hints = get_type_hints(parameters)
    changed = [
        (name, hints[name], field(default=value, metadata=known[name].metadata))
        for name, value in defaults.items()
    ]
    return make_dataclass(parameters.__name__, changed, bases=(parameters,), frozen=True)


def parameter_schema(parameters: type[Any], names: Container[str] | None = None) -> dict[str, Any]:
    """Return the JSON Schema (object) of a dataclass of parameters.

    A field is of type bool, int, float or str, of one of these or None, of a `Literal` or of an `Enum` of texts.

    Args:
        names: the fields that this algorithm has; None: all.

    Raises:
        TypeError: a field is of another type.
    """
    hints, texts = get_type_hints(parameters), _field_docstrings(parameters)
    properties: dict[str, Any] = {}
    required = []
    for part in fields(parameters):
        if names is not None and part.name not in names:
            continue
        described = _schema_of_type(part.name, hints[part.name])
        described |= part.metadata.get(_SCHEMA, {})
        if part.default is MISSING:
            required.append(part.name)
        else:
            described["default"] = (
                part.default.value if isinstance(part.default, Enum) else part.default
            )
        text = part.metadata.get(_HELP) or texts.get(part.name)
        if text:
            described["description"] = text
        properties[part.name] = described
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        **({"required": required} if required else {}),
    }


def check_parameters(
    given: Mapping[str, ParameterValue],
    schema: Schema,
    findings: Findings,
    *,
    algorithm: str,
    refused: Mapping[str, str] | None = None,
) -> dict[str, ParameterValue]:
    """Check the parameters that a user set; what is wrong with them is added to `findings`.

    Args:
        given: as the spec has them; `learning-rate` is `learning_rate`.
        schema: of the algorithm's parameters.
        algorithm: its id, for messages.
        refused: parameters that may not be set, and why, in a sentence.

    Returns:
        The values that are right, in the type of their parameter, by name.
    """
    properties, refused = schema["properties"], refused or {}
    values: dict[str, ParameterValue] = {}
    for spelling, value in given.items():
        name = spelling if spelling in properties else spelling.replace("-", "_")
        where = f"parameters.{spelling}"
        invalid = ProblemCode.PARAMETER_INVALID
        if name in refused:
            known = invalid if name in properties else ProblemCode.PARAMETER_UNKNOWN
            findings.block(where, refused[name], known)
        elif name not in properties:
            nearest = nearest_names(name, properties)
            hint = f" Did you mean {nearest[0]}?" if nearest else ""
            words = f"{algorithm} has no parameter {spelling!r}.{hint}"
            findings.block(where, words, ProblemCode.PARAMETER_UNKNOWN, nearest)
        elif name in values:
            findings.block(where, f"{name} is given twice.", invalid)
        else:
            try:
                values[name] = accepted_value(value, properties[name])
            except ParameterInvalid as error:
                findings.block(where, f"{name} {error}.", invalid)
    return values


def accepted_value(value: ParameterValue, schema: Schema) -> ParameterValue:
    """Return `value` in the type of its parameter.

    A whole float is an integer (1e5), and an integer is a number. Nothing else is converted: "false" for a boolean
    is a mistake that must be reported and not guessed at.

    Raises:
        ParameterInvalid: wrong type, out of range, or none of the values that are allowed.
    """
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return _first_accepted(value, choices)
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    result = _typed(value, kinds) if kinds else value
    if "const" in schema and not _is_same(result, schema["const"]):
        raise ParameterInvalid(f"must be {schema['const']!r}: no other value is possible")
    if "enum" in schema and not any(_is_same(result, option) for option in schema["enum"]):
        raise ParameterInvalid(f"must be one of {', '.join(map(str, schema['enum']))}")
    if isinstance(result, str):
        _check_text(result, schema)
    elif result is not None and not isinstance(result, bool):
        _check_range(result, schema)
    return result


def _first_accepted(value: ParameterValue, choices: list[Schema]) -> ParameterValue:
    reasons = []
    for choice in choices:
        try:
            return accepted_value(value, choice)
        except ParameterInvalid as error:
            reasons.append(str(error))
    raise ParameterInvalid(", or ".join(dict.fromkeys(reasons)))


def _is_same(value: object, option: object) -> bool:
    return value == option and isinstance(value, bool) == isinstance(option, bool)


def _typed(value: ParameterValue, kinds: list[str]) -> ParameterValue:
    if value is None:
        if "null" in kinds:
            return None
        raise ParameterInvalid(f"needs a value of type {kinds[0]}")
    if isinstance(value, str) and "string" in kinds:
        return value
    if isinstance(value, bool) and "boolean" in kinds:
        return value
    if not isinstance(value, bool | str) and ("integer" in kinds or "number" in kinds):
        if isinstance(value, int) and value not in _INT64:
            raise ParameterInvalid("must fit into 64 bits")
        if not math.isfinite(value):
            raise ParameterInvalid(f"must be a finite number, not {value}")
        is_whole = float(value).is_integer() and int(value) in _INT64
        if "integer" in kinds and is_whole:
            return int(value)
        if "number" in kinds:
            return float(value)
    hint = " (true or false, without quotes)" if kinds[0] == "boolean" else ""
    raise ParameterInvalid(f"must be of type {kinds[0]}{hint}, not {value!r}")


def _check_range(value: float, schema: Schema) -> None:
    if (fault := range_fault(value, schema)) is not None:
        raise ParameterInvalid(fault)


def _check_text(value: str, schema: Schema) -> None:
    if len(value) < schema.get("minLength", 0):
        raise ParameterInvalid(f"must have at least {schema['minLength']} characters")
    if len(value) > schema.get("maxLength", math.inf):
        raise ParameterInvalid(f"must have at most {schema['maxLength']} characters")
    if "pattern" in schema and re.search(schema["pattern"], value) is None:
        raise ParameterInvalid(f"must match {schema['pattern']}, not {value!r}")


def _schema_of_type(name: str, kind: Any) -> dict[str, Any]:
    options = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    types: list[str] = []
    values: list[Any] = []
    for option in options:
        if get_origin(option) is Literal:
            values += get_args(option)
            types += [_TYPE_NAMES[type(value)] for value in get_args(option)]
        elif isinstance(option, type) and issubclass(option, Enum):
            values += [member.value for member in option]
            types += [_TYPE_NAMES[type(member.value)] for member in option]
        elif option in _TYPE_NAMES:
            types.append(_TYPE_NAMES[option])
        else:
            raise TypeError(f"parameter {name} is of type {option}; take bool, int, float or str")
    types = list(dict.fromkeys(types))
    if values and "null" in types:
        values.append(None)
    described: dict[str, Any] = {"type": types[0] if len(types) == 1 else types}
    return described | ({"enum": values} if values else {})


def _field_docstrings(parameters: type[Any]) -> dict[str, str]:
    """Docstrings below the fields; none where the source cannot be read."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(parameters)))
    except (OSError, TypeError, SyntaxError):
        return {}
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    texts = {}
    for part, after in pairwise(body):
        if (
            isinstance(part, ast.AnnAssign)
            and isinstance(part.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        ):
            texts[part.target.id] = inspect.cleandoc(after.value.value)
    return texts
