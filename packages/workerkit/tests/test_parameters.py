"""Parameters: a dataclass makes the schema, and one check serves all workers."""

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import jsonschema  # type: ignore[import-untyped] # ships no types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic_contracts.problems import ProblemCode
from mosaic_workerkit.errors import RunRefused
from mosaic_workerkit.findings import Findings
from mosaic_workerkit.parameters import (
    ParameterInvalid,
    accepted_value,
    check_parameters,
    parameter,
    parameter_schema,
)


class TieRule(Enum):
    FIRST = "first"
    BEST = "best"


@dataclass(frozen=True, kw_only=True)
class ManyParameters:
    steps: int = parameter(100, "Steps in all.", minimum=1)
    gamma: float = parameter(0.99, minimum=0, maximum=1, x_group="learning")
    """Discount: what a reward
    one step later is worth."""
    loss: Literal["l1", "l2"] = "l2"
    rule: TieRule = parameter(TieRule.FIRST, "Which one is taken.")  # noqa: RUF009 - it makes a field
    model: str | None = parameter(None, "A checkpoint.", **{"x-checkpoint": True})
    is_fast: bool = False
    data: str = parameter(help="Where the data are.")


SCHEMA = parameter_schema(ManyParameters)


def test_a_dataclass_makes_the_schema() -> None:
    """Types, defaults, bounds, marks and help come from the fields; a field without a default is required."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    properties = SCHEMA["properties"]
    assert properties["steps"] == {
        "type": "integer",
        "minimum": 1,
        "default": 100,
        "description": "Steps in all.",
    }
    assert properties["gamma"]["description"] == "Discount: what a reward\none step later is worth."
    assert properties["gamma"]["x-group"] == "learning"
    assert properties["loss"] == {"type": "string", "enum": ["l1", "l2"], "default": "l2"}
    assert (properties["rule"]["enum"], properties["rule"]["default"]) == (
        ["first", "best"],
        "first",
    )
    assert properties["model"]["type"] == ["string", "null"]
    assert properties["model"]["x-checkpoint"] is True
    assert properties["is_fast"] == {"type": "boolean", "default": False}
    assert SCHEMA["required"] == ["data"]
    assert SCHEMA["additionalProperties"] is False
    assert list(parameter_schema(ManyParameters, ["steps"])["properties"]) == ["steps"]


def test_a_field_of_another_type_is_refused() -> None:
    """A list cannot be a parameter of a run, which is said when the schema is made."""

    @dataclass
    class Wrong:
        sizes: list[int] = parameter(None)  # noqa: RUF009 - it makes a field

    with pytest.raises(TypeError, match="parameter sizes is of type"):
        parameter_schema(Wrong)


@pytest.mark.parametrize(
    ("value", "schema", "accepted"),
    [
        (1e5, {"type": "integer"}, 100_000),
        (3, {"type": "number"}, 3.0),
        (None, {"type": ["string", "null"]}, None),
        ("x", {"anyOf": [{"type": "integer"}, {"type": "string"}]}, "x"),
        (True, {"type": "boolean", "const": True}, True),
    ],
)
def test_values_get_the_type_of_their_parameter(
    value: Any, schema: dict[str, Any], accepted: Any
) -> None:
    """Whole floats are integers and integers are numbers; the type that is returned is the parameter's."""
    result = accepted_value(value, schema)
    assert (result, type(result)) == (accepted, type(accepted))


@pytest.mark.parametrize(
    ("value", "schema", "words"),
    [
        (2, {"type": "number", "maximum": 1}, "must be at most 1, not 2"),
        (0, {"type": "number", "exclusiveMinimum": 0}, "must be more than 0, not 0"),
        (0, {"type": "integer", "minimum": 1}, "must be at least 1, not 0"),
        (1, {"type": "number", "exclusiveMaximum": 1}, "must be less than 1, not 1"),
        (3, {"type": "integer", "multipleOf": 2}, "must be a multiple of 2, not 3"),
        (1.5, {"type": "integer"}, "must be of type integer, not 1.5"),
        (2**63, {"type": "integer"}, "must fit into 64 bits"),
        (math.nan, {"type": "number"}, "must be a finite number, not nan"),
        ("false", {"type": "boolean"}, "true or false, without quotes"),
        (True, {"type": "integer"}, "must be of type integer, not True"),
        (None, {"type": "string"}, "needs a value of type string"),
        ("c", {"type": "string", "enum": ["a", "b"]}, "must be one of a, b"),
        (2, {"type": "integer", "const": 1}, "must be 1"),
        ("", {"type": "string", "minLength": 1}, "must have at least 1 characters"),
        ("abc", {"type": "string", "maxLength": 2}, "must have at most 2 characters"),
        ("abc", {"type": "string", "pattern": "^[0-9]+$"}, "must match"),
        (None, {"anyOf": [{"type": "integer"}, {"type": "string"}]}, "integer, or needs a value"),
    ],
)
def test_values_that_do_not_fit_are_refused(value: Any, schema: dict[str, Any], words: str) -> None:
    """The message says what is expected and what was given."""
    with pytest.raises(ParameterInvalid) as refused:
        accepted_value(value, schema)
    assert words in str(refused.value)


def test_findings_name_the_parameter_and_the_nearest_one() -> None:
    """Each mistake is a finding of its own: unknown, given twice, of a wrong type, not to be set."""
    findings = Findings()
    asked: dict[str, Any] = {
        "gama": 0.9,
        "is-fast": True,
        "is_fast": True,
        "steps": "many",
        "model": "a",
    }
    values = check_parameters(
        asked, SCHEMA, findings, algorithm="a", refused={"model": "model is not for you."}
    )
    assert values == {"is_fast": True}
    found = {finding.where: finding for finding in findings.findings}
    assert found["parameters.gama"].message == "a has no parameter 'gama'. Did you mean gamma?"
    assert found["parameters.gama"].code == ProblemCode.PARAMETER_UNKNOWN.value
    assert found["parameters.gama"].nearest[0] == "gamma"
    assert found["parameters.is_fast"].message == "is_fast is given twice."
    assert found["parameters.steps"].message == "steps must be of type integer, not 'many'."
    assert found["parameters.model"].message == "model is not for you."
    with pytest.raises(RunRefused, match="given twice"):
        findings.require_none()


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.floats(-5, 5),
    st.sampled_from(["", "a", "bb", "12"]),
)
SCHEMAS = st.fixed_dictionaries(
    {"type": st.sampled_from(["boolean", "integer", "number", "string", ["integer", "null"]])},
    optional={
        "minimum": st.integers(-5, 5),
        "exclusiveMaximum": st.integers(-5, 5),
        "multipleOf": st.sampled_from([1, 2]),
        "enum": st.lists(SCALARS, min_size=1, max_size=3),
        "const": SCALARS,
        "minLength": st.integers(0, 3),
        "pattern": st.sampled_from(["^a", "[0-9]$"]),
    },
)


@given(SCALARS, SCHEMAS)
def test_the_check_agrees_with_jsonschema(value: Any, schema: dict[str, Any]) -> None:
    """For scalars this check takes and refuses what a whole implementation of JSON Schema does."""
    expected = jsonschema.Draft202012Validator(schema).is_valid(value)
    try:
        accepted_value(value, schema)
    except ParameterInvalid:
        assert not expected
    else:
        assert expected
