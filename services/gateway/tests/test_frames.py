"""The WebSocket for pictures of environments, over a real gateway process and broker; the test is the run's shipper."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from nats.aio.msg import Msg
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from mosaic_contracts import subjects
from mosaic_contracts.frames import (
    CHANNEL,
    FRAMES_HEADER,
    LEASE_S,
    MAX_FRAME_BYTES,
    MAX_WATCHED_ENVS,
    SUBPROTOCOL,
    EnvironmentFrame,
    EpisodeFrames,
    FramesAsked,
    FramesProblem,
    WatchFrames,
    decode_frame,
    encode_frame,
    encode_page,
)
from mosaic_contracts.http_api import FRAMES_PATH
from mosaic_contracts.play import ActRefused
from mosaic_contracts.problems import Problem, ProblemCode
from mosaic_contracts.services import ControlRequest, Reply
from mosaic_gateway.live.frame_client import FrameMailbox
from mosaic_gateway.live.frame_lease import FrameLease
from mosaic_gateway.live.frames import MAX_ALL_ENVS
from mosaic_servicekit.bus import Bus

pytestmark = pytest.mark.broker
OTHER = "01JGXSYNTHET1CRVN000000001"
_numbers = itertools.count(100)
UNKNOWN = "01JGXSYNTHET1CRVN00000000Z"
NO_LAST = 2**53
"""Beyond the last step of any episode."""


class Shipper:
    """Answers on a run's control subject, and publishes its frames."""

    def __init__(self, bus: Bus, run_id: str) -> None:
        self.run_id = run_id
        self.asked: asyncio.Queue[ControlRequest] = asyncio.Queue()
        self.problem: Problem | None = None
        """What it answers instead of a promise."""
        self.page = EpisodeFrames([], None, 0)
        self._bus = bus
        self._subject = subjects.live(run_id, CHANNEL)

    async def answer(self, message: Msg) -> None:
        """As the shipper."""
        request = ControlRequest.model_validate_json(message.data)
        self.asked.put_nowait(request)
        if self.problem is not None or request.op != "show":
            reply = Reply(problem=self.problem, result={"ok": True})
            await message.respond(reply.model_dump_json().encode())
            return
        headers = {FRAMES_HEADER: "1"}
        await self._bus.publish(message.reply, encode_page(self.page), headers)

    async def next(self, within_s: float = 60.0) -> list[tuple[int, float, bool]]:
        """What the next request wants: sub-environment, rate, and whether it may slow the run down."""
        async with asyncio.timeout(within_s):
            request = await self.asked.get()
        assert (request.op, request.ttl_s) == ("frames", LEASE_S)
        return [(each["env"], each["fps"], each["smooth"]) for each in request.data["envs"]]

    async def publish(self, number: int, env: int = 0, size: int = 100) -> bytes:
        """A frame with this number. Return its bytes."""
        frame = EnvironmentFrame(self.run_id, env, number, 0, number, 0, data=bytes(size))
        data = encode_frame(frame)
        await self.publish_raw(data)
        return data

    async def publish_raw(self, data: bytes) -> None:
        """Any bytes."""
        await self._bus.publish(self._subject, data)


@asynccontextmanager
async def shipping(bus: Bus, run_id: str) -> AsyncIterator[Shipper]:
    """A shipper that is there."""
    made = Shipper(bus, run_id)
    subscription = await bus.subscribe(subjects.control(run_id), made.answer)
    try:
        yield made
    finally:
        await subscription.cancel()


@pytest.fixture
def run_id() -> str:
    """A run of this test: the gateway may still have a word with that of the one before."""
    return f"01JGXSYNTHET1CRVN0000{next(_numbers):05}"


@pytest.fixture
async def shipper(peers: Any, record: Any, run_id: str) -> AsyncIterator[Shipper]:
    """The shipper of a run that lives."""
    peers.records[run_id] = record(run_id)
    async with shipping(peers.bus, run_id) as made:
        yield made


def watching(gateway: Any, **options: Any) -> connect:
    """A WebSocket to `/frames`."""
    return connect(
        f"ws://127.0.0.1:{gateway.port}{FRAMES_PATH}",
        **{
            "additional_headers": gateway.headers,
            "subprotocols": [Subprotocol(SUBPROTOCOL)],
            "proxy": None,
            **options,
        },
    )


async def watch(socket: ClientConnection, run_id: str, env: int = 0, **more: Any) -> None:
    """Ask for frames."""
    await socket.send(json.dumps({"op": "watch", "run_id": run_id, "env": env, **more}))


