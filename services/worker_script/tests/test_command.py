"""A command line is refused with what to change, before anything runs."""

import sys
from pathlib import Path
from typing import Any

import pytest

from mosaic_contracts.spec import RunSpec
from mosaic_worker_script.command import read_command
from mosaic_worker_script.worker import ScriptWorker


def _spec(**parameters: Any) -> RunSpec:
    return RunSpec(
        worker="script", algorithm="command", environment="unknown", parameters=parameters
    )


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({}, "give the command line"),
        ({"command": "  ", "directory": "/"}, "give the command line"),
        ({"command": "python x.py"}, "give the folder"),
        ({"command": "python x.py", "directory": "here"}, "as a whole path"),
        ({"command": "python x.py", "directory": "/no/such/folder"}, "does not exist"),
        ({"command": "python 'x.py", "directory": "/"}, "cannot be split"),
        ({"command": "no-such-program x.py", "directory": "/"}, "is not found"),
        ({"command": f"{sys.executable} x.py", "directory": "/"}, "no script x.py"),
    ],
)
def test_refused(parameters: dict[str, Any], words: str) -> None:
    """`check` blocks what could not run, in words."""
    report = ScriptWorker().check(_spec(**parameters))
    assert not report.ok
    assert words in report.findings[0].message


def test_the_plan_takes_consent(tmp_path: Path) -> None:
    """The plan shows the command and takes the user's consent, the same for every seed of a group."""
    (tmp_path / "train.py").touch()
    command = f"{sys.executable} train.py --seed {{seed}}"
    report = ScriptWorker().check(_spec(command=command, directory=str(tmp_path)))
    assert report.ok
    assert report.plan["argv"] == [sys.executable, "train.py", "--seed", "{seed}"]
    assert "train.py" in report.needs[0]
    made = read_command({"command": command, "directory": str(tmp_path)}).with_seed(4)
    assert made.argv[-1] == "4"
