"""What a thinning asks for, and what it would free."""

import pytest
from pydantic import ValidationError

from mosaic_contracts.store_upkeep import RunSpace, ThinRequest

RUN = "01K5ZZZZZZZZZZZZZZZZZZZZZZ"


@pytest.mark.parametrize(
    ("changed", "every", "freed"),
    [
        ({}, 1, 0),
        ({}, 2, 400),
        ({}, 0, 800),
        ({"events": 0, "steps": 0, "bytes": 0}, 0, 0),
        ({"thinned_every": 10}, 10, 0),
        ({"thinned_every": 10}, 5, 0),
        ({"thinned_every": 10}, 20, 760),
        ({"thinned_every": 0}, 10, 0),
        ({"thinned_every": 10, "is_thinning": True}, 10, 720),
    ],
)
def test_what_a_thinning_would_free(changed: dict[str, object], every: int, freed: int) -> None:
    """The share of the steps that would go; nothing where an earlier thinning removed as much."""
    space = {"run_id": RUN, "bytes": 1000, "events": 10, "steps": 8, **changed}
    assert RunSpace.model_validate(space).estimate_freed(every) == freed


@pytest.mark.parametrize(
    "wrong", [{"every": -1}, {"rule": ""}, {"rule": "x" * 201}, {"within_s": 0}, {"run_id": "../x"}]
)
def test_a_request_out_of_range_is_refused(wrong: dict[str, object]) -> None:
    """Nothing is removed for a rule without words or of a run that can be none."""
    ThinRequest.model_validate({"run_id": RUN, "every": 2, "rule": "small"})
    with pytest.raises(ValidationError):
        ThinRequest.model_validate({"run_id": RUN, "every": 2, "rule": "small", **wrong})