async def unwatch(socket: ClientConnection, run_id: str) -> None:
    """Ask for no more."""
    await socket.send(json.dumps({"op": "unwatch", "run_id": run_id}))


async def words(socket: ClientConnection, within_s: float = 60.0) -> dict[str, Any]:
    """The next message that is no frame."""
    async with asyncio.timeout(within_s):
        while isinstance(message := await socket.recv(), bytes):
            pass
    said: dict[str, Any] = json.loads(message)
    return said


async def promised(socket: ClientConnection, env: int = 0) -> None:
    """Wait for the promise."""
    said = await words(socket)
    assert (said["op"], said["env"]) == ("watching", env)


async def problem(socket: ClientConnection, within_s: float = 60.0) -> tuple[str | None, str, str]:
    """The next problem: run, code and detail."""
    said = await words(socket, within_s)
    assert said["op"] == "problem"
    return said["run_id"], said["problem"]["code"], said["problem"]["detail"]


async def test_frames_come_while_somebody_watches(
    gateway: Any, shipper: Shipper, run_id: str
) -> None:
    """The run is asked at once, again while it is watched, and once more at the end; bytes stay as they are."""
    async with watching(gateway) as socket:
        assert socket.subprotocol == SUBPROTOCOL
        await watch(socket, run_id, env=3, fps=12.5)
        assert await shipper.next() == [(3, 12.5, False)]
        await promised(socket, 3)
        sent = await shipper.publish(7, env=3)
        assert await socket.recv() == sent
        await shipper.publish(8, env=2)  # nobody watches that one
        assert await shipper.next(LEASE_S) == [(3, 12.5, False)]
        await unwatch(socket, run_id)
        assert await shipper.next() == []
        await shipper.publish(9, env=3)
        await watch(socket, run_id)
        await shipper.next()
        await promised(socket)


async def test_a_client_that_leaves_watches_no_more(
    gateway: Any, shipper: Shipper, run_id: str
) -> None:
    """Also without a word."""
    async with watching(gateway) as socket:
        await watch(socket, run_id)
        assert await shipper.next() == [(0, 30.0, False)]
        socket.transport.abort()
    assert await shipper.next() == []


async def test_what_viewers_want_is_merged_and_each_gets_its_own_rate(
    gateway: Any, shipper: Shipper, run_id: str
) -> None:
    """The run is asked for the most that anybody wants; who asks for less gets less, and the newest at last."""
    async with watching(gateway) as slow, watching(gateway) as fast:
        await watch(slow, run_id, fps=4)
        assert await shipper.next() == [(0, 4.0, False)]
        await watch(fast, run_id, fps=30, smooth=True)
        assert await shipper.next() == [(0, 30.0, True)]
        await watch(fast, run_id, env=1, fps=10)
        assert await shipper.next() == [(0, 30.0, True), (1, 10.0, False)]
        await promised(slow)
        for env in (0, 1):
            await promised(fast, env)
        loop = asyncio.get_running_loop()
        began = loop.time()
        reading = [asyncio.create_task(numbers(socket, 40)) for socket in (slow, fast)]
        for number in range(1, 41):
            await shipper.publish(number)
            await asyncio.sleep(0.05)
        few, many = await asyncio.gather(*reading)
        assert few[-1] == many[-1] == 40
        assert len(few) <= (loop.time() - began) * 4 + 3
        assert len(many) >= len(few)  # as many on a machine that is too busy to publish faster
        await slow.close()
        await fast.close()
    while await shipper.next():
        pass


async def numbers(socket: ClientConnection, last: int) -> list[int]:
    """Numbers of the frames until `last`."""
    found: list[int] = []
    async with asyncio.timeout(60):
        while not found or found[-1] < last:
            message = await socket.recv()
            if isinstance(message, bytes):
                found.append(decode_frame(message).number)
    return found


