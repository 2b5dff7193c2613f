"""A checkout of CleanRL as the source of scripts: what is found, what is read, and how a run of one begins."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.real_run import in_child, last_checkpoint, run

from mosaic_worker_cleanrl.algorithm import SCRIPTS
from mosaic_worker_cleanrl.checkout import scripts_of, use_checkout
from mosaic_worker_cleanrl.description import describe_worker
from mosaic_worker_cleanrl.errors import CheckoutMissing
from mosaic_worker_cleanrl.schema.document import parameter_schema
from mosaic_worker_cleanrl.schema.extraction import read_arguments
from mosaic_workerkit.testing.recorded import of_type

CHECKOUT = Path(__file__).parent / "checkout"


def test_scripts_are_found_by_what_they_are() -> None:
    """A file that trains is one, whatever its name; a helper is none."""
    scripts = scripts_of(CHECKOUT)
    assert set(scripts) == {"walker", "fast_games"}
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


def test_a_folder_without_scripts_is_refused(tmp_path: Path) -> None:
    """The message says how to take the worker off."""
    with pytest.raises(CheckoutMissing, match="--remove"):
        use_checkout("mine", tmp_path)


def _describe() -> None:
    use_checkout("mine", CHECKOUT)
    description = describe_worker()
    assert (description.worker, description.title) == ("mine", "CleanRL in checkout")
    walker, games = map(description.find_algorithm, ("walker", "fast_games"))
    assert walker is not None
    assert games is not None
    assert (walker.id, walker.unavailable, walker.play) == ("walker", "", False)
    assert (games.id, games.play) == ("fast_games", False)
    assert games.unavailable in games.documentation
    cart = next(one for one in description.environments if one.id == "CartPole-v1")
    assert cart.algorithms == ["walker"]
    assert set(SCRIPTS) == {"walker", "fast_games"}


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
