"""`./mosaic add SCRIPT`: files of a worker below the home, and refusals that change nothing."""

import sys
import tomllib
from pathlib import Path

import pytest

from mosaic_cli.errors import FileProblem, ValueRefused
from mosaic_cli.verbs.add import add
from mosaic_contracts.worker import WorkerManifest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, and a script in the current folder."""
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'My "train".py').touch()
    return tmp_path / "home"


def test_files(home: Path, tmp_path: Path) -> None:
    """The two files name script, interpreter and fixed arguments; `--remove` takes the worker away."""
    script = Path('My "train".py')
    add(
        script,
        ["--track", "a b"],
        name="mine",
        python=Path(sys.executable),
        env_var=["MUJOCO_GL=egl"],
        resume_arg="--resume-from",
    )
    folder = home / "workers.d" / "mine"
    manifest = WorkerManifest.model_validate(tomllib.loads((folder / "worker.toml").read_text()))
    assert (manifest.id, manifest.room) == ("mine", "worker_script")
    assert manifest.command[-2:] == ["{here}/script.toml", str(tmp_path / script)]
    file = tomllib.loads((folder / "script.toml").read_text())
    assert file["words"] == ["--track", "a b"]
    assert file["resume_argument"] == "resume_from"
    assert file["variables"] == ["MUJOCO_GL=egl"]
    assert (file["script"], file["directory"]) == (str(tmp_path / script), str(tmp_path))
    add(script, remove=True, name="mine")
    assert not folder.exists()


def test_the_name_is_the_scripts(home: Path) -> None:
    """Without --name the id is made from the script's name."""
    add(Path('My "train".py'), python=Path(sys.executable))
    assert (home / "workers.d" / "my_train" / "worker.toml").is_file()


def test_refused(home: Path) -> None:
    """A name that is taken, a wrong name, and an absent script change nothing."""
    script = Path('My "train".py')
    taken = home / "workers.d" / "mine"
    taken.mkdir(parents=True)
    (taken / "worker.toml").write_text("of another kind")
    with pytest.raises(ValueRefused, match="already"):
        add(script, name="mine", python=Path(sys.executable), replace=True)
    with pytest.raises(ValueRefused, match="no id"):
        add(script, name="Mine!", python=Path(sys.executable))
    with pytest.raises(FileProblem, match="no script"):
        add(Path("absent.py"), python=Path(sys.executable))
    with pytest.raises(ValueRefused, match="Nothing was added"):
        add(script, remove=True, name="mine")
    assert (taken / "worker.toml").read_text() == "of another kind"
    assert not (home / "workers.d" / "absent").exists()


@pytest.mark.parametrize(
    ("variable", "words"),
    [
        ("WANDB_API_KEY=abc", "secret set WANDB_API_KEY"),
        ("HF_TOKEN", "secret set HF_TOKEN"),
        ("MOSAIC_HOME=/x", "cannot be set"),
        ("2X=1", "write NAME=VALUE"),
    ],
)
def test_variables_are_checked_first(
    home: Path, monkeypatch: pytest.MonkeyPatch, variable: str, words: str
) -> None:
    """A secret or a wrong name is refused before a file is written."""
    monkeypatch.setenv("HF_TOKEN", "hf_value")
    with pytest.raises(ValueRefused, match=words):
        add(Path('My "train".py'), python=Path(sys.executable), env_var=[variable])
    assert not home.exists()


@pytest.mark.parametrize("is_there", [True, False])
def test_a_linked_worker(home: Path, tmp_path: Path, is_there: bool) -> None:
    """A worker of `new-worker` is not overwritten through its link; `--remove` removes the link alone."""
    script, own = Path('My "train".py'), tmp_path / "mine"
    if is_there:
        own.mkdir()
        (own / "script.toml").write_text("of the user")
    link = home / "workers.d" / "mine"
    link.parent.mkdir(parents=True)
    link.symlink_to(own)
    for replace in (True, False):
        with pytest.raises(ValueRefused, match=r"already, in .*mine --remove"):
            add(script, name="mine", python=Path(sys.executable), replace=replace)
    assert own.exists() == is_there
    add(script, name="mine", remove=True)
    assert not link.is_symlink()
    if is_there:
        assert [file.name for file in own.iterdir()] == ["script.toml"]
        assert (own / "script.toml").read_text() == "of the user"


@pytest.mark.parametrize("remove", [True, False])
def test_after_a_kill(home: Path, remove: bool) -> None:
    """An empty folder, which a killed `add` leaves, can be replaced and removed."""
    script, folder = Path('My "train".py'), home / "workers.d" / "mine"
    folder.mkdir(parents=True)
    (folder / ".script.toml.1.draft").touch()
    add(script, name="mine", python=Path(sys.executable), replace=True, remove=remove)
    assert (folder / "worker.toml").exists() != remove


def test_a_checkout_of_cleanrl(home: Path, tmp_path: Path) -> None:
    """Its folder becomes a worker in the environment of `cleanrl`, under another id than the package's."""
    folder = tmp_path / "cleanrl"
    (folder / "cleanrl").mkdir(parents=True)
    (folder / "cleanrl" / "ppo.py").touch()
    add(folder)
    made = home / "workers.d" / "cleanrl_checkout"
    manifest = WorkerManifest.model_validate(tomllib.loads((made / "worker.toml").read_text()))
    assert (manifest.id, manifest.room) == ("cleanrl_checkout", "worker_cleanrl")
    assert manifest.command[3:] == ["--checkout", str(folder), "--id", "cleanrl_checkout"]
    package = tomllib.loads((ROOT / "services/worker_cleanrl/worker.toml").read_text())
    assert manifest.bundles == package["bundles"]
    add(folder, replace=True)
    add(folder, remove=True)
    assert not made.exists()


def test_a_checkout_is_refused(home: Path, tmp_path: Path) -> None:
    """A folder without scripts, the id of the package, and options for scripts change nothing."""
    (tmp_path / "other").mkdir()
    with pytest.raises(FileProblem, match="no checkout of CleanRL"):
        add(tmp_path / "other")
    (tmp_path / "other" / "cleanrl").mkdir()
    (tmp_path / "other" / "cleanrl" / "ppo.py").touch()
    with pytest.raises(ValueRefused, match="another --name"):
        add(tmp_path / "other", name="cleanrl")
    with pytest.raises(ValueRefused, match="for a script"):
        add(tmp_path / "other", ["--x"])
    assert not (home / "workers.d").exists()
