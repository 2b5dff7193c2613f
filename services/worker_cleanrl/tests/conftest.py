"""What the tests of this room share; makes the modules next to them importable as `tests.x`."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic_contracts.spec import RunSpec

sys.path.insert(0, str(Path(__file__).parents[1]))


@pytest.fixture(scope="session")
def make_spec() -> Any:
    """Return a function that makes a spec of a run, PPO on CartPole where nothing else is said."""

    def make(**fields: Any) -> RunSpec:
        return RunSpec.model_validate(
            {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1", **fields}
        )

    return make


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """The folder `checkpoints` of a run on a disk of its own of 1 MiB."""
    folder = tmp_path / "run/checkpoints"
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"NO SMALL DISK, ENOSPC IS NOT TESTED HERE: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)
