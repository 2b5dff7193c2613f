"""Replays of a real CleanRL run through the real system: verified, drawn, encoded, and exported as a dataset."""

import json
import subprocess
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from stack_under_test import PAUSE_S, VENVS, StackUnderTest, last_json, until

from mosaic_client import AsyncClient, ClientError, picture
from mosaic_contracts.clips import parse_clip_name
from mosaic_contracts.frames import EnvironmentFrame
from mosaic_contracts.runs import EpisodeRow, RunView
from mosaic_contracts.states import RunState

DECODE = """
import sys, av
with av.open(sys.argv[1]) as video:
    stream = video.streams.video[0]
    print(float(stream.average_rate), sum(1 for _ in video.decode(video=0)))
"""
LOAD = """
import json, sys, minari
dataset = minari.load_dataset(sys.argv[1])
print(json.dumps([[len(e.rewards), float(sum(e.rewards)), len(e.observations)] for e in dataset]))
"""

VALUES = """
import json, sys, minari
dataset = minari.load_dataset(sys.argv[1])
print(json.dumps([
    [e.observations.tolist(), e.actions.tolist(), e.rewards.tolist(), e.terminations.tolist()] for e in dataset
]))
"""


@pytest.fixture(scope="module")
def ended(stack: StackUnderTest, trained: RunView) -> list[EpisodeRow]:
    """Its episodes that have an end."""
    with stack.client() as client:
        return [row for row in client.each_episode(trained.run_id) if row.length is not None]


def in_exporter(stack: StackUnderTest, code: str, *words: str) -> str:
    """What a program in the exporter's environment prints."""
    command = [str(VENVS / "exporter" / "bin" / "python"), "-c", code, *words]
    return subprocess.check_output(command, env=stack.environ, text=True)


@pytest.mark.nightly(by_day=["best"])
@pytest.mark.parametrize("episode", ["0", "best", "last"])
def test_an_episode_is_rebuilt_and_every_step_is_equal(
    stack: StackUnderTest, trained: RunView, ended: list[EpisodeRow], episode: str
) -> None:
    """The first one, whose reset the script seeded; the best one; the newest, which the run's end cut off."""
    done = stack.cli("replay", trained.run_id, "--episode", episode, "--verify")
    assert done.returncode == 0, done.stderr
    words = done.stdout.split()
    assert words[0] == "verified"
    assert words[1] == words[3]
    if episode == "best":
        assert int(words[1]) == max(row.episode_return or 0 for row in ended)


@pytest.mark.nightly
def test_a_result_is_json_for_a_script(stack: StackUnderTest, trained: RunView) -> None:
    """A ReplayResult on stdout, and the run that made it is over."""
    done = stack.cli("replay", trained.run_id, "--episode", "2", "--env", "1", "--json")
    assert done.returncode == 0, done.stderr
    said = last_json(done.stdout)
    assert said["equal"] == said["steps"]
    assert said["source"] == {
        "run_id": trained.run_id, "attempt": 1, "env": 1, "episode": 2, "draws": False,
    }  # fmt: skip
    with stack.client() as client:
        entry = client.replays(trained.run_id)[0]
    assert entry.result is not None
    assert stack.wait_final(entry.run.run_id).state is RunState.SUCCEEDED


def test_a_video_has_a_frame_for_every_step(
    stack: StackUnderTest, trained: RunView, ended: list[EpisodeRow], tmp_path: Path
) -> None:
    """The reset and each step, at the environment's rate; nothing of the replay goes on afterwards."""
    best = max(ended, key=lambda row: row.episode_return or 0)
    target = tmp_path / "best.mp4"
    done = stack.cli("export", trained.run_id, "--episode", "best", "--mp4", "-o", str(target))
    assert done.returncode == 0, done.stderr
    assert best.length is not None
    rate, frames = in_exporter(stack, DECODE, str(target)).split()
    assert int(frames) == best.length + 1
    assert float(rate) > 0
    assert list(tmp_path.iterdir()) == [target]
    with stack.client() as client:
        replay = client.replays(trained.run_id)[0].run
    assert stack.wait_final(replay.run_id).state.is_final
    assert stack.processes_of(replay.run_id) == []


def test_frames_are_arrays_for_a_script(
    stack: StackUnderTest, trained: RunView, ended: list[EpisodeRow]
) -> None:
    """Every frame of an episode is exact, drawn, and belongs to its step."""
    row = next(row for row in ended if row.length and row.length > 20)
    with stack.client() as client:
        replay = client.replay(trained.run_id, row.episode, env=row.env)
        assert client.replay_result(replay.run_id, timeout_s=60).is_verified
        frames = list(client.frames(replay.run_id, every=5))
        assert [frame.step for frame in frames] == list(range(0, (row.length or 0) + 1, 5))
        assert all(frame.is_exact for frame in frames)
        pictures = [picture(frame) for frame in frames]
        assert pictures[0].shape == (400, 600, 3)
        assert any((one != pictures[0]).any() for one in pictures[1:])
        client.stop(replay.run_id)


def clip_under_way(stack: StackUnderTest, run_id: str) -> tuple[psutil.Process, Path] | None:
    """The encoder of a clip, and its file that plays already; it is halted in the middle of its work."""
    for pid in stack.processes_of(run_id):
        try:
            process = psutil.Process(pid)
            words = process.cmdline()
            if "mosaic_gymkit.clip_writer" not in words:
                continue
            process.suspend()
            file = Path(words[-2])
            if file.exists() and b"moof" in file.read_bytes():
                return process, file
            process.resume()
        except psutil.NoSuchProcess:
            continue
    return None


