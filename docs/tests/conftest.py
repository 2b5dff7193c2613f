"""The modules that build the site, and time enough to build it."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent / "src"))

BUILD_S = 240


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests of the site the time that building it takes."""
    for item in items:
        item.add_marker(pytest.mark.timeout(BUILD_S))
