"""A checkout of CleanRL as the source of scripts: what is found, what is read, and how a run of one begins."""

import os
import shlex
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.real_run import in_child, last_checkpoint, run

from mosaic_contracts.parameter_bounds import parameters_with_faults
from mosaic_worker_cleanrl.algorithm import SCRIPTS
from mosaic_worker_cleanrl.checkout import scripts_of, use_checkout
from mosaic_worker_cleanrl.description import describe_worker
from mosaic_worker_cleanrl.errors import CheckoutMissing
from mosaic_worker_cleanrl.schema.document import parameter_schema, unreadable_arguments
from mosaic_worker_cleanrl.schema.extraction import read_arguments
from mosaic_workerkit.testing.recorded import of_type

CHECKOUT = Path(__file__).parent / "checkout"


def test_scripts_are_found_by_what_they_are() -> None:
    """A file that trains is one, whatever its name; a helper is none."""
    scripts = scripts_of(CHECKOUT)
    assert set(scripts) == {"walker", "fast_games", "odd_arguments"}
    walker, games = scripts["walker"], scripts["fast_games"]
    assert (walker.action_spaces, walker.takes, walker.batch) == (
        ("discrete",),
        "vector",
        ("num_envs", "num_steps"),
    )
    assert (walker.policy, walker.policy_class) == ("agent", "Agent")
    assert not walker.unavailable
    assert "EnvPool" in games.unavailable


def test_arguments_of_a_dataclass_are_a_schema() -> None:
    """Types, helps, switches, choices and lists; what the script computes itself is no argument."""
    path = CHECKOUT / "cleanrl" / "walker.py"
    properties = parameter_schema(path)["properties"]
    assert properties["learning_rate"]["type"] == "number"
    assert properties["learning_rate"]["description"] == "the step size"
    assert properties["learning_rate"]["x-group"] == "algorithm"
    assert properties["cuda"] == {
        "type": "boolean",
        "default": False,
        "description": "whether a GPU is used",
        "x-flag": "--cuda",
        "x-cli": "--flag or --no-flag",
        "x-group": "run",
    }
    assert properties["kind"]["enum"] == ["plain", "wide"]
    assert properties["target"]["type"] == ["number", "null"]
    assert properties["layers"]["default"] == "8 8"
    assert "batch_size" not in properties
    parsed = read_arguments(path).parse(["--num-envs=3", "--no-cuda", "--layers", "4", "4"])
    assert (parsed["batch_size"], parsed["cuda"], parsed["layers"]) == (96, False, [4, 4])


_RUN = "    env_id: str = 'CartPole-v1'\n    seed: int = 1\n    total_timesteps: int = 8\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("@dataclass\nclass Args:\n    folder: Path = Path('x')\n", "name 'Path' is not defined"),
        ("class Args:\n    seed: int = 1\n", "must be called with a dataclass"),
        ("@dataclass\nclass Args:\n    a: str = os.environ['NO_SUCH']\n", "NO_SUCH"),
        ("@dataclass\nclass Args:\n    a: list = []\n", "mutable default"),
        ("@dataclass\nclass Args:\n    a: Literal[1, 'x'] = 1\n", "type of field a"),
        ("@dataclass\nclass Args:\n    seed: int = 1\n", "no argument env_id"),
        ("def parse_args():\n    return int('x')\n", "ValueError"),
    ],
)
def test_unreadable_arguments(tmp_path: Path, text: str, why: str) -> None:
    """A script whose arguments cannot be read says why; it makes no other script unusable."""
    path = tmp_path / "script.py"
    path.write_text(text)
    assert why in unreadable_arguments(path)


