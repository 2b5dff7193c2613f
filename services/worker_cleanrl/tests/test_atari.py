"""Atari: the games, and real runs of each script that plays them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.cases import CASES
from tests.plays import branch, steps_of
from tests.real_run import (
    episode_lines,
    finish_child,
    play,
    run,
    run_bare,
    same,
    start_child,
    wait_for_event,
)
from tests.rebuilding import compare_rebuilt
from tests.script_cases import SCRIPT_CASES

from mosaic_contracts.spec import RunSpec
from mosaic_worker_cleanrl.algorithm import SCRIPTS
from mosaic_worker_cleanrl.environment.atari import game_of
from mosaic_worker_cleanrl.plan import check_run
from mosaic_workerkit.testing.recorded import of_type

pytestmark = pytest.mark.timeout(240)
BREAKOUT = "BreakoutNoFrameskip-v4"
FRAMES_A_STEP = 4
OFF_POLICY = {"learning_starts": 90, "buffer_size": 200, "batch_size": 8}
ON_POLICY = {"num_envs": 2, "num_steps": 32, "num_minibatches": 2, "update_epochs": 1}
STEPS = 128
ONE_CHECKPOINT = {"checkpoint_every_steps": STEPS}
"""A checkpoint of these networks takes up to 100 MB, and a run makes ten unless it is asked for fewer."""

LEARNS_NOTHING = {"learning_starts": 10_000}
"""Argument of the scripts that have a replay buffer; the others get a learning rate of 0."""
SCRIPTS_OF_GAMES: list[tuple[str, str, dict[str, Any], list[str]]] = [
    ("ppo_atari", BREAKOUT, ON_POLICY, ["agent"]),
    ("ppo_atari_lstm", "PongNoFrameskip-v4", ON_POLICY, ["agent"]),
    ("dqn_atari", BREAKOUT, OFF_POLICY, ["q_network", "target_network"]),
    ("c51_atari", "BeamRiderNoFrameskip-v4", OFF_POLICY, ["q_network", "target_network"]),
    ("sac_atari", BREAKOUT, OFF_POLICY, ["actor", "qf1", "qf2", "qf1_target", "qf2_target"]),
]


def test_every_script_is_tried() -> None:
    """Those of games here and all others by `tests/cases.py` train, act, and begin with their own checkpoint.

    `tests/script_cases.py` has the scripts of which a short run is enough: they are close to one of the others.
    """
    tried = {script for script, *_ in SCRIPTS_OF_GAMES} | set(CASES)
    can_run = {name for name, script in SCRIPTS.items() if not script.unavailable}
    assert tried < can_run <= set(SCRIPT_CASES)


@pytest.mark.nightly(by_day=["dqn_atari-BreakoutNoFrameskip-v4"])
@pytest.mark.parametrize(("algorithm", "environment", "parameters", "networks"), SCRIPTS_OF_GAMES)
def test_each_script_learns_and_can_be_rebuilt(
    tmp_path: Path,
    make_spec: Any,
    algorithm: str,
    environment: str,
    parameters: dict[str, Any],
    networks: list[str],
) -> None:
    """A real run learns, saves what it learned, and every frame that the game gave is found again. What it learned
    acts, and is where another training begins."""
    fields = {"algorithm": algorithm, "environment": environment, **ONE_CHECKPOINT}
    spec = make_spec(**fields, steps=STEPS, parameters=parameters)
    assert check_run(spec).ok
    finished = run(tmp_path / "run", spec)
    assert finished.code == 0, finished.stderr
    steps = of_type(finished.events, "step")
    # the recording is of the game, before the script's wrappers skip frames; no-ops after a reset come on top
    assert len(steps) >= (STEPS - 1) * FRAMES_A_STEP
    assert compare_rebuilt(finished.events, environment) == len(steps)
    assert any(m["name"].startswith("losses/") for m in of_type(finished.events, "metric"))
    last = of_type(finished.events, "checkpoint")[-1]
    assert (last["step"], last["reason"]) == (STEPS, "final")
    state = torch.load(finished.folder / last["path"], weights_only=True)
    assert list(state["networks"]) == networks
    assert state["packages"]["ale-py"] == "0.10.2"
    recorded = [log["message"] for log in of_type(finished.events, "log")]
    assert any("two options" in line for line in recorded) == (algorithm == "c51_atari")
    given = {"checkpoint": str(finished.folder / last["path"])}
    fields |= {"parameters": given}
    acted = play(tmp_path / "play", make_spec(kind="play", steps=40, seed=9, **fields))
    assert acted.code == 0, acted.stderr
    frames = of_type(acted.events, "step")
    assert len(frames) >= 39 * FRAMES_A_STEP
    assert compare_rebuilt(acted.events, environment) == len(frames)
    idle = LEARNS_NOTHING if parameters is OFF_POLICY else {"learning_rate": 0}
    fields["parameters"] = {**parameters, **idle, **given}
    after = run(tmp_path / "second", make_spec(steps=64, **fields))
    assert after.code == 0, after.stderr
    path = after.folder / of_type(after.events, "checkpoint")[-1]["path"]
    assert same(torch.load(path, weights_only=True)["networks"], state["networks"])


@pytest.mark.nightly
def test_an_evaluation_plays_whole_games(tmp_path: Path, make_spec: Any) -> None:
    """A game has five lives: each seeded game is one episode, with the game's own score, neither clipped nor cut."""
    fields = {"algorithm": "ppo_atari_lstm", "environment": BREAKOUT, **ONE_CHECKPOINT}
    trained = run(tmp_path / "run", make_spec(**fields, steps=64, parameters=ON_POLICY))
    path = trained.folder / of_type(trained.events, "checkpoint")[-1]["path"]
    given = {"checkpoint": str(path), "sampled": True}
    spec = make_spec(**fields, kind="evaluate", episodes=2, seed=4, parameters=given)
    acted = play(tmp_path / "play", spec)
    assert acted.code == 0, acted.stderr
    (result,) = of_type(acted.events, "evaluation.result")
    episodes = of_type(acted.events, "episode")
    assert result["data"]["returns"] == [each["episode_return"] for each in episodes]
    assert [start["reset"]["seed"] for start in of_type(acted.events, "episode_start")] == [4, 5]
    assert compare_rebuilt(acted.events, BREAKOUT) == sum(result["data"]["lengths"])
    _go_on_within_a_decision(tmp_path / "branch", spec, acted.events)


