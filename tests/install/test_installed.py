"""The wheels of a release, installed without a checkout: `uv tool install` gives a `mosaic` that does the main job."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic_client.location import data_root

ROOT = Path(__file__).resolve().parents[2]
UV = Path(os.environ.get("MOSAIC_VENVS") or ROOT / "var" / "venvs") / ".uv" / "bin" / "uv"
MAKING_S = 600
"""Torch may have to be downloaded."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(MAKING_S)]


class Installed:
    """A user's home folder into which MOSAIC was installed from wheels alone."""

    def __init__(self, home: Path, wheels: Path) -> None:
        self.home = home
        self.folder = home / "work"
        self.folder.mkdir()
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("MOSAIC_", "XDG_"))}
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        cache = os.environ.get("UV_CACHE_DIR") or f"{base}/uv"
        self.environ = {
            **kept,
            "HOME": str(home),
            "UV_CACHE_DIR": cache,
            "QT_QPA_PLATFORM": "offscreen",
        }
        self.run("tool", "install", "--python", "3.11", "mosaic-rl", program=uv(), wheels=wheels)

    @property
    def program(self) -> Path:
        return self.home / ".local" / "bin" / "mosaic"

    def mosaic(self, *words: str) -> str:
        """Run a verb in an empty folder; return its stdout."""
        return self.run(*words, program=self.program)

    def run(self, *words: str, program: Path, wheels: Path | None = None) -> str:
        environ = dict(self.environ)
        if wheels is not None:
            named = environ.get("UV_FIND_LINKS") or ",".join(
                environ.get("PIP_FIND_LINKS", "").split()
            )
            environ["UV_FIND_LINKS"] = ",".join(filter(None, (str(wheels), named)))
        done = subprocess.run(
            [program, *words],
            cwd=self.folder,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
        return done.stdout


def uv() -> Path:
    """The uv that makes environments in this checkout."""
    return UV if UV.exists() else Path(shutil.which("uv") or "uv")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheels that `./mosaic build` makes."""
    folder = tmp_path_factory.mktemp("dist")
    built = subprocess.run(
        [ROOT / "mosaic", "build", folder], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, wheels: Path) -> Iterator[Installed]:
    """MOSAIC installed for a user with an empty home folder; nothing of it runs afterwards."""
    made = Installed(tmp_path_factory.mktemp("home"), wheels)
    yield made
    made.mosaic("down", "--stop-runs")


def test_every_wheel_fits_every_platform(wheels: Path) -> None:
    """The packages are pure Python: one wheel each, under the names that are ours."""
    names = sorted(wheel.name for wheel in wheels.iterdir())
    assert all(name.endswith("-py3-none-any.whl") for name in names)
    assert {name.partition("-")[0] for name in names} == {
        "mosaic_rl",
        "mosaic_rl_base",
        "mosaic_rl_client",
        "mosaic_rl_contracts",
        "mosaic_rl_environments",
        "mosaic_rl_gui",
        "mosaic_rl_gymkit",
        "mosaic_rl_workerkit",
    }


@pytest.mark.nightly
def test_an_installed_mosaic_trains_and_shows(installed: Installed) -> None:
    """demo, up, run, ps, gui and export work without a checkout, and messages name the program `mosaic`."""
    assert "./mosaic" not in installed.mosaic("demo", "--steps", "600")
    installed.mosaic("up", "-d")
    run = json.loads(
        installed.mosaic("run", "cleanrl", "ppo", "CartPole-v1", "--steps", "600", "--json")
    )
    assert run["state"] == "succeeded"
    assert len(json.loads(installed.mosaic("ps", "--json"))) == 2
    installed.mosaic("gui", "--screenshot", str(installed.home / "pictures"))
    assert (installed.home / "pictures" / "runs.png").stat().st_size > 10_000
    video = installed.home / "best.gif"
    installed.mosaic("export", "last", "--episode", "best", "--gif", "-o", str(video))
    assert video.stat().st_size > 1_000


@pytest.mark.nightly
def test_a_worker_of_ones_own_is_made_and_trains(installed: Installed) -> None:
    """`new-worker` brings its template and makes the environment without a checkout, and `run` takes the worker."""
    folder = installed.home / "mine"
    installed.mosaic("new-worker", "mine", "--folder", str(folder))
    run = json.loads(installed.mosaic("run", "mine", "--steps", "300", "--json"))
    assert run["state"] == "succeeded"


@pytest.mark.nightly
def test_all_that_it_makes_lies_in_the_users_data_folder(installed: Installed) -> None:
    """Environments and runs are in one folder, which the Python client finds too; the current folder stays empty."""
    data = installed.home / ".local" / "share" / "mosaic"
    assert sorted(entry.name for entry in data.iterdir()) == ["environments", "home"]
    assert list(installed.folder.iterdir()) == []
    assert (data / "home" / "runs").is_dir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(installed.home))
        patch.delenv("XDG_DATA_HOME", raising=False)
        patch.chdir(installed.folder)
        assert data_root({}) == data / "home"