@pytest.mark.nightly
@pytest.mark.kill
def test_a_clip_of_a_killed_run_is_a_file_of_the_run(stack: StackUnderTest, tmp_path: Path) -> None:
    """Worker and encoder are killed in the middle of a clip: it is listed with its episode and step, and it plays."""
    view = stack.submit(
        "cleanrl", "ppo_continuous_action", "Pendulum-v1", steps=10**6, clip_every=1
    )
    encoder, file = until(
        lambda: clip_under_way(stack, view.run_id),
        "a clip is being encoded",
        120,
        longest_pause_s=PAUSE_S,
    )
    stack.kill_run_part(view.run_id, "worker")
    with suppress(psutil.NoSuchProcess):  # it ends by itself when the worker's pipe ends
        encoder.kill()
    assert stack.wait_final(view.run_id).state is RunState.CRASHED
    with stack.client() as client:
        rows = {row.path: row for row in client.artifacts(view.run_id)}
        row = rows[f"videos/{file.name}"]
        assert (row.kind, row.sha256) == ("video", None)
        assert (row.env, row.episode, row.step) == parse_clip_name(file.name)
        assert row.step is not None
        client.download(view.run_id, row.path, tmp_path / "clip.mp4")
    _, frames = in_exporter(stack, DECODE, str(tmp_path / "clip.mp4")).split()
    assert int(frames) > 0
    listed = stack.cli("artifacts", view.run_id)
    assert row.path in listed.stdout


@pytest.mark.kill
def test_a_killed_replay_is_said_and_leaves_nothing(
    stack: StackUnderTest, trained: RunView
) -> None:
    """A client that asks for its frames gets an error in words; no process of it is left."""
    with stack.client() as client:
        replay = client.replay(trained.run_id, 1, env=2)
        client.replay_result(replay.run_id, timeout_s=60)
        stack.kill_run_part(replay.run_id, "worker")
        until(lambda: client.run(replay.run_id).state.is_final, "the replay has ended", 60)
        with pytest.raises(ClientError, match="ended"):
            list(client.frames(replay.run_id))
    until(lambda: not stack.processes_of(replay.run_id), "no process of it is left", 60)


def test_a_dataset_holds_whole_episodes(
    stack: StackUnderTest, trained: RunView, ended: list[EpisodeRow], tmp_path: Path
) -> None:
    """Loaded by Minari, its episodes have the lengths and returns of the record, and an observation more than steps."""
    stack.environ["MINARI_DATASETS_PATH"] = str(tmp_path)
    done = stack.cli("export", trained.run_id, "--minari", "cartpole/ppo", "--episodes", "0-4")
    assert done.returncode == 0, done.stderr
    loaded = json.loads(in_exporter(stack, LOAD, "cartpole/ppo-v0"))
    expected = sorted(
        [row.length, row.episode_return, (row.length or 0) + 1] for row in ended if row.episode <= 4
    )
    assert sorted(loaded) == expected
    again = stack.cli("export", trained.run_id, "--minari", "cartpole/ppo")
    assert again.returncode == 1
    assert "exists" in again.stderr


@pytest.mark.nightly
def test_a_dataset_is_rebuilt_of_a_run_without_observations(
    stack: StackUnderTest, trained: RunView, tmp_path: Path
) -> None:
    """The same training at the level `replay`: the dataset has, value for value, what the level `full` recorded."""
    view = stack.submit(
        "cleanrl", "ppo", "CartPole-v1", steps=trained.spec.steps, record="replay", seed=3
    )
    assert stack.wait_final(view.run_id, within_s=180).state is RunState.SUCCEEDED
    stack.environ["MINARI_DATASETS_PATH"] = str(tmp_path)
    for run_id, name in ((trained.run_id, "full"), (view.run_id, "rebuilt")):
        done = stack.cli("export", run_id, "--minari", name, "--episodes", "0-9")
        assert done.returncode == 0, done.stderr
    assert "rebuilt by replays" in done.stderr
    full, rebuilt = (
        json.loads(in_exporter(stack, VALUES, f"{name}-v0")) for name in ("full", "rebuilt")
    )
    assert len(full) > 20
    assert sorted(full) == sorted(rebuilt)
    with stack.client() as client:
        replays = [entry.run for entry in client.replays(view.run_id)]
    assert len(replays) == 4
    assert all(replay.state is RunState.SUCCEEDED for replay in replays)


def test_steps_of_an_episode_are_lines(stack: StackUnderTest, trained: RunView) -> None:
    """Its beginning and each of its steps, with observations."""
    done = stack.cli("export", trained.run_id, "--episode", "3", "--jsonl")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["step"] for event in events[1:]] == list(range(1, len(events)))
    assert all(len(event["observation"]) == 4 for event in events)


@pytest.mark.nightly
async def test_a_running_run_is_watched_until_it_ends(stack: StackUnderTest) -> None:
    """Frames of the chosen environment come while it trains, as pictures; the iterator ends with the run."""
    view = stack.submit("cleanrl", "ppo", "CartPole-v1", steps=500_000)
    seen: list[EnvironmentFrame] = []
    async with AsyncClient(stack.client().location) as client:
        async for frame in client.watch_frames(view.run_id, env=1, fps=10):
            seen.append(frame)
            if len(seen) == 5:
                await client.stop(view.run_id)
    assert all(frame.env == 1 for frame in seen)
    assert [frame.number for frame in seen] == sorted({frame.number for frame in seen})
    assert picture(seen[0]).shape == (400, 600, 3)
    assert stack.wait_final(view.run_id).state is RunState.CANCELLED
