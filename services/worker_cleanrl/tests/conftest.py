"""What the tests of this room share: a spec of a small run."""

from typing import Any

import pytest

from mosaic_contracts.spec import RunSpec


@pytest.fixture
def make_spec() -> Any:
    """Return a function that makes a spec of a run, PPO on CartPole where nothing else is said."""

    def make(**fields: Any) -> RunSpec:
        return RunSpec.model_validate(
            {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1", **fields}
        )

    return make
