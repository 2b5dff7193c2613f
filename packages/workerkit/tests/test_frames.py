"""The local channel of frames: the worker's end, the shipper's end, and what happens when either goes."""

import asyncio
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from mosaic_contracts.frames import EnvironmentFrame, WatchedEnv, decode_frame, encode_frame
from mosaic_contracts.launch import FRAMES_SOCKET
from mosaic_contracts.play import PlayCommand, PlayInput
from mosaic_workerkit.frame_channel import FrameChannel
from mosaic_workerkit.shipper.frames import FrameRelay, NoFrames, WorkerGone

RUN_ID = "01M8KNMTN07K33KN02M6BW7TDV"


class Wishes:
    """What the worker's end was asked for, newest last."""

    def __init__(self) -> None:
        self.heard: list[list[int]] = []
        self._changed = threading.Event()

    def hear(self, wanted: Sequence[WatchedEnv]) -> None:
        self.heard.append([each.env for each in wanted])
        self._changed.set()

    def wait_for(self, envs: list[int]) -> None:
        deadline = time.monotonic() + 60
        while self.heard[-1:] != [envs]:
            self._changed.clear()
            if self.heard[-1:] != [envs]:
                assert self._changed.wait(deadline - time.monotonic()), self.heard


def frame(number: int, env: int = 0, data: bytes = b"") -> bytes:
    return encode_frame(EnvironmentFrame(RUN_ID, env, number, 0, number, 0, data=data))


async def heard_by(wishes: Wishes, envs: list[int]) -> None:
    await asyncio.to_thread(wishes.wait_for, envs)


async def test_a_lease_that_is_not_renewed_ends_the_watch(tmp_path: Path) -> None:
    """The worker hears that nobody watches once the lease is over, and when the last viewer leaves."""
    wishes = Wishes()
    with FrameChannel(tmp_path, wishes.hear):
        relay = FrameRelay(tmp_path)
        await relay.watch([WatchedEnv(env=2, fps=30)], 0.1)
        await heard_by(wishes, [2])
        await heard_by(wishes, [])
        await relay.watch([WatchedEnv(env=1, fps=30)], 60)
        await heard_by(wishes, [1])
        await relay.watch([], 60)
        await heard_by(wishes, [])


async def test_frames_reach_the_broker_side_newest_first(tmp_path: Path) -> None:
    """Each environment's newest frame is published; older ones that wait are dropped."""
    wishes, published, has_newest = Wishes(), list[bytes](), asyncio.Event()

    async def publish(data: bytes) -> None:
        published.append(data)
        if {(one.env, one.number) for one in map(decode_frame, published)} >= {(0, 48), (1, 49)}:
            has_newest.set()
        await asyncio.sleep(0)

    with FrameChannel(tmp_path, wishes.hear) as channel:
        relay = FrameRelay(tmp_path)
        relay.publish_with(publish)
        await relay.watch([WatchedEnv(env=0, fps=30), WatchedEnv(env=1, fps=30)], 60)
        await heard_by(wishes, [0, 1])
        for number in range(50):
            assert channel.send(frame(number, env=number % 2))
        async with asyncio.timeout(60):
            await has_newest.wait()
        assert len(published) < 50
        relay.close()
        await heard_by(wishes, [])


async def test_a_shipper_that_does_not_read_holds_nobody_up(tmp_path: Path) -> None:
    """A trainer never waits: a frame that does not fit the socket is dropped at once."""
    wishes = Wishes()
    with FrameChannel(tmp_path, wishes.hear) as channel:
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        peer.connect(str(tmp_path / FRAMES_SOCKET))
        peer.send(b'{"op": "watch", "envs": [{"env": 0, "fps": 30}]}')
        await heard_by(wishes, [0])
        began = time.monotonic()
        sent = [channel.send(frame(n, data=bytes(100_000))) for n in range(100)]
        assert not all(sent)
        assert time.monotonic() - began < 30
        peer.close()
        await heard_by(wishes, [])
        assert not channel.send(frame(1))


async def test_steps_of_a_replay_come_as_a_page(tmp_path: Path) -> None:
    """A page has the frames that the worker drew for it, and where to go on."""
    with FrameChannel(tmp_path, Wishes().hear) as channel:
        relay = FrameRelay(tmp_path)

        def draw() -> None:
            request = channel.next_request(5)
            assert request is not None
            for step in range(request.first, request.last + 1, request.every):
                channel.send(frame(step), wait=True)
            channel.answer(request, None, 12)

        drawing = asyncio.create_task(asyncio.to_thread(draw))
        page = await relay.show(2, 8, 3)
        await drawing
        assert [decode_frame(one).number for one in page.frames] == [2, 5, 8]
        assert (page.next, page.last) == (None, 12)
        relay.close()


async def test_a_worker_without_the_channel_is_named(tmp_path: Path) -> None:
    """Where no worker listens, and where it goes away while it draws, the caller gets an error that says so."""
    with pytest.raises(NoFrames, match="does not use mosaic_gymkit"):
        await FrameRelay(tmp_path).watch([WatchedEnv(env=0, fps=1)], 1)
    relay = FrameRelay(tmp_path)
    channel = FrameChannel(tmp_path, Wishes().hear)
    showing = asyncio.create_task(relay.show(0, 1, 1))
    await asyncio.to_thread(channel.next_request, 5)
    await asyncio.to_thread(channel.close)
    with pytest.raises(NoFrames, match="went away"):
        await showing


