"""Replays and frames: the result that is waited for, pages of frames, pictures as arrays, and live frames."""

import asyncio
import io
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import numpy as np
import pytest
import zstandard
from PIL import Image
from websockets.sync.server import ServerConnection, serve
from websockets.typing import Subprotocol

from mosaic_client import (
    AnswerInvalid,
    AsyncClient,
    Client,
    Location,
    NotebookMissing,
    PictureMissing,
    ReplayFailed,
    RunUnknown,
    StackUnreachable,
    WaitTimedOut,
    picture,
)
from mosaic_contracts import frames
from mosaic_contracts.frames import EnvironmentFrame
from mosaic_contracts.live import SUBPROTOCOL_JSON
from mosaic_contracts.problems import Problem, ProblemCode

RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
OTHER = RUN_ID[:-1] + "W"
RESULT = {
    "source": {"run_id": OTHER, "attempt": 1, "env": 0, "episode": 3},
    "way": "generator",
    "steps": 9,
    "equal": 9,
}
VIEW: dict[str, Any] = {
    "run_id": RUN_ID,
    "name": "a replay",
    "spec": {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1"},
    "state": "running",
    "revision": 1,
    "created_at": "2026-01-01T00:00:00Z",
    "run_dir": f"runs/{RUN_ID}",
}
Script = Callable[[ServerConnection, dict[str, Any]], None]


def frame(number: int, **fields: Any) -> EnvironmentFrame:
    given = {"run_id": RUN_ID, "env": 0, "number": number, "episode": 3, "step": number, "t_us": 1}
    return EnvironmentFrame(**{**given, **fields})


@contextmanager
def gateway(*scripts: Script) -> Iterator[tuple[Location, list[dict[str, Any]]]]:
    """A server that plays one script a connection; yields where it is and the first message of each connection."""
    said: list[dict[str, Any]] = []
    pending = iter(scripts)

    def handle(socket: ServerConnection) -> None:
        message = json.loads(socket.recv(timeout=60))
        said.append(message | {"protocol": socket.subprotocol})
        next(pending)(socket, message)

    protocols = [Subprotocol(SUBPROTOCOL_JSON), Subprotocol(frames.SUBPROTOCOL)]
    with serve(handle, "127.0.0.1", 0, subprotocols=protocols) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        port = server.socket.getsockname()[1]
        try:
            yield Location(f"http://127.0.0.1:{port}", "secret"), said
        finally:
            server.shutdown()
            thread.join(60)


def run_frame(state: str, **fields: Any) -> str:
    return json.dumps({"op": "run", "run": VIEW | {"state": state, "revision": 2} | fields})


def result_event() -> str:
    event = {"attempt": 1, "source": "worker", "seq": 1, "type": "replay.result", "data": RESULT}
    return json.dumps({"op": "events", "run_id": RUN_ID, "events": [event], "cursor": "1.worker.1"})


def ended() -> str:
    return json.dumps({"op": "end", "run_id": RUN_ID, "cursor": ""})


def says_the_result(socket: ServerConnection, _: dict[str, Any]) -> None:
    socket.send(run_frame("running"))
    socket.send(result_event())
    socket.recv()  # the replay goes on; the client hangs up


def test_a_result_is_waited_for_and_read() -> None:
    """The wait ends with the event, although the replay goes on, and states are reported meanwhile."""
    states: list[str] = []
    with gateway(says_the_result) as (location, said):
        result = Client(location).replay_result(
            RUN_ID, progress=lambda run: states.append(run.state)
        )
    assert result.is_verified
    assert result.way == "generator"
    assert states == ["running"]
    assert said[0]["types"] == ["replay.result"]


async def test_a_result_is_awaited_too() -> None:
    """The same for a program with an event loop."""
    with gateway(says_the_result) as (location, _):
        async with AsyncClient(location) as client:
            assert (await client.replay_result(RUN_ID)).equal == 9
            assert asyncio.all_tasks() == {asyncio.current_task()}, "the connection is closed"


def test_a_replay_without_a_result_fails_in_words() -> None:
    """The reason of the run's end and its last lines are in the error."""

    def fails(socket: ServerConnection, _: dict[str, Any]) -> None:
        end = {"cause": "signal", "message": "It was killed.", "last_lines": ["out of memory"]}
        socket.send(run_frame("crashed", end=end))
        socket.send(ended())

    with gateway(fails) as (location, _), pytest.raises(ReplayFailed) as caught:
        Client(location).replay_result(RUN_ID)
    assert "without a result: It was killed." in str(caught.value)
    assert "out of memory" in str(caught.value)


async def test_a_wait_for_a_result_has_an_end() -> None:
    """After `timeout_s` both clients say that the replay goes on."""

    def says_nothing(socket: ServerConnection, _: dict[str, Any]) -> None:
        socket.recv()

    with gateway(says_nothing, says_nothing) as (location, _):
        with pytest.raises(WaitTimedOut):
            Client(location).replay_result(RUN_ID, timeout_s=0.2)
        async with AsyncClient(location) as client:
            with pytest.raises(WaitTimedOut):
                await client.replay_result(RUN_ID, timeout_s=0.2)


def pages_of(*pages: frames.EpisodeFrames) -> tuple[httpx.MockTransport, list[str]]:
    asked: list[str] = []
    left = iter(pages)

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.query.decode())
        return httpx.Response(200, content=frames.encode_page(next(left)))

    return httpx.MockTransport(answer), asked


