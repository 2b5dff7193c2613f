"""Arguments are read from a script's syntax tree, whichever library declares them, and nothing of it is run."""

from pathlib import Path
from typing import Any

import pytest

from mosaic_contracts.parameter_bounds import default_fault
from mosaic_worker_script.arguments import ScriptArgument, read_arguments
from mosaic_worker_script.errors import ScriptUnreadable

ARGPARSE = """
import argparse, torch_that_is_not_here
LR = 3e-4
parser = argparse.ArgumentParser()
parser.add_argument("--learning-rate", "--lr", type=float, default=LR, help="how   fast, 50%% of it")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--fast", action="store_true")
parser.add_argument("--no-log", dest="log", action="store_false")
parser.add_argument("--anneal", action=argparse.BooleanOptionalAction, default=True)
parser.add_argument("--cuda", type=lambda x: bool(strtobool(x)), default=True, nargs="?", const=True)
parser.add_argument("--optimizer", choices=["adam", "sgd"], default="adam")
parser.add_argument("--layers", type=int, nargs="+", default=[64, 64])
parser.add_argument("--device", default="cuda" if torch_that_is_not_here else "cpu")
parser.add_argument("--odd", type=bool, default=True)
parser.add_argument("env")
parser.add_argument("--version", action="version", version="1")
"""
TYRO = """
from __future__ import annotations
import tyro
from dataclasses import dataclass
@dataclass
class Common:
    seed: int = 1
    "seed of the experiment"
@dataclass
class Args(Common):
    env_id: str = "CartPole-v1"
    '''the id of
    the environment'''
    torch_deterministic: bool = True
    target_kl: float = None
    mode: Literal["a", "b"] = "a"
    clip: Optional[float] = 0.2
    path: str | None = None
    must: int
args = tyro.cli(Args)
"""
CLICK = """
import click
@click.command()
@click.option("--lr", default=0.1, help="rate")
@click.option("--seed", type=int, required=True)
@click.option("--shout/--no-shout", default=False)
@click.option("--dry", is_flag=True)
@click.option("--kind", type=click.Choice(["x", "y"]), default="x")
@click.argument("env")
def main(lr, seed, shout, dry, kind, env): ...
"""
ABSL = """
from absl import flags
flags.DEFINE_integer("seed", 3, "the seed")
flags.DEFINE_enum("mode", "a", ["a", "b"], "which")
flags.DEFINE_bool("render", False, "draw")
"""
FIRE = """
import fire
def train(lr=0.1, env="CartPole-v1", *, verbose=False): ...
fire.Fire(train)
"""


def read(folder: Path, source: str) -> dict[str, ScriptArgument]:
    """Return the arguments of a source by name."""
    path = folder / "train.py"
    path.write_text(source, "utf-8")
    return {argument.name: argument for argument in read_arguments(path)}


def facts(found: dict[str, ScriptArgument]) -> dict[str, tuple[str | None, Any]]:
    """Type and default of each."""
    return {name: (argument.type, argument.default) for name, argument in found.items()}


def test_argparse(tmp_path: Path) -> None:
    """Types, defaults, choices, help and flags; what is computed is unknown."""
    found = read(tmp_path, ARGPARSE)
    assert facts(found) == {
        "learning_rate": ("number", 3e-4),
        "seed": ("integer", 1),
        "fast": ("boolean", False),
        "log": ("boolean", True),
        "anneal": ("boolean", True),
        "cuda": ("boolean", True),
        "optimizer": ("string", "adam"),
        "layers": ("integer", [64, 64]),
        "device": ("string", None),
        "odd": (None, True),
        "env": ("string", None),
    }
    assert found["learning_rate"].help == "how fast, 50% of it"
    assert found["optimizer"].choices == ("adam", "sgd")
    assert found["env"].required


