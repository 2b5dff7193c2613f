"""A process is listened to from its start; nothing is imported for it, and it ends as it would."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.listened import listened


def _pythons() -> list[str]:
    """Interpreters of this machine, without pyenv's shims."""
    found = [shutil.which(f"python3.{minor}") for minor in range(8, 15)]
    more = [str(path) for path in Path.home().glob(".pyenv/versions/3.*/bin/python3")]
    return [python for python in [*found, *more] if python is not None and "shims" not in python]


def test_a_process_reports_itself(tmp_path: Path) -> None:
    """The first line of the spool names the process and its Python."""
    ended, lines = listened(tmp_path, "print('hello')")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "hello\n", "")
    assert [line["type"] for line in lines] == ["process"]
    assert Path(lines[0]["executable"]).resolve() == Path(sys.executable).resolve()


def test_nothing_is_imported_for_the_script(tmp_path: Path) -> None:
    """The hook brings no module into a script but its own and those of the standard library."""
    script = "import sys; print(*sorted(sys.modules))"
    heard, _ = listened(tmp_path, script)
    alone = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    brought = {name.partition(".")[0] for name in heard.stdout.split()} - set(alone.stdout.split())
    assert brought - set(sys.stdlib_module_names) <= {"mosaic_hook", "sitecustomize"}


@pytest.mark.parametrize("how", ["-I", "-E", "-S"])
def test_an_isolated_python_is_not_heard(tmp_path: Path, how: str) -> None:
    """Options that switch PYTHONPATH or site off leave the script as it is, unheard."""
    ended, lines = listened(tmp_path, "print(1)", words=(how,))
    assert (ended.returncode, ended.stdout) == (0, "1\n")
    assert lines == []


def test_the_hidden_sitecustomize_runs(tmp_path: Path) -> None:
    """A module `sitecustomize` of the user's own runs, and is the one that the script finds."""
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("MARK = 'mine'\n")
    ended, lines = listened(
        tmp_path, "import sitecustomize; print(sitecustomize.MARK)", path=str(own)
    )
    assert (ended.stdout, ended.stderr) == ("mine\n", "")
    assert lines


def test_children_are_heard(tmp_path: Path) -> None:
    """A fork, and a Python process that the script starts, report themselves in files of their own."""
    ended, lines = listened(
        tmp_path,
        "import os, subprocess, sys\n"
        "child = os.fork()\n"
        "if child == 0:\n    os._exit(0)\n"
        "os.waitpid(child, 0)\n"
        "subprocess.run([sys.executable, '-c', 'pass'], check=True)\n",
    )
    assert ended.returncode == 0, ended.stderr
    assert len({line["pid"] for line in lines}) == 3


def test_a_gone_spool_breaks_nothing(tmp_path: Path) -> None:
    """A script that deletes the spool runs to its end with its own output and exit code."""
    ended, _ = listened(
        tmp_path, "import shutil, sys\nshutil.rmtree('spool')\nprint('done')\nsys.exit(3)"
    )
    assert (ended.returncode, ended.stdout) == (3, "done\n")


@pytest.mark.parametrize("python", _pythons())
def test_every_python(tmp_path: Path, python: str) -> None:
    """Every Python from 3.8 on that is on this machine runs the hook, and hears a library that is imported later."""
    package = tmp_path / "lib" / "gymnasium" / "envs"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "registration.py").write_text(REGISTRATION)
    (package.parent / "__init__.py").write_text("from gymnasium.envs.registration import make\n")
    version = subprocess.run(
        [python, "-c", "import sys; print(sys.version_info >= (3, 8))"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    if version.stdout != "True\n":
        pytest.skip("older than 3.8")
    ended, lines = listened(tmp_path, LOOP, python=python, path=str(tmp_path / "lib"))
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "3.0\n", "")
    ends = [line for line in lines if line["type"] == "episode"]
    assert [(end["return"], end["length"], end["flags"]) for end in ends] == [(3.0, 3, 1)]
    steps = [line for line in lines if line["type"] == "step"]
    chosen = [(step["step"], step["action"], step["reward"]) for step in steps]
    assert chosen == [(1, 0, 1.0), (2, 1, 1.0), (3, 0, 1.0)]


REGISTRATION = """
class Discrete:
    n = 2

class World:
    action_space = Discrete()
    observation_space = None
    unwrapped = property(lambda self: self)

    def reset(self, *, seed=None, options=None):
        self.t = 0
        return 0, {}

    def step(self, action):
        self.t += 1
        return self.t, 1.0, self.t == 3, False, {}

def make(name):
    return World()
"""
"""Takes the place of gymnasium where an interpreter has no packages; `services/worker_script` tests the real one."""
LOOP = """
import gymnasium
env = gymnasium.make("World")
env.reset(seed=1)
total, done, t = 0.0, False, 0
while not done:
    _, reward, done, _, _ = env.step(t % 2)
    total += reward
    t += 1
print(total)
"""
