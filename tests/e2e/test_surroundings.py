"""A stack and its runs in surroundings made for other work: odd folders, modules in the way, foreign settings."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from stack_under_test import ROOT, StackUnderTest, link_environments

from mosaic_contracts.states import RunState

pytestmark = pytest.mark.timeout(180)

HOME = "hé #1?%20 'q' \"d\" {x}"
SHADOWS = ("random.py", "typing.py", "json.py", "signal.py", "asyncio/__init__.py", "logging/a.py")
"""What lies in the folder of a person who types the command."""
OLD = ("typing_extensions.py", "pydantic.py", "yaml.py")
"""What a robot's workspace brings by PYTHONPATH."""
WORKER = """
id = "own"
title = "A program of a person"
room = "tests"
command = ["{python}", "-m", "mosaic_workerkit.pipe", "{here}/program.toml"]
"""
PROGRAM_FILE = """
id = "own"
title = "A program of a person"

[algorithms.train]
command = ["PYTHON", "{here}/train.py"]
steps = 1
"""
PROGRAM = """
import json, os, sys
import beside  # lies in the program's own folder
import of_the_workspace  # found by PYTHONPATH
json.dumps([])
print(json.dumps({"warnings": len(sys.warnoptions), "settings": len(os.environ["PYTHONWARNINGS"])}))
print("own folder first:", sys.path[0] == os.path.dirname(os.path.abspath(__file__)))
"""


class StackInSurroundings(StackUnderTest):
    """One that is started by `./mosaic`, from a folder of its user."""

    folder: Path

    def cli(
        self, *args: str, timeout_s: float = 120, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Call `./mosaic`, from the user's folder unless `cwd` names another."""
        return subprocess.run(
            [ROOT / "mosaic", *args],
            cwd=cwd or self.folder,
            env=self.environ,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout_s,
            check=False,
        )


def write_modules(folder: Path, names: tuple[str, ...]) -> Path:
    """Write modules that must not be imported by anything of ours."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"raise ImportError('{name} is not for you')\n")
    return folder


@pytest.fixture(scope="module", params=["C.UTF-8", "C"])
def stack(request: pytest.FixtureRequest) -> Iterator[StackInSurroundings]:
    """A stack that is up in such surroundings, in each locale."""
    with tempfile.TemporaryDirectory(prefix="mosaic-test-") as made:
        folder = Path(made)
        under_test = StackInSurroundings(
            folder / HOME, link_environments(folder / "venvs", "worker_cleanrl")
        )
        under_test.folder = write_modules(folder / "typed here", SHADOWS)
        workspace = write_modules(folder / "workspace", OLD)
        (workspace / "of_the_workspace.py").touch()
        under_test.environ |= {
            "PYTHONPATH": str(workspace),
            "PYTHONWARNINGS": "error",
            "PYTHONOPTIMIZE": "2",
            "PYTHONSTARTUP": "/nowhere",
            "LC_ALL": request.param,
        }
        add_program(under_test)
        try:
            under_test.start()
            yield under_test
        finally:
            under_test.stop()


def add_program(stack: StackUnderTest) -> None:
    """Register a program with a module next to it."""
    folder = stack.home / "workers.d" / "own"
    folder.mkdir()
    (folder / "worker.toml").write_text(WORKER)
    (folder / "program.toml").write_text(PROGRAM_FILE.replace("PYTHON", sys.executable))
    (folder / "train.py").write_text(PROGRAM)
    (folder / "beside.py").touch()


@pytest.mark.nightly(by_day=["C-workers"])
@pytest.mark.parametrize("verb", ["ps", "status", "workers", "describe synthetic", "gpus"])
def test_verbs_import_nothing_of_their_surroundings(stack: StackInSurroundings, verb: str) -> None:
    """A verb works wherever it is typed, whatever PYTHONPATH and PYTHONWARNINGS say."""
    done = stack.cli(*verb.split())
    assert "not for you" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 0, done.stderr


@pytest.mark.nightly(by_day=["C"])
def test_a_run_of_ours_imports_nothing_of_its_surroundings(stack: StackInSurroundings) -> None:
    """Runner, shipper and worker run as if the surroundings were empty, and everything is stored."""
    view = stack.submit("synthetic", "synthetic", "Synthetic-v0", steps=200)
    view = stack.wait_final(view.run_id)
    assert view.state is RunState.SUCCEEDED, view.end
    assert view.summary is not None
    assert view.summary.events >= 200
    assert view.summary.gaps == 0


@pytest.mark.nightly(by_day=["C"])
def test_a_program_of_a_person_gets_its_surroundings(stack: StackInSurroundings) -> None:
    """It has its own folder on sys.path, what PYTHONPATH names, and the settings of the user who started the stack."""
    view = stack.submit("own", "train", "Anything-v0")
    view = stack.wait_final(view.run_id)
    log = (stack.run_dir(view.run_id) / "logs" / "worker.log").read_text("utf-8")
    assert view.state is RunState.SUCCEEDED, log
    assert "own folder first: True" in log
    assert '"warnings": 1' in log
    assert '"settings": 5' in log


@pytest.mark.nightly(by_day=["C"])
def test_what_a_run_writes_does_not_replace_a_module(stack: StackInSurroundings) -> None:
    """A shipper that starts again in a run's folder, in which modules lie by now, ships all the same."""
    parameters = {"rate": 10_000}  # three seconds: longer than a shipper needs to start again
    view = stack.submit(
        "synthetic", "synthetic", "Synthetic-v0", steps=30_000, parameters=parameters
    )
    write_modules(stack.run_dir(view.run_id), SHADOWS)
    stack.kill_run_part(view.run_id, "shipper")
    view = stack.wait_final(view.run_id)
    assert view.state is RunState.SUCCEEDED, view.end
    assert view.summary is not None
    assert view.summary.gaps == 0


@pytest.mark.nightly(by_day=["C"])
def test_no_log_of_a_service_has_a_traceback(stack: StackInSurroundings) -> None:
    """Nothing failed on the way, not even once."""
    for log in (stack.home / "logs").glob("*.log"):
        assert "Traceback" not in log.read_text("utf-8"), os.fspath(log)
