"""`./mosaic new-worker NAME`: a whole folder that is on the list of workers, and refusals that change nothing."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from mosaic_cli import command_name
from mosaic_cli.errors import FileProblem, ValueRefused
from mosaic_cli.verbs.new_worker import TEMPLATES, new_worker
from mosaic_contracts.worker import WorkerManifest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home; the templates are those of this checkout."""
    monkeypatch.setenv("MOSAIC_ROOT", str(ROOT))
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_folder_bears_its_name(home: Path, tmp_path: Path, template: str) -> None:
    """Manifest, project file and README name the new worker and not the template; a link puts it on the list."""
    chosen: dict[str, Any] = {template: True}
    new_worker("mine", **chosen, no_sync=True)
    folder = tmp_path / "mine"
    assert (home / "workers.d/mine").resolve() == folder
    manifest = WorkerManifest.model_validate(tomllib.loads((folder / "worker.toml").read_text()))
    assert manifest.id == "mine"
    assert tomllib.loads((folder / "pyproject.toml").read_text())["project"]["name"] == "mine"
    known = TEMPLATES[template][1]
    for file in folder.rglob("*"):
        if file.is_file() and file.suffix in (".py", ".toml", ".md"):
            assert f'"{known}"' not in file.read_text(), file
    words = (folder / "README.md").read_text()
    assert words.startswith("# mine\n")
    assert "mosaic run mine" in words
    assert {path.name for path in (folder / "tests").glob("*.py")}
    assert (folder / "requirements.lock").is_file()


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_has_under_150_lines(template: str) -> None:
    """Blank lines are not counted, as docs/gymnasium_worker.md says; tests are not part of the worker."""
    folder = ROOT / "examples" / TEMPLATES[template][0]
    lines = [line for file in folder.glob("*.py") for line in file.read_text().splitlines()]
    assert 0 < sum(bool(line.strip()) for line in lines) < 150


def test_refused(home: Path, tmp_path: Path) -> None:
    """A wrong name, a name that is taken, two templates, and a folder with files leave everything as it was."""
    with pytest.raises(ValueRefused, match="no id"):
        new_worker("Mine!", no_sync=True)
    with pytest.raises(ValueRefused, match="already"):
        new_worker("cleanrl", no_sync=True)
    with pytest.raises(ValueRefused, match="Give one of"):
        new_worker("mine", sb3=True, blank=True, no_sync=True)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    with pytest.raises(ValueRefused, match="is there already"):
        new_worker("mine", folder=tmp_path / "full", no_sync=True)
    with pytest.raises(FileProblem, match="Name another --folder"):
        new_worker("mine", folder=tmp_path / "full/file/mine", no_sync=True)
    with pytest.raises(ValueRefused, match="holds links"):
        new_worker("mine", folder=home / "workers.d/mine", no_sync=True)
    assert not (home / "workers.d").exists()
    new_worker("mine", no_sync=True)
    with pytest.raises(ValueRefused, match="There is a worker"):
        new_worker("mine", folder=tmp_path / "other", no_sync=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full", "home", "mine"]


def test_a_link_to_an_empty_folder_is_followed(home: Path, tmp_path: Path) -> None:
    """The folder that the user's link leads to becomes the worker; the link stays."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "mine").symlink_to(tmp_path / "disk")
    new_worker("mine", no_sync=True)
    assert (tmp_path / "disk/worker.toml").is_file()
    assert (home / "workers.d/mine").readlink() == tmp_path / "disk"


def test_a_folder_that_was_not_listed_yet_is_listed(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After a kill between the folder and its link, the same command completes; what the user changed stays."""
    new_worker("mine", no_sync=True)
    (home / "workers.d/mine").unlink()
    (tmp_path / "mine/worker.py").write_text("changed")
    new_worker("mine", no_sync=True)
    assert (home / "workers.d/mine").resolve() == tmp_path / "mine"
    assert (tmp_path / "mine/worker.py").read_text() == "changed"
    assert "put on the list as it is" in capsys.readouterr().err


def test_commands_can_be_pasted(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A path with a space is quoted, and an installed `mosaic` is called by its name, also in the README."""
    monkeypatch.setattr(command_name, "_name", "mosaic")
    folder = tmp_path / "my workers/mine"
    new_worker("mine", folder=folder, no_sync=True)
    for text in (capsys.readouterr().err, (folder / "README.md").read_text()):
        assert f"mosaic worker-check '{folder}'" in text
        assert f"cd '{folder}' && " in text
        assert "./mosaic" not in text
