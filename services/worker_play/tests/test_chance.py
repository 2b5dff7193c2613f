"""The random baseline: seeded episodes, its result, and what is refused."""

from pathlib import Path
from typing import Any

import gymnasium
import pytest
from tests.playing import rebuild, spec_of

from mosaic_contracts.spec import RunSpec
from mosaic_worker_play.worker import HumanWorker
from mosaic_workerkit.testing.recorded import of_type, open_context, read_events, write_spec


def acted(folder: Path, environment: str, **fields: Any) -> list[dict[str, Any]]:
    """Events of a run of random actions."""
    write_spec(folder, spec_of(environment, algorithm="random", outbox_bytes=2**24, **fields))
    context = open_context(folder)
    with context.telemetry:
        HumanWorker().play(context)
    return read_events(folder)


def expected(environment: str, seed: int) -> float:
    """Return of an episode with random actions, by Gymnasium alone."""
    env = gymnasium.make(environment)
    env.action_space.seed(seed)
    env.reset(seed=seed)
    total, is_over = 0.0, False
    while not is_over:
        _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        total += float(reward)
        is_over = terminated or truncated
    return total


def test_an_evaluation_of_chance_depends_on_the_seeds_alone(tmp_path: Path) -> None:
    """Each episode is what Gymnasium gives with that seed; its steps can be rebuilt."""
    events = acted(tmp_path / "a", "CartPole-v1", kind="evaluate", seed=5, episodes=3)
    (found,) = of_type(events, "evaluation.result")
    result = found["data"]
    assert (result["seeds"], result["asked"], result["greedy"]) == ([5, 6, 7], 3, None)
    assert result["returns"] == [expected("CartPole-v1", seed) for seed in (5, 6, 7)]
    assert [e["episode_return"] for e in of_type(events, "episode")] == result["returns"]
    assert rebuild(tmp_path / "replay", events, 1).is_verified


def test_a_play_of_chance_has_no_result(tmp_path: Path) -> None:
    """It ends after its steps; continuous actions are sampled too."""
    events = acted(tmp_path / "a", "Pendulum-v1", kind="play", seed=1, steps=30)
    assert len(of_type(events, "step")) == 30
    assert of_type(events, "evaluation.result") == []


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"environment": "CartPole-v99"}, "environment"),
        ({"parameters": {"options": "[1]"}}, "parameters.options"),
        ({"kind": "train"}, "kind"),
        ({"algorithm": "human"}, "kind"),
    ],
)
def test_what_chance_refuses(fields: dict[str, Any], where: str) -> None:
    """An unknown environment, options that are no object, a training, and a person who would be evaluated."""
    given = spec_of("CartPole-v1", algorithm="random", kind="evaluate") | fields
    report = HumanWorker().check(RunSpec.model_validate(given))
    assert [finding.where for finding in report.findings if finding.level == "blocking"] == [where]


@pytest.mark.filterwarnings("ignore:.*out of date")
def test_chance_acts_in_older_versions() -> None:
    """A policy may have been trained in one; only a person is offered the newest alone."""
    given = spec_of("CartPole-v0", algorithm="random", kind="evaluate")
    assert HumanWorker().check(RunSpec.model_validate(given)).ok
