"""Faults are reported in words that say what would be right."""

import pytest
from pydantic import ValidationError

from mosaic_contracts.fault import fault_place, fault_text
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.sweeps import SweepSpec


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("steps", "abc", "must be a whole number"),
        ("steps", 1.5, "must be a whole number"),
        ("steps", -5, "must be more than 0"),
        ("cpus", 0, "must be at least 1"),
        ("hold", "perhaps", "must be true or false"),
        ("record", "everything", "must be one of 'metrics', 'episodes', 'replay' or 'full'"),
        ("stepps", 5, "there is no such field"),
        ("tags", "a", "must be a list"),
        ("worker", None, "must be text"),
        ("parent", "last", "must match the pattern ^[0-7][0-9A-HJKMNP-TV-Z]{25}$"),
    ],
)
def test_a_fault_says_what_would_be_right(field: str, value: object, words: str) -> None:
    """The field is named apart, and the value is not repeated."""
    spec = {"worker": "w", "algorithm": "a", "environment": "e"} | {field: value}
    with pytest.raises(ValidationError) as refused:
        RunSpec.model_validate(spec)
    fault = refused.value.errors()[0]
    assert (fault_place(fault), fault_text(fault)) == (field, words)


def test_words_of_our_own_validators_come_through() -> None:
    """The text of our own validator is shown without pydantic's opening."""
    fault = {"type": "value_error", "msg": "Value error, name it otherwise", "loc": ()}
    assert (fault_place(fault), fault_text(fault)) == ("", "name it otherwise")


@pytest.mark.parametrize(
    ("dimension", "place", "words"),
    [
        ({"type": "real"}, "", "'type' must be one of 'float', 'int', 'categorical'"),
        ({"low": 1}, "", "'type' is missing"),
        ([1, 2], "", "must be a mapping of names to values"),
        ({"type": "float", "low": "a", "high": 1}, ".low", "must be a number"),
    ],
)
def test_a_parameter_of_a_sweep_is_named_by_its_path(
    dimension: object, place: str, words: str
) -> None:
    """The path has no name of a type, also where the parameter itself is called like one."""
    with pytest.raises(ValidationError) as refused:
        SweepSpec.model_validate({"run": {}, "parameters": {"float": dimension}})
    (fault,) = refused.value.errors()
    assert (fault_place(fault), fault_text(fault)) == (f"parameters.float{place}", words)
