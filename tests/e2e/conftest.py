"""One stack for the tests of this folder, and one training that they look at."""

from collections.abc import Iterator

import pytest
from stack_under_test import StackUnderTest, running_stack

from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState

STEPS = 4_096


@pytest.fixture(scope="session")
def stack() -> Iterator[StackUnderTest]:
    """A whole stack, shared by the tests of this folder."""
    with running_stack() as under_test:
        yield under_test


@pytest.fixture(scope="session")
def trained(stack: StackUnderTest) -> RunView:
    """One finished PPO run at level `full`."""
    view = stack.submit("cleanrl", "ppo", "CartPole-v1", steps=STEPS, record="full", seed=3)
    view = stack.wait_final(view.run_id, within_s=180)
    assert view.state is RunState.SUCCEEDED, view.end
    return view
