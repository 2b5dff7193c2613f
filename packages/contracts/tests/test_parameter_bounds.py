"""Bounds of parameters: words, values and defaults."""

from typing import Any

import pytest

from mosaic_contracts.parameter_bounds import bounds_words, default_fault, parameters_with_faults


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({"default": 1, "minimum": 0, "maximum": 1}, None),
        ({"default": 5, "maximum": 1}, "its default must be at most 1, not 5"),
        ({"default": 0.0, "exclusiveMinimum": 0}, "its default must be more than 0, not 0.0"),
        ({"default": 3, "multipleOf": 2}, "its default must be a multiple of 2, not 3"),
        ({"default": "a", "enum": ["b"]}, "its default 'a' is none of its choices"),
        ({"default": None, "enum": ["b", None]}, None),
        ({"default": None, "minimum": 1}, None),
        ({"minimum": 1}, None),
        ({"minimum": "1"}, "its minimum '1' is no number"),
    ],
)
def test_a_default_is_within_its_bounds(schema: dict[str, Any], fault: str | None) -> None:
    """Values, choices and bounds that are no numbers are named; a missing or empty default is right."""
    assert default_fault(schema) == fault


def test_faults_name_algorithm_and_parameter() -> None:
    """Each fault can be found by its words."""
    parameters = {"properties": {"gamma": {"default": 5, "maximum": 1}, "tau": {"default": 1}}}
    assert parameters_with_faults([("ppo", parameters), ("dqn", {})]) == [
        "ppo: gamma: its default must be at most 1, not 5"
    ]


def test_words() -> None:
    """An interval is short; other bounds are words."""
    assert bounds_words({"minimum": 0, "maximum": 1}) == "0 to 1"
    assert bounds_words({"exclusiveMinimum": 0, "maximum": 1}) == "more than 0, at most 1"
    assert bounds_words({"type": "number"}) == ""
