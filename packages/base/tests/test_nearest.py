"""Names for a `did you mean`."""

import subprocess
import sys

import pytest

from mosaic_base.nearest import nearest_names

KNOWN = ["learning_rate", "learning_starts", "learn_every", "learning_decay", "gamma", "Gamma_End"]


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("learning_rat", ["learning_rate", "learning_decay", "learning_starts"]),
        ("gama", ["gamma"]),
        ("xyz", []),
        ("", []),
    ],
)
def test_the_best_come_first_and_at_most_three(name: str, nearest: list[str]) -> None:
    """What looks like nothing known has no near name."""
    assert nearest_names(name, KNOWN) == nearest


def test_case_counts_unless_it_is_said_not_to() -> None:
    """Names come back as they are written."""
    assert nearest_names("GAMMA_END", KNOWN) == []
    assert nearest_names("GAMMA_END", iter(KNOWN), any_case=True)[0] == "Gamma_End"


def test_importing_costs_nothing() -> None:
    """The command line imports these at every start."""
    modules = "mosaic_base.nearest, mosaic_base.backoff, mosaic_base.locks, mosaic_base.atomic"
    look = (
        f"import sys; import {modules}; print({{'difflib', 'random', 'fcntl'}} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
