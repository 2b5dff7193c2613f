"""Clips of episodes: complete files, announced, encoded by another process, and no change of the run."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import suppress
from pathlib import Path

import av
import numpy as np
from tests.odd_environments import Canvas, register_odd
from tests.recorded_run import record_random

from mosaic_contracts.clips import parse_clip_name
from mosaic_gymkit import EnvironmentRun
from mosaic_gymkit.clips import MAX_CLIP_FRAMES
from mosaic_workerkit.testing.recorded import of_type


def frames_of(path: Path) -> int:
    """Number of pictures that a player finds."""
    with av.open(str(path)) as video:
        return sum(1 for _ in video.decode(video=0))


def wait_for_frames(path: Path, count: int) -> None:
    """Wait until a file that is being written has so many: the encoder is behind where the cores are busy."""
    end = time.monotonic() + 60
    found = 0
    while found < count:
        assert time.monotonic() < end, found
        time.sleep(0.05)
        with suppress(av.FFmpegError):  # it has no beginning yet
            found = frames_of(path)


def test_every_second_episode_is_a_video(tmp_path: Path) -> None:
    """Files of the run with episode, frames and rate; the recorded steps are those of a run without clips."""
    plain = record_random(tmp_path / "plain", "CartPole-v1", steps=120)
    seen = record_random(tmp_path / "run", "CartPole-v1", steps=120, clip_every=2)
    hashes = [[event["hash"] for event in of_type(run, "step")] for run in (plain, seen)]
    assert hashes[0] == hashes[1]
    lengths = {event["episode"]: event["length"] for event in of_type(seen, "episode")}
    clips = {event["data"]["episode"]: event for event in of_type(seen, "artifact")}
    assert 0 in clips
    assert all(episode % 2 == 0 for episode in clips)
    for episode, clip in clips.items():
        if episode in lengths:
            assert clip["data"]["frames"] == min(lengths[episode] + 1, MAX_CLIP_FRAMES)
        assert frames_of(tmp_path / "run" / clip["path"]) == clip["data"]["frames"]
        assert clip["kind"] == "video"
        shown = parse_clip_name(Path(clip["path"]).name)
        assert shown == (clip["data"]["env"], episode, clip["data"]["step"])
    begun = {event["episode"]: event["global_step"] for event in of_type(seen, "episode")}
    assert all(clips[n]["data"]["step"] == begun.get(n - 1, 0) for n in clips)


def test_a_long_episode_is_cut(tmp_path: Path) -> None:
    """A clip holds the first 200 frames."""
    register_odd()
    Canvas.picture = np.full((16, 16, 3), 9, np.uint8)
    steps = MAX_CLIP_FRAMES + 20
    events = record_random(tmp_path / "run", "Canvas-v0", steps=steps, clip_every=1)
    (clip,) = of_type(events, "artifact")
    assert clip["data"]["frames"] == MAX_CLIP_FRAMES
    assert frames_of(tmp_path / "run" / clip["path"]) == MAX_CLIP_FRAMES


def test_a_killed_run_leaves_a_video_that_plays(tmp_path: Path) -> None:
    """After `kill -9` of a run in the middle of a clip, the file plays up to about there."""
    program = f"""
        import sys, time
        from pathlib import Path
        from tests.recorded_run import context_in
        from mosaic_gymkit import EnvironmentRun
        context, telemetry = context_in(Path({str(tmp_path / "run")!r}), "Pendulum-v1", clip_every=1)
        run = EnvironmentRun(context)
        env = run.make("Pendulum-v1")
        run.record_config({{}}, env)
        env.reset(seed=1)
        for step in range(5 + 75):
            env.step(env.action_space.sample())
            if step == 4:
                env.reset()
            time.sleep(0.01)
        print(run._clips._clips._clip._process.pid, flush=True)
        time.sleep(60)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[1],
    )
    assert process.stdout is not None
    encoder = int(process.stdout.readline())
    video = max((tmp_path / "run" / "videos").iterdir())
    wait_for_frames(video, 30)
    for pid in (process.pid, encoder):  # as the runner ends everything of a run
        os.kill(pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert parse_clip_name(video.name) == (0, 1, 5)
    assert 30 <= frames_of(video) <= 76


def test_no_room_for_a_clip_costs_no_training(tmp_path: Path) -> None:
    """A place that takes no file: the run warns, records all its steps, and ends as usual."""

    def block(_run: EnvironmentRun) -> None:
        (tmp_path / "run" / "videos").write_text("in the way")

    events = record_random(tmp_path / "run", "CartPole-v1", steps=60, clip_every=1, before=block)
    assert len(of_type(events, "step")) == 60
    assert ["There are no more clips" in event["message"] for event in of_type(events, "log")] == [
        True
    ]


def test_an_encoder_imports_no_environments() -> None:
    """It starts for each clip, and would wait for the import of gymnasium longer than for its own."""
    code = (
        "import sys, mosaic_gymkit.clip_writer\n"
        "assert not {'gymnasium', 'pydantic', 'mosaic_gymkit.run'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