async def test_a_new_worker_is_found_behind_a_dead_connection(tmp_path: Path) -> None:
    """A request after the worker was replaced (another attempt) reaches the new one."""
    first, second = Wishes(), Wishes()
    relay = FrameRelay(tmp_path)
    channel = FrameChannel(tmp_path, first.hear)
    await relay.watch([WatchedEnv(env=0, fps=1)], 60)
    await heard_by(first, [0])
    await asyncio.to_thread(channel.close)
    with FrameChannel(tmp_path, second.hear):
        await relay.watch([WatchedEnv(env=3, fps=1)], 60)
        await heard_by(second, [3])
        relay.close()


async def test_inputs_of_a_person_are_taken_in_order_and_answered(tmp_path: Path) -> None:
    """Each reaches the worker once; what it refuses is named, also while frames come and others watch."""
    taken: list[PlayInput] = []

    def take(given: PlayInput) -> str:
        taken.append(given)
        return "not now" if given.number % 3 == 0 else ""

    wishes = Wishes()
    with FrameChannel(tmp_path, wishes.hear, take) as channel:
        relay = FrameRelay(tmp_path)
        watching = asyncio.create_task(relay.watch([WatchedEnv(env=0, fps=30)], 60))
        first = await relay.act([PlayInput(number=n, keys=["a"], player="p") for n in (1, 2, 3)])
        await watching
        assert channel.send(frame(1))
        both = await asyncio.gather(
            *(relay.act([PlayInput(number=n, do=PlayCommand.PAUSE)]) for n in (4, 6))
        )
        assert [one.number for one in taken] == [1, 2, 3, 4, 6]
        assert (taken[0].keys, taken[0].player, taken[3].do) == (["a"], "p", PlayCommand.PAUSE)
        said = [[(one.number, one.why) for one in answer.refused] for answer in (first, *both)]
        assert said == [[(3, "not now")], [], [(6, "not now")]]
        relay.close()
        await heard_by(wishes, [])


async def test_a_worker_that_takes_no_inputs_says_so(tmp_path: Path) -> None:
    """A trainer's channel refuses them in words; one that goes away, or is none, is an error."""
    relay = FrameRelay(tmp_path)
    with FrameChannel(tmp_path, Wishes().hear):
        answer = await relay.act([PlayInput(number=1)])
        assert "takes no inputs" in answer.refused[0].why
    with pytest.raises(NoFrames):
        await relay.act([PlayInput(number=2)])
    relay.close()


async def test_keys_that_nobody_repeats_are_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a viewer the shipper leaves after the lease, and the worker hears that nobody is there."""
    monkeypatch.setattr("mosaic_workerkit.shipper.frames.LEASE_S", 0.1)
    wishes = Wishes()
    with FrameChannel(tmp_path, wishes.hear, lambda _: ""):
        relay = FrameRelay(tmp_path)
        await relay.act([PlayInput(number=1, keys=["left"])])
        await heard_by(wishes, [])


async def test_the_last_frame_and_answer_come_before_the_end(tmp_path: Path) -> None:
    """A worker whose episode ends with an input closes at once: the input counts as taken, the frame is published, and
    the next input is refused as one after the play's end."""
    published: list[bytes] = []
    has_begun, may_go_on = asyncio.Event(), asyncio.Event()

    async def publish(data: bytes) -> None:
        has_begun.set()
        await may_go_on.wait()
        published.append(data)

    def take(_given: PlayInput) -> str:
        channel.send(frame(2))
        closing.start()  # as the thread that steps, which does not wait for the answer
        while channel._is_open:
            time.sleep(0.001)
        return ""

    channel = FrameChannel(tmp_path, Wishes().hear, take)
    closing = threading.Thread(target=channel.close)
    relay = FrameRelay(tmp_path)
    relay.publish_with(publish)
    await relay.watch([WatchedEnv(env=0, fps=30)], 60)
    assert await asyncio.to_thread(_sent, channel, frame(1))
    await has_begun.wait()  # a slow broker: the relay reads nothing more for now
    taken = asyncio.create_task(relay.act([PlayInput(number=1)]))
    await asyncio.to_thread(closing_ended, closing)
    late = asyncio.create_task(relay.act([PlayInput(number=2)]))
    await asyncio.sleep(0)
    may_go_on.set()
    assert (await taken).refused == []
    with pytest.raises(WorkerGone, match="closed its environment"):
        await late
    assert [decode_frame(one).number for one in published] == [1, 2]


def _sent(channel: FrameChannel, data: bytes) -> bool:
    while not channel.send(data):
        time.sleep(0.001)  # the connection was not accepted yet
    return True


def closing_ended(closing: threading.Thread) -> None:
    while not closing.ident:
        time.sleep(0.001)
    closing.join()


async def test_frames_of_a_killed_worker_are_not_lost(tmp_path: Path) -> None:
    """Requests that it left unread make Linux report a reset; its frames are read all the same."""
    path = tmp_path / FRAMES_SOCKET
    path.parent.mkdir(parents=True, exist_ok=True)
    published: list[bytes] = []
    has_begun, may_go_on = asyncio.Event(), asyncio.Event()

    async def publish(data: bytes) -> None:
        has_begun.set()
        await may_go_on.wait()
        published.append(data)

    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(str(path))
        listening.listen(1)
        relay = FrameRelay(tmp_path)
        relay.publish_with(publish)
        await relay.watch([WatchedEnv(env=0, fps=30)], 60)
        worker, _ = listening.accept()
        worker.send(frame(1))
        await has_begun.wait()
        worker.send(frame(2))
        worker.close()  # the request was never read
    path.unlink()
    may_go_on.set()
    with pytest.raises(WorkerGone):
        await relay.act([PlayInput(number=1)])
    assert [decode_frame(one).number for one in published] == [1, 2]
