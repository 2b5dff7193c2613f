"""Comparisons on the real stack: checkpoints, a person's stand-in, random actions; reused, failed and stopped."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from stack_under_test import VENVS, StackUnderTest, until

from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState


@pytest.fixture(scope="module")
def trained(stack: StackUnderTest) -> RunView:
    """One finished PPO run."""
    view = stack.submit("cleanrl", "ppo", "CartPole-v1", steps=1_024, record="episodes", seed=3)
    view = stack.wait_final(view.run_id, within_s=180)
    assert view.state is RunState.SUCCEEDED, view.end
    return view


def compared(stack: StackUnderTest, *words: str) -> dict[str, Any]:
    """The result that `compare --json` prints."""
    done = stack.cli("compare", *words, "--json", timeout_s=240)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def result_of_comparer(stack: StackUnderTest, trained: RunView, folder: Path) -> dict[str, Any]:
    """What the program that a window starts makes of the same actors: each episode has its place."""
    plan = {
        "actors": [{"run": trained.run_id, "name": "newest"}, f"{trained.run_id}@best", "random"],
        "episodes": 6,
        "seed": 5,
        "score_range": {"high": 500},
    }
    with stack.client() as client:
        at = client.location
        order = {
            "stack": {"url": at.url, "token": at.token},
            "comparison": {"kind": "policies", "plan": plan},
            "folder": str(folder),
        }
    python = str(VENVS / "analysis" / "bin" / "python")
    with subprocess.Popen(
        [python, "-I", "-m", "mosaic_analysis.comparer"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write(json.dumps(order) + "\n")
        program.stdin.flush()
        lines = [json.loads(line) for line in program.stdout]
    assert all(row["is_reused"] for row in lines[0]["progress"])
    assert (folder / "picture-dark.png").is_file()
    result: dict[str, Any] = lines[-1]["policies"]
    places = [actor["places"] for actor in result["document"]["actors"]]
    assert places == [[[1, 0, n] for n in range(6)]] * 3
    return result


@pytest.mark.nightly
def test_two_checkpoints_and_chance_on_equal_seeds(
    stack: StackUnderTest, trained: RunView, tmp_path: Path
) -> None:
    """Each is evaluated once, all are paired though their versions of Gymnasium differ; files and a second call."""
    file = tmp_path / "compare.yaml"
    file.write_text(
        f"episodes: 6\nseed: 5\nscore_range: {{high: 500}}\n"
        f"actors: [{{run: {trained.run_id}, name: newest}}, {trained.run_id}@best, random]\n"
    )
    result = compared(stack, str(file), "-o", str(tmp_path / "out"))
    assert [actor["name"] for actor in result["actors"]] == ["newest", "ppo best", "random"]
    assert [pair["seeds"] for pair in result["pairs"]] == [6, 6, 6]
    assert any(note.startswith("Too few seeds: with 6") for note in result["notes"])
    assert {each.name for each in (tmp_path / "out").iterdir()} == {
        "result.json", "table.md", "table.tex", "picture.svg", "picture.png",
    }  # fmt: skip
    given = {actor["name"]: actor for actor in result["document"]["actors"]}
    with stack.client() as client:
        evaluation = client.run(given["newest"]["run_id"])
        rows = list(client.each_episode(evaluation.run_id))
    assert (evaluation.spec.kind, evaluation.spec.parent) == ("evaluate", trained.run_id)
    assert [row.episode_return for row in rows] == given["newest"]["returns"]
    again = compared(stack, str(file))
    assert [actor["is_reused"] for actor in again["document"]["actors"]] == [True] * 3
    assert again["pairs"] == result["pairs"]
    assert result_of_comparer(stack, trained, tmp_path / "window")["pairs"] == result["pairs"]
    other = compared(stack, trained.run_id, given["random"]["run_id"], "-n", "6", "--seed", "5")
    assert other["pairs"][0]["mean_difference"] == result["pairs"][1]["mean_difference"]


@pytest.mark.nightly
def test_a_training_on_the_cpu_is_reproduced(stack: StackUnderTest, trained: RunView) -> None:
    """PPO comes out identical; with another number of threads that is what is named."""
    done = stack.cli("reproduce", trained.run_id, "--json", timeout_s=180)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout)
    assert result["verdict"] == "identical"
    assert result["surroundings"] == []
    assert result["checkpoints"]
    assert all(checkpoint["is_equal"] for checkpoint in result["checkpoints"])
    other = stack.submit(
        "cleanrl", "ppo", "CartPole-v1", steps=1_024, record="episodes", seed=8, cpus=2
    )
    stack.wait_final(other.run_id, within_s=180)
    done = stack.cli("reproduce", trained.run_id, "--with", other.run_id, timeout_s=180)
    assert done.returncode in (7, 8)
    assert "not identical from episode " in done.stdout
    assert "surroundings.threads: 1; now 2" in done.stdout


def test_an_actor_that_fails_is_left_out(stack: StackUnderTest, trained: RunView) -> None:
    """A checkpoint that was altered after its training; the others are compared, and the exit code says it."""
    damaged = stack.run_dir(trained.run_id) / "checkpoints/best.pt"
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2] ^= 255
    damaged.write_bytes(data)
    words = (f"{trained.run_id}@best", trained.run_id, "random", "-n", "6", "--seed", "5")
    done = stack.cli("compare", *words, "--again", timeout_s=240)
    assert done.returncode == 1, done.stderr
    assert "ppo best is left out" in done.stderr
    assert "random" in done.stdout


@pytest.mark.nightly
def test_ctrl_c_stops_the_evaluations(stack: StackUnderTest, trained: RunView) -> None:
    """Nothing of them goes on."""
    python = str(VENVS / "cli" / "bin" / "python")
    command = [python, "-m", "mosaic_cli", "compare", trained.run_id, "random"]
    with (
        subprocess.Popen(
            [*command, "-n", "100000"], env=stack.environ, stderr=subprocess.PIPE, text=True
        ) as program,
        stack.client() as client,
    ):
        until(lambda: len(client.runs(state="running", kind="evaluate").runs) == 2, "both act", 90)
        program.send_signal(signal.SIGINT)
        assert program.wait(120) == 130
        assert client.runs(state=["queued", "starting", "running"], kind="evaluate").runs == []
