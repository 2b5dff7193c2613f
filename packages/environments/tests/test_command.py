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
        ("export last -o a.jsonl", ["cli"]),
        ("export last --episode 3 --mp4", ["cli", "exporter"]),
        ("export last --minari=a --url http://there", ["cli", "exporter"]),
        ("replay last --episode 3", ["cli"]),
        ("play last", ["cli"]),
        ("play CartPole-v1", [*STACK, "worker_play"]),
        ("play ALE/Pong-v5 -s 0", [*STACK, "worker_play"]),
        ("play", ["cli"]),
        ("evaluate last", ["cli"]),
        ("compare last@best last", ["cli", "analysis"]),
        ("compare last random", ["cli", "analysis", "worker_play"]),
        ("evaluate CartPole-v1 --random", ["cli", "worker_play"]),
        ("sweep spec.yaml --follow", ["cli", "worker_sweep"]),
        ("sweep resume last", ["cli", "worker_sweep"]),
        ("sweep show last", ["cli"]),
        ("", ["cli"]),
    ],
)
def test_a_verb_names_the_environments_that_it_needs(
    tree: Tree, words: str, names: list[str]
) -> None:
    """Verbs that start runs need the whole stack, a worker's is made when it is named, a stack elsewhere needs none."""
    assert command.needed(tree, words.split(), {}) == names


def test_a_verb_that_opens_a_window_needs_its_environment(tree: Tree) -> None:
    """Where there is a display, and unless the terminal is enough; also for a stack elsewhere."""
    display = {"DISPLAY": ":0"}
    assert command.needed(tree, ["watch", "last"], display) == ["cli", "gui"]
    assert command.needed(tree, ["replay", "last", "-e", "3"], display) == ["cli", "gui"]
    assert command.needed(tree, ["replay", "last", "-e", "3", "--verify"], display) == ["cli"]
    assert command.needed(tree, ["play"], display) == ["cli", "gui"]
    assert "gui" in command.needed(tree, ["play", "CartPole-v1"], display)
    assert "gui" not in command.needed(tree, ["play", "CartPole-v1", "-d"], display)
    assert command.needed(tree, ["play", "last"], display) == ["cli"]
    away = display | {"MOSAIC_URL": "http://there"}
    assert command.needed(tree, ["watch", "last"], away) == ["cli", "gui"]


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
