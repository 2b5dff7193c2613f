"""What the tests of this room share; makes the modules beside them importable as `tests.x`."""

import sys
from pathlib import Path
from typing import Any

import pytest

from mosaic_contracts.spec import RunSpec

sys.path.insert(0, str(Path(__file__).parents[1]))


@pytest.fixture(scope="session")
def make_spec() -> Any:
    """Return a function that makes a spec of a run, PPO on CartPole where nothing else is said."""

    def make(**fields: Any) -> RunSpec:
        return RunSpec.model_validate(
            {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1", **fields}
        )

    return make
