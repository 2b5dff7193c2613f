"""Replays: recorded episodes are rebuilt in fresh environments, and what differs is found where it differs."""

from pathlib import Path
from typing import Any

import gymnasium
import pytest
from tests.odd_environments import Carrying, newest, register_odd
from tests.recorded_run import record_random, replay, replay_several

from mosaic_workerkit.testing.recorded import of_type

TABLES = ("FrozenLake", "Taxi", "Blackjack", "CliffWalking")
CONTROL = ("CartPole", "Acrobot", "MountainCar", "Pendulum")


def episodes(events: list[dict[str, Any]]) -> list[int]:
    return [event["episode"] for event in of_type(events, "episode_start")]


@pytest.mark.parametrize("name", [newest(name) for name in (*TABLES, *CONTROL)])
def test_every_episode_is_rebuilt_from_its_record(tmp_path: Path, name: str) -> None:
    """Episodes in reverse order, each in a fresh environment: every step is equal, also of one that was cut off."""
    events = record_random(tmp_path / "run", name)
    numbers = episodes(events)[-8:]
    for number in reversed(numbers):
        result = replay(tmp_path / f"replay-{number}", events, number)
        assert result.is_verified, result
        assert result.is_cut == (number == numbers[-1] and not _ends(events, number))
        assert result.way == ("seed" if number == 0 else "generator")


def _ends(events: list[dict[str, Any]], episode: int) -> bool:
    return any(event["episode"] == episode for event in of_type(events, "episode"))


def test_an_altered_action_is_found_at_its_step(tmp_path: Path) -> None:
    """One stored action is another: the result names that step, and what differs."""
    events = record_random(tmp_path / "run", "CartPole-v1")
    altered = next(e for e in of_type(events, "step") if e["episode"] == 2 and e["step"] == 5)
    altered["action"] = 1 - altered["action"]
    result = replay(tmp_path / "replay", events, 2)
    assert result.first_difference is not None
    assert (result.first_difference.step, result.first_difference.parts) == (5, ["observation"])
    assert result.equal == 4
    assert not result.is_verified


def test_an_altered_reward_is_named_with_both_values(tmp_path: Path) -> None:
    """An environment that pays otherwise than the recorded one: the reward differs, the observation does not."""
    events = record_random(tmp_path / "run", "CartPole-v1")

    class Doubled(gymnasium.RewardWrapper[Any, Any]):
        def reward(self, reward: Any) -> Any:
            return 2 * reward

    result = replay(
        tmp_path / "replay", events, 1, make=lambda spec: Doubled(spec.make(is_checked=False))
    )
    found = result.first_difference
    assert found is not None
    assert (found.step, found.parts) == (1, ["reward"])
    assert (found.recorded["reward"], found.rebuilt["reward"]) == (1.0, 2.0)


def test_an_earlier_end_is_named(tmp_path: Path) -> None:
    """An environment that truncates sooner than the recorded one."""
    events = record_random(tmp_path / "run", "MountainCar-v0", steps=250)
    events[0]["data"]["max_episode_steps"] = 100
    result = replay(tmp_path / "replay", events, 0)
    found = result.first_difference
    assert found is not None
    assert (found.step, found.parts) == (100, ["truncated"])


def test_versions_that_differ_are_named(tmp_path: Path) -> None:
    """Packages of another version, and one that is missing; those of the agent alone are left out."""
    packages = {"gymnasium": "0.1", "no-such-package": "3", "torch": "0"}
    events = record_random(tmp_path / "run", "CartPole-v1", config={"packages": packages})
    result = replay(tmp_path / "replay", events, 0)
    said = {each.package: (each.recorded, each.installed) for each in result.packages}
    assert said == {"gymnasium": ("0.1", gymnasium.__version__), "no-such-package": ("3", None)}
    assert result.is_verified


def test_an_environment_that_is_gone_is_named(tmp_path: Path) -> None:
    """The recorded environment is unknown here: the result says so and what is close to it."""
    events = record_random(tmp_path / "run", "CartPole-v1")
    events[0]["data"]["environment"] = "CartPool-v1"
    result = replay(tmp_path / "replay", events, 0)
    assert "There is no environment 'CartPool-v1' here. Did you mean CartPole-v1?" in result.problem
    assert not result.is_verified


def test_random_numbers_of_its_own_are_found(tmp_path: Path) -> None:
    """An environment that draws from NumPy's global generator cannot be rebuilt, and the first such step is named."""
    register_odd()
    events = record_random(tmp_path / "run", "GlobalNoise-v0")
    result = replay(tmp_path / "replay", events, 1)
    assert result.first_difference is not None
    assert (result.first_difference.step, result.equal) == (1, 0)


@pytest.mark.parametrize("name", [newest("CartPole"), newest("FrozenLake"), newest("Taxi")])
def test_several_episodes_are_recorded_with_their_observations(tmp_path: Path, name: str) -> None:
    """A run without observations, rebuilt with them, has the steps of the same run at the level `full`."""
    bare = record_random(tmp_path / "bare", name)
    full = record_random(tmp_path / "full", name, record="full")
    results, made = replay_several(tmp_path / "replay", bare, 0, 2)
    assert [result.source.episode for result in results] == [0, 1, 2][: len(episodes(full))]
    assert all(result.is_verified for result in results)
    for kind in ("episode_start", "step"):
        wanted = [event for event in of_type(full, kind) if event["episode"] <= 2]
        rebuilt = of_type(made, kind)
        assert len(wanted) == len(rebuilt) > 0
        for one, other in zip(wanted, rebuilt, strict=True):
            for key in ("episode", "hash", "observation"):
                assert one[key] == other[key]
            assert one.get("action") == other.get("action")


def test_an_episode_that_differs_is_named_among_others(tmp_path: Path) -> None:
    """One altered action: that episode alone is not verified, and the others are recorded all the same."""
    events = record_random(tmp_path / "run", "CartPole-v1")
    altered = next(e for e in of_type(events, "step") if e["episode"] == 2 and e["step"] == 5)
    altered["action"] = 1 - altered["action"]
    results, _ = replay_several(tmp_path / "replay", events, 1, 3)
    assert [(r.source.episode, r.is_verified) for r in results] == [
        (1, True),
        (2, False),
        (3, True),
    ]


def test_episodes_of_a_chain_are_rebuilt_in_one_environment(tmp_path: Path) -> None:
    """Episodes before the first that is wanted are rebuilt too, and not recorded."""
    register_odd()
    events = record_random(tmp_path / "run", Carrying.CHAINED, steps=55)
    results, made = replay_several(tmp_path / "replay", events, 2, 4)
    assert [(r.source.episode, r.way, r.episodes_before) for r in results] == [
        (n, "chain", n) for n in (2, 3, 4)
    ]
    assert all(result.is_verified for result in results)
    assert episodes(made) == [2, 3, 4]
