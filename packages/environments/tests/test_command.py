"""A verb makes the environments that it needs, and no others."""

from pathlib import Path

import pytest

from mosaic_environments import command
from mosaic_environments.errors import EnvironmentProblem
from mosaic_environments.tree import Tree

STACK = ["cli", *command.STACK]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("ps", ["cli"]),
        ("up -d", STACK),
        ("demo", STACK),
        ("demo --help", ["cli"]),
        ("xmpp up", STACK),
        ("xmpp down", ["cli"]),
        ("run cleanrl ppo", [*STACK, "worker_cleanrl"]),
        ("run -d clean ppo", [*STACK, "worker_cleanrl"]),
        ("run -f spec.yaml", STACK),
        ("run mine ppo", STACK),
        ("run cleanrl ppo --url http://there", ["cli"]),
        ("run cleanrl --url=http://there", ["cli"]),
        ("describe cleanrl", ["cli", "worker_cleanrl"]),
        ("", ["cli"]),
    ],
)
def test_a_verb_names_the_environments_that_it_needs(
    tree: Tree, words: str, names: list[str]
) -> None:
    """Verbs that start runs need the whole stack, a worker's is made when it is named, a stack elsewhere needs none."""
    assert command.needed(tree, words.split(), {}) == names


def test_a_stack_elsewhere_needs_no_environment(tree: Tree) -> None:
    """MOSAIC_URL counts as --url; an installed command line is its own environment."""
    assert command.needed(tree, ["up"], {"MOSAIC_URL": "http://there"}) == ["cli"]
    installed = Tree(tree.root, tree.venvs, is_checkout=False)
    assert command.needed(installed, ["ps"], {}) == []
    assert command.needed(installed, ["up"], {}) == [*command.STACK]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("worker_cleanrl --bundle mujocco", "no bundle 'mujocco'. It has: atari, mujoco"),
        ("contracts --bundle mujoco", "no bundle 'mujoco'. It has: none"),
        ("--bundle mujoco", "goes with one component"),
        ("worker_cleanrl --bundle", "needs a name"),
        ("worker_clean", "no component called 'worker_clean'"),
    ],
)
def test_a_wrong_word_of_sync_makes_nothing(tree: Tree, words: str, says: str) -> None:
    """A misspelt bundle or component is refused with what there is."""
    with pytest.raises(EnvironmentProblem, match=says):
        command.sync_verb(tree, words.split())
    assert not Path(tree.venvs).exists()


@pytest.mark.parametrize("path", ["two\nlines", "carriage\rreturn", "latin1-\udce9"])
def test_a_path_that_no_file_can_name_is_refused(path: str) -> None:
    """Programs of the stack keep paths in files that are lines of UTF-8."""
    with pytest.raises(EnvironmentProblem, match="which MOSAIC cannot handle"):
        command.check_path("MOSAIC_HOME", path)


@pytest.mark.parametrize("path", ["", "/home/hé/データ", "a #1 100%"])
def test_any_other_path_is_taken(path: str) -> None:
    """Letters of any language, spaces and signs are no obstacle."""
    command.check_path("MOSAIC_HOME", path)
