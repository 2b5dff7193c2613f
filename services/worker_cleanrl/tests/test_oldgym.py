"""The stand-in for the old gym."""

import sys
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest

from mosaic_worker_cleanrl.oldgym import OLD_GYM_PATH


@pytest.fixture
def gym(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The stand-in, imported as a script would."""
    monkeypatch.syspath_prepend(str(OLD_GYM_PATH))
    import gym  # type: ignore[import-not-found] # found on the path of the line above

    yield gym
    delattr(gymnasium.Env, "seed")
    for name in [name for name in sys.modules if name.partition(".")[0] == "gym"]:
        del sys.modules[name]


def _make_envs(gym: Any, name: str, count: int) -> Any:
    def thunk(index: int) -> Any:
        env = gym.wrappers.RecordEpisodeStatistics(gym.make(name))
        env.seed(10 + index)
        return env

    return gym.vector.SyncVectorEnv([lambda index=index: thunk(index) for index in range(count)])


def test_seeds_are_those_given(gym: Any) -> None:
    """reset() gives observations only, those of environments reset with the seeds that seed() was given."""
    observations = _make_envs(gym, "CartPole-v1", 2).reset()
    for index in range(2):
        expected, _ = gymnasium.make("CartPole-v1").reset(seed=10 + index)
        assert np.array_equal(observations[index], expected)


def test_a_truncated_episode_reads_as_before(gym: Any) -> None:
    """At the time limit there is one `done`, and the info has return, length, last observation and the reason."""
    envs = _make_envs(gym, "MountainCar-v0", 1)
    envs.reset()
    for _ in range(199):
        _, rewards, dones, infos = envs.step(np.array([1]))
        assert not dones[0]
        assert infos == [{}]
    _, rewards, dones, infos = envs.step(np.array([1]))
    assert rewards.tolist() == [-1.0]
    assert dones.tolist() == [True]
    assert infos[0]["episode"]["r"] == -200.0
    assert type(infos[0]["episode"]["r"]) is float
    assert infos[0]["episode"]["l"] == 200
    assert infos[0]["TimeLimit.truncated"] is True
    assert infos[0]["terminal_observation"].shape == (2,)


def test_an_ended_episode_is_not_truncated(gym: Any) -> None:
    """An episode that ended by itself does not say that a time limit ended it."""
    envs = _make_envs(gym, "CartPole-v1", 2)
    envs.reset()
    ended: list[dict[str, Any]] = []
    while not ended:
        _, _, dones, infos = envs.step(np.array([0, 1]))
        ended = [info for info, done in zip(infos, dones, strict=True) if done]
    assert "TimeLimit.truncated" not in ended[0]
    assert ended[0]["episode"]["l"] > 1


def test_only_the_vector_environment_differs(gym: Any) -> None:
    """Spaces and single environments are gymnasium's own, so other packages take them."""
    assert gym.spaces is gymnasium.spaces
    env = gym.make("CartPole-v1")
    assert isinstance(env, gymnasium.Env)
    assert len(env.reset()) == 2
    assert len(env.step(0)) == 5
