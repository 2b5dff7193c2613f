"""`replay` and `watch` against a stand-in; tests/e2e has them on a real stack."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.gateway_double import OF_RUN, RUN, RUN_ID, Answers, Mosaic, strict

from mosaic_client.client import Client
from mosaic_client.errors import ReplayFailed
from mosaic_contracts.replays import ReplayResult

REPLAY_ID = RUN_ID[:-1] + "W"
REPLAY = RUN | {
    "run_id": REPLAY_ID, "state": "queued", "spec": RUN["spec"] | {"kind": "replay"}, "status": 201,
}  # fmt: skip
SOURCE = {"run_id": RUN_ID, "attempt": 1, "env": 0, "episode": 3}
EQUAL: dict[str, Any] = {"source": SOURCE, "way": "generator", "steps": 512, "equal": 512}


def row(episode: int, value: Any, env: int = 0, attempt: int = 1, steps: int = 9) -> dict[str, Any]:
    """An episode of the list, which is newest first."""
    return {
        "attempt": attempt, "env": env, "episode": episode, "return": value, "length": steps or 9,
        "recorded_steps": steps,
    }  # fmt: skip


ROWS = [
    row(6, None, steps=4),
    row(5, 9.0, steps=0),
    row(4, "NaN"),
    row(3, 8.0, env=1),
    row(3, 2.0),
    row(2, 5.0),
    row(1, 1.0, attempt=2),
    row(1, 8.0),
]


@pytest.fixture
def stack(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> Answers:
    """A stack with one run, on a machine without a display."""
    answers[f"{OF_RUN}/episodes"] = {"episodes": ROWS}
    answers[f"{OF_RUN}/replays"] = REPLAY
    answers[f"/api/v1/runs/{REPLAY_ID}/stop"] = REPLAY
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    return answers


@pytest.fixture
def result(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the replay records; to be filled by the test."""
    given = dict(EQUAL)

    def replay_result(
        self: Client, run_id: str, timeout_s: float | None = None, progress: Any = None
    ) -> ReplayResult:
        assert run_id == REPLAY_ID
        if "raises" in given:
            raise given["raises"]
        return ReplayResult.model_validate(given)

    monkeypatch.setattr(Client, "replay_result", replay_result)
    return given


def is_stopped(stack: Answers) -> bool:
    return any(asked.path.endswith(f"{REPLAY_ID}/stop") for asked in stack.asked)


def test_a_verified_episode_is_said(mosaic: Mosaic, stack: Answers, result: dict[str, Any]) -> None:
    """The badge on stdout and exit code 0; what else there is to know on stderr."""
    result |= {"is_cut": True, "episodes_before": 2, "way": "chain"}
    code, out, err = mosaic("replay", "last", "--episode", "3", "--verify")
    assert (code, out) == (0, "verified 512 of 512 steps (chain)\n")
    assert "The record ends before the episode did" in err
    assert "2 earlier episodes of this environment" in err
    assert stack.last("POST").body == {"episode": 3, "env": 0, "attempt": 1, "draws": False}
    assert not is_stopped(stack), "it ends by itself"


def test_a_difference_is_named_with_versions_first(
    mosaic: Mosaic, stack: Answers, result: dict[str, Any]
) -> None:
    """Exit code 7, the first step that differs, how, and which packages are of another version."""
    result |= {
        "equal": 16,
        "first_difference": {
            "step": 17,
            "parts": ["observation", "reward"],
            "recorded": {"reward": 1.0},
            "rebuilt": {"reward": 0.5, "observation": [1, 2]},
        },
        "packages": [
            {"package": "gymnasium", "recorded": "0.29.1", "installed": "1.1.1"},
            {"package": "ale-py", "recorded": "0.8.1", "installed": None},
        ],
    }
    code, out, err = mosaic("replay", "last", "-e", "3", "--verify")
    assert code == 7
    assert out.splitlines() == [
        "equal 16 of 512 steps (generator)",
        "The first difference is at step 17: observation, reward.",
        "  observation: recorded not recorded, rebuilt [1,2]",
        "  reward: recorded 1.0, rebuilt 0.5",
    ]
    assert "gymnasium 1.1.1 (recorded 0.29.1), ale-py not installed (recorded 0.8.1)" in err


