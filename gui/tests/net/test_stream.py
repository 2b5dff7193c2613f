from collections.abc import Iterator

import msgspec
import pytest
from PyQt6.QtCore import QTimer
from PyQt6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot
from tests.net.dead_line import Line
from tests.net.gateway_stub import LiveStub
from tests.specimen import metrics, run, run_id

from mosaic_contracts.live import Ended, Hello, RunChanged
from mosaic_gui.net import stream as stream_module
from mosaic_gui.net.frames import goes_ahead
from mosaic_gui.net.location import StackLocation
from mosaic_gui.net.stream import MOST_SUBSCRIBED, EventStream
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.state.follow import EventBatch, Follower

WAIT_MS = 60_000


class Connected:
    """A stub and a stream to it, with everything that the stream reported."""

    def __init__(self) -> None:
        self.stub = LiveStub()
        self.stream = EventStream(StackLocation(self.stub.listen(), "secret"))
        self.changed = QSignalSpy(self.stream.changed)
        self.received = QSignalSpy(self.stream.received)

    @property
    def links(self) -> list[LinkState]:
        """Every state so far."""
        return [self.changed[n][0].link for n in range(len(self.changed))]

    @property
    def last(self) -> ConnectionStatus:
        """The newest state."""
        connection: ConnectionStatus = self.changed[-1][0]
        return connection

    def ops(self) -> list[str]:
        """What the stub was asked, by kind."""
        return [frame["op"] for frame in self.stub.asked]

    def close(self) -> None:
        """End both."""
        self.stream.stop()
        self.stub.close()


@pytest.fixture
def net(qtbot: QtBot) -> Iterator[Connected]:
    """A stream that is live."""
    made = Connected()
    made.stream.start()
    qtbot.waitUntil(lambda: made.links[-1:] == [LinkState.LIVE], timeout=WAIT_MS)
    yield made
    made.close()


def test_it_says_who_it_is_and_asks_for_the_list(qtbot: QtBot, net: Connected) -> None:
    """The token travels in a header, no origin is claimed, and the run list is followed at once."""
    qtbot.waitUntil(lambda: net.ops() == ["subscribe_runs"], timeout=WAIT_MS)
    assert net.links == [LinkState.CONNECTING, LinkState.LIVE]
    assert net.stub.headers[0]["authorization"] == "Bearer secret"
    assert not net.stub.headers[0].get("origin")
    assert isinstance(net.received[0][0], Hello)
    assert net.last.stack_version == "0.1.0"


def test_more_runs_than_the_gateway_takes_wait_their_turn(qtbot: QtBot, net: Connected) -> None:
    """A run is subscribed to when another one has ended, and after a loss again as many as before."""
    for n in range(MOST_SUBSCRIBED + 2):
        net.stream.follow(Follower(run_id(n)))

    def subscribed() -> list[str]:
        return [frame["run_id"] for frame in net.stub.asked if frame["op"] == "subscribe"]

    qtbot.waitUntil(lambda: len(subscribed()) == MOST_SUBSCRIBED, timeout=WAIT_MS)
    net.stream.unfollow(run_id(3))
    qtbot.waitUntil(lambda: subscribed()[-1] == run_id(MOST_SUBSCRIBED), timeout=WAIT_MS)
    assert len(subscribed()) == MOST_SUBSCRIBED + 1
    net.stream.unfollow(run_id(MOST_SUBSCRIBED + 1))  # it waited: nobody has to be asked
    net.stub.asked.clear()
    net.stub.drop()
    qtbot.waitUntil(lambda: len(subscribed()) == MOST_SUBSCRIBED, timeout=WAIT_MS)
    assert run_id(MOST_SUBSCRIBED) in subscribed()


