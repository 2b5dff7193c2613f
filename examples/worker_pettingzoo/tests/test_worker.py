"""The worker keeps the contract; its agents are separate in events and curves, and its episodes are rebuilt."""

from pathlib import Path

import pytest
from worker import AgentsWorker

from mosaic_gymkit.testing import WorkerRuns, contract_findings
from mosaic_workerkit.testing.recorded import of_type

WORKER = AgentsWorker()
RUNS = WorkerRuns(
    WORKER,
    {
        "algorithm": WORKER.algorithms[0].id,
        "environment": "SimpleAdversary-v3",
        "seed": 1,
        "steps": 100,
    },
)


def test_it_keeps_the_contract() -> None:
    """What `./mosaic worker-check` checks."""
    assert contract_findings(Path(__file__).parents[1], "--steps", "200") == ""


def test_agents_are_told_apart(tmp_path: Path) -> None:
    """Actions, rewards, returns and curves are by agent; the returns add up to that of the episode."""
    events = RUNS.train(tmp_path / "run", record="full")
    (config,) = of_type(events, "config")
    agents = config["data"]["agents"]
    assert agents == ["adversary_0", "agent_0", "agent_1"]
    for own, episode in zip(
        of_type(events, "agents.episode"), of_type(events, "episode"), strict=True
    ):
        returns = own["data"]["returns"]
        assert list(returns) == agents
        assert sum(returns.values()) == pytest.approx(episode["episode_return"])
    assert list(of_type(events, "step")[0]["action"]) == agents
    assert list(of_type(events, "agents.step")[0]["data"]["rewards"]) == agents
    names = {event["name"] for event in of_type(events, "metric")}
    assert {f"agents/{agent}/episodic_return" for agent in agents} <= names


def test_an_episode_is_rebuilt(tmp_path: Path) -> None:
    """Every step of a recorded episode comes out the same, also of one that was reset without a seed."""
    trained = RUNS.train(tmp_path / "trained", record="full")
    result = RUNS.rebuild(tmp_path / "replayed", trained, episode=2)
    assert result["equal"] == result["steps"] > 0


def test_what_was_learned_can_be_played_and_trained_on(tmp_path: Path) -> None:
    """An evaluation of the checkpoint reports its episodes; a training begins with it."""
    checkpoint = RUNS.train_checkpoint(tmp_path / "trained")
    assert len(RUNS.evaluate(tmp_path / "played", checkpoint, episodes=2)["returns"]) == 2
    assert of_type(
        RUNS.train(tmp_path / "more", parameters={"checkpoint": checkpoint}), "checkpoint"
    )