def test_json_is_the_result(mosaic: Mosaic, stack: Answers, result: dict[str, Any]) -> None:
    """A ReplayResult, with the same exit codes."""
    code, out, _ = mosaic("replay", "last", "-e", "3", "--json")
    assert (code, strict(out)["equal"], strict(out)["source"]["episode"]) == (0, 512, 3)
    result |= {"equal": 1, "first_difference": {"step": 2, "parts": ["reward"]}}
    assert mosaic("replay", "last", "-e", "3", "--json")[0] == 7
    result |= {"problem": "The worker has no package ale-py."}
    code, out, _ = mosaic("replay", "last", "-e", "3", "--json")
    assert (code, strict(out)["problem"]) == (1, "The worker has no package ale-py.")


def test_what_cannot_be_rebuilt_is_said(
    mosaic: Mosaic, stack: Answers, result: dict[str, Any]
) -> None:
    """A result with a problem, or none at all: in words, exit code 1, nothing on stdout."""
    result["problem"] = "The worker has no package ale-py."
    code, out, err = mosaic("replay", "last", "-e", "3", "--verify")
    assert (code, out) == (1, "")
    assert "The worker has no package ale-py." in err
    result["raises"] = ReplayFailed("The replay ended without a result: it was killed.")
    code, out, err = mosaic("replay", "last", "-e", "3", "--verify")
    assert (code, out) == (1, "")
    assert "it was killed" in err


def test_ctrl_c_stops_the_replay(mosaic: Mosaic, stack: Answers, result: dict[str, Any]) -> None:
    """What the verb has started does not go on without it."""
    result["raises"] = KeyboardInterrupt()
    code, _, err = mosaic("replay", "last", "-e", "3", "--verify")
    assert code == 130
    assert is_stopped(stack)
    assert "Stopping the replay" in err


def test_a_replay_that_another_program_started_is_not_stopped(
    mosaic: Mosaic, stack: Answers, result: dict[str, Any]
) -> None:
    """One replay of an episode serves everybody; a window may show it."""
    stack[f"{OF_RUN}/replays"] = REPLAY | {"status": 200}
    result["raises"] = KeyboardInterrupt()
    assert mosaic("replay", "last", "-e", "3", "--verify")[0] == 130
    assert not is_stopped(stack)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("3", {"episode": 3, "env": 0, "attempt": 1}),
        ("3 --env 1", {"episode": 3, "env": 1, "attempt": 1}),
        ("1", {"episode": 1, "env": 0, "attempt": 2}),
        ("1 --attempt 1", {"episode": 1, "env": 0, "attempt": 1}),
        ("best", {"episode": 3, "env": 1, "attempt": 1}),
        ("best --env 0", {"episode": 1, "env": 0, "attempt": 1}),
        ("worst", {"episode": 1, "env": 0, "attempt": 2}),
        ("median", {"episode": 2, "env": 0, "attempt": 1}),
        ("last", {"episode": 6, "env": 0, "attempt": 1}),
        ("last --env 1", {"episode": 3, "env": 1, "attempt": 1}),
    ],
)
def test_an_episode_is_named_by_number_or_by_its_return(
    mosaic: Mosaic, stack: Answers, result: dict[str, Any], words: str, meant: dict[str, int]
) -> None:
    """Among recorded episodes: by return, the newest of equal ones; `last` whether it ended or not."""
    assert mosaic("replay", "last", "--verify", "-e", *words.split())[0] == 0
    assert stack.last("POST").body == meant | {"draws": False}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("7", 4, "has no episode 7 in environment 0"),
        ("3 --env 9", 4, "has no episode 3 in environment 9"),
        ("1 --attempt 7", 4, "has no episode 1 in environment 0 of attempt 7."),
        ("last --attempt 7", 4, "has no episode with recorded steps of attempt 7."),
        ("5", 4, "No steps of episode 5 are stored"),
        ("best --env 9", 4, "no episode with an end and recorded steps"),
        ("first", 2, "a number, or best, worst, median, last"),
    ],
)
def test_an_episode_that_is_not_there_is_said(
    mosaic: Mosaic, stack: Answers, words: str, code: int, said: str
) -> None:
    """Before anything is started."""
    ended = mosaic("replay", "last", "--verify", "-e", *words.split())
    assert (ended[0], ended[1]) == (code, "")
    assert said in ended[2]
    assert not [asked for asked in stack.asked if asked.method == "POST"]