def _go_on_within_a_decision(folder: Path, spec: RunSpec, events: list[dict[str, Any]]) -> None:
    """From a frame in the middle of the second game: wrappers, lives and memory are as they were, so that the same
    policy with the same draws plays the rest of it again."""
    whole = steps_of(events, 0, 1)
    at = len(whole) // 2 + 1
    fields = {"kind": "play", "seed": 5, "episodes": 1}
    made = branch(folder, {**spec.model_dump(mode="json"), **fields}, events, (0, 1, at))
    found = made.ended()
    assert made.error is None
    assert steps_of(found, 0, 0) == whole
    (record,) = of_type(found, "play.branch")
    assert at <= record["data"]["steps"] < at + FRAMES_A_STEP


@pytest.mark.nightly
def test_whole_games_are_episodes_and_recording_changes_nothing(
    tmp_path: Path, make_spec: Any
) -> None:
    """With the same seed the run has the games of the bare script; each is an episode, its next one can be rebuilt."""
    parameters = {**OFF_POLICY, "learning_starts": 250}
    fields = {"algorithm": "dqn_atari", "environment": BREAKOUT, "checkpoint_every_steps": 300}
    spec = make_spec(**fields, steps=300, seed=3, parameters=parameters)
    finished = run(tmp_path / "run", spec)
    assert finished.code == 0, finished.stderr
    argv = [f"--{name.replace('_', '-')}={value}" for name, value in parameters.items()]
    argv += [f"--env-id={BREAKOUT}", "--total-timesteps=300", "--seed=3"]
    bare = run_bare(tmp_path / "bare", "cleanrl.dqn_atari", argv, with_shim=False)
    assert episode_lines(finished.stdout) == episode_lines(bare) != []
    episodes = of_type(finished.events, "episode")
    assert len(episodes) == len(episode_lines(bare))
    ways = [start["reset"]["way"] for start in of_type(finished.events, "episode_start")]
    assert ways == ["seed"] + ["snapshot"] * len(episodes)
    assert compare_rebuilt(finished.events, BREAKOUT) == len(of_type(finished.events, "step"))


