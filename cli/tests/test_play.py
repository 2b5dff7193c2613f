"""`play` against a stand-in; tests/e2e has it on a real stack."""

from typing import Any

import pytest
from tests.gateway_double import OF_RUN, RUN, RUN_ID, Answers, Mosaic, strict

from mosaic_client.client import Client
from mosaic_contracts.evaluations import EVALUATION_RESULT
from mosaic_contracts.runs import RunView

RESULT: dict[str, Any] = {
    "checkpoint": "inputs/checkpoint/final.pt", "algorithm": "ppo", "environment": "CartPole-v1",
    "trained_steps": 49664, "greedy": True, "asked": 3, "seeds": [1, 2, 3], "returns": [400.0, 500.0, 450.0],
    "lengths": [400, 500, 450], "mean": 450.0, "standard_error": 28.867513459481287,
}  # fmt: skip
OTHER = RUN_ID[:-1] + "W"
ROWS: list[dict[str, Any]] = [
    {"path": f"checkpoints/{name}.npz", "kind": "checkpoint", "bytes": 9, "step": step, "exists": there}
    for name, step, there in (("step_10", 10, False), ("step_20", 20, True), ("final", 30, True))
]  # fmt: skip


def test_play_asks_for_a_run_that_plays(mosaic: Mosaic, answers: Answers) -> None:
    """The newest checkpoint is left to the stack; episodes, seed, pace and arguments are fields of the new run."""
    answers[f"{OF_RUN}/play"] = RUN | {"run_id": OTHER, "state": "queued"}
    assert mosaic("play", "last", "-d") == (0, f"{OTHER}\n", "")
    assert answers.last("POST").body == {"checkpoint": None, "overrides": {"episodes": 10}}
    options = ["--episodes", "3", "--seed", "7", "--pace", "4", "-p", "plan_file=/a.asl", "-d"]
    assert mosaic("play", "last", *options)[0] == 0
    assert answers.last("POST").body["overrides"] == {
        "episodes": 3,
        "seed": 7,
        "pace": 4.0,
        "parameters": {"plan_file": "/a.asl"},
    }


def test_a_checkpoint_is_found_by_name_or_step(mosaic: Mosaic, answers: Answers) -> None:
    """A path, a name with or without its ending, and a step mean a checkpoint that is there; another is not found."""
    answers[f"{OF_RUN}/play"] = RUN | {"run_id": OTHER, "state": "queued"}
    answers[f"{OF_RUN}/artifacts"] = ROWS
    for text in ("checkpoints/step_20.npz", "step_20.npz", "step_20", "20"):
        assert mosaic("play", "last", text, "-d")[0] == 0
        assert answers.last("POST").body["checkpoint"] == "checkpoints/step_20.npz"
    for text in ("step_10", "finale"):
        code, _, err = mosaic("play", "last", text, "-d")
        assert code == 4
        assert f"{RUN_ID} has no checkpoint '{text}'." in err
        assert "checkpoints/final.npz" in err


