"""A small disk, for what happens when one is full."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The machine may be busy: an example passes or fails by its result, not by its time.
settings.register_profile("mosaic", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mosaic")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 MiB, of which 3 MiB are taken by `filler`."""
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        pytest.skip(f"NO SMALL DISK, ENOSPC IS NOT TESTED HERE: {made.stderr.strip()}")
    (folder / "filler").write_bytes(b"\1" * 3 * 2**20)
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)
