"""A command line is refused with what to change, before anything runs."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.script_run import run_script

from mosaic_contracts.launch import KEPT_NOTES_FILE
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


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ("MUJOCO_GL", "write NAME=VALUE"),
        ("2X=1", "write NAME=VALUE"),
        ("A='1", "cannot be split"),
        ("MOSAIC_RUN_ID=1", "MOSAIC gives it"),
        ("CUDA_VISIBLE_DEVICES=0", "--gpus"),
        ("WANDB_API_KEY=abc", "./mosaic secret set WANDB_API_KEY"),
    ],
)
def test_variables_refused(tmp_path: Path, variables: str, words: str) -> None:
    """`check` blocks a variable that cannot be, that MOSAIC sets, or whose value is a secret."""
    command = f"{sys.executable} -c 1"
    report = ScriptWorker().check(
        _spec(command=command, directory=str(tmp_path), variables=variables)
    )
    assert not report.ok
    assert words in report.findings[0].message


def test_variables_are_in_the_plan(tmp_path: Path) -> None:
    """Variables are split as a shell splits them, the last of a name counts, and the plan shows them."""
    command, variables = f"{sys.executable} -c 1", "A=1 B='two words' A=3 EMPTY="
    report = ScriptWorker().check(
        _spec(command=command, directory=str(tmp_path), variables=variables)
    )
    assert report.plan["variables"] == {"A": "3", "B": "two words", "EMPTY": ""}


def test_the_script_gets_its_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script has the variables of its run and each secret by its name; the hook stays in front of PYTHONPATH."""
    secret = tmp_path / "WANDB_API_KEY"
    secret.write_text("a secret of the run\n")
    monkeypatch.setenv("MOSAIC_SECRET_WANDB_API_KEY_FILE", str(secret))
    script = (
        "import os, sys, pathlib\n"
        "names = ('MUJOCO_GL', 'NAMES', 'WANDB_API_KEY', 'PYTHONUNBUFFERED')\n"
        "pathlib.Path('seen').write_text(repr([os.environ[name] for name in names]))\n"
        "import own_module\n"
    )
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "own_module.py").touch()
    made = run_script(
        tmp_path,
        script,
        variables=f"MUJOCO_GL=egl NAMES='a b' PYTHONUNBUFFERED=x PYTHONPATH={tmp_path / 'lib'}",
        secrets=["WANDB_API_KEY"],
    )
    assert made.code == 0, made.output
    seen = (tmp_path / "own" / "seen").read_text()
    assert seen == repr(["egl", "a b", "a secret of the run", "x"])
    notes = json.loads((tmp_path / "run" / KEPT_NOTES_FILE).read_text("utf-8"))
    assert "Nothing was heard" in notes["not-heard"], "the script was not listened to"