def test_frames_arrive_as_models(qtbot: QtBot, net: Connected) -> None:
    """Events come as a batch with their columns, other frames as the contract's models."""
    net.stub.say({"op": "run", "run": run(0).model_dump(mode="json")})
    net.stub.say({"op": "events", "run_id": run_id(0), "events": [], "columns": {}, "cursor": ""})
    qtbot.waitUntil(lambda: len(net.received) == 3, timeout=WAIT_MS)
    assert net.received[1][0].run.run_id == run_id(0)
    assert net.received[2][0] == EventBatch(run_id(0), [], {}, "")


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x01", b"\x81\xa2op\xa3run", b"\x80"])
def test_what_is_no_frame_is_counted_and_passed_over(
    qtbot: QtBot, net: Connected, data: bytes
) -> None:
    """Bytes that cannot be read neither end the connection nor reach the store."""
    net.stub.say_raw(data)
    net.stub.say({"op": "pong"})
    qtbot.waitUntil(lambda: len(net.received) == 2, timeout=WAIT_MS)
    assert net.stream.unreadable == 1
    assert net.last.link is LinkState.LIVE


def test_a_newer_gateways_frames_are_ignored(qtbot: QtBot, net: Connected) -> None:
    """A kind of frame that this client does not know is no fault."""
    net.stub.say({"op": "from_the_future", "x": 1})
    net.stub.say({"op": "pong"})
    qtbot.waitUntil(lambda: len(net.received) == 2, timeout=WAIT_MS)
    assert net.stream.unreadable == 0


def test_a_lost_connection_is_stale_and_comes_back(qtbot: QtBot, net: Connected) -> None:
    """What is on the screen is called old, it is tried again by itself, and live again afterwards."""
    net.stub.drop()
    qtbot.waitUntil(lambda: net.links.count(LinkState.LIVE) == 2, timeout=WAIT_MS)
    assert net.links == [
        LinkState.CONNECTING,
        LinkState.LIVE,
        LinkState.STALE,
        LinkState.STALE,
        LinkState.LIVE,
    ]
    assert net.changed[2][0].retry_in_s > 0


def test_it_goes_on_where_it_broke_off(qtbot: QtBot, net: Connected) -> None:
    """After a loss each run is asked for from the last event that came, not from the start."""
    follower = Follower(run_id(0))
    net.stream.follow(follower)
    qtbot.waitUntil(lambda: "subscribe" in net.ops(), timeout=WAIT_MS)
    assert net.stub.asked[-1]["cursor"] == ""
    follower.take(
        EventBatch(run_id(0), [{"attempt": 1, "source": "worker", "seq": 7}], {}, "1.worker.7")
    )
    net.stub.asked.clear()
    net.stub.drop()
    qtbot.waitUntil(lambda: "subscribe" in net.ops(), timeout=WAIT_MS)
    assert net.stub.asked[-1]["cursor"] == "1.worker.7"


def test_a_run_that_was_let_go_is_not_asked_for_again(qtbot: QtBot, net: Connected) -> None:
    """The stream sends the unfollowing to the gateway, and it holds over a loss."""
    net.stream.follow(Follower(run_id(0)))
    net.stream.unfollow(run_id(0))
    qtbot.waitUntil(lambda: "unsubscribe" in net.ops(), timeout=WAIT_MS)
    net.stub.asked.clear()
    net.stub.drop()
    qtbot.waitUntil(lambda: net.ops() == ["subscribe_runs"], timeout=WAIT_MS)


def test_a_gateway_that_is_away_is_waited_for(qtbot: QtBot, net: Connected) -> None:
    """While nobody listens the delays grow; when somebody does, it is live without anybody's doing."""
    net.stub.close()
    qtbot.waitUntil(lambda: net.last.retry_in_s is not None, timeout=WAIT_MS)
    first = net.last.retry_in_s or 0.0
    qtbot.waitUntil(lambda: (net.last.retry_in_s or 0.0) > first, timeout=WAIT_MS)
    assert net.last.reason
    net.stub.listen()
    qtbot.waitUntil(lambda: net.last.link is LinkState.LIVE, timeout=WAIT_MS)


