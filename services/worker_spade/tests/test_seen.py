"""What can be seen of a run: its episodes rebuilt and proved equal, and its steps while it is watched."""

import socket
import time
from pathlib import Path
from typing import Any

import av
import pytest

from mosaic_contracts.frames import EnvironmentFrame, decode_frame
from mosaic_contracts.launch import FRAMES_SOCKET
from mosaic_contracts.replays import REPLAY_RESULT, ReplayResult
from mosaic_gymkit.testing import write_replay_record
from mosaic_workerkit.testing.recorded import RUN_ID
from tests import run_folder

WORLDS = [
    ("FrozenLake-v1", {}),
    ("FrozenLake-v1", {"map": "SFF/FHF/FFG", "slippery": False}),
    ("Taxi-v3", {}),
    ("CliffWalking-v1", {}),
]


@pytest.mark.nightly(by_day=["FrozenLake-v1-parameters0"])
@pytest.mark.parametrize(("environment", "parameters"), WORLDS)
def test_learned_episodes_are_proved_equal(
    tmp_path: Path, environment: str, parameters: dict[str, Any]
) -> None:
    """Steps that were taken by the transition table are those of the environment itself, in a fresh process.

    In the first world the first, a middle and the last episode; in each other world a middle one.
    """
    trained = run_folder.run(
        tmp_path / "run", environment=environment, parameters=parameters, steps=3000
    )
    assert trained.code == 0, trained.stderr
    starts = trained.of_type("episode_start")
    places = {len(starts) // 2}
    if (environment, parameters) == WORLDS[0]:
        places |= {0, len(starts) - 1}
    for place in places:
        start = starts[place]
        folder = tmp_path / f"replay-{start['episode']}"
        write_replay_record(folder, trained.events, 0, start["episode"])
        source = {"run_id": RUN_ID, "attempt": 1, "env": 0, "episode": start["episode"]}
        replay = run_folder.run(
            folder,
            environment=trained.events[0]["data"]["environment"],
            kind="replay",
            replay={**source, "draws": False},
        )
        assert replay.code == 0, replay.stderr
        result = ReplayResult.model_validate(replay.data(REPLAY_RESULT)[0])
        assert result.is_verified, result


@pytest.mark.nightly(by_day=["list"])
@pytest.mark.parametrize("loop", ["list", "compiled"])
def test_clips_change_nothing_of_what_is_learned(tmp_path: Path, loop: str) -> None:
    """Episodes that are not recorded have clips too; what is recorded is as without them."""
    spec: dict[str, Any] = {"steps": 3000, "parameters": {"loop": loop, "record_gap": 1000}}
    plain = run_folder.run(tmp_path / "plain", **spec)
    filmed = run_folder.run(tmp_path / "filmed", clip_every=100, **spec)
    assert filmed.code == 0, filmed.stderr
    steps = [[event["hash"] for event in one.of_type("step")] for one in (plain, filmed)]
    ends = [
        [event["episode_return"] for event in one.of_type("episode")] for one in (plain, filmed)
    ]
    assert (steps[0], ends[0]) == (steps[1], ends[1])
    clips = [event for event in filmed.of_type("artifact") if event["kind"] == "video"]
    assert clips[0]["data"]["episode"] == 0
    assert all(clip["data"]["episode"] % 100 == 0 for clip in clips)
    assert {clip["data"]["episode"] for clip in clips} - {
        event["episode"] for event in filmed.of_type("episode_start")
    }
    for clip in clips:
        with av.open(str(tmp_path / "filmed" / clip["path"])) as video:
            assert sum(1 for _ in video.decode(video=0)) == clip["data"]["frames"] > 1


def _connect(folder: Path) -> socket.socket:
    """Connect as the shipper does, once the run listens."""
    viewer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    viewer.settimeout(20)
    deadline = time.monotonic() + 60
    while True:
        try:
            viewer.connect(str(folder / FRAMES_SOCKET))
        except OSError:
            assert time.monotonic() < deadline, "the run never listened"
            time.sleep(0.02)
        else:
            return viewer


def test_a_watched_run_shows_picture_and_state(tmp_path: Path) -> None:
    """Frames of a learning run: the world drawn, and the state's number for the grid."""
    process = run_folder.start(tmp_path / "run", steps=100_000_000)
    viewer = _connect(tmp_path / "run")
    viewer.send(b'{"op": "watch", "envs": [{"env": 0, "fps": 30}]}')
    frames: list[EnvironmentFrame] = [decode_frame(viewer.recv(2**20)) for _ in range(3)]
    viewer.close()
    process.terminate()
    assert run_folder.finish(process, tmp_path / "run").code == 0
    for frame in frames:
        assert frame.encoding in ("zstd", "jpeg"), frame.problem
        assert frame.state is not None
        assert 0 <= frame.state < 16
        assert frame.step >= 1
