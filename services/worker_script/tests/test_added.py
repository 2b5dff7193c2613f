"""A script that was added to the roster: its arguments are parameters, and its runs pass them on."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import CHECKPOINT_MARK
from mosaic_worker_script.added import AddedScript, ScriptFile, read_script_file
from mosaic_worker_script.errors import ScriptUnreadable
from mosaic_workerkit.testing.recorded import of_type, read_events, write_spec

SCRIPT = """
import argparse
import gymnasium as gym
parser = argparse.ArgumentParser()
parser.add_argument("--env-id", default="CartPole-v1")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--total-timesteps", type=int, default=50)
parser.add_argument("--lr", type=float, default=0.1, help="learning rate")
parser.add_argument("--fast", action="store_true")
args = parser.parse_args()
env = gym.make(args.env_id)
env.reset(seed=args.seed)
for _ in range(args.total_timesteps):
    if any(env.step(0)[2:4]):
        env.reset()
print("got", args)
"""


@pytest.fixture
def file(tmp_path: Path) -> ScriptFile:
    """A script with its entry of the roster."""
    script = tmp_path / "my train.py"
    script.write_text(SCRIPT)
    return ScriptFile(
        id="mine",
        title="my train.py",
        script=str(script),
        python=sys.executable,
        directory=str(tmp_path),
        words=["--fast"],
    )


def spec(**fields: Any) -> RunSpec:
    """A spec of a run of the script."""
    given = {"worker": "mine", "algorithm": "my_train", "environment": "CartPole-v1"}
    return RunSpec.model_validate({**given, **fields})


def test_description(file: ScriptFile) -> None:
    """The form has the script's arguments; seed, steps and environment are those of the run."""
    described = AddedScript(file).describe()
    algorithm = described.algorithms[0]
    assert algorithm.id == "my_train"
    properties = algorithm.parameters["properties"]
    assert list(properties) == ["env_id", "seed", "total_timesteps", "lr", "fast"]
    assert properties["lr"] == {
        "type": "number",
        "default": 0.1,
        "description": "learning rate",
        "x-flag": "--lr",
    }
    roles = (
        algorithm.seed_parameter,
        algorithm.steps_parameter,
        algorithm.environment_parameter,
        algorithm.default_environment,
    )
    assert roles == ("seed", "total_timesteps", "env_id", "CartPole-v1")


def test_environments(file: ScriptFile) -> None:
    """An argument without choices takes whatever the script can make, so none is listed; choices are the list."""
    assert AddedScript(file).describe().environments == []
    text = SCRIPT.replace('"--env-id"', '"--env-id", choices=["CartPole-v1", "Acrobot-v1"]')
    Path(file.script).write_text(text)
    listed = [one.id for one in AddedScript(file).describe().environments]
    assert listed == ["CartPole-v1", "Acrobot-v1"]
    Path(file.script).write_text(text.replace('default="CartPole-v1"', 'default="Taxi-v3"'))
    listed = [one.id for one in AddedScript(file).describe().environments]
    assert listed == ["CartPole-v1", "Acrobot-v1", "Taxi-v3"]
    report = AddedScript(file).check(spec(environment="Taxi-v3"))
    assert (report.ok, "--env-id" in report.plan["argv"]) == (True, False)


def test_an_argument_takes_checkpoints(file: ScriptFile) -> None:
    """The argument that `--resume-arg` names takes a checkpoint; one that is not there, or no path, is refused."""
    Path(file.script).write_text(
        SCRIPT.replace("args =", 'parser.add_argument("--resume")\nargs =')
    )
    script = AddedScript(file.model_copy(update={"resume_argument": "resume"}))
    algorithm = script.describe().algorithms[0]
    marked = [
        name
        for name, schema in algorithm.parameters["properties"].items()
        if schema.get(CHECKPOINT_MARK)
    ]
    assert (marked, algorithm.warm_start, algorithm.resumes) == (["resume"], True, False)
    report = script.check(spec(parameters={"resume": "/runs/x/model.pt"}))
    assert report.plan["argv"][-2:] == ["--resume", "/runs/x/model.pt"]
    for name in ("resumes", "seed"):
        with pytest.raises(
            ScriptUnreadable, match=f"no argument '{name}' that takes a path.*resume"
        ):
            AddedScript(file.model_copy(update={"resume_argument": name})).describe()


def test_plan(file: ScriptFile) -> None:
    """Only what the run gives is passed; the script's own defaults hold for the rest."""
    report = AddedScript(file).check(spec(seed=7, steps=60, parameters={"lr": 0.5}))
    assert report.ok
    assert report.plan["argv"][1:] == [
        file.script,
        *("--fast", "--env-id", "CartPole-v1", "--seed", "7", "--total-timesteps", "60"),
        *("--lr", "0.5"),
    ]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [({"lr": "much"}, "lr"), ({"rl": 0.5}, "no parameter 'rl'"), ({"fast": "yes"}, "fast")],
)
def test_refused(file: ScriptFile, parameters: dict[str, Any], words: str) -> None:
    """A parameter that the script does not have, or of another type, blocks with its name."""
    report = AddedScript(file).check(spec(parameters=parameters))
    assert not report.ok
    assert words in report.findings[0].message


def test_training(file: ScriptFile, tmp_path: Path) -> None:
    """The worker's command runs the script with the run's arguments, and records it."""
    Path(file.script).write_text(
        SCRIPT.replace("args =", 'parser.add_argument("--resume")\nargs =')
    )
    toml = tmp_path / "script.toml"
    toml.write_text(
        f'id = "mine"\ntitle = "t"\nscript = "{file.script}"\npython = "{file.python}"\n'
        f'directory = "{tmp_path}"\nwords = []\nresume_argument = "resume"\n'
    )
    assert read_script_file(toml).words == []
    run = tmp_path / "run"
    (run / "inputs/resume").mkdir(parents=True)
    (run / "inputs/resume/model.pt").touch()
    resumed = "inputs/resume/model.pt"
    given = {"lr": 0.25, "resume": resumed}
    write_spec(run, spec(seed=3, parameters=given).model_dump(mode="json"))
    command = [sys.executable, "-m", "mosaic_worker_script", str(toml), file.script]
    made = subprocess.run(
        [*command, "train", "--run-dir", str(run)],
        cwd=run,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert made.returncode == 0, made.stderr
    assert "seed=3, total_timesteps=50, lr=0.25, fast=False" in made.stdout
    assert f"resume={str(run / resumed)!r}" in made.stdout
    events = read_events(run)
    config = of_type(events, "config")[0]["data"]
    assert config["arguments"]["lr"] == 0.25
    assert config["total_steps"] == 50
    assert len(of_type(events, "step")) == 50


@pytest.mark.parametrize("text", ["", "id = 3", 'id = "mine"\nnew = 1\n'])
def test_a_broken_file(tmp_path: Path, text: str) -> None:
    """A script.toml that says something else is refused with the place."""
    path = tmp_path / "script.toml"
    path.write_text(text)
    with pytest.raises(ScriptUnreadable, match=r"script\.toml"):
        read_script_file(path)
