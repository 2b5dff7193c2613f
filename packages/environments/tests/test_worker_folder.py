"""The folder of a worker of the user's own: what its environment consists of, and when its lock is written again."""

from pathlib import Path

import pytest

from mosaic_environments.errors import EnvironmentProblem
from mosaic_environments.tree import Tree
from mosaic_environments.worker_folder import LOCK, WorkerFolder, find_component

ROOT = Path(__file__).parents[3]
PROJECT = """
[project]
name = "mine"
dependencies = ["mosaic-rl-contracts", "numpy>=2"]

[dependency-groups]
dev = ["pytest"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder outside of the tree."""
    folder = tmp_path / "my worker"
    folder.mkdir()
    (folder / "pyproject.toml").write_text(PROJECT)
    return folder


def test_a_path_is_a_folder_and_a_name_a_component(tree: Tree, folder: Path) -> None:
    """The environment of a folder lies in it, and packages of ours come from the tree."""
    component = find_component(tree, str(folder))
    assert component.environment == str(folder / ".venv")
    assert component.packages() == [str(Path(tree.root) / "packages/contracts")]
    assert not isinstance(find_component(tree, "worker_cleanrl"), WorkerFolder)


def test_a_lock_belongs_to_its_dependencies(tree: Tree, folder: Path) -> None:
    """A lock of other dependencies is written again; another version of the project changes nothing."""
    component = WorkerFolder(tree, str(folder))
    assert not component.lock_is_current
    (folder / LOCK).write_text(f"{component.first_line}\nnumpy==2.0\n")
    assert WorkerFolder(tree, str(folder)).lock_is_current
    (folder / "pyproject.toml").write_text(PROJECT.replace('"mine"', '"mine"\nversion = "2"'))
    assert WorkerFolder(tree, str(folder)).lock_is_current
    (folder / "pyproject.toml").write_text(PROJECT.replace("numpy>=2", "numpy>=2.1"))
    assert not WorkerFolder(tree, str(folder)).lock_is_current


def test_a_lock_belongs_to_the_dependencies_of_our_packages(tree: Tree, folder: Path) -> None:
    """An update of MOSAIC that changes what one of its packages needs makes the lock again."""
    package = Path(tree.root) / "packages/contracts/pyproject.toml"
    before = WorkerFolder(tree, str(folder)).first_line
    package.write_text(package.read_text().replace("[project]", '[project]\nversion = "2"'))
    assert WorkerFolder(tree, str(folder)).first_line == before
    package.write_text(
        package.read_text().replace("[project]", '[project]\ndependencies = ["pydantic>=3"]')
    )
    needing = WorkerFolder(tree, str(folder)).first_line
    assert needing != before
    package.write_text(
        package.read_text() + '\n[project.optional-dependencies]\nclips = ["av>=14"]\n'
    )
    assert WorkerFolder(tree, str(folder)).first_line != needing


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "has no pyproject.toml"),
        ("[project]\nname = 'mine'\n", "needs .project. dependencies"),
        ("[project", "cannot be read"),
        ("project = 1\n", "project must be a table"),
        (PROJECT.replace('["pytest"]', '"pytest"'), "dev must be a list of strings"),
        (PROJECT.replace('["pytest"]', '[{ include-group = "test" }]'), "include-group"),
        (PROJECT.replace('"numpy>=2"', "2"), "dependencies must be a list of strings"),
        (PROJECT.replace("contracts", "unknown"), "no package mosaic-rl-unknown"),
    ],
)
def test_refused(tree: Tree, folder: Path, text: str | None, words: str) -> None:
    """A folder without a project file, or with one that cannot be, is refused in words."""
    (folder / "pyproject.toml").unlink()
    if text is not None:
        (folder / "pyproject.toml").write_text(text)
    with pytest.raises(EnvironmentProblem, match=words):
        WorkerFolder(tree, str(folder)).packages()


@pytest.mark.parametrize(
    "sample", sorted(ROOT.glob("examples/*/pyproject.toml")), ids=lambda path: path.parent.name
)
def test_a_lock_of_a_sample_is_current(tmp_path: Path, sample: Path) -> None:
    """A worker made from a sample is not locked again. Where this fails: `./mosaic lock ./examples/NAME`."""
    tree = Tree(str(ROOT), str(tmp_path), is_checkout=True)
    assert WorkerFolder(tree, str(sample.parent)).lock_is_current
