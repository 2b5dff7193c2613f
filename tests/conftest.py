"""Stacks for the tests that cross services, and a place for what they measured on the way."""

from collections.abc import Callable, Iterator

import pytest
from stack_under_test import StackUnderTest, running_stack

TIMEOUT_S = 300
"""Time limit of a test that starts a whole stack."""

_measured = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Warnings of a whole stack's programs are no failures of these tests."""
    config.addinivalue_line("filterwarnings", "default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every test that names no time limit the one of this component."""
    for item in items:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))


@pytest.fixture(scope="module")
def stack(request: pytest.FixtureRequest) -> Iterator[StackUnderTest]:
    """A whole stack, shared by the tests of one module, which may name the workers that it needs as `WORKERS`."""
    with running_stack(getattr(request.module, "WORKERS", ())) as under_test:
        yield under_test


@pytest.fixture
def measured(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Say a figure; all of them are listed at the end of the session. No test fails by one."""
    return request.config.stash.setdefault(_measured, []).append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List what was measured."""
    lines = terminalreporter.config.stash.get(_measured, [])
    if lines:
        terminalreporter.section("measured on the way")
        for line in lines:
            terminalreporter.write_line(line)
