"""`export` of single episodes against a stand-in stack and a stand-in exporter."""

import importlib
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
from tests.test_replay import EQUAL, row

VERDICT = {
    **EQUAL, "source": {"run_id": RUN_ID, "attempt": 1, "env": 0, "episode": 3, "draws": True},
}  # fmt: skip
MADE = {
    "file": "a.mp4", "frames": 513, "fps": 25.0, "width": 600, "height": 400, "replay": VERDICT,
}  # fmt: skip
PROGRESS = {"progress": {"phase": "drawing", "done": 1, "total": 513}}
PROGRAM = """#!{python}
import json, os, signal, sys, time
order = sys.stdin.readline()
json.dump({{"words": sys.argv[1:], "order": json.loads(order), "pid": os.getpid()}}, open({seen!r}, "w"))
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


def asked(seen: Path) -> dict[str, Any]:
    """What the exporter was asked to make."""
    export: dict[str, Any] = json.loads(seen.read_text())["order"]["export"]
    return export


def test_a_video_is_ordered_and_reported(
    mosaic: Mosaic, stack: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exporter gets stack, episode and file, its token on no command line; its report is put into words."""
    seen = exporter(tmp_path, monkeypatch, PROGRESS, {"video": MADE})
    code, out, err = mosaic("export", "last", "-e", "3", "--mp4", "--speed", "2")
    assert (code, out) == (0, "")
    name = f"{RUN_ID}-env0-episode3.mp4"
    assert "Episode 3: verified 512 of 512 steps (generator)." in err
    assert f"{name}: 513 frames of 600x400 pixels, 25 a second." in err
    given = json.loads(seen.read_text())
    assert given["words"][-2:] == ["-m", "mosaic_exporter"]
    assert given["order"]["stack"]["url"] == stack.url
    assert given["order"]["stack"]["token"]
    export = asked(seen)
    assert export["episode"] == {"run_id": RUN_ID, "attempt": 1, "env": 0, "episode": 3}
    assert (export["target"], export["form"], export["speed"]) == (str(tmp_path / name), "mp4", 2.0)
    assert export["title"].endswith("episode 3, return 200")


def test_approximate_frames_are_named(
    mosaic: Mosaic, stack: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A video of an episode that differs is made, and says from which step on."""
    differs = {"equal": 16, "first_difference": {"step": 17, "parts": ["observation"]}}
    made = MADE | {"approximate_from": 17, "without_picture": 2, "every": 2}
    exporter(tmp_path, monkeypatch, {"video": {**made, "replay": VERDICT | differs}})
    code, _, err = mosaic("export", "last", "-e", "3", "--gif", "-o", "a.gif")
    assert code == 0
    assert "equal 16 of 512 steps (generator)" in err
    assert "one frame for 2 steps" in err
    assert "Frames from step 17 on are approximate" in err
    assert "2 frames had no picture" in err


def test_what_the_exporter_cannot_do_is_said(
    mosaic: Mosaic, stack: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its own words, with the exit code of what the stack refused; an exporter that breaks is said, too."""
    exporter(tmp_path, monkeypatch, {"problem": "The video cannot be encoded."}, code=1)
    code, _, err = mosaic("export", "last", "-e", "3", "--mp4")
    assert (code, "The video cannot be encoded." in err) == (1, True)
    refusal = {"problem": "It cannot replay.", "code": "replay_impossible"}
    exporter(tmp_path, monkeypatch, refusal, code=1)
    assert mosaic("export", "last", "-e", "3", "--mp4")[0] == 2
    exporter(tmp_path, monkeypatch, code=9)
    assert "ended with exit code 9" in mosaic("export", "last", "-e", "3", "--mp4")[2]


def test_a_file_that_cannot_be_written_is_said_before_anything_starts(
    mosaic: Mosaic, stack: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device, a folder, a missing folder."""
    seen = exporter(tmp_path, monkeypatch, {"video": MADE})
    for target in ("/dev/null", str(tmp_path), str(tmp_path / "none" / "a.mp4")):
        code, _, err = mosaic("export", "last", "-e", "3", "--mp4", "-o", target)
        assert (code, "cannot be written" in err) == (2, True)
    assert not seen.exists()


def test_a_missing_environment_is_named(
    mosaic: Mosaic, stack: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`./mosaic` makes it; any other program gets the command for it."""
    monkeypatch.setenv("MOSAIC_VENVS", str(tmp_path / "empty"))
    code, _, err = mosaic("export", "last", "-e", "3", "--mp4")
    assert (code, "`./mosaic sync exporter`" in err) == (6, True)


def test_ctrl_c_ends_the_exporter(
    mosaic: Mosaic, stack: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that the verb has started goes on."""
    seen = exporter(tmp_path, monkeypatch, PROGRESS, waits=True)
    # Python drops a Ctrl-C that comes while it cleans up after an import, and the bar would be imported just then
    importlib.import_module("rich.progress")

    def press() -> None:
        while not (seen.exists() and seen.read_text().endswith("}")):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    code, _, _ = mosaic("export", "last", "-e", "3", "--mp4")
    presser.join()
    assert code == 130
    assert not Path(f"/proc/{json.loads(seen.read_text())['pid']}").exists()


def test_a_dataset_names_its_episodes(
    mosaic: Mosaic, stack: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranges are part of the order; what was left out is counted."""
    made = {
        "name": "a-v0", "folder": "/data/a-v0", "episodes": 2, "steps": 30, "is_rebuilt": True,
        "left_out": [[1, 0, 9]], "unverified": [[1, 0, 7], [1, 0, 8]],
    }  # fmt: skip
    seen = exporter(tmp_path, monkeypatch, {"dataset": made})
    code, _, err = mosaic("export", "last", "--minari", "a", "--episodes", "1-50, 70", "--env", "0")
    assert code == 0
    export = asked(seen)
    assert (export["run_id"], export["name"]) == (RUN_ID, "a-v0")
    parts = [(part["first"], part["last"], part["env"]) for part in export["ranges"]]
    assert parts == [(1, 50, 0), (70, 70, 0)]
    assert "Minari dataset a-v0: 2 episodes with 30 steps, rebuilt by replays, in /data/a-v0" in err
    assert "Left out: 1 episode without a recorded end" in err
    assert "Left out: 2 episodes whose rebuilt steps differ" in err
    code, _, err = mosaic("export", "last", "--minari", "a", "--allow-unverified")
    assert (asked(seen)["ranges"], asked(seen)["allow_unverified"]) == ([], True)
    assert "Kept: 2 episodes whose rebuilt steps differ" in err


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
        ("--minari a,b", "is no name of a dataset"),
        ("-e 3 --mp4 --allow-unverified", "--allow-unverified goes with"),
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