def encoded(*numbers: int) -> list[bytes]:
    return [frames.encode_frame(frame(number)) for number in numbers]


async def test_frames_come_page_by_page() -> None:
    """Each page is asked for from where the one before ended."""
    pages = (
        frames.EpisodeFrames(encoded(0, 2), 4, 9),
        frames.EpisodeFrames(encoded(4), None, 9),
    )
    transport, asked = pages_of(*pages)
    location = Location("http://127.0.0.1:9", "secret")
    found = list(Client(location, transport=transport).frames(RUN_ID, last=5, every=2))
    assert [one.step for one in found] == [0, 2, 4]
    assert asked == ["first=0&last=5&every=2", "first=4&last=5&every=2"]
    transport, _ = pages_of(*pages)
    async with AsyncClient(location, transport=transport) as client:
        assert [one.step async for one in client.frames(RUN_ID, last=5, every=2)] == [0, 2, 4]


def test_without_a_last_step_the_whole_episode_comes() -> None:
    """The first page says where to go on and which step is the last; the others are asked for up to there."""
    pages = (
        frames.EpisodeFrames(encoded(0, 1, 2), 3, 4),
        frames.EpisodeFrames(encoded(3), 4, 4),
        frames.EpisodeFrames(encoded(4), None, 4),
    )
    transport, asked = pages_of(*pages)
    location = Location("http://127.0.0.1:9", "secret")
    found = list(Client(location, transport=transport).frames(RUN_ID))
    assert [one.step for one in found] == [0, 1, 2, 3, 4]
    assert asked == ["first=0&every=1", "first=3&last=4&every=1", "first=4&last=4&every=1"]


def test_a_page_that_does_not_lead_on_is_refused() -> None:
    """A stack that would be asked for the same page for ever is a fault, as is a frame that cannot be read."""
    location = Location("http://127.0.0.1:9", "secret")
    for page in (frames.EpisodeFrames([], 0, 9), frames.EpisodeFrames([b"\x01"], None, 9)):
        transport, _ = pages_of(page)
        with pytest.raises(AnswerInvalid):
            list(Client(location, transport=transport).frames(RUN_ID))


@pytest.mark.parametrize("channels", [1, 3])
def test_a_compressed_picture_becomes_an_array(channels: int) -> None:
    """Raw bytes under zstd are the picture itself, rows from the top."""
    pixels = np.arange(4 * 5 * channels, dtype=np.uint8).reshape(4, 5, channels)
    data = zstandard.ZstdCompressor(1).compress(pixels.tobytes())
    sent = frame(1, encoding="zstd", width=5, height=4, channels=channels, data=data)
    assert np.array_equal(picture(sent), pixels)


@pytest.mark.parametrize("channels", [1, 3])
def test_a_jpeg_becomes_an_array(channels: int) -> None:
    """A JPEG is decoded to the same form, nearly the same values."""
    pixels = np.full((16, 24, channels), 200, np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels.squeeze()).save(file, "JPEG", quality=85)
    sent = frame(1, encoding="jpeg", width=24, height=16, channels=channels, data=file.getvalue())
    found = picture(sent)
    assert found.shape == pixels.shape
    assert int(np.abs(found.astype(int) - 200).max()) <= 3


