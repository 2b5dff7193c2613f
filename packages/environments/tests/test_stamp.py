"""An environment counts as made only with the stamp of what it should be made from."""

from pathlib import Path

import pytest

from mosaic_environments import stamp
from mosaic_environments.syncing import remember_bundles
from mosaic_environments.tree import Component, Tree


def pretend_made(component: Component) -> Path:
    """Make the folder of an environment with an interpreter, without a stamp."""
    folder = Path(component.environment)
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to("/bin/true")
    return folder


def test_an_environment_without_its_stamp_is_not_current(tree: Tree) -> None:
    """Half-made environments, those made from something else, and emptied ones are all made again."""
    contracts = tree.find("contracts")
    assert not stamp.is_current(tree, contracts, dev=False)
    folder = pretend_made(contracts)
    assert not stamp.is_current(tree, contracts, dev=False)
    (folder / "mosaic-run.stamp").write_text("0" * 64 + "\n")
    assert not stamp.is_current(tree, contracts, dev=False)
    (folder / "mosaic-run.stamp").write_text(stamp.digest(tree, contracts, "run") + "\n")
    assert stamp.is_current(tree, contracts, dev=False)
    (folder / "bin" / "python").unlink()
    assert not stamp.is_current(tree, contracts, dev=False)


@pytest.mark.parametrize(
    ("changed", "kinds"),
    [
        ("packages/contracts/pyproject.toml", set()),
        ("services/worker_cleanrl/pyproject.toml", {"run", "dev", "bundle-atari"}),
        ("services/worker_cleanrl/requirements.lock", {"run", "dev", "bundle-atari"}),
        ("services/worker_cleanrl/requirements.dev.lock", {"dev"}),
        ("services/worker_cleanrl/bundle-atari.lock", {"bundle-atari"}),
        ("services/worker_cleanrl/requirements.cuda.lock", set()),
        ("services/worker_cleanrl/torch.txt", {"run", "dev", "bundle-atari"}),
        ("tools/bootstrap.lock", {"run", "dev", "bundle-atari"}),
    ],
)
def test_a_change_makes_only_those_environments_again_that_it_concerns(
    tree: Tree, root: Path, changed: str, kinds: set[str]
) -> None:
    """Each kind has a digest of its own; locks for images change none."""
    worker = tree.find("worker_cleanrl")
    names = ("run", "dev", "bundle-atari")
    before = {kind: stamp.digest(tree, worker, kind) for kind in names}
    path = root / changed
    text = path.read_text() if path.is_file() else ""
    path.write_text(f"{text}changed\n" if path.name != "bootstrap.lock" else "uv==9.9.9 \\\n")
    assert {kind for kind in names if stamp.digest(tree, worker, kind) != before[kind]} == kinds


def test_a_change_of_an_own_package_makes_dependents_again(tree: Tree, root: Path) -> None:
    """The project files of the packages that an environment links to count as its own."""
    cli = tree.find("cli")
    before = stamp.digest(tree, cli, "run")
    path = root / "packages" / "contracts" / "pyproject.toml"
    path.write_text(path.read_text() + "# changed\n")
    assert stamp.digest(tree, cli, "run") != before


def test_a_bundle_that_was_asked_for_stays(tree: Tree) -> None:
    """An environment lacks a remembered bundle until its stamp is there; one that the component lost is no loss."""
    worker = tree.find("worker_cleanrl")
    folder = pretend_made(worker)
    (folder / "mosaic-run.stamp").write_text(stamp.digest(tree, worker, "run") + "\n")
    assert stamp.is_current(tree, worker, dev=False)
    remember_bundles(worker, ["mujoco", "no-longer-there"])
    assert not stamp.is_current(tree, worker, dev=False)
    digest = stamp.digest(tree, worker, "bundle-mujoco")
    (folder / "mosaic-bundle-mujoco.stamp").write_text(digest + "\n")
    assert stamp.is_current(tree, worker, dev=False)