def test_newer_forms_of_types(tmp_path: Path) -> None:
    """`X | None`, `dataclasses.dataclass` and choices of numbers are read."""
    path = tmp_path / "script.py"
    path.write_text(
        f"@dataclasses.dataclass\nclass Args:\n{_RUN}    clip: float | None = None\n"
        "    size: Literal[1, 2] = 1\n"
    )
    properties = parameter_schema(path)["properties"]
    assert properties["clip"]["type"] == ["number", "null"]
    assert (properties["size"]["type"], properties["size"]["enum"]) == ("integer", [1, 2])
    assert read_arguments(path).parse(["--size", "2"])["size"] == 2
    assert not unreadable_arguments(path)


def test_a_default_is_within_the_bounds(tmp_path: Path) -> None:
    """An argument whose name means something else in a checkout, and a default that is no choice, stay usable."""
    script = tmp_path / "script.py"
    script.write_text(
        f"@dataclass\nclass Args:\n{_RUN}    tau: float = 5.0\n    gamma: float = 0.9\n"
        "    mode: Literal['a', 'b'] = 'c'\n"
    )
    properties = parameter_schema(script)["properties"]
    assert "maximum" not in properties["tau"]
    assert properties["gamma"]["maximum"] == 1
    assert not parameters_with_faults([("script", {"properties": properties})])


def test_a_folder_without_scripts_is_refused(tmp_path: Path) -> None:
    """The message says how to take the worker off, by its own name and also when its folder is gone."""
    gone = tmp_path / "my clone"
    made = tmp_path / "home/workers.d/mine"
    made.mkdir(parents=True)
    (made / "checkout.toml").touch()
    with pytest.raises(CheckoutMissing) as raised:
        use_checkout("mine", gone)
    advice = str(raised.value).partition("./mosaic ")[2]
    assert shlex.split(advice) == ["add", str(gone), "--name", "mine", "--remove"]
    program = Path(__file__).parents[3] / "mosaic"
    environ = {**os.environ, "MOSAIC_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [program, *shlex.split(advice)], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not made.exists()


def _describe() -> None:
    use_checkout("mine", CHECKOUT)
    description = describe_worker()
    assert (description.worker, description.title) == ("mine", "CleanRL in checkout")
    walker, games, odd = map(description.find_algorithm, ("walker", "fast_games", "odd_arguments"))
    assert walker is not None
    assert games is not None
    assert odd is not None
    assert "the type of field folder is not known" in odd.unavailable
    assert odd.parameters == {"type": "object", "properties": {}}
    assert odd.steps_parameter is None
    assert (walker.id, walker.unavailable, walker.play) == ("walker", "", False)
    assert (games.id, games.play) == ("fast_games", False)
    assert games.unavailable in games.documentation
    cart = next(one for one in description.environments if one.id == "CartPole-v1")
    assert cart.algorithms == ["walker"]
    assert set(SCRIPTS) == {"walker", "fast_games", "odd_arguments"}


def test_describe_names_the_worker_and_its_scripts() -> None:
    """The id is the one that the worker was added with; environments name the scripts of the checkout."""
    in_child(_describe)


@pytest.mark.timeout(300)
def test_a_script_of_ones_own_trains(tmp_path: Path, make_spec: Any) -> None:
    """Metrics, episodes, a checkpoint, and the script in the run's folder."""
    spec = make_spec(
        worker="mine",
        algorithm="walker",
        steps=128,
        record="episodes",
        parameters={"num_envs": 2, "layers": "4 4", "kind": "wide"},
    )
    done = run(tmp_path / "run", spec, partial(use_checkout, "mine", CHECKOUT))
    assert done.code == 0, done.stderr
    config = done.events[0]["data"]
    assert "--no-cuda" not in config["argv"]
    assert config["arguments"]["layers"] == [4, 4]
    kept = done.folder / config["script_file"]["path"]
    assert kept.read_bytes() == (CHECKOUT / "cleanrl/walker.py").read_bytes()
    assert of_type(done.events, "episode")
    assert {m["name"] for m in of_type(done.events, "metric")} >= {"losses/loss"}
    assert last_checkpoint(done).is_file()
