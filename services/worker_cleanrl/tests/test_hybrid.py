"""A person acts in the play of a policy, and episodes go on from a step in another run."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.cases import CASES
from tests.plays import branch, play_here, steps_of
from tests.rebuilding import compare_rebuilt

from mosaic_contracts.branches import PLAY_BRANCH, BranchRecord
from mosaic_contracts.play import PLAY_STATE, PlayControls, PlayStatus
from mosaic_contracts.wire import Actor
from mosaic_gymkit import EnvironmentSpec
from mosaic_gymkit.play.keymap import KeyMap
from mosaic_gymkit.play.loop import PERSON_SHARE
from mosaic_worker_cleanrl.environment.extras import known_environments
from mosaic_workerkit.testing.recorded import of_type

pytestmark = pytest.mark.timeout(240)
POLICY, HUMAN = Actor.POLICY, Actor.HUMAN


class Trained(NamedTuple):
    """A short training."""

    events: list[dict[str, Any]]
    checkpoints: list[str]
    play: dict[str, Any]
    """Spec of a play of its last checkpoint."""


@pytest.fixture(params=["ppo", "dqn", "ppo_continuous_action"])
def trained(request: pytest.FixtureRequest, runs: Any) -> Trained:
    """One of each kind of policy, with every step recorded."""
    case = CASES[request.param]
    finished = runs(request.param, "full")
    assert finished.code == 0, finished.stderr
    paths = [str(finished.folder / e["path"]) for e in of_type(finished.events, "checkpoint")]
    spec = {
        "worker": "cleanrl",
        "algorithm": case.algorithm,
        "environment": case.environment,
        "seed": 5,
        "parameters": {"checkpoint": paths[-1]},
    }
    return Trained(finished.events, paths, spec)


@pytest.fixture
def hybrid_spec(trained: Trained) -> dict[str, Any]:
    """Spec of a play."""
    return trained.play


@pytest.mark.nightly(by_day=["ppo", "ppo_continuous_action"])
def test_keys_override_and_a_person_takes_over(tmp_path: Path, hybrid_spec: dict[str, Any]) -> None:
    """Each step says who acted, control is reported, and the episode is rebuilt like any other."""
    person = play_here(tmp_path / "run", hybrid_spec, pace=5.0)
    person.frame()
    person.do("pause")
    begun = person.step().step
    acted = [person.step("right"), person.step(), person.step("a", "right")]
    assert [frame.actor for frame in acted] == [HUMAN, POLICY, HUMAN]
    assert person.do("take") == []
    taken = [person.step("right"), person.step()]
    assert person.do("give") == []
    given = person.step()
    assert [frame.actor for frame in (*taken, given)] == [HUMAN, HUMAN, POLICY]
    assert given.step == begun + 6
    person.do("reset", seed=9)
    assert person.frame(after=person.number).step == 0
    assert person.step().actor == POLICY
    events = person.end()
    assert person.error is None
    actors = [e["actor"] for e in of_type(events, "step") if e["episode"] == 0]
    assert actors[begun:] == [HUMAN, POLICY, HUMAN, HUMAN, HUMAN, POLICY]
    resets = [e["reset"] for e in of_type(events, "episode_start")]
    assert resets == [{"way": "seed", "seed": seed} for seed in (5, 9)]
    controls = PlayControls.model_validate(events[0]["data"]["play"])
    assert (controls.has_policy, controls.timing) == (True, "real_time")
    assert controls.meanings["d"] == "right"
    states = [PlayStatus.model_validate(e["data"]) for e in of_type(events, PLAY_STATE)]
    in_control = [state.actor for state in states]
    assert (in_control[0], set(in_control), in_control[-1]) == (POLICY, {POLICY, HUMAN}, POLICY)
    assert compare_rebuilt(events, hybrid_spec["environment"]) == len(of_type(events, "step"))


@pytest.mark.parametrize("trained", ["ppo"], indirect=True)
def test_the_persons_share_of_an_episode_is_a_curve(
    tmp_path: Path, hybrid_spec: dict[str, Any]
) -> None:
    """The policy takes the first step and the person all others, until the pole falls."""
    person = play_here(tmp_path / "run", hybrid_spec, pace=5.0)
    person.frame()
    person.do("pause")
    person.do("reset", seed=9)
    person.frame(after=person.number)
    assert person.step().actor == POLICY
    person.do("take")
    frame = person.step("right")
    while not frame.flags:
        frame = person.step("right")
    metrics = of_type(person.end(), "metric")
    shares = [metric["value"] for metric in metrics if metric["name"] == PERSON_SHARE]
    assert shares == [1 - 1 / frame.step]


@pytest.mark.nightly(by_day=["ppo"])
def test_a_play_that_nobody_interferes_with_is_what_it_was(
    tmp_path: Path, hybrid_spec: dict[str, Any]
) -> None:
    """A play that takes inputs and an evaluation, which takes none, have equal steps."""
    steps = []
    for kind in ("play", "evaluate"):
        run = play_here(tmp_path / kind, hybrid_spec, kind=kind, steps=150)
        events = run.ended()
        assert run.error is None
        assert ("play" in events[0]["data"]) == (kind == "play")
        assert of_type(events, PLAY_STATE) == []
        steps.append([(e["action"], e["hash"], e["actor"]) for e in of_type(events, "step")])
    assert steps[0] == steps[1]


@pytest.mark.nightly(by_day=["ppo"])
def test_the_same_policy_goes_on_as_it_did(tmp_path: Path, trained: Trained) -> None:
    """A greedy policy from the middle of its own episode plays the rest of it, step by step."""
    parent = play_here(tmp_path / "parent", trained.play, episodes=2).ended()
    whole = steps_of(parent, 0, 1)
    made = branch(tmp_path / "branch", trained.play, parent, (0, 1, len(whole) // 2))
    events = made.ended()
    assert made.error is None
    assert steps_of(events, 0, 0) == whole
    (found,) = of_type(events, PLAY_BRANCH)
    assert BranchRecord.model_validate(found["data"]).steps == len(whole) // 2
    assert events[0]["data"]["start_from"]["episode"] == 1
    assert len(of_type(events, "episode")) == 1


def test_a_person_takes_an_episode_of_the_training_over(tmp_path: Path, trained: Trained) -> None:
    """At a step of a sub-environment: the person is in control at first, and the new episode is rebuilt whole."""
    last = of_type(trained.events, "episode")[-1]
    env, episode = last["env"], last["episode"]
    before = steps_of(trained.events, env, episode)
    step = len(before) // 2
    place = (env, episode, step)
    person = branch(tmp_path / "run", trained.play, trained.events, place, "human", pace=5.0)
    first = person.frame()
    assert (first.step, first.actor) == (step, POLICY)
    assert person.step("right").actor == HUMAN
    person.do("give")
    assert person.step().actor == POLICY
    events = person.end()
    assert person.error is None
    mine = steps_of(events, 0, 0)
    assert (mine[:step], len(mine)) == (before[:step], step + 2)
    assert compare_rebuilt(events, trained.play["environment"]) == len(mine)


@pytest.mark.parametrize("trained", ["ppo"], indirect=True)
def test_another_checkpoint_goes_on(tmp_path: Path, trained: Trained) -> None:
    """The first one, at the reset of an episode: what the two do is each their own."""
    parent = play_here(tmp_path / "parent", trained.play, episodes=1).ended()
    spec = {**trained.play, "parameters": {"checkpoint": trained.checkpoints[0]}}
    made = branch(tmp_path / "branch", spec, parent, (0, 0, 0))
    events = made.ended()
    assert made.error is None
    alone = play_here(tmp_path / "alone", spec, episodes=1).ended()
    assert steps_of(events, 0, 0) == steps_of(alone, 0, 0)


def test_keys_of_a_game_are_places_in_its_own_actions() -> None:
    """The game's own map, whose numbers are those of the console in this version, fits its four actions."""
    known_environments()
    keymap = KeyMap(EnvironmentSpec("BreakoutNoFrameskip-v4").make())
    keys: tuple[list[str], ...] = (["left"], ["d"], ["space"], [])
    assert [keymap.action(held) for held in keys] == [3, 2, 1, 0]


@pytest.mark.parametrize("trained", ["ppo"], indirect=True)
def test_an_evaluation_takes_no_inputs(tmp_path: Path, hybrid_spec: dict[str, Any]) -> None:
    """Its returns are those of the policy alone: an input is refused in words."""
    run = play_here(tmp_path / "run", hybrid_spec, kind="evaluate", episodes=2, pace=50.0)
    (refused,) = run.say("left")
    assert "takes no inputs" in refused["why"]
    run.end()
