"""Arguments read from the scripts."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mosaic_contracts.tracking import TrackingRole
from mosaic_contracts.worker import WorkerManifest
from mosaic_worker_cleanrl.algorithm import SCRIPTS, Script
from mosaic_worker_cleanrl.documentation import documentation_of
from mosaic_worker_cleanrl.environment.extras import EXTRAS
from mosaic_worker_cleanrl.errors import ArgumentsRefused, SchemaUnreadable
from mosaic_worker_cleanrl.schema.document import parameter_schema
from mosaic_worker_cleanrl.schema.extraction import read_arguments


def test_properties_carry_what_the_script_says() -> None:
    """Default, help, type, option and group of an argument are those of the script."""
    properties = parameter_schema(SCRIPTS["ppo"].source())["properties"]
    assert len(properties) == 37  # the script's, and twelve of this worker's own
    rate = properties["learning_rate"]
    assert rate["default"] == 2.5e-4
    assert rate["type"] == "number"
    assert rate["description"] == "the learning rate of the optimizer"
    assert rate["x-flag"] == "--learning-rate"
    assert rate["x-group"] == "algorithm"
    assert properties["cuda"]["type"] == "boolean"
    assert properties["cuda"]["x-group"] == "run"
    outputs = [name for name, each in properties.items() if each["x-group"] == "outputs"]
    assert outputs == ["capture_video", "tensorboard"]
    assert all(
        "MB" in each or "MiB" in each for each in (properties[n]["description"] for n in outputs)
    )
    assert properties["target_kl"]["type"] == ["number", "null"]
    assert properties["exp_name"]["default"] == "ppo"


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=list(SCRIPTS))
def test_each_algorithm_is_documented(script: Script) -> None:
    """The text next to the form has more than a summary, every argument that it names exists, and so does the link."""
    text = documentation_of(script)
    names = set(parameter_schema(script.source())["properties"])
    named = re.findall(r"^- (`.*?): ", text, re.MULTILINE)
    assert len(named) > 2
    for row in named:
        assert set(re.findall(r"`(\w+)`", row)) <= names, row
    assert f"https://docs.cleanrl.dev/rl-algorithms/{script.id.split('_')[0]}" in text
    assert ("cannot run" in text) == bool(script.unavailable)
    assert "**Steps**" in text
    assert "**Paper**" in text
    assert len(text) > 2 * len(script.summary)


def test_what_steers_a_tracker_is_marked() -> None:
    """A client distinguishes what steers W&B, the script's arguments and this worker's, from the algorithm's own."""
    properties = parameter_schema(SCRIPTS["ppo"].source())["properties"]
    marked = {part["x-tracking"]: name for name, part in properties.items() if "x-tracking" in part}
    own = {role.value for role in TrackingRole} - {"track", "project", "entity", "offline"}
    assert marked == {
        "track": "track",
        "project": "wandb_project_name",
        "entity": "wandb_entity",
        **{role: f"wandb_{role}" for role in own},
    }


def test_an_asserted_value_is_a_constant() -> None:
    """What the script asserts of an argument is in its schema, so that a form can say it beforehand."""
    properties = parameter_schema(SCRIPTS["dqn"].source())["properties"]
    assert properties["num_envs"]["const"] == 1
    assert "const" not in properties["batch_size"]


def test_a_default_has_the_type_of_its_argument() -> None:
    """SAC's script writes 5e3 as the default of an integer; a form takes it as one."""
    starts = parameter_schema(SCRIPTS["sac_continuous_action"].source())["properties"]
    assert starts["learning_starts"]["type"] == "integer"
    assert repr(starts["learning_starts"]["default"]) == "5000"


def test_the_script_itself_computes_what_is_derived() -> None:
    """Derived values come from the script's own code, for the arguments that were given."""
    parsed = read_arguments(SCRIPTS["ppo"].source()).parse(["--num-envs=2", "--anneal-lr=False"])
    assert parsed["batch_size"] == 256
    assert parsed["anneal_lr"] is False


@pytest.mark.parametrize("argv", [["--no-such=1"], ["--seed=x"], ["--num-minibatches=0"]])
def test_what_the_script_refuses_is_refused(argv: list[str]) -> None:
    """Whatever ends the script's own parse_args is reported as a refusal, and not as a crash or an exit."""
    with pytest.raises(ArgumentsRefused):
        read_arguments(SCRIPTS["ppo"].source()).parse(argv)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = 1\n", "no function parse_args"),
        ("def parse_args():\n    return elsewhere.parse()\n", "elsewhere"),
        ("def parse_args():\n    return argparse.Other()\n", "Other"),
        ("def parse_args() -> Any:\n    return argparse.ArgumentParser()\n", "never calls"),
    ],
)
def test_an_unreadable_script_is_said(tmp_path: Path, text: str, why: str) -> None:
    """A script whose arguments cannot be read is an error with the reason, not an empty form."""
    path = tmp_path / "script.py"
    path.write_text(text)
    with pytest.raises(SchemaUnreadable, match=why):
        read_arguments(path)


def test_describe_needs_no_torch() -> None:
    """A description is made without torch, so that it takes a second and not ten."""
    code = (
        "import json, sys\n"
        "from mosaic_worker_cleanrl.description import describe_worker\n"
        "text = describe_worker().model_dump_json()\n"
        "print(json.dumps([text, [m for m in ('torch', 'pygame', 'tensorboard') if m in sys.modules]]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stderr == ""
    text, imported = json.loads(done.stdout)
    assert imported == []
    description = json.loads(text)
    assert [algorithm["id"] for algorithm in description["algorithms"]] == list(SCRIPTS)
    assert description["packages"]["gymnasium"] == "0.29.1"


def test_the_manifest_names_this_worker() -> None:
    """`worker.toml` is a valid manifest whose command starts this package in this room's environment."""
    text = (Path(__file__).parents[1] / "worker.toml").read_text()
    manifest = WorkerManifest.model_validate(tomllib.loads(text))
    assert manifest.id == "cleanrl"
    assert manifest.room == "worker_cleanrl"
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    groups = {name for name in project["dependency-groups"] if name != "dev"}
    assert groups == {f"bundle-{name}" for name in manifest.bundles}
    assert set(manifest.bundles) == {extra.name for extra in EXTRAS}
    assert manifest.command == ["{python}", "-m", "mosaic_worker_cleanrl"]
