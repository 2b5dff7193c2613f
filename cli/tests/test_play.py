"""`play` against a stand-in; tests/e2e has it on a real stack."""

from typing import Any

from tests.gateway_double import OF_RUN, RUN, RUN_ID, Answers, Mosaic

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
