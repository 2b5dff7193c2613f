"""pytest fixtures: `broker` without authentication, `secure_broker` in full operator mode."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic_servicekit.testing.broker import TestBroker


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[TestBroker]:
    """A running broker that asks nobody who they are."""
    with TestBroker(tmp_path / "broker") as running:
        yield running


@pytest.fixture
def secure_broker(tmp_path: Path) -> Iterator[TestBroker]:
    """A running broker with the credentials of a real stack; its `home` is a MOSAIC_HOME."""
    with TestBroker(tmp_path / "home", secure=True) as running:
        yield running
