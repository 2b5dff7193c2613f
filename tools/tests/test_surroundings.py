"""`./mosaic sync` for real, in surroundings made for other work: odd folders, settings of pip, uv and Python."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from components import ROOT, TREE

VENVS = Path(TREE.venvs)
PIP = {
    "PIP_REQUIRE_VIRTUALENV": "1",
    "PIP_PREFIX": "/nowhere",
    "PIP_TARGET": "/nowhere",
    "PIP_ROOT": "/nowhere",
    "PIP_USER": "1",
    "PIP_DRY_RUN": "1",
    "PIP_PLATFORM": "win32",
    "PIP_CONSTRAINT": "/nowhere",
}
UV = {
    "UV": "/nowhere/uv",
    "UV_SYSTEM_PYTHON": "1",
    "UV_REQUIRE_HASHES": "1",
    "UV_PYTHON": "3.8",
    "UV_PROJECT": "/nowhere",
    "UV_WORKING_DIR": "/nowhere",
    "UV_CONSTRAINT": "/nowhere",
    "UV_NO_EDITABLE": "1",
}
PYTHON = {
    "PYTHON": "/nowhere/python",
    "PYTHONHOME": "/nowhere",
    "PYTHONPATH": "/nowhere",
    "PYTHONWARNINGS": "error",
    "PYTHONSAFEPATH": "",
    "PYTHONUSERBASE": "/nowhere",
}
PIP_CONF = """
[global]
require-virtualenv = true
prefix = /nowhere
user = true
[install]
target = /nowhere
root = /nowhere
"""
FOREIGN_PROJECT = '[tool.uv]\nrequired-version = "==0.1.0"\n[tool.uv.pip]\nsystem = true\n'


def sync(root: Path, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Make the environment of contracts, called from `folder`; the variables of the tests' own session are left out."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MOSAIC_", "PYTHON"))}
    return subprocess.run(
        [root / "mosaic", "sync", "contracts"],
        cwd=folder,
        env=kept | env,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


def imports_contracts(venvs: Path) -> bool:
    """Whether the environment works."""
    argv = [str(venvs / "contracts" / "bin" / "python"), "-I", "-c", "import mosaic_contracts.spec"]
    return subprocess.run(argv, check=False, env={"LC_ALL": "C"}).returncode == 0


@pytest.mark.nightly(by_day=["pip"])
@pytest.mark.parametrize("env", [PIP, UV, PYTHON], ids=["pip", "uv", "python"])
def test_settings_for_other_work_change_nothing(tmp_path: Path, env: dict[str, str]) -> None:
    """uv is fetched and an environment made, whatever the caller's variables say of places and interpreters."""
    done = sync(ROOT, ROOT, MOSAIC_VENVS=str(tmp_path / "v"), **env)
    assert done.returncode == 0, done.stderr
    assert imports_contracts(tmp_path / "v")


def test_files_for_other_work_change_nothing(tmp_path: Path) -> None:
    """Neither a configuration of pip, nor another project's, nor modules in the caller's folder."""
    (tmp_path / "config" / "pip").mkdir(parents=True)
    (tmp_path / "config" / "pip" / "pip.conf").write_text(PIP_CONF)
    (tmp_path / "pyproject.toml").write_text(FOREIGN_PROJECT)
    (tmp_path / "uv.toml").write_text('required-version = "==0.1.0"\n')
    for name in ("random", "ssl", "typing", "pip", "zipfile"):
        (tmp_path / f"{name}.py").write_text("print('I was run')\nraise SystemExit(7)\n")
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "MOSAIC_VENVS": "v"}
    done = sync(ROOT, tmp_path, **env)
    assert done.returncode == 0, done.stderr
    assert "I was run" not in done.stdout + done.stderr
    assert imports_contracts(tmp_path / "v")


def copy_checkout(folder: Path) -> Path:
    """Copy what `./mosaic sync contracts` needs."""
    folder.mkdir(parents=True)
    shutil.copy2(ROOT / "mosaic", folder)
    for part in ("tools", "packages/environments", "packages/contracts"):
        ignored = shutil.ignore_patterns("__pycache__", "tests", ".*")
        shutil.copytree(ROOT / part, folder / part, ignore=ignored)
    return folder


@pytest.mark.nightly(by_day=["a #1", "{a} [b] x;y"])
@pytest.mark.parametrize(
    "name",
    [
        "hé",
        "データ",
        "C#",
        "a #1",
        "100%25",
        "a b's",
        '"q" $HOME',
        "{a} [b] x;y",
        "co:lon\\",
        "-d ?",
    ],
)
def test_a_checkout_may_lie_in_any_folder(tmp_path: Path, name: str) -> None:
    """An environment is made and finds our packages, although the locale knows ASCII alone."""
    root = copy_checkout(tmp_path / name / "m")
    # the installer that is there, for it need not be fetched again each time
    path = f"{VENVS / '.uv' / 'bin'}:{os.environ['PATH']}"
    done = sync(root, root, LC_ALL="C", PATH=path)
    assert done.returncode == 0, done.stderr
    assert imports_contracts(root / "var" / "venvs")


@pytest.mark.parametrize("name", ["two\nlines", os.fsdecode(b"latin1-\xe9")])
@pytest.mark.parametrize("variable", ["MOSAIC_HOME", "MOSAIC_VENVS", ""])
def test_a_path_that_no_file_can_name_is_refused_first(
    tmp_path: Path, name: str, variable: str
) -> None:
    """One sentence that names the folder, and nothing is made."""
    root = tmp_path / ("m" if variable else name)
    root = copy_checkout(root)
    env = {variable: str(tmp_path / name)} if variable else {}
    done = sync(root, root, **env)
    assert done.returncode == 2
    assert "which MOSAIC cannot handle" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (root / "var").exists()


def test_environments_of_another_user_are_named_as_the_cause(tmp_path: Path) -> None:
    """The message names their owner, the folders and what to set; it shows no log of an earlier success."""
    with tempfile.TemporaryDirectory(prefix="mosaic-test-") as made:
        folder = Path(made)
        root = copy_checkout(folder / "m")
        venvs = root / "var" / "venvs"
        venvs.mkdir(parents=True)
        (venvs / ".contracts.log").write_text("Installed 6 packages\n")
        venvs.chmod(0o555)
        folder.chmod(0o755)
        other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        done = subprocess.run(
            [*(other if os.geteuid() == 0 else []), root / "mosaic", "sync", "contracts"],
            cwd=root,
            env={"PATH": os.environ["PATH"], "HOME": "/nowhere"},
            capture_output=True,
            text=True,
            check=False,
        )
        venvs.chmod(0o755)
    assert done.returncode == 2
    assert "missing or out of date: contracts" in done.stderr
    assert f"{venvs} belongs to" in done.stderr
    assert "MOSAIC_VENVS=" in done.stderr
    assert "Installed" not in done.stderr


def test_a_cache_that_cannot_be_written_is_named_as_the_cause(tmp_path: Path) -> None:
    """What to set when uv has no place for its downloads."""
    done = sync(
        ROOT, ROOT, MOSAIC_VENVS=str(tmp_path / "v"), UV_CACHE_DIR="/proc/nowhere", HOME="/nowhere"
    )
    assert done.returncode == 2
    assert "/proc/nowhere cannot be written, and uv keeps its downloads there" in done.stderr
    assert "UV_CACHE_DIR=" in done.stderr
