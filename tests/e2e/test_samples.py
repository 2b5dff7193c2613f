"""The samples of workers in environments of their own, made from their locks. It takes minutes, and PyTorch or Ray.

They are run where the variable `MOSAIC_SAMPLES` is set, e.g. `MOSAIC_SAMPLES=1 ./mosaic test tests -- -k samples`.
"""

import os
import subprocess
from pathlib import Path

import pytest
from stack_under_test import ROOT

SAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/pyproject.toml"))
pytestmark = [
    pytest.mark.skipif(
        not os.environ.get("MOSAIC_SAMPLES"),
        reason="samples in their own environments: set MOSAIC_SAMPLES=1",
    ),
    pytest.mark.timeout(1800),
]


@pytest.mark.parametrize("folder", SAMPLES, ids=lambda folder: folder.name)
def test_its_own_tests_pass(folder: Path, tmp_path: Path) -> None:
    """The environment is made from the lock, and the tests that a new worker begins with pass in it."""
    subprocess.run([str(ROOT / "mosaic"), "sync", str(folder)], check=True)
    command = [
        str(folder / ".venv/bin/python"),
        "-m",
        "pytest",
        "-q",
        f"--basetemp={tmp_path / 'own'}",
    ]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
