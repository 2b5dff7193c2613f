"""gymkit on gymnasium 0.29: its own tests run on 1.x, and here on what the scripts need."""

import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest

GYMKIT = Path(__file__).parents[3] / "packages" / "gymkit"


@pytest.mark.nightly
def test_gymkit_records_and_rebuilds_on_0_29() -> None:
    """The tests of recording and rebuilding pass with this worker's gymnasium."""
    assert gymnasium.__version__.startswith("0.29.")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "tests/test_recording.py",
        "tests/test_replay.py",
    ]
    done = subprocess.run(command, cwd=GYMKIT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