def test_silence_is_noticed(qtbot: QtBot, net: Connected, monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that is gone without a word (a cable, a laptop that slept) is not waited for for ever."""
    monkeypatch.setattr(stream_module, "SILENCE_MS", -1)
    ping: QTimer = net.stream._ping
    ping.timeout.emit()
    assert net.last.link is LinkState.STALE
    assert net.last.reason == "it does not answer any more"


def test_a_line_that_is_dead_without_a_word_is_left(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection over which nothing comes any more, and no end either, is given up and made again."""
    monkeypatch.setattr(stream_module, "SILENCE_MS", 400)
    monkeypatch.setattr(stream_module, "PING_EVERY_MS", 100)
    stub = LiveStub()
    line = Line(int(stub.listen().rsplit(":", 1)[1]))
    stream = EventStream(StackLocation(f"http://127.0.0.1:{line.port}", "secret"))
    follower = Follower(run_id(0), "1.worker.41")
    stream.follow(follower)
    changed = QSignalSpy(stream.changed)
    stream.start()

    def links() -> list[LinkState]:
        return [changed[n][0].link for n in range(len(changed))]

    qtbot.waitUntil(lambda: LinkState.LIVE in links(), timeout=WAIT_MS)
    line.is_dead = True
    qtbot.waitUntil(lambda: LinkState.STALE in links(), timeout=WAIT_MS)
    stub.asked.clear()
    line.is_dead = False
    qtbot.waitUntil(lambda: links()[-1] is LinkState.LIVE, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: len(stub.asked) >= 2, timeout=WAIT_MS)
    asked = {frame["op"]: frame for frame in stub.asked}
    assert asked["subscribe"]["cursor"] == "1.worker.41"
    stream.stop()
    line.close()
    stub.close()


def test_a_pause_of_its_own_is_not_the_peers_silence(
    qtbot: QtBot, net: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a laptop slept the peer is asked first; one that answers stays, and nothing is read again."""
    later = stream_module._now() + 3600
    monkeypatch.setattr(stream_module, "_now", lambda: later)
    monkeypatch.setattr(stream_module, "WAKE_MS", 300)
    heard = QSignalSpy(net.stream._socket.pong)  # type: ignore[union-attr]
    net.stream._ping.timeout.emit()
    qtbot.waitUntil(lambda: len(heard) == 1, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: not net.stream._awake.isActive(), timeout=WAIT_MS)
    assert net.last.link is LinkState.LIVE


def test_a_peer_that_went_while_this_slept_is_noticed_at_once(
    qtbot: QtBot, net: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for the whole silence after a pause: a moment after it the connection is called lost."""
    later = stream_module._now() + 3600
    monkeypatch.setattr(stream_module, "_now", lambda: later)
    monkeypatch.setattr(stream_module, "WAKE_MS", 300)
    net.stream._socket.pong.disconnect()  # type: ignore[union-attr]
    net.stream._ping.timeout.emit()
    qtbot.waitUntil(lambda: LinkState.STALE in net.links, timeout=WAIT_MS)
    lost = next(
        net.changed[n][0] for n in range(len(net.changed)) if net.links[n] is LinkState.STALE
    )
    assert "pause" in lost.reason


def test_a_flood_is_taken_in_turns(qtbot: QtBot, net: Connected) -> None:
    """However many frames wait, the loop comes to its other work in between, and each frame is taken once, in order."""
    turns: list[int] = []
    beat = QTimer()
    beat.timeout.connect(lambda: turns.append(len(net.received)))
    batch = metrics(1, "losses/a", [1.0] * 1000)
    known = len(net.received)
    for n in range(300):
        frame = {"op": "events", "run_id": batch.run_id, "events": [], "columns": batch.columns}
        net.stub.say({**frame, "cursor": f"1.worker.{n}"})
    beat.start(0)
    qtbot.waitUntil(lambda: len(net.received) == known + 300, timeout=WAIT_MS)
    beat.stop()
    assert [net.received[known + n][0].cursor for n in range(300)] == [
        f"1.worker.{n}" for n in range(300)
    ]
    assert len(set(turns)) > 3


def test_what_is_not_taken_in_time_is_asked_for_again(
    qtbot: QtBot, net: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is bounded: a client that does not keep up leaves, and comes back with the cursor of what it took."""
    monkeypatch.setattr(stream_module, "MOST_UNREAD_BYTES", 1_000)
    follower = Follower(run_id(0), "1.worker.5")
    net.stream.follow(follower)
    qtbot.waitUntil(lambda: "subscribe" in net.ops(), timeout=WAIT_MS)
    net.stub.asked.clear()
    net.stub.say_raw(b"x" * 2_000)
    qtbot.waitUntil(lambda: LinkState.STALE in net.links, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: "subscribe" in net.ops(), timeout=WAIT_MS)
    assert net.stub.asked[-1]["cursor"] == "1.worker.5"


def test_a_peer_that_says_nothing_is_given_up(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something that accepts a connection but is no gateway does not count as connected."""
    monkeypatch.setattr(stream_module, "OPEN_TIMEOUT_MS", 200)
    net = Connected()
    net.stub.says_hello = False
    net.stream.start()
    qtbot.waitUntil(lambda: net.last.reason == "it does not answer", timeout=WAIT_MS)
    assert net.last.link is LinkState.CONNECTING
    net.close()


def test_nothing_is_emitted_after_stop(qtbot: QtBot, net: Connected) -> None:
    """A stream that was left is silent, whatever its socket does later."""
    net.stream.stop()
    reported = len(net.changed)
    net.stub.drop()
    qtbot.wait(50)  # there is no event for silence
    assert len(net.changed) == reported


def test_a_state_passes_the_events_before_it(qtbot: QtBot, net: Connected) -> None:
    """However many events wait to be read, the newest state of each run is taken first; older ones are left out."""
    before = len(net.received)
    waiting = [metrics(1 + 10 * n, "m", [1.0] * 10) for n in range(500)]
    for batch in waiting:
        net.stub.say(
            {"op": "events", "run_id": batch.run_id, "events": [], "columns": batch.columns}
            | {"cursor": batch.cursor}
        )
    for revision in (1, 2, 3):
        changed = run(0, revision=revision)
        net.stub.say({"op": "run", "run": changed.model_dump(mode="json")})
    net.stub.say({"op": "end", "run_id": run_id(0), "cursor": "1.worker.5000"})
    # nothing is read while all of it arrives, as in a window that is busy
    net.stream._reading.timeout.disconnect()
    qtbot.waitUntil(lambda: len(net.stream._unread) == 501, timeout=WAIT_MS)
    net.stream._reading.timeout.connect(net.stream._read)
    net.stream._reading.start(0)
    qtbot.waitUntil(lambda: len(net.received) == before + 502, timeout=WAIT_MS)
    got = [net.received[n][0] for n in range(before, len(net.received))]
    assert isinstance(got[0], RunChanged)
    assert got[0].run.revision == 3
    assert all(isinstance(frame, EventBatch) for frame in got[1:-1])
    assert isinstance(got[-1], Ended)


@pytest.mark.parametrize(
    ("frame", "ahead"),
    [
        ({"op": "run", "run": {}}, True),
        ({"op": "pong"}, True),
        ({"op": "problem", "problem": {}}, True),
        ({"op": "events", "run_id": "r", "events": [], "columns": {}, "cursor": ""}, False),
        ({"op": "missed", "run_id": "r"}, False),
        ({"op": "snapshot", "run": {}, "cursor": ""}, False),
        ({"op": "end", "run_id": "r", "cursor": ""}, False),
        ({"op": "running"}, False),
        ({"run": {}, "op": "run"}, False),
        ({}, False),
    ],
)
def test_only_what_is_no_part_of_the_order_goes_ahead(
    frame: dict[str, object], ahead: bool
) -> None:
    """Events, gaps and the end keep their order, and so does a frame that is written in another way."""
    assert goes_ahead(msgspec.msgpack.encode(frame)) is ahead
    assert not goes_ahead(b"")