@pytest.fixture
def evaluated(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """An evaluation that ends at once, with a result that a test may change."""
    evaluation = RUN | {"run_id": OTHER, "state": "queued"}
    answers[f"{OF_RUN}/play"] = evaluation
    ended = RunView.model_validate(evaluation | {"state": "succeeded"})
    monkeypatch.setattr(Client, "wait", lambda *_: ended)
    result = dict(RESULT)
    envelope = {"v": 1, "run_id": OTHER, "attempt": 1, "source": "worker", "seq": 9, "t": 1.0}
    event = {**envelope, "type": EVALUATION_RESULT, "data": result}
    answers[f"/api/v1/runs/{OTHER}/events"] = {"events": [event], "cursor": "x", "has_more": False}
    return result


def test_evaluate_prints_mean_error_and_every_return(
    mosaic: Mosaic, answers: Answers, evaluated: dict[str, Any]
) -> None:
    """Twenty episodes from seed 1 where nothing else is asked for; an evaluation that was cut short is not done."""
    code, out, err = mosaic("evaluate", "last")
    assert code == 0
    assert f"Run {OTHER} evaluates {RUN_ID} in 20 episodes." in err
    assert "450 ± 28.87 (greedy, 3 episodes; ppo, CartPole-v1 after 49,664 steps)" in out
    assert "seed 1: 400  seed 2: 500  seed 3: 450" in out
    overrides = {"kind": "evaluate", "episodes": 20, "seed": 1, "parameters": {}}
    assert answers.last("POST").body == {"checkpoint": None, "overrides": overrides}
    evaluated |= {"greedy": False, "returns": [400.0], "seeds": [1], "standard_error": None}
    code, out, _ = mosaic("evaluate", "last", "-n", "3", "--seed", "7", "--sampled", "--json")
    assert code == 5
    assert strict(out)["returns"] == [400.0]
    overrides = {"kind": "evaluate", "episodes": 3, "seed": 7, "parameters": {"sampled": True}}
    assert answers.last("POST").body["overrides"] == overrides
    evaluated |= {"greedy": None, "seeds": [], "asked": 1}
    assert "450 (its plans decided, 1 episode; ppo" in mosaic("evaluate", "last")[1]


def test_evaluate_random_actions_in_an_environment(
    mosaic: Mosaic, answers: Answers, evaluated: dict[str, Any]
) -> None:
    """A run of the worker `play`; without --random an environment is no run, and the message says what to write."""
    answers["POST /api/v1/runs"] = RUN | {"run_id": OTHER, "state": "queued"}
    evaluated |= {"checkpoint": "", "greedy": None, "algorithm": "random", "trained_steps": None}
    code, out, err = mosaic("evaluate", "CartPole-v1", "--random", "-n", "3")
    assert code == 0
    assert "(random actions, 3 episodes; random, CartPole-v1)" in out
    assert "evaluates random actions in CartPole-v1" in err
    asked = answers.last("POST").body
    assert (asked["worker"], asked["algorithm"], asked["kind"]) == ("play", "random", "evaluate")
    code, _, err = mosaic("evaluate", "CartPole-v1")
    assert code == 2
    assert "`./mosaic evaluate CartPole-v1 --random`" in err
    assert mosaic("evaluate", "CartPole-v1", "final", "--random")[0] == 2


def test_an_evaluation_without_a_result_says_how_it_ended(
    mosaic: Mosaic, answers: Answers, evaluated: dict[str, Any]
) -> None:
    """The run's end is named, and where its output is."""
    answers[f"/api/v1/runs/{OTHER}/events"] = {"events": [], "cursor": "x", "has_more": False}
    code, out, err = mosaic("evaluate", "last")
    assert (code, out) == (1, "")
    assert f"{OTHER} recorded no result" in err
    assert f"./mosaic logs {OTHER}" in err


def test_play_of_an_environment_starts_a_play_by_a_person(mosaic: Mosaic, answers: Answers) -> None:
    """A word that is no run and looks like an environment; its fields are those of the spec."""
    answers["POST /api/v1/runs"] = RUN | {"run_id": OTHER, "state": "queued"}
    options = ["--seed", "0", "-n", "2", "-p", "rate=30", "-d"]
    assert mosaic("play", "ALE/Pong-v5", *options) == (0, f"{OTHER}\n", "")
    assert answers.last("POST").body == {
        "worker": "play",
        "algorithm": "human",
        "environment": "ALE/Pong-v5",
        "kind": "play",
        "seed": 0,
        "episodes": 2,
        "parameters": {"rate": 30},
    }


def test_play_without_a_display_says_how(
    mosaic: Mosaic, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The play waits, and the ways to it are named; without an argument what can be played is."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    answers["POST /api/v1/runs"] = RUN | {"run_id": OTHER, "state": "queued"}
    code, _, err = mosaic("play", "CartPole-v1")
    assert code == 0
    assert f"./mosaic watch {OTHER}" in err
    code, said, _ = mosaic("play")
    assert code == 0
    assert "./mosaic play CartPole-v1" in said


def test_play_of_an_unknown_word_is_an_unknown_run(mosaic: Mosaic, answers: Answers) -> None:
    """Only a name with a version is an environment."""
    assert mosaic("play", "nothing-here", "-d")[0] == 4
    assert all(asked.method == "GET" for asked in answers.asked)


EPISODE: dict[str, Any] = {
    "attempt": 1, "env": 0, "episode": 3, "length": 50, "return": 50.0, "terminated": True, "recorded_steps": 50,
}  # fmt: skip


def test_fork_goes_on_from_a_step(
    mosaic: Mosaic, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person, the run's own policy or another checkpoint; fields of the new run are overrides."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    answers[f"{OF_RUN}/episodes"] = {"episodes": [EPISODE], "next_cursor": None}
    answers[f"{OF_RUN}/fork"] = RUN | {"run_id": OTHER, "state": "queued"}
    asked = ["fork", "last", "--episode", "3", "--step", "40"]
    code, _, err = mosaic(*asked, "--seed", "7")
    assert code == 0
    assert f"Run {OTHER} goes on from step 40 of episode 3." in err
    assert f"./mosaic watch {OTHER}" in err
    place = {"episode": 3, "step": 40, "env": 0, "attempt": 1}
    human = {"actor": "human", "checkpoint": None, "overrides": {"seed": 7}}
    assert answers.last("POST").body == {**place, **human}
    assert mosaic(*asked, "--with", "policy", "-d") == (0, f"{OTHER}\n", "")
    assert answers.last("POST").body == {**place, "actor": "policy", "checkpoint": None, "overrides": {}}  # fmt: skip
    assert mosaic(*asked, "--with", "last/checkpoints/a.pt", "-d")[0] == 0
    assert answers.last("POST").body["checkpoint"] == f"{RUN_ID}/checkpoints/a.pt"
