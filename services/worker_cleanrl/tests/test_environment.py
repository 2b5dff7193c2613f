"""Environments: which are offered, what stands between them and a script, and bundles."""

from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from tests.real_run import run
from tests.rebuilding import compare_rebuilt
from tests.scripts.rooms import add_rooms

from mosaic_contracts.worker import Environment
from mosaic_gymkit.families import is_chained
from mosaic_worker_cleanrl.algorithm import SCRIPTS
from mosaic_worker_cleanrl.description import describe_worker
from mosaic_worker_cleanrl.environment import extras as extras_module
from mosaic_worker_cleanrl.environment.catalog import list_environments
from mosaic_worker_cleanrl.environment.probe import EnvironmentProbe, probe_environment
from mosaic_worker_cleanrl.environment.wrapping import (
    OneHotObservation,
    vector_length,
    wrapped,
    wrappers_for,
)
from mosaic_worker_cleanrl.plan import check_run
from mosaic_workerkit.spaces import space_of
from mosaic_workerkit.testing.recorded import of_type

pytestmark = pytest.mark.timeout(240)
OFFERED = {environment.id: environment for environment in list_environments()}
EACH_KIND = {
    name: offered
    for name, offered in OFFERED.items()
    if offered.bundle != "atari" or name.startswith(("Breakout", "AirRaid"))
}
"""All that differ from each other: the games have everything in common but their pictures."""


@pytest.mark.parametrize("offered", EACH_KIND.values(), ids=list(EACH_KIND))
def test_what_is_offered_is_so(offered: Environment) -> None:
    """The offer of an environment, of a bundle's before it was ever made, matches what it turns out to be."""
    probe = probe_environment(offered.id)
    assert offered.action_space == probe.action_kind
    assert offered.observation_space == probe.observation_kind
    assert offered.max_steps == probe.max_steps
    assert offered.render == ("rgb_array" in probe.render_modes)


@pytest.mark.nightly(
    by_day=[
        "CartPole-v1",
        "MountainCarContinuous-v0",
        "LunarLander-v2",
        "Blackjack-v1",
        "Taxi-v3",
        "Hopper-v4",
    ]
)
@pytest.mark.parametrize("offered", EACH_KIND.values(), ids=list(EACH_KIND))
def test_each_is_offered_for_those_that_can_act_in_it(offered: Environment, make_spec: Any) -> None:
    """An environment names at least one algorithm, and `check` takes exactly the named ones."""
    named = offered.algorithms
    assert named
    for algorithm in SCRIPTS:
        has_frames = SCRIPTS[algorithm].takes == "atari" and not algorithm.startswith("ppo")
        small = {"buffer_size": 1000} if has_frames else {}
        spec = make_spec(algorithm=algorithm, environment=offered.id, steps=2**20, parameters=small)
        assert check_run(spec).ok == (algorithm in named), algorithm


def test_an_environment_without_an_algorithm_is_not_offered() -> None:
    """What nothing here can act in, or what cannot be made here, is not in the list."""
    assert {"CartPole-v1", "Pendulum-v1", "Taxi-v3", "Hopper-v4"} <= set(OFFERED)
    assert not {"CarRacing-v2", "Hopper-v3", "phys2d/CartPole-v1"} & set(OFFERED)


@pytest.mark.parametrize(
    ("algorithm", "environment", "extra"),
    [
        ("ppo_continuous_action", "Hopper-v4", "mujoco"),
        ("ppo", "LunarLander-v2", "box2d"),
        ("ppo_atari", "BreakoutNoFrameskip-v4", "atari"),
    ],
)
def test_a_missing_extra_says_how_to_have_it(
    make_spec: Any, monkeypatch: pytest.MonkeyPatch, algorithm: str, environment: str, extra: str
) -> None:
    """Without its packages an environment is still offered, with its bundle, and `check` gives the command."""

    def missing(package: str) -> Distribution:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(extras_module, "distribution", missing)
    assert {e.id: e.bundle for e in list_environments()}[environment] == extra
    defaults = {a.id: a.default_environment for a in describe_worker().algorithms}
    assert defaults["sac_continuous_action"] == "Pendulum-v1"
    report = check_run(make_spec(algorithm=algorithm, environment=environment))
    assert not report.ok
    assert [(f.where, f.code) for f in report.findings] == [("environment", "worker_not_ready")]
    assert f"./mosaic sync worker_cleanrl --bundle {extra}" in report.findings[0].message
    monkeypatch.setenv("MOSAIC_IMAGE_BUNDLES", "first")
    (found,) = check_run(make_spec(algorithm=algorithm, environment=environment)).findings
    wanted = f'MOSAIC_BUNDLES="first {extra}" ./mosaic images build worker_cleanrl'
    assert wanted in found.message


