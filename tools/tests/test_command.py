"""`./mosaic` before any environment exists."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from components import ROOT, TREE
from locking import own_distributions


def bash(script: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in the checkout."""
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=ROOT,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("words", ["", "help", "--help"])
def test_the_overview_needs_nothing(tmp_path: Path, words: str) -> None:
    """Help costs no environment."""
    done = bash(f"./mosaic {words}", MOSAIC_VENVS=str(tmp_path / "venvs"))
    assert done.returncode == 0
    assert "./mosaic demo" in done.stdout
    assert not (tmp_path / "venvs").exists()


VERBS = [
    "test",
    "types",
    "sync",
    "lock",
    "lint",
    "imports",
    "words",
    "build",
    "docs",
    "pictures",
    "release",
]


@pytest.mark.nightly(by_day=["test", "sync"])
@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_prints_its_usage_and_runs_nothing(tmp_path: Path, verb: str) -> None:
    """`--help` of a verb of a checkout answers at once and makes no environment."""
    done = bash(f"./mosaic {verb} --help", MOSAIC_VENVS=str(tmp_path / "venvs"))
    assert done.returncode == 0
    assert done.stdout.startswith(f"Usage: ./mosaic {verb}")
    assert not (tmp_path / "venvs").exists()


@pytest.mark.nightly(by_day=["test", "sync"])
@pytest.mark.parametrize("verb", VERBS)
def test_an_unknown_option_is_refused_with_the_usage(tmp_path: Path, verb: str) -> None:
    """An option that a verb does not know ends with code 2 and how the verb is called."""
    done = bash(f"./mosaic {verb} --nosuch", MOSAIC_VENVS=str(tmp_path / "venvs"))
    assert done.returncode == 2
    assert "--nosuch" in done.stderr
    assert f"Usage: ./mosaic {verb}" in done.stderr
    assert not (tmp_path / "venvs").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [("./mosaic typ", ["types"]), ("./mosaic sync --b", ["--bundle"]), ("./mosaic test wor", None)],
)
def test_the_tab_key_knows_the_verbs_of_a_checkout(
    tmp_path: Path, line: str, words: list[str] | None
) -> None:
    """Verbs of a checkout, their options and components are completed, and no environment is made for it."""
    done = bash(
        "./mosaic",
        _MOSAIC_COMPLETE="complete_bash",
        COMP_WORDS=line,
        COMP_CWORD=str(len(line.split()) - 1),
        MOSAIC_VENVS=str(tmp_path / "venvs"),
    )
    assert done.returncode == 0, done.stderr
    components = [name for name in TREE.names() if name.startswith("wor")]
    assert sorted(done.stdout.split()) == sorted(words or components)
    assert not (tmp_path / "venvs").exists()


def test_every_component_installs_all_of_our_packages_that_it_names() -> None:
    """A dependency of ours without its path would be looked for in a registry."""
    own = own_distributions(TREE)
    for component in TREE.components():
        text = Path(component.folder, "pyproject.toml").read_text(encoding="utf-8")
        named = {name.removeprefix("mosaic-rl-") for name in own if f'"{name}' in text}
        folders = {Path(folder).name.replace("_", "-") for folder in component.packages()}
        assert named - {component.name.replace("_", "-")} <= folders | {"mosaic-rl"}, component.name


def test_a_wrong_interpreter_is_named(tmp_path: Path) -> None:
    """MOSAIC_PYTHON that is no Python 3.11 is an error, not a reason to take another."""
    done = bash("./mosaic help", MOSAIC_PYTHON=str(tmp_path / "python"))
    assert done.returncode == 2
    assert f"MOSAIC_PYTHON={tmp_path}/python" in done.stderr


def test_without_python_3_11_it_says_what_to_do(tmp_path: Path) -> None:
    """A PATH without any Python gives one clear error."""
    for name in ("bash", "dirname", "readlink"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    done = bash("./mosaic help", PATH=str(tmp_path), MOSAIC_PYTHON="", MOSAIC_VENVS=str(tmp_path))
    assert done.returncode == 2
    assert "needs Python 3.11" in done.stderr