def test_what_is_no_picture_is_said() -> None:
    """A frame without a picture says why; one that is damaged or of another size is an error and no crash."""
    with pytest.raises(PictureMissing, match="no rgb_array"):
        picture(frame(1, problem="The environment has no rgb_array."))
    data = zstandard.ZstdCompressor(1).compress(b"12")
    for sent in (
        frame(1, encoding="zstd", width=5, height=4, data=data),
        frame(1, encoding="zstd", width=5, height=4, data=b"no zstd"),
        frame(1, encoding="jpeg", width=5, height=4, data=b"no jpeg"),
        frame(1, encoding="webp", width=5, height=4),
    ):
        with pytest.raises(AnswerInvalid):
            picture(sent)


def test_a_missing_decoder_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pillow is needed for a JPEG alone, and the error says how to install it."""
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    with pytest.raises(NotebookMissing, match=r"Pillow is not installed.*\[notebook\]"):
        picture(frame(1, encoding="jpeg", width=5, height=4, data=b""))


def problem(code: ProblemCode) -> str:
    found = Problem(code=code, title="No frames")
    return json.dumps({"op": "problem", "run_id": RUN_ID, "problem": found.model_dump(mode="json")})


def sends_two_and_breaks(socket: ServerConnection, _: dict[str, Any]) -> None:
    socket.send(json.dumps({"op": "watching", "run_id": RUN_ID, "env": 0}))
    socket.send(problem(ProblemCode.RUN_NOT_QUEUED))
    socket.send(frames.encode_frame(frame(1)))
    socket.send(frames.encode_frame(frame(1, env=7)))
    socket.send(frames.encode_frame(frame(2)))
    socket.socket.close()


def sends_one_and_ends(socket: ServerConnection, _: dict[str, Any]) -> None:
    socket.send(frames.encode_frame(frame(8)))
    socket.send(problem(ProblemCode.RUN_ENDED))
    socket.recv()


async def test_live_frames_come_until_the_run_has_ended() -> None:
    """Across a lost connection, of the one environment; what passes is reported, and nothing else is a frame."""
    seen: list[str] = []
    with gateway(sends_two_and_breaks, sends_one_and_ends) as (location, said):
        watched = Client(location).watch_frames(
            RUN_ID, fps=10, on_problem=lambda problem: seen.append(problem.title)
        )
        assert [one.number for one in watched] == [1, 2, 8]
    assert seen == ["No frames"]
    assert [message["protocol"] for message in said] == [frames.SUBPROTOCOL] * 2
    assert said[1] | {"smooth": False} == {
        "op": "watch", "run_id": RUN_ID, "env": 0, "fps": 10.0, "smooth": False,
        "protocol": frames.SUBPROTOCOL,
    }  # fmt: skip
    with gateway(sends_two_and_breaks, sends_one_and_ends) as (location, _):
        async with AsyncClient(location) as client:
            assert [one.number async for one in client.watch_frames(RUN_ID)] == [1, 2, 8]


def test_a_run_that_cannot_be_watched_raises() -> None:
    """An unknown run is an error at once; a stack that does not come back is one after the patience."""

    def refuses(socket: ServerConnection, _: dict[str, Any]) -> None:
        socket.send(problem(ProblemCode.RUN_UNKNOWN))
        socket.recv()

    with gateway(refuses) as (location, _), pytest.raises(RunUnknown):
        next(Client(location).watch_frames(RUN_ID))
    with pytest.raises(StackUnreachable):
        next(Client(location).watch_frames(RUN_ID, patience_s=0.3))


@pytest.mark.parametrize(("status", "is_new"), [(201, True), (200, False)])
def test_a_replay_that_was_there_is_distinguished_from_a_new_one(status: int, is_new: bool) -> None:
    """A program stops what it has started, and not what another one uses."""
    transport = httpx.MockTransport(lambda _: httpx.Response(status, json=VIEW))
    client = Client(Location("http://127.0.0.1:9", "secret"), transport=transport)
    assert client.replay(OTHER, 3).is_new is is_new