def test_without_its_bundle_tracking_is_not_offered(
    make_spec: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`describe` names the tracker only where wandb is installed; else `check` gives the command that adds it."""
    assert describe_worker().tracking == ["wandb"]

    def missing(package: str) -> Distribution:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(extras_module, "distribution", missing)
    assert describe_worker().tracking == []
    report = check_run(make_spec(parameters={"track": True}))
    (found,) = [finding for finding in report.findings if finding.level == "blocking"]
    assert (found.where, found.code) == ("parameters.track", "worker_not_ready")
    assert "./mosaic sync worker_cleanrl --bundle wandb" in found.message


def test_one_hot_names_the_state() -> None:
    """State k is a one at k, also where counting does not begin at 0; the vector is the caller's own."""

    class Corridor(gymnasium.Env[Any, Any]):
        observation_space = gymnasium.spaces.Discrete(3, start=-1)
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
            return np.int64(1), {}

    env = OneHotObservation(Corridor())
    assert env.observation_space == gymnasium.spaces.Box(0.0, 1.0, (3,), np.float32)
    first, _ = env.reset()
    assert first.tolist() == [0.0, 0.0, 1.0]
    first[:] = 7.0
    assert env.reset()[0].tolist() == [0.0, 0.0, 1.0]


@pytest.mark.nightly(by_day=["dqn-FrozenLake-v1", "ppo-Taxi-v3"])
@pytest.mark.parametrize(
    ("algorithm", "environment"), [("dqn", "FrozenLake-v1"), ("c51", "Taxi-v3"), ("ppo", "Taxi-v3")]
)
def test_states_reach_the_script_one_hot(
    tmp_path: Path, make_spec: Any, algorithm: str, environment: str
) -> None:
    """A script learns in states as vectors, its plan and config say so, and the recording keeps the state itself."""
    parameters = {} if algorithm == "ppo" else {"learning_starts": 200, "batch_size": 8}
    spec = make_spec(
        algorithm=algorithm,
        environment=environment,
        steps=512,
        record="full",
        parameters=parameters,
    )
    assert check_run(spec).plan["wrappers"] == ["OneHotObservation"]
    finished = run(tmp_path / "run", spec)
    assert finished.code == 0, finished.stderr
    data = finished.events[0]["data"]
    space = gymnasium.make(environment).observation_space
    assert isinstance(space, gymnasium.spaces.Discrete)
    states = int(space.n)
    assert data["spaces"]["observation"] == {"kind": "discrete", "n": states}
    assert data["wrappers"] == ["OneHotObservation"]
    assert all(type(step["observation"]) is int for step in of_type(finished.events, "step"))
    assert compare_rebuilt(finished.events, environment) == 512
    last = of_type(finished.events, "checkpoint")[-1]
    state = torch.load(finished.folder / last["path"], weights_only=True)
    assert state["wrappers"] == ["OneHotObservation"]
    first_layer = next(iter(next(iter(state["networks"].values())).values()))
    assert states in first_layer.shape or algorithm == "c51"  # c51's first entry is its atoms


def _making(space: gymnasium.Space[Any], observation: Any) -> gymnasium.Env[Any, Any]:
    class Still(gymnasium.Env[Any, Any]):
        observation_space = space
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
            return observation, {}

    return Still()


@pytest.mark.parametrize(
    ("space", "observation", "vector"),
    [
        (
            spaces.Tuple((spaces.Discrete(3), spaces.Discrete(2, start=5))),
            (np.int64(2), 6),
            [0, 0, 1, 0, 1],
        ),
        (spaces.MultiDiscrete([2, 3]), np.array([1, 0]), [0, 1, 1, 0, 0]),
        (spaces.MultiBinary(3), np.array([1, 0, 1], np.int8), [1, 0, 1]),
        (
            spaces.Dict(
                {
                    "b": spaces.Box(-1, 1, (2,), np.float64),
                    "a": spaces.Tuple((spaces.MultiBinary([1, 2]), spaces.Discrete(2))),
                }
            ),
            {"b": np.array([0.5, -0.25]), "a": (np.array([[0, 1]], np.int8), 0)},
            [0, 1, 1, 0, 0.5, -0.25],
        ),
    ],
)
def test_a_composite_observation_is_one_vector(
    space: gymnasium.Space[Any], observation: Any, vector: list[float]
) -> None:
    """Parts of a Dict (by sorted key), Tuple, MultiDiscrete or MultiBinary become one float32 vector of the caller."""
    env = wrapped(_making(space, observation))
    assert wrappers_for(space) == ("FlatObservation",)
    assert env.observation_space.shape == (len(vector),) == (vector_length(space),)
    first, _ = env.reset()
    assert (first.dtype, first.tolist()) == (np.float32, vector)
    assert first in env.observation_space
    first[:] = 7.0
    assert env.reset()[0].tolist() == vector


@pytest.mark.parametrize(
    "space",
    [
        spaces.Dict({"image": spaces.Box(0, 255, (8, 8, 3), np.uint8), "at": spaces.Discrete(3)}),
        spaces.Tuple((spaces.Sequence(spaces.Discrete(2)), spaces.Discrete(2))),
    ],
)
def test_pictures_and_sequences_make_no_vector(space: gymnasium.Space[Any]) -> None:
    """A composite observation with a picture or a part of no fixed length is left as it is, and is no vector."""
    assert wrappers_for(space) == ()
    probe = EnvironmentProbe("CartPole-v1", spaces.Discrete(2), space, None, (), None, ())
    assert probe.form == "picture"


@pytest.mark.nightly(by_day=["Blackjack-v1-ppo", "Rooms-v0-dqn"])
@pytest.mark.parametrize("algorithm", ["ppo", "dqn", "c51"])
@pytest.mark.parametrize("environment", ["Blackjack-v1", "Rooms-v0"])
def test_composite_observations_reach_the_script_flat(
    tmp_path: Path, make_spec: Any, algorithm: str, environment: str
) -> None:
    """A script learns in vectors; the recording keeps the environment's own observations and can be rebuilt."""
    parameters = {} if algorithm == "ppo" else {"learning_starts": 200, "batch_size": 8}
    spec = make_spec(
        algorithm=algorithm,
        environment=environment,
        steps=512,
        record="full",
        parameters=parameters,
    )
    finished = run(tmp_path / "run", spec, add_rooms)
    assert finished.code == 0, finished.stderr
    data = finished.events[0]["data"]
    add_rooms()
    assert data["spaces"]["observation"] == space_of(gymnasium.make(environment).observation_space)
    assert data["wrappers"] == ["FlatObservation"]
    assert any(m["name"].startswith("losses/") for m in of_type(finished.events, "metric"))
    shown = [step["observation"] for step in of_type(finished.events, "step")]
    kind = list if environment == "Blackjack-v1" else dict
    assert {type(observation) for observation in shown} == {kind}
    assert compare_rebuilt(finished.events, environment) == 512


@pytest.mark.nightly(by_day=["dqn-LunarLander-v2"])
@pytest.mark.parametrize(
    ("algorithm", "environment", "parameters"),
    [
        ("ppo_continuous_action", "Hopper-v4", {"num_steps": 256, "update_epochs": 1}),
        ("sac_continuous_action", "Hopper-v4", {"learning_starts": 400, "batch_size": 8}),
        ("dqn", "LunarLander-v2", {"learning_starts": 200}),
        ("ppo_continuous_action", "BipedalWalker-v3", {"num_steps": 256, "update_epochs": 1}),
    ],
)
def test_a_bundles_environment_trains_and_can_be_rebuilt(
    tmp_path: Path, make_spec: Any, algorithm: str, environment: str, parameters: Any
) -> None:
    """Real MuJoCo and Box2D: the run learns, saves, and every recorded step is found again."""
    spec = make_spec(algorithm=algorithm, environment=environment, steps=512, parameters=parameters)
    finished = run(tmp_path / "run", spec)
    assert finished.code == 0, finished.stderr
    assert any(m["name"].startswith("losses/") for m in of_type(finished.events, "metric"))
    assert of_type(finished.events, "checkpoint")[-1]["step"] == 512
    ways = {start["reset"]["way"] for start in of_type(finished.events, "episode_start")}
    assert ways == ({"seed", "chain"} if is_chained(environment) else {"seed", "generator"})
    assert compare_rebuilt(finished.events, environment) == 512
