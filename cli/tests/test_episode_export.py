"""`export` of single episodes against a stand-in stack and a stand-in exporter."""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.gateway_double import OF_RUN, RUN_ID, Answers, Mosaic, strict
from tests.test_replay import EQUAL, REPLAY, REPLAY_ID, is_stopped, result, row

__all__ = ["result"]  # a fixture
MADE = {
    "frames": 513, "fps": 25.0, "every": 1, "width": 600, "height": 400, "approximate_from": None,
    "without_picture": 0,
}  # fmt: skip
PROGRAM = """#!{python}
import json, os, signal, sys, time
json.dump({{"words": sys.argv[1:], "pid": os.getpid()}}, open({seen!r}, "w"))
for said in {says!r}:
    print(json.dumps(said), flush=True)
if {waits!r}:
    time.sleep(30)
sys.exit({code!r})
"""


@pytest.fixture
def stack(answers: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Answers:
    """A stack with a run of one episode."""
    answers[f"{OF_RUN}/episodes"] = {"episodes": [row(3, 200.0)]}
    answers[f"{OF_RUN}/replays"] = REPLAY
    answers[f"/api/v1/runs/{REPLAY_ID}/stop"] = REPLAY
    steps = [
        {"type": "episode_start", "attempt": 1, "source": "worker", "seq": 2, "episode": 3},
        {"type": "step", "attempt": 1, "source": "worker", "seq": 3, "reward": "NaN", "action": 1},
    ]
    answers[f"{OF_RUN}/episodes/1/0/3/steps"] = {"events": steps, "cursor": "", "has_more": False}
    monkeypatch.chdir(tmp_path)
    return answers


def exporter(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *says: dict[str, Any],
    code: int = 0,
    waits: bool = False,
) -> Path:
    """A stand-in for the exporter's environment; gives the file that gets its command line."""
    python = folder / "venvs" / "exporter" / "bin" / "python"
    python.parent.mkdir(parents=True, exist_ok=True)
    seen = folder / "seen.json"
    python.write_text(
        PROGRAM.format(python=sys.executable, seen=str(seen), says=says, waits=waits, code=code)
    )
    python.chmod(0o755)
    monkeypatch.setenv("MOSAIC_VENVS", str(folder / "venvs"))
    return seen


def test_the_steps_of_one_episode_are_lines(mosaic: Mosaic, stack: Answers, tmp_path: Path) -> None:
    """On stdout or in a file, beginning first, strict JSON."""
    code, out, err = mosaic("export", "last", "--episode", "3")
    assert [strict(line)["type"] for line in out.splitlines()] == ["episode_start", "step"]
    assert (code, strict(out.splitlines()[1])["reward"]) == (0, "NaN")
    assert "1 step of episode 3 written to stdout." in err
    assert mosaic("export", "last", "-e", "best", "--jsonl", "-o", "steps.jsonl")[:2] == (0, "")
    assert (tmp_path / "steps.jsonl").read_text() == out


def test_a_video_is_made_of_a_replay(
    mosaic: Mosaic,
    stack: Answers,
    result: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The replay draws and is stopped afterwards; the exporter gets the environment's own frame rate."""
    seen = exporter(tmp_path, monkeypatch, {"done": 1, "total": 513}, {"result": MADE})
    result["fps"] = 25
    code, out, err = mosaic("export", "last", "-e", "3", "--mp4", "--speed", "2")
    assert (code, out) == (0, "")
    name = f"{RUN_ID}-env0-episode3.mp4"
    assert "Episode 3: verified 512 of 512 steps (generator)." in err
    assert f"{name}: 513 frames of 600x400 pixels, 25 a second." in err
    words = json.loads(seen.read_text())["words"]
    assert words[:5] == ["-I", "-m", "mosaic_exporter", "video", REPLAY_ID]
    assert words[5:12] == [str(tmp_path / name), "--form", "mp4", "--fps", "25.0", "--speed", "2.0"]
    assert "episode 3, return 200, verified 512 of 512" in words[-1]
    assert stack.last("POST").path.endswith("/stop")
    assert [asked.body for asked in stack.asked if asked.path.endswith("/replays")] == [
        {"episode": 3, "env": 0, "attempt": 1, "draws": True}
    ]


def test_approximate_frames_are_named(
    mosaic: Mosaic,
    stack: Answers,
    result: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A video of an episode that differs is made, and says from which step on."""
    result |= {"equal": 16, "first_difference": {"step": 17, "parts": ["observation"]}}
    made = MADE | {"approximate_from": 17, "without_picture": 2, "every": 2}
    exporter(tmp_path, monkeypatch, {"result": made})
    code, _, err = mosaic("export", "last", "-e", "3", "--gif", "-o", "a.gif")
    assert code == 0
    assert "equal 16 of 512 steps (generator)" in err
    assert "one frame for 2 steps" in err
    assert "Frames from step 17 on are approximate" in err
    assert "2 frames had no picture" in err


def test_what_cannot_be_drawn_or_encoded_is_said(
    mosaic: Mosaic,
    stack: Answers,
    result: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the words of the worker or of the exporter; the replay is stopped."""
    exporter(tmp_path, monkeypatch, {"problem": "The video cannot be encoded."}, code=1)
    code, _, err = mosaic("export", "last", "-e", "3", "--mp4")
    assert (code, "The video cannot be encoded." in err) == (1, True)
    assert is_stopped(stack)
    exporter(tmp_path, monkeypatch, code=9)
    assert "ended with exit code 9" in mosaic("export", "last", "-e", "3", "--mp4")[2]
    result |= {"can_draw": False, "drawing_problem": "It has no rgb_array."}
    code, _, err = mosaic("export", "last", "-e", "3", "--mp4")
    assert (code, "It has no rgb_array." in err) == (1, True)


def test_a_file_that_cannot_be_written_is_said_before_anything_starts(
    mosaic: Mosaic, stack: Answers, tmp_path: Path
) -> None:
    """A device, a folder, a missing folder."""
    for target in ("/dev/null", str(tmp_path), str(tmp_path / "none" / "a.mp4")):
        code, _, err = mosaic("export", "last", "-e", "3", "--mp4", "-o", target)
        assert (code, "cannot be written" in err) == (2, True)
    assert not [asked for asked in stack.asked if asked.method == "POST"]


def test_a_missing_environment_is_named(
    mosaic: Mosaic,
    stack: Answers,
    result: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`./mosaic` makes it; any other program gets the command for it."""
    monkeypatch.setenv("MOSAIC_VENVS", str(tmp_path / "empty"))
    code, _, err = mosaic("export", "last", "-e", "3", "--mp4")
    assert (code, "`./mosaic sync exporter`" in err) == (6, True)


def test_ctrl_c_ends_the_exporter_and_the_replay(
    mosaic: Mosaic,
    stack: Answers,
    result: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing that the verb has started goes on."""
    seen = exporter(tmp_path, monkeypatch, {"done": 1, "total": 513}, waits=True)

    def press() -> None:
        while not (seen.exists() and seen.read_text().endswith("}")):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    code, _, _ = mosaic("export", "last", "-e", "3", "--mp4")
    presser.join()
    assert code == 130
    assert is_stopped(stack)
    assert not Path(f"/proc/{json.loads(seen.read_text())['pid']}").exists()


def test_a_dataset_names_its_episodes(
    mosaic: Mosaic, stack: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranges go to the exporter as they are; what was left out is counted."""
    made = {
        "name": "a-v0",
        "folder": "/data/a-v0",
        "episodes": 2,
        "steps": 30,
        "left_out": [[1, 0, 9]],
    }
    seen = exporter(tmp_path, monkeypatch, {"result": made})
    code, _, err = mosaic("export", "last", "--minari", "a", "--episodes", "1-50, 70", "--env", "0")
    assert code == 0
    assert json.loads(seen.read_text())["words"][3:] == [
        "minari", RUN_ID, "a", "--env", "0", "--episodes", "1-50", "70"
    ]  # fmt: skip
    assert "Minari dataset a-v0: 2 episodes with 30 steps in /data/a-v0" in err
    assert "Left out: 1 episode without a recorded end" in err
    mosaic("export", "last", "--minari", "a", "--episodes", "all")
    assert json.loads(seen.read_text())["words"][3:] == ["minari", RUN_ID, "a"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--mp4", "name it, e.g. --episode best"),
        ("--mp4 --gif -e 3", "either --mp4 or --gif"),
        ("-e 3 --parquet -o x", "--episode goes with"),
        ("-e 3 --minari a", "--episode goes with"),
        ("-e 3 --types step", "--types goes with"),
        ("--speed 2", "--speed goes with"),
        ("--episodes 1-2", "--episodes goes with"),
        ("--env 1", "--env goes with"),
        ("--attempt 1", "--attempt goes with"),
        ("--minari a -o x", "MINARI_DATASETS_PATH"),
        ("--minari a --episodes 9-3", "takes numbers and ranges"),
        ("--minari a --episodes some", "takes numbers and ranges"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    mosaic: Mosaic, stack: Answers, words: str, said: str
) -> None:
    """With what they go with."""
    code, _, err = mosaic("export", "last", *words.split())
    assert (code, said in err) == (2, True)


def test_the_double_is_a_verified_episode() -> None:
    """What the tests above call verified."""
    assert EQUAL["steps"] == EQUAL["equal"]
