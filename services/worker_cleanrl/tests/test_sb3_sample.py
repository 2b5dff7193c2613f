"""The sample worker of Stable-Baselines3, with the library that this component has."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from mosaic_gymkit.testing import rebuild_episode
from mosaic_workerkit.testing.recorded import of_type, record_run

SAMPLE = Path(__file__).parents[3] / "examples/worker_sb3"
SMALL = {"n_steps": 32, "batch_size": 32, "n_epochs": 1, "num_envs": 2, "normalize": True}
SPEC = {"worker": "sb3", "algorithm": "ppo", "environment": "CartPole-v1", "seed": 1}


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The sample's module `worker`, which imports its neighbour by name."""
    monkeypatch.syspath_prepend(SAMPLE)
    for name in ("worker", "learning"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return __import__("worker")


def test_it_trains_plays_and_rebuilds(tmp_path: Path, sample: ModuleType) -> None:
    """Two vector environments with VecNormalize are recorded; the checkpoint acts, and is trained on."""
    worker, spec = sample.Sb3Worker(), SPEC | {"record": "full", "steps": 64, "parameters": SMALL}
    events = record_run(tmp_path / "run", worker.train, spec)
    assert {event["env"] for event in of_type(events, "step")} == {0, 1}
    rebuilt = rebuild_episode(tmp_path / "replayed", worker.replay, events, SPEC, episode=0)
    assert rebuilt["equal"] == rebuilt["steps"] > 0
    (saved,) = [event["path"] for event in of_type(events, "checkpoint")]
    given = {"checkpoint": str(tmp_path / "run" / saved)}
    asked = SPEC | {"kind": "evaluate", "episodes": 2, "parameters": given}
    (result,) = of_type(record_run(tmp_path / "played", worker.play, asked), "evaluation.result")
    assert (len(result["data"]["returns"]), result["data"]["normalized"]) == (2, True)
    more = record_run(tmp_path / "more", worker.train, spec | {"parameters": SMALL | given})
    assert of_type(more, "checkpoint")
