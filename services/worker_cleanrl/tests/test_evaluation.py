"""How well trained policies act: greedy, sampled, and without their normaliser.

CartPole is trained here. What was learned in Hopper is in `data`: a checkpoint, and the returns with which its training
ended. With `MOSAIC_TEST_REPEAT=2` or more Hopper is trained again, and CartPole with the demo's budget, each in half a
minute.
"""

import json
import math
import os
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import pytest
import torch
from tests.real_run import finish_child, last_checkpoint, play, run, start_child

from mosaic_contracts.evaluations import EVALUATION_RESULT, EvaluationResult, mean_and_error
from mosaic_contracts.spec import RunSpec
from mosaic_workerkit.testing.recorded import of_type

pytestmark = pytest.mark.timeout(600)
TRAINING_S = 400
DATA = Path(__file__).parent / "data"
IS_LONG = int(os.environ.get("MOSAIC_TEST_REPEAT", "1")) > 1
CARTPOLE = {
    "algorithm": "ppo",
    "environment": "CartPole-v1",
    "seed": 4,
    **({"steps": 50_000} if IS_LONG else {"steps": 16_384, "parameters": {"learning_rate": 0.002}}),
}
"""Long: the demo's budget. Seeds 1 to 5 reach 402, 445, 407, 472 and 445 over 100 greedy episodes.

Short: a third of it at a higher rate. Seeds 1 and 4 reach 468 and 465 over 20.
"""
HOPPER = {
    "algorithm": "ppo_continuous_action",
    "environment": "Hopper-v4",
    "steps": 20_480,
    "seed": 1,
}
"""By this training `data` was made."""


class Trained(NamedTuple):
    """What a training left."""

    checkpoint: Path
    returns: list[float]
    """Returns of its episodes in their order."""


def train(folder: Path, fields: dict[str, Any]) -> Trained:
    """Train to the end."""
    finished = finish_child(start_child(folder, spec_of(fields)), folder, TRAINING_S)
    returns = [float(each["episode_return"]) for each in of_type(finished.events, "episode")]
    return Trained(last_checkpoint(finished), returns)


@pytest.fixture(scope="module")
def cartpole(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A training in CartPole."""
    return train(tmp_path_factory.mktemp("cartpole") / "run", CARTPOLE)


@pytest.fixture(scope="module")
def hopper(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A training in Hopper, or what one left."""
    if IS_LONG:
        return train(tmp_path_factory.mktemp("hopper") / "run", HOPPER)
    returns = json.loads((DATA / "hopper.json").read_text("utf-8"))["returns"]
    return Trained(DATA / "hopper.pt", returns)


def spec_of(fields: dict[str, Any], **more: Any) -> RunSpec:
    """A run that records episodes."""
    return RunSpec.model_validate({"worker": "cleanrl", "record": "episodes", **fields, **more})


def evaluate(
    folder: Path, fields: dict[str, Any], checkpoint: Path, *, episodes: int, sampled: bool
) -> EvaluationResult:
    """Evaluate a checkpoint from seed 1 on."""
    more = {"kind": "evaluate", "episodes": episodes, "steps": None, "seed": 1, "record": "metrics"}
    given = {"checkpoint": str(checkpoint), "sampled": sampled}
    finished = play(folder, spec_of({**fields, **more}, parameters=given))
    assert finished.code == 0, finished.stderr
    (found,) = of_type(finished.events, EVALUATION_RESULT)
    return EvaluationResult.model_validate(found["data"])


@pytest.mark.nightly
def test_cartpole_is_learned(tmp_path: Path, cartpole: Trained) -> None:
    """The greedy policy holds the pole for more than 400 steps of 500 on average."""
    result = evaluate(tmp_path / "run", CARTPOLE, cartpole.checkpoint, episodes=10, sampled=False)
    assert result.mean is not None
    assert result.mean > 400


@pytest.mark.nightly
def test_a_warm_start_begins_well(tmp_path: Path, cartpole: Trained) -> None:
    """The first episodes of a training that begins with it are long; from nothing they have about 20 steps."""
    given = {"checkpoint": str(cartpole.checkpoint), "learning_rate": 1e-5}
    finished = run(tmp_path / "run", spec_of({**CARTPOLE, "steps": 2560}, parameters=given))
    assert finished.code == 0, finished.stderr
    assert fmean(each["episode_return"] for each in of_type(finished.events, "episode")[:4]) > 100


@pytest.mark.nightly
def test_a_normalised_policy_needs_its_normaliser(tmp_path: Path, hopper: Trained) -> None:
    """With the statistics of its training a policy does as well as at the training's end, and without them it does not.

    As well: the means of the last 20 returns of the training and of 40 sampled ones differ by less than two standard
    errors of their difference, which holds on other processors too; here it is less than one.
    """
    trained = mean_and_error(hopper.returns[-20:])
    result = evaluate(tmp_path / "with", HOPPER, hopper.checkpoint, episodes=40, sampled=True)
    assert result.normalized
    assert _errors_apart(trained, result) < 2
    state = torch.load(hopper.checkpoint, weights_only=True)
    statistics = state["normalizers"]["envs.0.obs_rms"]
    statistics |= {"mean": torch.zeros(11).double(), "var": torch.ones(11).double()}
    torch.save(state, tmp_path / "bare.pt")
    without = evaluate(
        tmp_path / "without", HOPPER, tmp_path / "bare.pt", episodes=40, sampled=True
    )
    assert _errors_apart(trained, without) > 5


def _errors_apart(trained: tuple[float | None, float | None], result: EvaluationResult) -> float:
    mean, error = trained
    assert mean is not None
    assert error is not None
    assert result.mean is not None
    assert result.standard_error is not None
    return abs(mean - result.mean) / math.hypot(error, result.standard_error)
