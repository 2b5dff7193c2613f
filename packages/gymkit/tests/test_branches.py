"""Branches: a recorded episode is rebuilt up to a step in a new run, which goes on from there."""

from pathlib import Path
from typing import Any

import gymnasium
import pytest
from tests.odd_environments import Carrying, newest, register_odd
from tests.recorded_run import context_in, record_random, replay

from mosaic_contracts.branches import PLAY_BRANCH, BranchRecord
from mosaic_contracts.wire import Actor
from mosaic_gymkit import EnvironmentRun
from mosaic_gymkit.play.played import PersonalEnvironment
from mosaic_gymkit.play.prefix import EpisodePrefix
from mosaic_gymkit.testing import write_replay_record
from mosaic_workerkit.errors import RunRefused
from mosaic_workerkit.testing.recorded import RUN_ID, of_type, read_events

CART_POLE = "CartPole-v1"


def branch(
    folder: Path, events: list[dict[str, Any]], episode: int, step: int, *, own_steps: int = 3
) -> list[dict[str, Any]]:
    """Begin a run at a step of these events, and take steps of its own; return its events."""
    environment = events[0]["data"]["environment"]
    start = {"run_id": RUN_ID, "attempt": 1, "episode": episode, "step": step}
    context, telemetry = context_in(folder, environment, kind="play", start_from=start)
    write_replay_record(folder, events, 0, episode)
    with telemetry, EnvironmentRun(context) as run:
        prefix = EpisodePrefix.of(context)
        assert prefix is not None
        env = prefix.make(run)
        run.record_config({}, env)
        played = PersonalEnvironment(run, env)
        assert prefix.rebuild(played) == step
        run.set_actor(Actor.HUMAN)
        env.action_space.seed(11)
        for _ in range(own_steps):
            if played.step(env.action_space.sample(), Actor.HUMAN):
                break
        env.close()
    return read_events(folder)


def steps(events: list[dict[str, Any]], episode: int) -> list[dict[str, Any]]:
    """The steps of an episode."""
    return [event for event in of_type(events, "step") if event["episode"] == episode]


def what(event: dict[str, Any]) -> tuple[Any, ...]:
    """What a step did, and who chose it."""
    return event["step"], event["action"], event["reward"], event["hash"], event["actor"]


@pytest.mark.parametrize("name", [newest(name) for name in ("FrozenLake", "CartPole", "Pendulum")])
@pytest.mark.parametrize("place", ["reset", "middle", "last"])
def test_a_branch_has_the_recorded_steps_and_its_own(tmp_path: Path, name: str, place: str) -> None:
    """A whole episode of the new run: the rebuilt steps with who acted then, then its own; and it is verified."""
    events = record_random(tmp_path / "run", name, steps=450)
    first = steps(events, 1)
    step = {"reset": 0, "middle": len(first) // 2, "last": len(first) - 1}[place]
    made = branch(tmp_path / "branch", events, 1, step)
    mine = steps(made, 0)
    assert [what(event) for event in mine[:step]] == [what(event) for event in first[:step]]
    assert len(mine) > step
    assert {event["actor"] for event in mine[step:]} == {Actor.HUMAN}
    (found,) = of_type(made, PLAY_BRANCH)
    record = BranchRecord.model_validate(found["data"])
    assert (record.start_from.step, record.steps, record.episode) == (step, step, 0)
    assert record.way == "generator"
    assert made[0]["data"]["start_from"]["step"] == step
    assert replay(tmp_path / "replay", made, 0).is_verified


def test_an_episode_that_was_cut_goes_on_after_its_last_step(tmp_path: Path) -> None:
    """As a killed run leaves it."""
    events = record_random(tmp_path / "run", newest("MountainCar"), steps=50)
    made = branch(tmp_path / "branch", events, 0, 50)
    assert len(steps(made, 0)) == 53
    assert replay(tmp_path / "replay", made, 0).is_verified


def test_a_branch_of_a_branch_keeps_who_acted(tmp_path: Path) -> None:
    """Its prefix is the other one's, with the steps of policy and person as they were."""
    events = record_random(tmp_path / "run", newest("MountainCar"), steps=50)
    first = branch(tmp_path / "first", events, 0, 20)
    second = branch(tmp_path / "second", first, 0, 22)
    assert [event["actor"] for event in steps(second, 0)] == [0] * 20 + [1] * 5


def test_a_chain_is_rebuilt_with_the_episodes_before(tmp_path: Path) -> None:
    """The new run records them too, so that its own episode is verified; they have no curves."""
    register_odd()
    events = record_random(tmp_path / "run", Carrying.CHAINED, steps=40)
    made = branch(tmp_path / "branch", events, 2, 4)
    for episode in (0, 1):
        assert [what(e) for e in steps(made, episode)] == [what(e) for e in steps(events, episode)]
    assert len(steps(made, 2)) == 7
    (found,) = of_type(made, PLAY_BRANCH)
    assert (found["data"]["way"], found["data"]["episodes_before"]) == ("chain", 2)
    assert of_type(made, "metric") == []
    result = replay(tmp_path / "replay", made, 2)
    assert (result.is_verified, result.way) == (True, "chain")


def refusal(folder: Path, events: list[dict[str, Any]], episode: int, step: int) -> str:
    """Why a branch is refused, in words; it has no steps of its own."""
    with pytest.raises(RunRefused) as caught:
        branch(folder, events, episode, step)
    assert of_type(read_events(folder), PLAY_BRANCH) == []
    return str(caught.value)


def test_nothing_goes_on_after_an_end(tmp_path: Path) -> None:
    """The step that terminated or truncated the episode, and steps that nobody recorded."""
    events = record_random(tmp_path / "run", CART_POLE)
    length = len(steps(events, 1))
    words = refusal(tmp_path / "ended", events, 1, length)
    assert f"has ended at step {length} (terminated)" in words
    assert f"The last step to begin at is {length - 1}." in words
    assert f"has {length} recorded steps" in refusal(tmp_path / "late", events, 1, length + 1)


def test_an_altered_record_is_refused_at_its_step(tmp_path: Path) -> None:
    """The first step that differs is named, with the versions that differ; a branch before it is none the worse."""
    events = record_random(tmp_path / "run", CART_POLE, config={"packages": {"gymnasium": "0.1"}})
    altered = steps(events, 2)[4]
    altered["action"] = 1 - altered["action"]
    words = refusal(tmp_path / "refused", events, 2, 6)
    assert "step 5 differs (observation)" in words
    assert f"gymnasium 0.1, here it is {gymnasium.__version__}" in words
    assert of_type(read_events(tmp_path / "refused"), "step") == []
    assert len(steps(branch(tmp_path / "before", events, 2, 4), 0)) > 4


def test_what_cannot_be_made_or_repeated_is_refused(tmp_path: Path) -> None:
    """Random numbers of its own, and an environment that is gone."""
    register_odd()
    events = record_random(tmp_path / "noise", "GlobalNoise-v0")
    assert "step 1 differs (observation)" in refusal(tmp_path / "own", events, 1, 3)
    events = record_random(tmp_path / "gone", CART_POLE)
    events[0]["data"]["environment"] = "CartPool-v1"
    assert "Did you mean CartPole-v1" in refusal(tmp_path / "branch", events, 1, 3)
