"""Live view and drawing: frames while somebody watches, words where there is no picture, and no change of the run."""

import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from tests.odd_environments import Canvas, newest, register, register_odd
from tests.recorded_run import context_in, record_random

from mosaic_contracts.frames import (
    MAX_FRAME_BYTES,
    EnvironmentFrame,
    decode_frame,
    encode_frame,
)
from mosaic_contracts.launch import FRAMES_SOCKET
from mosaic_gymkit import EnvironmentRun
from mosaic_gymkit.drawing import Drawer, NotDrawable
from mosaic_gymkit.live import plain_value
from mosaic_gymkit.picture_bytes import decode_picture
from mosaic_gymkit.pictures import PictureEncoder, plain_picture
from mosaic_workerkit.testing.recorded import of_type

DRAWN = tuple(
    map(newest, ("CartPole", "FrozenLake", "Taxi", "MountainCar", "Pendulum", "Blackjack"))
)


class Viewer:
    """The shipper's end of a run's channel."""

    def __init__(self, run_dir: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(10)
        self._socket.connect(str(run_dir / FRAMES_SOCKET))

    def watch(self, request: str) -> None:
        self._socket.send(request.encode())

    def frame(self) -> EnvironmentFrame:
        return decode_frame(self._socket.recv(2 * MAX_FRAME_BYTES))

    def close(self) -> None:
        self._socket.close()


def until(holds: Callable[[], bool]) -> None:
    """Wait for what another thread does."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def watched(run: EnvironmentRun, run_dir: Path, wish: str) -> Viewer:
    """Watch a run, from now on."""
    (source,) = run.live._sources.values()
    viewer = Viewer(run_dir)
    viewer.watch(wish)
    until(lambda: source._wanted is not None)
    return viewer


ALL = '{"op": "watch", "envs": [{"env": 0, "fps": 30, "smooth": true}]}'


@pytest.mark.parametrize("name", DRAWN)
def test_a_watched_run_is_the_same_run(tmp_path: Path, name: str) -> None:
    """Steps, rewards and hashes of a run that is drawn at each step equal those of one that nobody watches."""
    viewers = []

    def begin(run: EnvironmentRun) -> None:
        wish = '{"op": "watch", "envs": [{"env": 0, "fps": 100000, "smooth": true}]}'
        viewers.append(watched(run, tmp_path / "watched", wish))

    plain = record_random(tmp_path / "plain", name, steps=60)
    seen = record_random(tmp_path / "watched", name, steps=60, before=begin)
    keys = ("episode", "step", "action", "reward", "flags", "hash")
    first, second = (
        [[e[key] for key in keys] for e in of_type(run, "step")] for run in (plain, seen)
    )
    assert first == second
    frame = viewers[0].frame()
    assert frame.encoding in ("zstd", "jpeg"), frame.problem
    picture = decode_picture(
        frame.encoding, frame.data, (frame.height, frame.width, frame.channels)
    )
    assert picture.any()
    viewers[0].close()


def test_frames_say_what_happened(tmp_path: Path) -> None:
    """A frame has the episode, step, action, reward and return of the moment that it shows, and a state's number."""
    context, telemetry = context_in(tmp_path / "run", "FrozenLake-v1")
    with telemetry, EnvironmentRun(context) as run:
        env = run.make("FrozenLake-v1", is_slippery=False)
        telemetry.config({"environment": "FrozenLake-v1", "spaces": {}})
        viewer = watched(run, tmp_path / "run", ALL)
        env.reset(seed=1)
        env.step(2)
        frame = viewer.frame()
        assert (frame.env, frame.episode, frame.step, frame.action) == (0, 0, 1, 2)
        assert (frame.reward, frame.episode_return, frame.flags, frame.state) == (0.0, 0.0, 0, 1)
        assert abs(time.time() - frame.t_us / 1e6) < 5
        viewer.close()


def test_nobody_is_drawn_for(tmp_path: Path) -> None:
    """Before somebody watches and after the viewer left, the environment is stepped by the unwatched function."""
    context, telemetry = context_in(tmp_path / "run", "CartPole-v1")
    with telemetry, EnvironmentRun(context) as run:
        env = run.make("CartPole-v1")
        telemetry.config({"environment": "CartPole-v1", "spaces": {}})
        (source,) = run.live._sources.values()
        recorded: Any = source._env
        assert recorded.step == recorded.counter.step
        viewer = watched(run, tmp_path / "run", ALL)
        assert recorded.step != recorded.counter.step
        viewer.close()
        until(lambda: recorded.step == recorded.counter.step)
        env.reset(seed=1)
        env.step(0)
        assert source._number == 0


def test_drawing_takes_its_share_and_no_more(tmp_path: Path) -> None:
    """An environment that draws slowly next to fast steps is drawn seldom, unless the viewer asked for more."""
    register_odd()

    class Slow(Canvas):
        def render(self) -> Any:
            end = time.thread_time() + 0.01
            while time.thread_time() < end:
                pass
            return np.zeros((4, 4, 3), np.uint8)

    register("Slow-v0", Slow)
    context, telemetry = context_in(tmp_path / "run", "Slow-v0", record="episodes")
    with telemetry, EnvironmentRun(context) as run:
        env = run.make("Slow-v0")
        telemetry.config({"environment": "Slow-v0", "spaces": {}})
        viewer = watched(run, tmp_path / "run", '{"op": "watch", "envs": [{"env": 0, "fps": 30}]}')
        env.reset(seed=1)
        (source,) = run.live._sources.values()
        end = time.monotonic() + 2
        while time.monotonic() < end:
            env.step(0)
        assert 2 <= source._number <= 6  # a tenth of a second's drawing would be 200
        viewer.close()


def drawn(picture: Any) -> np.ndarray[Any, Any]:
    register_odd()
    Canvas.picture = picture
    env = gymnasium.make("Canvas-v0")
    env.reset()
    return plain_picture(Drawer(env).draw())


@pytest.mark.parametrize(
    ("picture", "shape"),
    [
        (np.full((1, 1, 3), 9, np.uint8), (1, 1, 3)),
        (np.full((5, 7), 9, np.uint8), (5, 7, 1)),
        (np.full((5, 7, 1), 9, np.uint8), (5, 7, 1)),
        (np.full((5, 7, 4), 9, np.uint8), (5, 7, 3)),
        (np.full((3, 64, 48), 9, np.uint8), (64, 48, 3)),
        (np.full((4096, 4096, 3), 9, np.uint8), (4096, 4096, 3)),
        (np.full((3, 1001, 3), 0.5, np.float32), (3, 1001, 3)),
        (np.full((3, 4, 3), 200.0), (3, 4, 3)),
        (np.full((3, 4, 3), 9, np.int64), (3, 4, 3)),
        (np.full((3, 4, 3), True), (3, 4, 3)),
        ([np.full((3, 4, 3), 9, np.uint8)], (3, 4, 3)),
    ],
)
def test_pictures_of_any_form_are_sent(picture: Any, shape: tuple[int, int, int]) -> None:
    """Odd sizes, grey, alpha, channels first, floats, truth values: each fits a frame and can be decoded."""
    plain = drawn(picture)
    assert plain.shape == shape
    assert plain.any()
    sent = PictureEncoder().encode(plain)
    assert len(sent.data) < MAX_FRAME_BYTES
    back = decode_picture(sent.encoding, sent.data, (sent.height, sent.width, sent.channels))
    assert back.shape[2] == shape[2]
    assert (sent.full_height, sent.full_width) == shape[:2]


@pytest.mark.parametrize(
    "shape", [(4096, 4096, 3), (1080, 1920, 3), (480, 640, 1), (2, 20_000, 3), (1, 200_000, 3)]
)
def test_noise_fits_a_frame(shape: tuple[int, int, int]) -> None:
    """Pictures that no codec makes smaller are scaled down until they fit."""
    noise = np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
    sent = PictureEncoder().encode(noise)
    assert len(sent.data) < MAX_FRAME_BYTES


@pytest.mark.parametrize(
    ("picture", "words"),
    [
        (None, "it returned NoneType and no array"),
        (ValueError("no GL library"), "it failed: ValueError: no GL library"),
        (np.zeros((2, 3, 7), np.uint8), "is no picture"),
        (np.zeros((0, 3, 3), np.uint8), "is no picture"),
        (np.full((2, 2, 3), np.nan), "not finite"),
        (np.full((2, 2, 3), 1j), "cannot be shown"),
    ],
)
def test_what_cannot_be_drawn_is_said(picture: Any, words: str) -> None:
    """A picture that is none, or an environment that fails: words, and no exception of its own."""
    with pytest.raises(NotDrawable, match=words):
        drawn(picture)


def test_an_environment_without_pictures_shows_its_values(tmp_path: Path) -> None:
    """A frame without picture has the reason and the observation."""
    register_odd()
    context, telemetry = context_in(tmp_path / "run", "GlobalNoise-v0")
    with telemetry, EnvironmentRun(context) as run:
        env = run.make("GlobalNoise-v0")
        telemetry.config({"environment": "GlobalNoise-v0", "spaces": {}})
        viewer = watched(run, tmp_path / "run", ALL)
        env.reset(seed=1)
        env.step(0)
        frame = viewer.frame()
        assert frame.encoding == "none"
        assert frame.problem == "GlobalNoise-v0 makes no pictures: its render modes are ansi."
        assert frame.values is not None
        assert len(frame.values) == 2
        viewer.close()


def test_a_frame_of_any_action_can_be_sent() -> None:
    """Odd actions are shown as texts and long ones by their shape: a viewer must not end a training."""
    frame = EnvironmentFrame("r", 0, 0, 0, 0, 0)
    for action in (
        object(),
        np.zeros(10_000),
        {"a": (1, np.float32(2))},
        2**80,
        [None, "x" * 999],
        b"\xff",
    ):
        frame.action = plain_value(action)
        assert len(encode_frame(frame)) < 2_000
    assert plain_value({"a": (1, np.float32(2))}) == {"a": [1, 2.0]}
