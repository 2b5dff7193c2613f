"""What the tests of this room share; makes the modules next to them importable as `tests.x`."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic_contracts.spec import RunSpec

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.cases import CASES
from tests.real_run import FinishedTraining, run


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options by which every script runs, not only the quick ones."""
    parser.addoption("--all-scripts", action="store_true", help="run every script of CleanRL")
    parser.addoption("--cleanrl-checkout", metavar="FOLDER", help="run those of a checkout too")


@pytest.fixture(scope="session")
def make_spec() -> Any:
    """Return a function that makes a spec of a run, PPO on CartPole where nothing else is said."""

    def make(**fields: Any) -> RunSpec:
        return RunSpec.model_validate(
            {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1", **fields}
        )

    return make


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory, make_spec: Any) -> Any:
    """Return a function that gives the finished run of an algorithm at a level; each is made once, for all tests."""
    made: dict[tuple[str, str], FinishedTraining] = {}

    def get(algorithm: str, level: str) -> FinishedTraining:
        if (algorithm, level) not in made:
            folder = tmp_path_factory.mktemp("runs") / f"{algorithm}-{level}"
            made[algorithm, level] = run(folder, make_spec(**CASES[algorithm].fields, record=level))
        return made[algorithm, level]

    return get


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
