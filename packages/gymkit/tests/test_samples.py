"""The sample worker for Gymnasium, and environments of several agents: recorded, played and rebuilt."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import pytest
from gymnasium import spaces

from mosaic_gymkit import EnvironmentRun, PolicyPlay, register_agents, replay_run
from mosaic_gymkit.testing import rebuild_episode
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.testing.recorded import of_type, record_run

SAMPLE = Path(__file__).parents[3] / "examples/worker_gymnasium/worker.py"
LAKE = {"worker": "table", "algorithm": "q_table", "environment": "FrozenLake-v1", "steps": 300}
DUEL = {"worker": "duel", "algorithm": "any", "environment": "TestDuel-v0", "record": "full"}


@pytest.fixture(scope="module")
def sample() -> ModuleType:
    """The sample as a module."""
    spec = importlib.util.spec_from_file_location("sample_worker", SAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("record", ["episodes", "full"])
def test_the_sample_trains_plays_and_rebuilds(
    tmp_path: Path, sample: ModuleType, record: str
) -> None:
    """A training leaves a checkpoint, an evaluation of it reports its returns, and an episode is rebuilt."""
    worker = sample.TableWorker()
    events = record_run(tmp_path / "run", worker.train, LAKE | {"record": record})
    assert of_type(events, "checkpoint")
    given = {"checkpoint": str(tmp_path / "run/table.npy")}
    spec = LAKE | {"kind": "evaluate", "episodes": 2, "steps": None, "parameters": given}
    (result,) = of_type(record_run(tmp_path / "played", worker.play, spec), "evaluation.result")
    assert len(result["data"]["returns"]) == 2
    if record == "full":
        rebuilt = rebuild_episode(tmp_path / "replayed", worker.replay, events, LAKE, episode=2)
        assert rebuilt["equal"] == rebuilt["steps"] > 0


def test_a_play_without_a_checkpoint_is_refused(sample: ModuleType) -> None:
    """The check says which parameter takes it, and what else does."""
    worker = sample.TableWorker()
    description = worker.describe()
    assert {"play", "evaluate", "replay"} <= set(description.modes)
    spec = sample.mosaic.RunSpec.model_validate(LAKE | {"kind": "play", "steps": None})
    (finding,) = worker.check(spec).findings
    assert finding.where == "parameters.checkpoint"


class DuelEnvironment:
    """Two agents as PettingZoo has them: one leaves after two steps, the other after four."""

    def __init__(self) -> None:
        self.possible_agents = ["left", "right"]
        self.agents: list[str] = []
        self.metadata: dict[str, Any] = {}
        self.render_mode: str | None = None
        self._dice = 0
        self._steps = 0

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(10_000)

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(2)

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        self._dice, self._steps, self.agents = (seed or 0) % 10_000, 0, ["left", "right"]
        return dict.fromkeys(self.agents, self._dice), {}

    def step(self, actions: Any) -> tuple[Any, ...]:
        assert set(actions) == set(self.agents)
        self._steps += 1
        acted = list(self.agents)
        left = {name: self._steps >= (2 if name == "left" else 4) for name in acted}
        self.agents = [name for name in acted if not left[name]]
        rewards = {name: float(actions[name]) for name in acted}
        return dict.fromkeys(acted, self._steps), rewards, left, dict.fromkeys(acted, False), {}

    def render(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture
def duel() -> Any:
    """The two agents as an environment of Gymnasium."""
    register_agents("TestDuel-v0", DuelEnvironment)
    yield
    del gymnasium.registry["TestDuel-v0"]


@pytest.mark.usefixtures("duel")
def test_agents_are_told_apart(tmp_path: Path) -> None:
    """Actions, rewards and returns are by agent, also after one has left; an episode without a seed is rebuilt."""

    def train(context: TrainContext) -> None:
        with EnvironmentRun(context) as run:
            env = run.make(context.spec.environment)
            run.record_config({}, env)
            for seed in (1, None):
                env.reset(seed=seed)
                is_over = False
                while not is_over:
                    _, _, ended, cut, _ = env.step({"left": 1, "right": 0})
                    is_over = ended or cut

    events = record_run(tmp_path / "run", train, DUEL)
    ends = of_type(events, "agents.episode")
    assert [each["data"]["returns"] for each in ends] == [{"left": 2.0, "right": 0.0}] * 2
    assert [each["episode_return"] for each in of_type(events, "episode")] == [2.0, 2.0]
    assert of_type(events, "step")[0]["action"] == {"left": 1, "right": 0}
    rewards = [each["data"]["rewards"] for each in of_type(events, "agents.step")]
    assert rewards[1:3] == [{"left": 1.0, "right": 0.0}, {"right": 0.0}]
    result = rebuild_episode(tmp_path / "replayed", replay_run, events, DUEL, episode=1)
    assert result["equal"] == result["steps"] == 4


@pytest.mark.usefixtures("duel")
def test_a_policy_plays_where_keys_cannot(tmp_path: Path) -> None:
    """A play of several agents has no key map, and as many episodes as it is asked to."""

    def play(context: TrainContext) -> None:
        with PolicyPlay(context, {}) as play:
            play.act(lambda _seen: {"left": 0, "right": 1}, checkpoint="")

    events = record_run(tmp_path / "run", play, DUEL | {"kind": "play", "episodes": 3})
    assert [each["episode_return"] for each in of_type(events, "episode")] == [4.0] * 3
