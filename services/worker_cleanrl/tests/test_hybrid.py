"""A person acts in the play of a policy: by held keys, or from `take` to `give`."""

from pathlib import Path
from typing import Any

import pytest
from tests.cases import CASES
from tests.real_run import run
from tests.rebuilding import compare_rebuilt

from mosaic_contracts.play import PLAY_STATE, PlayControls, PlayStatus
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.wire import Actor
from mosaic_gymkit import EnvironmentSpec
from mosaic_gymkit.play.keymap import KeyMap
from mosaic_worker_cleanrl.environment.extras import known_environments
from mosaic_worker_cleanrl.worker import CleanrlWorker
from mosaic_workerkit.testing.played import PlayedRun
from mosaic_workerkit.testing.recorded import of_type

pytestmark = pytest.mark.timeout(240)
POLICY, HUMAN = Actor.POLICY, Actor.HUMAN


@pytest.fixture(scope="module", params=["ppo", "dqn", "ppo_continuous_action"])
def hybrid_spec(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """A play of a checkpoint, slow enough for a person who takes over."""
    case, folder = CASES[request.param], tmp_path_factory.mktemp("trained") / "run"
    spec = RunSpec.model_validate({"worker": "cleanrl", "record": "metrics", **case.fields})
    finished = run(folder, spec)
    assert finished.code == 0, finished.stderr
    path = folder / str(of_type(finished.events, "checkpoint")[-1]["path"])
    return {
        "worker": "cleanrl",
        "algorithm": case.algorithm,
        "environment": case.environment,
        "seed": 5,
        "parameters": {"checkpoint": str(path)},
    }


def play(folder: Path, spec: dict[str, Any], **fields: Any) -> PlayedRun:
    """Start a play."""
    return PlayedRun(folder, CleanrlWorker().play, {**spec, **fields}, wait_s=60)


def test_keys_override_and_a_person_takes_over(tmp_path: Path, hybrid_spec: dict[str, Any]) -> None:
    """Each step says who acted, control is reported, and the episode is rebuilt like any other."""
    person = play(tmp_path / "run", hybrid_spec, pace=5.0)
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


def test_a_play_that_nobody_interferes_with_is_what_it_was(
    tmp_path: Path, hybrid_spec: dict[str, Any]
) -> None:
    """A play that takes inputs and an evaluation, which takes none, have equal steps."""
    steps = []
    for kind in ("play", "evaluate"):
        run = play(tmp_path / kind, hybrid_spec, kind=kind, steps=150)
        events = run.ended()
        assert run.error is None
        assert ("play" in events[0]["data"]) == (kind == "play")
        assert of_type(events, PLAY_STATE) == []
        steps.append([(e["action"], e["hash"], e["actor"]) for e in of_type(events, "step")])
    assert steps[0] == steps[1]


def test_keys_of_a_game_are_places_in_its_own_actions() -> None:
    """The game's own map, whose numbers are those of the console in this version, fits its four actions."""
    known_environments()
    keymap = KeyMap(EnvironmentSpec("BreakoutNoFrameskip-v4").make())
    keys = (["left"], ["d"], ["space"], [])
    assert [keymap.action(held) for held in keys] == [3, 2, 1, 0]


def test_an_evaluation_takes_no_inputs(tmp_path: Path, hybrid_spec: dict[str, Any]) -> None:
    """Its returns are those of the policy alone: an input is refused in words."""
    if hybrid_spec["algorithm"] != "ppo":
        pytest.skip("one algorithm shows it")
    run = play(tmp_path / "run", hybrid_spec, kind="evaluate", episodes=2, pace=50.0)
    (refused,) = run.say("left")
    assert "takes no inputs" in refused["why"]
    run.end()