def test_a_default_that_is_no_choice(tmp_path: Path) -> None:
    """The form has it and says what it is. It is never passed, for argparse takes it as a default alone."""
    found = read(tmp_path, ARGPARSE.replace('default="adam"', 'default="its own"'))
    schema = found["optimizer"].schema()
    assert schema["default"] == "its own"
    assert schema["enum"] == ["adam", "sgd", "its own"]
    assert "none of the script's choices" in schema["description"]
    assert default_fault(schema) is None
    assert found["optimizer"].words("its own") == []
    assert found["optimizer"].words("sgd") == ["--optimizer", "sgd"]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("learning_rate", 0.001, ["--learning-rate", "0.001"]),
        ("fast", True, ["--fast"]),
        ("fast", False, []),
        ("log", False, ["--no-log"]),
        ("log", True, []),
        ("anneal", False, ["--no-anneal"]),
        ("cuda", False, ["--cuda", "False"]),
        ("layers", "128 128", ["--layers", "128", "128"]),
        ("env", "CartPole-v1", ["CartPole-v1"]),
        ("device", None, []),
    ],
)
def test_words_that_pass_a_value(tmp_path: Path, name: str, value: Any, words: list[str]) -> None:
    """A value is written as the script's parser reads it."""
    assert read(tmp_path, ARGPARSE)[name].words(value) == words


def test_tyro(tmp_path: Path) -> None:
    """Fields of a dataclass and of its bases, with their docstrings."""
    found = read(tmp_path, TYRO)
    assert facts(found) == {
        "seed": ("integer", 1),
        "env_id": ("string", "CartPole-v1"),
        "torch_deterministic": ("boolean", True),
        "target_kl": ("number", None),
        "mode": ("string", "a"),
        "clip": ("number", 0.2),
        "path": ("string", None),
        "must": ("integer", None),
    }
    assert found["env_id"].help == "the id of the environment"
    assert found["env_id"].words("X-v1") == ["--env-id", "X-v1"]
    assert found["torch_deterministic"].words(False) == ["--no-torch-deterministic"]
    assert found["mode"].choices == ("a", "b")
    assert found["must"].required


def test_click(tmp_path: Path) -> None:
    """Options, switches, choices and arguments of a click command."""
    found = read(tmp_path, CLICK)
    assert facts(found) == {
        "lr": ("number", 0.1),
        "seed": ("integer", None),
        "shout": ("boolean", False),
        "dry": ("boolean", False),
        "kind": ("string", "x"),
        "env": ("string", None),
    }
    assert found["shout"].words(True) == ["--shout"]
    assert found["seed"].required


def test_absl_and_fire(tmp_path: Path) -> None:
    """Flags of absl, and the parameters of a function that fire calls."""
    assert facts(read(tmp_path, ABSL)) == {
        "seed": ("integer", 3),
        "mode": ("string", "a"),
        "render": ("boolean", False),
    }
    found = read(tmp_path, FIRE)
    assert facts(found) == {
        "lr": ("number", 0.1),
        "env": ("string", "CartPole-v1"),
        "verbose": ("boolean", False),
    }
    assert found["lr"].words(0.5) == ["--lr=0.5"]


def test_schema(tmp_path: Path) -> None:
    """A default that is unknown is null: the script's own is used."""
    found = read(tmp_path, ARGPARSE)
    assert found["device"].schema()["type"] == ["string", "null"]
    assert found["device"].schema()["default"] is None
    assert found["learning_rate"].schema()["default"] == 3e-4
    assert found["layers"].schema()["type"] == ["string", "null"]
    assert found["optimizer"].schema()["enum"] == ["adam", "sgd"]


@pytest.mark.parametrize("source", ["def broken(:", "\0"])
def test_no_python(tmp_path: Path, source: str) -> None:
    """A file that is no Python is refused in words."""
    with pytest.raises(ScriptUnreadable, match="no Python"):
        read(tmp_path, source)


def test_no_arguments(tmp_path: Path) -> None:
    """A script that declares nothing has no arguments, and one of many lines is read too."""
    assert read(tmp_path, "x = 1\n" * 5_000) == {}
