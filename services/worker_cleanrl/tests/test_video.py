"""Videos while training: what becomes of them, and when none can be made."""

import json
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import imageio_ffmpeg  # type: ignore[import-untyped] # it ships no types
import pytest
from tests.real_run import (
    FinishedTraining,
    episode_lines,
    finish_child,
    run,
    start_child,
    wait_for_event,
)

from mosaic_gymkit import drawing as drawing_module
from mosaic_worker_cleanrl.environment import extras as extras_module
from mosaic_worker_cleanrl.environment.rendering import Renderer, find_renderer
from mosaic_worker_cleanrl.plan import check_run
from mosaic_worker_cleanrl.plan import video as video_module
from mosaic_workerkit.testing.recorded import of_type

pytestmark = pytest.mark.timeout(240)
VIDEO = {"capture_video": True}
HOPPER = {"algorithm": "ppo_continuous_action", "environment": "Hopper-v4"}


def _videos(finished: FinishedTraining) -> list[dict[str, Any]]:
    """Artifacts of a run that are videos; each is whole."""
    found = [a for a in of_type(finished.events, "artifact") if a["kind"] == "video"]
    for one in found:
        path = finished.folder / one["path"]
        assert path.stat().st_size == one["bytes"]
        frames, seconds = imageio_ffmpeg.count_frames_and_secs(str(path))
        assert abs(frames - one["data"]["frames"]) <= 1  # moviepy rounds by time
        assert frames > 1
        assert seconds == pytest.approx(frames / one["data"]["fps"], abs=0.1)
    return found


def test_videos_are_artifacts_and_change_nothing(tmp_path: Path, make_spec: Any) -> None:
    """Videos of the first environment's first episodes are listed, whole, and the training is the same without."""
    parameters = {"learning_starts": 200, "buffer_size": 1000}
    fields = {"algorithm": "dqn", "steps": 400}
    with_video = run(tmp_path / "run", make_spec(**fields, parameters=parameters | VIDEO))
    assert with_video.code == 0, with_video.stderr
    without = run(tmp_path / "plain", make_spec(**fields, parameters=parameters))
    assert episode_lines(with_video.stdout) == episode_lines(without.stdout) != []
    videos = _videos(with_video)
    assert [v["data"]["episode"] for v in videos] == [0, 1]
    episodes = of_type(with_video.events, "episode")
    assert [v["data"]["frames"] for v in videos] == [
        episodes[v["data"]["episode"]]["length"] + 1 for v in videos
    ]
    manifest = json.loads((with_video.folder / "manifest.json").read_text())
    assert {v["path"] for v in videos} <= {entry["path"] for entry in manifest["artifacts"]}
    assert _videos(without) == []


@pytest.mark.nightly(by_day=["fields1-parameters1"])
@pytest.mark.parametrize(
    ("fields", "parameters"),
    [
        (HOPPER, {}),  # MuJoCo draws by OpenGL
        ({"algorithm": "ppo", "environment": "LunarLander-v2"}, {}),  # a script for the old gym
        (
            {"algorithm": "dqn_atari", "environment": "PongNoFrameskip-v4"},
            {"buffer_size": 500},
        ),
    ],
)
def test_a_stop_keeps_the_video_begun(
    tmp_path: Path, make_spec: Any, fields: dict[str, Any], parameters: dict[str, Any]
) -> None:
    """A run that is stopped in the middle of an episode has its video up to there."""
    if fields is HOPPER and find_renderer("Hopper-v4").problem:
        pytest.skip("no OpenGL without a screen on this machine")
    folder = tmp_path / "run"
    child = start_child(folder, make_spec(**fields, parameters=parameters | VIDEO))
    wait_for_event(folder, "step", child.is_alive)
    child.terminate()
    finished = finish_child(child, folder)
    assert finished.code == 0, finished.stderr
    assert len(_videos(finished)) >= 1
    assert of_type(finished.events, "lifecycle")[-1]["phase"] == "stopped"


def test_without_the_bundle_the_command_is_named(
    make_spec: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without moviepy videos are refused with what to run, in a checkout and in an image."""

    def known(package: str) -> Distribution:
        if package == "moviepy":
            raise PackageNotFoundError(package)
        return distribution(package)

    monkeypatch.setattr(extras_module, "distribution", known)
    spec = make_spec(steps=512, parameters=VIDEO)
    (found,) = check_run(spec).findings
    assert (found.level, found.where) == ("blocking", "parameters.capture_video")
    assert "Run ./mosaic sync worker_cleanrl --bundle video and" in found.message
    monkeypatch.setenv("MOSAIC_IMAGE_BUNDLES", "box2d mujoco")
    (found,) = check_run(spec).findings
    wanted = 'MOSAIC_BUNDLES="box2d mujoco video" ./mosaic images build worker_cleanrl'
    assert wanted in found.message


def test_no_opengl_is_told_before_the_run(make_spec: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A MuJoCo video is refused where no picture can be drawn, with what OpenGL said and what to install."""
    monkeypatch.setattr(drawing_module, "_WITHOUT_SCREEN", ("none_such",))
    (found,) = check_run(make_spec(**HOPPER, steps=2048, parameters=VIDEO)).findings
    assert (found.level, found.where) == ("blocking", "parameters.capture_video")
    assert "(none_such: " in found.message
    assert "libosmesa6" in found.message
    assert "leave `capture_video` off" in found.message


def test_the_opengl_that_works_is_taken(make_spec: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan names the OpenGL by which the pictures will be made."""
    monkeypatch.setattr(video_module, "find_renderer", lambda _name: Renderer("osmesa"))
    assert check_run(make_spec(**HOPPER, steps=2048, parameters=VIDEO)).plan["gl"] == "osmesa"
    monkeypatch.setattr(video_module, "find_renderer", lambda _name: Renderer())
    assert check_run(make_spec(steps=512, parameters=VIDEO)).plan["gl"] is None


@pytest.mark.nightly
def test_clips_are_files_of_the_run(make_spec: Any, tmp_path: Path) -> None:
    """Every tenth episode of the first environment is a video that was announced; the training is the same."""
    plain = run(tmp_path / "plain", make_spec(steps=1024))
    seen = run(tmp_path / "seen", make_spec(steps=1024, clip_every=10))
    returns = [
        [e["episode_return"] for e in of_type(one.events, "episode")] for one in (plain, seen)
    ]
    assert returns[0] == returns[1]
    clips = [event for event in of_type(seen.events, "artifact") if event["kind"] == "video"]
    assert clips
    assert all(clip["data"]["env"] == 0 and clip["data"]["episode"] % 10 == 0 for clip in clips)
    assert all((tmp_path / "seen" / clip["path"]).stat().st_size > 1000 for clip in clips)


def test_clips_of_nothing_recorded_are_refused(make_spec: Any) -> None:
    """Without recorded episodes there is no number by which an episode is chosen."""
    (found,) = check_run(make_spec(steps=1024, clip_every=10, record="metrics")).findings
    assert (found.level, found.where) == ("blocking", "clip_every")
