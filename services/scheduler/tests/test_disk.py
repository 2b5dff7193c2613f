"""Whether a folder can be written, and the words for why not."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mosaic_scheduler.admission.context import write_fault

NOBODY = 65534


@contextmanager
def without_privilege() -> Iterator[None]:
    """As a user to whom a file's mode matters."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(was)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder below one that everybody may enter."""
    with tempfile.TemporaryDirectory() as parent:
        Path(parent).chmod(0o755)
        yield Path(parent) / "runs"


def test_a_folder_that_can_be_written_has_no_fault(folder: Path) -> None:
    """It is made where it is missing, and nothing is left in it."""
    assert write_fault(folder) is None
    assert list(folder.iterdir()) == []


def test_a_foreign_folder_is_named_with_its_owner(folder: Path) -> None:
    """The words name the folder, its owner and mode, who asks, and what to do."""
    folder.mkdir(mode=0o555)
    owner = folder.stat().st_uid
    with without_privilege():
        fault = write_fault(folder)
    assert fault is not None
    assert f"{folder} cannot be written: Permission denied." in fault
    assert f"belongs to uid {owner} with mode 555" in fault
    assert "chown" in fault


def test_a_file_in_its_place_is_named(folder: Path) -> None:
    """Whatever the reason is, it is the system's own."""
    folder.write_text("")
    assert write_fault(folder) == f"{folder} cannot be written: File exists."