def test_a_stop_saves_and_full_keeps_the_frames(tmp_path: Path, make_spec: Any) -> None:
    """A long run that is asked to stop ends with a checkpoint; at `full` its frames are those that were hashed."""
    spec = make_spec(
        algorithm="dqn_atari",
        environment=BREAKOUT,
        record="full",
        parameters={"buffer_size": 500},
    )
    folder = tmp_path / "run"
    child = start_child(folder, spec)
    wait_for_event(folder, "step", child.is_alive)
    child.terminate()
    finished = finish_child(child, folder)
    assert finished.code == 0, finished.stderr
    assert of_type(finished.events, "checkpoint")[-1]["reason"] == "stop"
    frames = [step["observation"] for step in of_type(finished.events, "step")]
    assert {len(frame) for frame in frames} == {210 * 160 * 3}
    assert np.frombuffer(frames[0], np.uint8).any()


@pytest.mark.parametrize(
    ("fields", "where", "says"),
    [
        ({"environment": "Pong"}, "environment", "Take PongNoFrameskip-v4."),
        ({"environment": "Pong-v9"}, "environment", "Take PongNoFrameskip-v4."),
        ({"environment": "CartPole-v1"}, "environment", "takes Atari frames only"),
        ({"environment": "Pong-ramNoFrameskip-v4"}, "environment", "takes Atari frames only"),
        (
            {"algorithm": "ppo"},
            "environment",
            "Use ppo_atari or ppo_atari_lstm or dqn_atari for it.",
        ),
        (
            {"algorithm": "dqn_atari", "parameters": {"buffer_size": 2**40}},
            "parameters.buffer_size",
            "The run's 1,024 steps need no more.",
        ),
        (
            {
                "algorithm": "sac_atari",
                "steps": 10**6,
                "memory_mb": 2000,
                "parameters": {"buffer_size": 100_000},
            },
            "parameters.buffer_size",
            "of 100,000 steps needs 5.3 GiB; the run may have (`memory_mb`) 2.0 GiB. With 18,569",
        ),
        (
            {"algorithm": "ppo_atari_lstm", "parameters": {"num_envs": 6}},
            "parameters.num_minibatches",
            "4 must divide them",
        ),
        (
            {
                "algorithm": "sac_atari",
                "parameters": {
                    "buffer_size": 500,
                    "learning_starts": 150,
                    "update_frequency": 201,
                },
            },
            "parameters.update_frequency",
            "at step 200 before it has learned once",
        ),
    ],
)
def test_what_cannot_run_is_named(
    make_spec: Any, fields: dict[str, Any], where: str, says: str
) -> None:
    """A game that is none, an algorithm that takes no frames, a buffer too large: refused in words, at its field."""
    given = {"algorithm": "ppo_atari", "environment": BREAKOUT, "steps": 1024, **fields}
    report = check_run(make_spec(**given))
    found = [f for f in report.findings if f.level == "blocking"]
    assert [f.where for f in found] == [where]
    assert says in found[0].message


@pytest.mark.parametrize(
    ("fields", "where", "says"),
    [
        ({"environment": "ALE/Pong-v5"}, "environment", "PongNoFrameskip-v4"),
        ({"record": "full"}, "record", "4,096 of 98 KiB, 0.4 GiB"),
        ({"parameters": {"capture_video": True}}, "parameters.capture_video", "10,000 takes 1 GB"),
    ],
)
def test_what_is_hardly_meant_is_reported(
    make_spec: Any, fields: dict[str, Any], where: str, says: str
) -> None:
    """Frames skipped twice, recorded one by one, or kept for a video may be, with a warning."""
    given = {"algorithm": "ppo_atari", "environment": BREAKOUT, "steps": 1024, **fields}
    report = check_run(make_spec(**given))
    assert report.ok
    assert [(f.level, f.where) for f in report.findings] == [("warning", where)]
    assert says in report.findings[0].message


@pytest.mark.parametrize(
    ("name", "game"),
    [
        ("pong", "Pong"),
        ("ALE/MsPacman-v5", "MsPacman"),
        ("Pong-ramDeterministic-v4", "Pong"),
        ("CartPole-v1", None),
        ("ALE/", None),
    ],
)
def test_a_game_is_found_in_its_names(name: str, game: str | None) -> None:
    """Whatever form of a game somebody asks for, the game is known."""
    assert game_of(name) == game