def resident_bytes(pid: int) -> int:
    """Memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


async def test_a_frozen_viewer_slows_nobody(gateway: Any, shipper: Shipper, run_id: str) -> None:
    """Another one gets every newest frame in time, the publisher does not wait, and memory stays.

    When it reads again it gets what lay in buffers, then the newest.
    """
    frozen = await watching(gateway, max_queue=1, ping_interval=None)
    async with watching(gateway) as other:
        for socket in (frozen, other):
            await watch(socket, run_id)
        await promised(other)
        await shipper.publish(0, size=100_000)
        await numbers(other, 0)
        memory = resident_bytes(gateway.pid)
        loop = asyncio.get_running_loop()
        began, last = loop.time(), 100
        reading = asyncio.create_task(numbers(other, last))
        for number in range(1, last + 1):
            await shipper.publish(number, size=100_000)
            await asyncio.sleep(max(0.0, began + number * 0.04 - loop.time()))
        published = loop.time()
        seen = await reading
        assert loop.time() - published < 0.5
        assert published - began < last * 0.04 + 1
        assert len(seen) >= 0.8 * last
        assert resident_bytes(gateway.pid) - memory < 16 * 2**20
        late = await numbers(frozen, last)
        assert len(late) < 30, "frames lay in buffers instead of being replaced by newer ones"
        frozen.transport.abort()


async def test_a_run_that_waits_is_watched_once_it_starts(
    gateway: Any, peers: Any, record: Any, run_id: str
) -> None:
    """Until then its viewers know what it waits for; a word that changes is said again, and no other."""
    reason = "needs 2 cores; 0 of 2 free"
    peers.records[run_id] = record(run_id, "queued", waiting_reason=reason)
    async with watching(gateway) as socket:
        await watch(socket, run_id)
        named, code, detail = await problem(socket)
        assert (named, code) == (run_id, "run_not_started"), detail
        assert reason in detail
        with pytest.raises(TimeoutError):
            await words(socket, 1.5)
        await peers.change(record(run_id, "starting", 2))
        _, code, detail = await problem(socket)
        assert (code, "processes are starting" in detail) == ("run_not_started", True)
        async with shipping(peers.bus, run_id):
            await peers.change(record(run_id, "running", 3))
            await promised(socket)


async def test_a_run_that_ends_says_so(gateway: Any, peers: Any, record: Any, run_id: str) -> None:
    """At once, with its own end; it is asked again when somebody watches again."""
    peers.records[run_id] = record(run_id)
    async with watching(gateway) as socket:
        async with shipping(peers.bus, run_id):
            await watch(socket, run_id)
            await promised(socket)
        await peers.change(record(run_id, "succeeded", 2))
        assert (await problem(socket, 2.0))[:2] == (run_id, "run_ended")
        await watch(socket, run_id)
        assert (await problem(socket))[:2] == (run_id, "run_ended")
        await watch(socket, UNKNOWN)
        assert (await problem(socket))[:2] == (UNKNOWN, "run_unknown")


async def test_why_a_worker_sends_no_frames_is_passed_on(
    gateway: Any, shipper: Shipper, run_id: str
) -> None:
    """Once for each reason; a code that blames somebody else becomes that of the run."""
    shipper.problem = Problem(
        code=ProblemCode.FRAMES_UNAVAILABLE, title="No frames", detail="no GL library"
    )
    async with watching(gateway) as socket:
        await watch(socket, run_id)
        assert await problem(socket) == (run_id, "frames_unavailable", "no GL library")
        for _ in range(3):
            await shipper.next()
        shipper.problem = Problem(code=ProblemCode.INTERNAL, title="Broken", detail="within")
        assert await problem(socket) == (run_id, "frames_unavailable", "Broken. within")
        shipper.problem = None
        await promised(socket)


async def test_frames_that_are_none_are_dropped(
    gateway: Any, shipper: Shipper, run_id: str
) -> None:
    """Bytes that are no frame, one of another run, one that is too large; each is counted."""
    before = await invalid_frames(gateway)
    async with watching(gateway) as socket:
        await watch(socket, run_id)
        await promised(socket)
        await shipper.publish_raw(b"")
        await shipper.publish_raw(b"\xc1")
        await shipper.publish_raw(encode_frame(EnvironmentFrame(OTHER, 0, 1, 0, 1, 0)))
        await shipper.publish(1, size=MAX_FRAME_BYTES)
        sent = await shipper.publish(2)
        assert await socket.recv() == sent
    assert await invalid_frames(gateway) == before + 4


async def invalid_frames(gateway: Any) -> float:
    """The counter for Prometheus."""
    async with gateway.async_client(timeout=10) as http:
        text = (await http.get("/metrics", headers=gateway.headers)).text
    found = [line for line in text.splitlines() if line.startswith("mosaic_live_frames_total{")]
    values = {line.split('"')[1]: float(line.rpartition(" ")[2]) for line in found}
    assert "mosaic_frame_clients" in text
    return values.get("invalid", 0.0)


async def test_what_is_watched_is_bounded(gateway: Any, peers: Any, record: Any) -> None:
    """A connection too many sub-environments, and all together too many: refused in words, and the rest goes on."""
    runs = [f"01JGXSYNTHET1CRVN0000000{n:02}" for n in range(MAX_ALL_ENVS // MAX_WATCHED_ENVS + 1)]
    for run_id in runs:
        peers.records[run_id] = record(run_id, "queued")
    sockets = [await watching(gateway) for _ in runs]
    for run_id, socket in zip(runs[:-1], sockets, strict=False):
        for env in range(MAX_WATCHED_ENVS):
            await watch(socket, run_id, env)
        assert (await problem(socket))[1] == "run_not_started"
    await watch(sockets[0], runs[0], MAX_WATCHED_ENVS)
    refused, code, detail = await problem(sockets[0])
    assert (refused, code) == (runs[0], "request_invalid")
    assert f"at most {MAX_WATCHED_ENVS} sub-environments" in detail
    await watch(sockets[-1], runs[-1])
    _, code, detail = await problem(sockets[-1])
    assert (code, str(MAX_ALL_ENVS) in detail) == ("request_invalid", True)
    await watch(sockets[-1], runs[0])  # watched by another one already
    assert (await problem(sockets[-1]))[:2] == (runs[0], "run_not_started")
    for socket in sockets:
        await socket.close()


@pytest.mark.parametrize(
    "message",
    [
        "",
        "nonsense",
        "[]",
        b"\x80",
        '{"op": "dance"}',
        '{"op": "watch", "run_id": "x"}',
        json.dumps({"op": "watch", "run_id": OTHER, "fps": 0}),
        json.dumps({"op": "watch", "run_id": OTHER, "fps": 121}),
        json.dumps({"op": "watch", "run_id": OTHER, "env": -1}),
        json.dumps({"op": "watch", "run_id": OTHER, "more": 1}),
        '{"op": "watch", "run_id": "x", "fps": NaN}',
        "[" * 100 + "]" * 100,
    ],
)
async def test_messages_that_are_none_are_refused_in_words(
    gateway: Any, shipper: Shipper, message: str | bytes, run_id: str
) -> None:
    """The connection stays."""
    async with watching(gateway) as socket:
        await socket.send(message)
        said = await problem(socket)
        assert said[:2] == (None, "request_invalid")
        assert said[2]
        await watch(socket, run_id)
        await promised(socket)


async def test_who_has_no_token_or_another_subprotocol_is_refused(gateway: Any) -> None:
    """As at `/live`."""
    with pytest.raises(InvalidStatus) as refused:
        await watching(gateway, additional_headers={})
    assert refused.value.response.status_code == 401
    with pytest.raises(InvalidStatus):
        await watching(gateway, subprotocols=[Subprotocol("mosaic.json.v1")])
    with pytest.raises(InvalidStatus) as refused:
        await watching(gateway, origin="https://evil.example")
    assert refused.value.response.status_code == 403


async def test_frames_go_on_after_the_broker_was_away(
    gateway: Any, shipper: Shipper, broker: Any, run_id: str
) -> None:
    """Its viewers hear of it, and need do nothing."""
    async with watching(gateway) as socket:
        await watch(socket, run_id)
        await promised(socket)
        broker.kill()
        try:
            assert (await problem(socket))[1] == "broker_unavailable"
        finally:
            broker.start()
        said = await words(socket, 15)
        while said["op"] == "problem":
            said = await words(socket, 15)
        assert said["op"] == "watching"
        sent = await shipper.publish(1)
        assert await socket.recv() == sent


async def test_a_gateway_that_stops_says_goodbye_to_viewers_and_runs(
    gateway_process: Any, broker: Any, home: Path, shipper: Shipper, run_id: str
) -> None:
    """A connection is closed with the word for it, and the run draws no more."""
    own = gateway_process(home, broker.url)
    own.start()
    await asyncio.to_thread(own.wait_for_broker)
    async with watching(own) as socket:
        await watch(socket, run_id)
        assert await shipper.next() == [(0, 30.0, False)]
        await promised(socket)
        assert await asyncio.to_thread(own.stop) == 0
        with pytest.raises(ConnectionClosed) as closed:
            await socket.recv()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1001
    assert await shipper.next() == []


async def test_a_page_of_frames_is_the_runs_own(
    gateway: Any, shipper: Shipper, run_id: str
) -> None:
    """Steps are asked of the run as given, and its bytes come back."""
    shipper.page = EpisodeFrames([b"frame"], 9, 40)
    for query, asked in (
        ("", (0, NO_LAST, 1)),
        ("?first=5&last=8", (5, 8, 1)),
        ("?first=10&every=3", (10, NO_LAST, 3)),
    ):
        reply = await gateway.get(f"/runs/{run_id}/frames{query}")
        assert (reply.status_code, reply.content) == (200, encode_page(shipper.page))
        assert reply.headers["content-type"] == "application/msgpack"
        request = await shipper.asked.get()
        data = request.data
        assert (request.op, (data["first"], data["last"], data["every"])) == ("show", asked)
    for query in ("first=-1", "first=9&last=8", "every=0", "last=x", "more=1"):
        reply = await gateway.get(f"/runs/{run_id}/frames?{query}")
        assert (reply.status_code, reply.json()["code"]) == (422, "request_invalid"), query
    shipper.problem = Problem(code=ProblemCode.REPLAY_IMPOSSIBLE, title="Black frames")
    reply = await gateway.get(f"/runs/{run_id}/frames")
    assert (reply.status_code, reply.json()["code"]) == (422, "replay_impossible")


async def test_a_run_without_a_shipper_has_no_page(
    gateway: Any, peers: Any, record: Any, run_id: str
) -> None:
    """One that starts is to be asked again, with when; one that has ended is not."""
    for state, code in (
        ("queued", "run_not_started"),
        ("starting", "run_not_started"),
        ("failed", "run_ended"),
    ):
        peers.records[run_id] = record(run_id, state)
        reply = await gateway.get(f"/runs/{run_id}/frames")
        assert (reply.status_code, reply.json()["code"]) == (409, code)
        assert ("retry-after" in reply.headers) == (code == "run_not_started")
    assert (await gateway.get(f"/runs/{UNKNOWN}/frames")).status_code == 404


async def test_who_comes_while_a_request_ends_is_answered() -> None:
    """The subscription is on its way out, because the run has ended or nobody watched: that is not the last word."""
    cancelling, may_cancel = asyncio.Event(), asyncio.Event()
    answer = Reply(problem=Problem(code=ProblemCode.RUN_ENDED, title="The run has ended"))

    class FakeSubscription:
        async def cancel(self) -> None:
            cancelling.set()
            await may_cancel.wait()

    class FakeBus:
        async def subscribe(self, *_: object) -> FakeSubscription:
            return FakeSubscription()

        async def ask(self, *_: object) -> Any:
            return SimpleNamespace(data=answer.model_dump_json().encode())

    class Viewer:
        def __init__(self) -> None:
            self.mailbox = FrameMailbox()

    idle = asyncio.Event()
    run_id = "01JGXSYNTHET1CRVA000099999"
    lease = FrameLease(run_id, cast(Any, FakeBus()), cast(Any, None), lambda _: idle.set())
    first, second = Viewer(), Viewer()
    for client in (first, second):
        lease.watch(cast(Any, client), WatchFrames(run_id=run_id))
        await cancelling.wait()
    may_cancel.set()
    for client in (first, second):
        async with asyncio.timeout(60):
            assert "run_ended" in str(await client.mailbox.next())
    for client in (first, second):
        lease.leave(cast(Any, client))
    async with asyncio.timeout(60):
        await idle.wait()


@pytest.mark.parametrize(
    "ended",
    [
        FramesProblem(run_id="run", problem=Problem(code=ProblemCode.RUN_ENDED, title="Ended")),
        ActRefused(
            run_id="run",
            env=0,
            first=2,
            number=2,
            problem=Problem(code=ProblemCode.RUN_ENDED, title="Ended"),
        ),
    ],
)
async def test_last_frames_go_before_the_message_of_the_end(
    ended: FramesProblem | ActRefused,
) -> None:
    """They are sent although their rate says that they are not due. Other messages, and other runs, do not wait."""
    mailbox = FrameMailbox()
    for key in (("run", 0), ("run", 1), ("other", 0)):
        mailbox.open(key, 0.01)
        mailbox.put(key, b"first")
        assert await mailbox.next() == b"first"
        mailbox.put(key, f"last of {key}".encode())
    mailbox.note(FramesProblem(run_id="run", problem=Problem(code=ProblemCode.INTERNAL, title="x")))
    mailbox.note(ended)
    mailbox.note(FramesAsked(run_id="other", env=0))
    sent = [await mailbox.next() for _ in range(5)]
    assert sent[1:3] == [b"last of ('run', 0)", b"last of ('run', 1)"]
    assert [json.loads(sent[place])["op"] for place in (0, 3, 4)] == [
        "problem",
        ended.op,
        "watching",
    ]
