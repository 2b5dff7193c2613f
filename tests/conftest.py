"""Stacks for the tests that cross services, and a place for what they measured on the way."""

import signal
from collections.abc import Callable, Iterator

import pytest
from stack_under_test import StackUnderTest, running_stack

TIMEOUT_S = 300
"""Time limit of a test that starts a whole stack."""

_measured = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Warnings of a whole stack's programs are no failures of these tests."""
    config.addinivalue_line("filterwarnings", "default")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell starts what it does not wait for so, and the programs of these tests would never see their Ctrl-C.
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every test that names no time limit the one of this component."""
    for item in items:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))


@pytest.fixture(scope="session")
def stack() -> Iterator[StackUnderTest]:
    """A whole stack with the CleanRL worker, shared by all tests of this folder. A folder below may have another."""
    with running_stack(["worker_cleanrl"]) as under_test:
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
