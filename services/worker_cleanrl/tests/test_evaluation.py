"""How well trained policies act: greedy, sampled, and without their normaliser. Two trainings of seconds each.

With `MOSAIC_TEST_REPEAT=2` or more CartPole is trained as the demo does it, in half a minute.
"""

import math
import os
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import pytest
import torch
from tests.real_run import FinishedTraining, finish_child, play, run, start_child

from mosaic_contracts.evaluations import EVALUATION_RESULT, EvaluationResult, mean_and_error
from mosaic_contracts.spec import RunSpec
from mosaic_workerkit.testing.recorded import of_type

pytestmark = pytest.mark.timeout(600)
TRAINING_S = 400
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


class Trainings(NamedTuple):
    """What was trained."""

    cartpole: FinishedTraining
    hopper: FinishedTraining


@pytest.fixture(scope="module")
def trainings(tmp_path_factory: pytest.TempPathFactory) -> Trainings:
    """Both trainings, at the same time."""
    folder = tmp_path_factory.mktemp("trainings")
    started = [
        (start_child(folder / str(fields["algorithm"]), spec_of(fields)), folder / str(fields["algorithm"]))
        for fields in (CARTPOLE, HOPPER)
    ]  # fmt: skip
    finished = [finish_child(child, place, TRAINING_S) for child, place in started]
    assert [each.code for each in finished] == [0, 0], [each.stderr for each in finished]
    return Trainings(*finished)


def spec_of(fields: dict[str, Any], **more: Any) -> RunSpec:
    """A run that records episodes."""
    return RunSpec.model_validate({"worker": "cleanrl", "record": "episodes", **fields, **more})


def checkpoint_of(training: FinishedTraining) -> Path:
    """The last one."""
    return training.folder / str(of_type(training.events, "checkpoint")[-1]["path"])


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


def test_cartpole_is_learned(tmp_path: Path, trainings: Trainings) -> None:
    """The greedy policy holds the pole for more than 400 steps of 500 on average."""
    checkpoint = checkpoint_of(trainings.cartpole)
    result = evaluate(tmp_path / "run", CARTPOLE, checkpoint, episodes=10, sampled=False)
    assert result.mean is not None
    assert result.mean > 400


def test_a_warm_start_begins_well(tmp_path: Path, trainings: Trainings) -> None:
    """The first episodes of a training that begins with it are long; from nothing they have about 20 steps."""
    given = {"checkpoint": str(checkpoint_of(trainings.cartpole)), "learning_rate": 1e-5}
    finished = run(tmp_path / "run", spec_of({**CARTPOLE, "steps": 2560}, parameters=given))
    assert finished.code == 0, finished.stderr
    assert fmean(each["episode_return"] for each in of_type(finished.events, "episode")[:4]) > 100


def test_a_normalised_policy_needs_its_normaliser(tmp_path: Path, trainings: Trainings) -> None:
    """With the statistics of its training a policy does as well as at the training's end, and without them it does not.

    As well: the means of the last 20 returns of the training and of 40 sampled ones differ by less than two standard
    errors of their difference, which holds on other processors too; here it is less than one.
    """
    checkpoint = checkpoint_of(trainings.hopper)
    returns = [each["episode_return"] for each in of_type(trainings.hopper.events, "episode")]
    trained = mean_and_error(returns[-20:])
    result = evaluate(tmp_path / "with", HOPPER, checkpoint, episodes=40, sampled=True)
    assert result.normalized
    assert _errors_apart(trained, result) < 2
    state = torch.load(checkpoint, weights_only=True)
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
