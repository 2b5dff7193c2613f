"""Components are the folders with a project file, and workers are found by their names."""

from pathlib import Path

import pytest

from mosaic_environments.errors import EnvironmentProblem
from mosaic_environments.tree import Tree


def test_components_come_in_the_order_of_their_groups(tree: Tree) -> None:
    """What others build on comes first, the tests that cross services last."""
    assert tree.names() == ["contracts", "cli", "worker_cleanrl", "tests"]


@pytest.mark.parametrize("name", ["contract", "../tests", "packages/contracts", ""])
def test_an_unknown_component_is_refused_with_the_list(tree: Tree, name: str) -> None:
    """A misspelt name is an error that gives the names there are."""
    with pytest.raises(EnvironmentProblem, match=f"no component called '{name}'.*worker_cleanrl"):
        tree.find(name)


def test_own_packages_are_found_with_itself_last(tree: Tree, root: Path) -> None:
    """Our own packages are installed from the tree; a component without a build system is only an environment."""
    assert tree.find("cli").packages() == [str(root / "packages" / "contracts"), str(root / "cli")]
    assert tree.find("tests").packages() == []


def test_bundles_are_the_dependency_groups_of_that_name(tree: Tree) -> None:
    """A group `bundle-NAME` is a bundle; `dev` is none."""
    assert tree.find("worker_cleanrl").bundles() == ["atari", "mujoco"]


@pytest.mark.parametrize(
    ("name", "component"),
    [("cleanrl", "worker_cleanrl"), ("clean", "worker_cleanrl"), ("cleanr", None), ("mine", None)],
)
def test_a_worker_is_found_by_its_id_and_alias(
    tree: Tree, name: str, component: str | None
) -> None:
    """The result is None for a user's own worker, whose environment is theirs."""
    assert tree.worker_component(name) == component


def test_an_installed_package_offers_what_a_user_runs(tree: Tree) -> None:
    """Packages of which services consist are no environments of their own there, unless one is named."""
    installed = Tree(tree.root, tree.venvs, is_checkout=False)
    assert installed.names() == ["worker_cleanrl"]
    assert installed.find("contracts").name == "contracts"
