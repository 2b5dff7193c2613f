"""TensorBoard of real CleanRL runs, through the gateway of a real stack: the curves that MOSAIC itself has."""

import concurrent.futures
import json
import math
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx
import pytest
from stack_under_test import VENVS, StackUnderTest, last_json, until

from mosaic_client import RunEnded
from mosaic_contracts.runs import DashboardEntry, RunView
from mosaic_contracts.states import RunState

METRIC = "charts/episodic_return"
READ = """
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
found = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
found.Reload()
points = [[event.step, event.value, event.wall_time] for event in found.Scalars(sys.argv[2])]
print(json.dumps([points, list(found.PluginTagToContent("hparams")), found.Tags()["tensors"]]))
"""


@pytest.fixture(scope="module")
def without_files(stack: StackUnderTest) -> RunView:
    """A finished training that wrote no event files."""
    view = stack.submit(
        "cleanrl", "ppo", "CartPole-v1", steps=1_024, parameters={"tensorboard": False}
    )
    view = stack.wait_final(view.run_id, within_s=180)
    assert view.state is RunState.SUCCEEDED, view.end
    return view


@contextmanager
def opened(entry: DashboardEntry) -> Iterator["OpenBoard"]:
    """A browser at a TensorBoard."""
    board = OpenBoard(entry)
    try:
        yield board
    finally:
        board.http.close()


class OpenBoard:
    """TensorBoard's own HTTP API, as a browser that opened the link asks it."""

    def __init__(self, entry: DashboardEntry) -> None:
        self.run_id = entry.run.run_id
        self.http = httpx.Client(base_url=entry.url.partition("?")[0], trust_env=False, timeout=60)
        opened = self.http.get(entry.url)
        assert opened.status_code == 200, opened.text
        assert self.http.cookies
        assert "<title>TensorBoard" in self.http.get("").text

    def curve(self, run: str) -> list[list[float]]:
        """Points of the metric as TensorBoard has them: wall time, step, value."""
        query = {"run": run, "tag": METRIC}
        found: list[list[float]] = self.http.get("data/plugin/scalars/scalars", params=query).json()
        return found

    def has_all(self, run: str, points: int) -> bool:
        """Whether TensorBoard has read all points of a run."""
        tags = self.http.get("data/plugin/scalars/tags").json()
        return METRIC in tags.get(run, {}) and len(self.curve(run)) == points


def stored(stack: StackUnderTest, run: RunView) -> list[tuple[int, float]]:
    """The same metric as MOSAIC has it."""
    done = stack.cli("metrics", run.run_id, METRIC, "--json", "--buckets", "10000")
    assert done.returncode == 0, done.stderr
    with stack.client() as client:
        events = client.live_events(run.run_id, types=["metric"])
        points = [(e["step"], float(e["value"])) for e in events if e["name"] == METRIC]
    assert last_json(done.stdout)["points"] == len(points)
    return points


@pytest.mark.nightly
def test_both_curves_are_those_of_the_store(
    stack: StackUnderTest, trained: RunView, without_files: RunView
) -> None:
    """A run with event files and one without, point by point; two callers at once get one TensorBoard."""
    run_ids = [trained.run_id, without_files.run_id]

    def open_one(_: int) -> DashboardEntry:
        with stack.client() as client:
            return client.tensorboard(run_ids)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        first, second = pool.map(open_one, range(2))
    assert first.run.run_id == second.run.run_id
    with opened(first) as board:
        for run in (trained, without_files):
            expected = stored(stack, run)
            whole = partial(board.has_all, run.name, len(expected))
            until(whole, "all points are read", 60)
            got = [(int(step), value) for _, step, value in board.curve(run.name)]
            assert [step for step, _ in got] == [step for step, _ in expected]
            assert all(
                math.isclose(a, b, rel_tol=1e-6)
                for (_, a), (_, b) in zip(got, expected, strict=True)
            )
        with stack.client() as client:
            listed = {view.run_id for view in client.runs().runs}
            assert board.run_id not in listed
            client.stop(board.run_id)
        assert stack.wait_final(board.run_id).state is RunState.CANCELLED
        assert board.http.get("data/runs").status_code == 409


def test_an_exported_event_file_has_the_same_curve(
    stack: StackUnderTest, trained: RunView, tmp_path: Path
) -> None:
    """Values, steps and wall times, configuration and hyperparameters; an existing folder is not written over."""
    target = tmp_path / "board"
    words = ("export", trained.run_id, "--tensorboard", "-o", str(target))
    done = stack.cli(*words)
    assert done.returncode == 0, done.stderr
    python = str(VENVS / "worker_cleanrl" / "bin" / "python")
    said = subprocess.check_output([python, "-c", READ, str(target), METRIC], text=True)
    points, hparams, texts = json.loads(said.splitlines()[-1])
    expected = stored(stack, trained)
    assert [step for step, _, _ in points] == [step for step, _ in expected]
    pairs = zip(points, expected, strict=True)
    assert all(math.isclose(got[1], want[1], rel_tol=1e-6) for got, want in pairs)
    assert all(1e9 < time < 1e10 for _, _, time in points)
    assert "_hparams_/session_start_info" in hparams
    assert "config/text_summary" in texts
    again = stack.cli(*words)
    assert (again.returncode, "not empty" in again.stderr) == (1, True)
    assert [place.name for place in tmp_path.iterdir()] == ["board"]


@pytest.mark.kill
def test_a_killed_one_says_so_and_a_new_one_starts(stack: StackUnderTest, trained: RunView) -> None:
    """kill -9 of its worker: its page and the client say why, and the same selection opens another one."""
    with stack.client() as client:
        entry = client.tensorboard([trained.run_id])
        with opened(entry) as board:
            stack.kill_run_part(board.run_id, "worker")
            assert stack.wait_final(board.run_id).state is RunState.CRASHED
            refused = board.http.get("data/runs")
        assert refused.json()["code"] == "run_ended"
        assert "SIGKILL" in refused.json()["detail"]
        with pytest.raises(RunEnded, match="SIGKILL"):
            client.tensorboard_entry(board.run_id)
        again = client.tensorboard([trained.run_id])
        assert again.run.run_id != board.run_id
    assert stack.cli("tensorboard", trained.run_id, "--stop").returncode == 0
    assert stack.wait_final(again.run.run_id).state is RunState.CANCELLED