def test_without_a_display_the_terminal_verifies(
    mosaic: Mosaic, stack: Answers, result: dict[str, Any]
) -> None:
    """And says so; a run cannot be watched there, and the verb names what can be done."""
    code, out, err = mosaic("replay", "last", "-e", "3")
    assert (code, out) == (0, "verified 512 of 512 steps (generator)\n")
    assert "There is no display here" in err
    stack["/api/v1/runs"] = {"runs": [RUN | {"state": "running"}]}
    code, _, err = mosaic("watch", "last")
    assert code == 6
    assert f"`./mosaic events {RUN_ID} -f`" in err


def window(folder: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> Path:
    """A stand-in for the window's environment; gives the file that gets its options."""
    python = folder / "venvs" / "gui" / "bin" / "python"
    python.parent.mkdir(parents=True)
    seen = folder / "options.json"
    text = f"import json, sys; json.dump(sys.argv[1:], open({str(seen)!r}, 'w')); sys.exit({code})"
    python.write_text(f"#!{sys.executable}\n{text}\n")
    python.chmod(0o755)
    monkeypatch.setenv("MOSAIC_VENVS", str(folder / "venvs"))
    monkeypatch.setenv("DISPLAY", ":99")
    return seen


def test_the_window_opens_at_the_episode_or_the_run(
    mosaic: Mosaic, stack: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its options name the run, attempt, environment and episode; the replay is the window's own to start."""
    seen = window(tmp_path, monkeypatch, 0)
    assert mosaic("replay", "last", "-e", "best")[0] == 0
    assert json.loads(seen.read_text()) == ["-I", "-m", "mosaic_gui", "--replay", f"{RUN_ID}:1:1:3"]
    assert not [asked for asked in stack.asked if asked.method == "POST"]
    stack["/api/v1/runs"] = {"runs": [RUN | {"state": "running"}]}
    assert mosaic("watch", "last", "--env", "2")[0] == 0
    assert json.loads(seen.read_text())[3:] == ["--run", RUN_ID, "--watch", "--env", "2"]


def test_a_window_that_cannot_open_leaves_it_to_the_terminal(
    mosaic: Mosaic,
    stack: Answers,
    result: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A display may be named and not be there; another failure of the window is the verb's own."""
    window(tmp_path, monkeypatch, 6)
    code, out, err = mosaic("replay", "last", "-e", "3")
    assert (code, out) == (0, "verified 512 of 512 steps (generator)\n")
    assert "Verifying the episode instead." in err
    monkeypatch.setenv("MOSAIC_VENVS", str(tmp_path / "empty"))
    code, out, err = mosaic("replay", "last", "-e", "3")
    assert (code, "`./mosaic sync gui`" in err) == (0, True)
    window(tmp_path / "other", monkeypatch, 3)
    assert mosaic("replay", "last", "-e", "3")[0] == 3


def test_a_run_that_has_ended_is_replayed_and_not_watched(mosaic: Mosaic, stack: Answers) -> None:
    """The verb says which one to use."""
    code, _, err = mosaic("watch", "last")
    assert code == 1
    assert f"`./mosaic replay {RUN_ID} --episode last`" in err
