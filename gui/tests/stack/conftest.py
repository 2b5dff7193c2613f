"""The stack of all tests in this folder: a start of one takes a dozen programs."""

from collections.abc import Iterator

import pytest
from tests.real_stack import RealStack, absent, real_stack

WORKERS = ("worker_cleanrl", "worker_play")


@pytest.fixture(scope="package")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealStack]:
    """One stack with the synthetic worker and those of `WORKERS` that are installed.

    A test finds runs of others, looks at those alone that it began, and ends them; it leaves the stack up, all its
    services running, and nothing set that it set.
    """
    installed = [worker for worker in WORKERS if not absent(worker)]
    with real_stack(tmp_path_factory.mktemp("stack"), *installed) as made:
        yield made


@pytest.fixture(autouse=True)
def _no_run_left(stack: RealStack) -> Iterator[None]:
    """No test has to share the processors with a run that a failed one left."""
    yield
    stack.stop_runs()
