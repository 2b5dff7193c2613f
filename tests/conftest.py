"""Stacks for the tests that cross services, and a place for what they measured on the way."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from stack_under_test import StackUnderTest

_measured = pytest.StashKey[list[str]]()


@pytest.fixture(scope="module")
def stack() -> Iterator[StackUnderTest]:
    """A whole stack, shared by the tests of one module; nothing of it may be left afterwards."""
    with tempfile.TemporaryDirectory(prefix="mosaic-test-") as folder:
        under_test = StackUnderTest(Path(folder))
        try:
            under_test.start()
            yield under_test
        finally:
            under_test.stop()


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
