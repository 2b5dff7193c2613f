"""Values of parameters that a spec does not give."""

from typing import Any

import pytest

from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import WorkerDescription
from mosaic_scheduler.admission.default_values import default_values

PROPERTIES = {
    "gamma": {"type": "number", "default": 0.99},
    "anneal": {"type": "boolean", "default": True},
    "target_kl": {"type": "number", "default": None},
    "layers": {"default": [64, 64]},
    "rate": {"type": "number"},
    "seed": {"default": 1},
    "env_id": {"default": "CartPole-v1"},
    "total": {"default": 1000},
}
DESCRIPTION = WorkerDescription.model_validate(
    {
        "worker": "w", "version": "1", "title": "W", "record_levels": [], "environments": [],
        "algorithms": [
            {
                "id": "a", "title": "A", "parameters": {"properties": PROPERTIES}, "seed_parameter": "seed",
                "environment_parameter": "env_id", "steps_parameter": "total",
            }
        ],
    }
)  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "values"),
    [
        ({}, {"gamma": 0.99, "anneal": True, "total": 1000}),
        ({"parameters": {"gamma": 0.9}, "steps": 5}, {"anneal": True}),
        ({"kind": "evaluate"}, {}),
        ({"algorithm": "other"}, {}),
    ],
)
def test_single_defaults_of_a_training_are_kept(
    spec: dict[str, Any], values: dict[str, Any]
) -> None:
    """Without what the spec gives or sets, and without values that no search could compare."""
    asked = RunSpec.model_validate({"worker": "w", "algorithm": "a", "environment": "e", **spec})
    assert default_values(asked, DESCRIPTION) == values
