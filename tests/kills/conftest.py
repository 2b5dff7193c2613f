"""One stack for the tests of this folder, each with runs of its own."""

from collections.abc import Iterator

import pytest
from stack_under_test import StackUnderTest, running_stack


@pytest.fixture(scope="session")
def stack() -> Iterator[StackUnderTest]:
    """A whole stack with the synthetic worker and that of sweeps, shared by the tests of this folder."""
    with running_stack(["worker_sweep"]) as under_test:
        yield under_test
