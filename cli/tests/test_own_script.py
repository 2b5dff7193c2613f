"""`./mosaic run ./train.py`: what a command line asks to run, and what is asked before it runs the first time."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import typer

from mosaic_cli.errors import FileProblem, ValueRefused
from mosaic_cli.own_script import own_command, with_consent
from mosaic_client import Client
from mosaic_contracts.spec import RunSpec


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a script, as the current one."""
    (tmp_path / "train.py").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_script_with_arguments(here: Path) -> None:
    """The command has the interpreter's whole path, and the fields of the spec come from the arguments."""
    words = ["./train.py", "--env-id", "CartPole-v1", "--seed=7", "--total_timesteps", "5e3"]
    made = own_command(words, Path(sys.executable))
    assert made is not None
    assert made.argv == [sys.executable, *words]
    fields = made.fields()
    assert (fields["worker"], fields["algorithm"]) == ("script", "command")
    assert (fields["environment"], fields["seed"]) == ("CartPole-v1", 7)
    assert fields["parameters"]["expected_steps"] == 5000
    assert fields["name"] == "train.py"
    assert fields["parameters"]["directory"] == str(here)
    RunSpec.model_validate(fields)


def test_a_script_with_a_long_file_name(here: Path) -> None:
    """Its run has the beginning of it as its name, for a run's name is shorter than a file's may be."""
    script = here / f"{'a' * 240}.py"
    script.touch()
    made = own_command([f"./{script.name}"], Path(sys.executable))
    assert made is not None
    assert RunSpec.model_validate(made.fields()).name == "a" * 200


def test_a_worker_is_no_script(here: Path) -> None:
    """Words that name a worker are left to it, `script command` of a spec included."""
    assert own_command(["cleanrl", "ppo", "CartPole-v1"], None) is None
    assert own_command([None, None, None], None) is None
    assert own_command(["script", "command", "unknown"], None) is None


def test_a_command_line(here: Path) -> None:
    """`script -- COMMAND` takes any program of PATH; the subject is its script."""
    made = own_command(["script", "sh", "train.py"], None)
    assert made is not None
    assert made.argv[0].endswith("/sh")
    assert made.subject == str(here / "train.py")


@pytest.mark.parametrize("words", [["./other.py"], ["script", "no-such-program"]])
def test_absent(here: Path, words: list[str]) -> None:
    """A script or program that is not there is a file problem."""
    with pytest.raises(FileProblem):
        own_command(words, Path(sys.executable))


def test_no_command(here: Path) -> None:
    """`script` without a command line says how to give one."""
    with pytest.raises(ValueRefused, match="torchrun"):
        own_command(["script"], None)


def test_variables(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--env-var` takes a value, or that of the shell; a variable that the shell lacks is refused."""
    monkeypatch.setenv("DATA", "/my data")
    made = own_command(["./train.py"], Path(sys.executable), ["DATA", "MUJOCO_GL=egl"])
    assert made is not None
    assert made.fields()["parameters"]["variables"] == "'DATA=/my data' MUJOCO_GL=egl"
    with pytest.raises(ValueRefused, match="no variable ABSENT"):
        own_command(["./train.py"], Path(sys.executable), ["ABSENT"])


def test_asked_once(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script is agreed to once; without a terminal it takes --yes; the consent is the plan's digest."""
    client = cast(Client, SimpleNamespace(preflight=lambda _spec: SimpleNamespace(digest="d" * 64)))
    made = own_command(["./train.py"], Path(sys.executable))
    assert made is not None
    spec = RunSpec.model_validate(made.fields())
    agreed = here / "home" / "agreed_scripts.json"
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: False))
    with pytest.raises(ValueRefused, match="--yes"):
        with_consent(client, spec, made, agreed, yes=False)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))

    def refuse(*_: Any, **__: Any) -> None:
        raise typer.Abort

    monkeypatch.setattr(typer, "confirm", refuse)
    with pytest.raises(typer.Abort):
        with_consent(client, spec, made, agreed, yes=False)
    assert not agreed.exists()
    assert with_consent(client, spec, made, agreed, yes=True).consent == "d" * 64
    assert json.loads(agreed.read_text()) == [str(here / "train.py")]
    assert with_consent(client, spec, made, agreed, yes=False).consent == "d" * 64
