"""The connection for frames: open only while something is watched, latest wins, resumed after a loss."""

from collections.abc import Iterator
from typing import Any

import pytest
from PyQt6.QtCore import QObject
from pytestqt.qtbot import QtBot
from tests.net.frames_stub import FramesStub, frame, raw
from tests.specimen import run_id

from mosaic_contracts.frames import WatchFrames, encode_frame
from mosaic_gui.net.frames_link import FramesLink
from mosaic_gui.net.location import StackLocation

RUN, OTHER = run_id(0), run_id(1)
WAIT_MS = 60_000


class Bench:
    """A stream to a real server of this process, and what it emitted."""

    def __init__(self) -> None:
        self.stub = FramesStub()
        self.parent = QObject()
        self.stream = FramesLink(StackLocation(self.stub.listen(), "secret"), self.parent)
        self.numbers: list[int] = []
        self.problems: list[tuple[str, str]] = []
        self.promised: list[str] = []
        self.stream.received.connect(lambda one: self.numbers.append(one.number))
        self.stream.failed.connect(lambda run, words: self.problems.append((run, words)))
        self.stream.promised.connect(self.promised.append)

    def watch(self, run: str = RUN, env: int = 0, **fields: Any) -> None:
        """Ask for frames."""
        self.stream.watch(WatchFrames(run_id=run, env=env, **fields))

    def ops(self) -> list[tuple[str, int | None]]:
        """What the server was asked."""
        return [(said["op"], said.get("env")) for said in self.stub.asked]

    def close(self) -> None:
        """End all of it."""
        self.stream.stop()
        self.stream.deleteLater()
        self.stub.close()


@pytest.fixture
def bench() -> Iterator[Bench]:
    """A stream that watches nothing."""
    made = Bench()
    yield made
    made.close()


def test_nothing_is_opened_before_something_is_watched(qtbot: QtBot, bench: Bench) -> None:
    """The last run that is let go closes the connection."""
    qtbot.wait(50)
    assert not bench.stub.clients
    assert bench.stream.is_idle
    bench.watch()
    qtbot.waitUntil(lambda: bench.ops() == [("watch", 0)], timeout=WAIT_MS)
    assert bench.stub.asked[0] == {
        "op": "watch",
        "run_id": RUN,
        "env": 0,
        "fps": 30.0,
        "smooth": False,
    }
    bench.stream.unwatch(RUN)
    assert bench.stream.is_idle
    qtbot.waitUntil(lambda: bench.stub.lost == 1, timeout=WAIT_MS)


def test_of_frames_that_wait_only_the_newest_is_read(qtbot: QtBot, bench: Bench) -> None:
    """A window that is busy for a second shows the present, not the second before."""
    bench.watch()
    qtbot.waitUntil(lambda: len(bench.stub.asked) == 1, timeout=WAIT_MS)
    for number in range(1, 200):
        bench.stub.send(frame(RUN, number, **raw(8, 8)))
    qtbot.waitUntil(lambda: 199 in bench.numbers, timeout=WAIT_MS)
    assert bench.numbers[-1] == 199
    assert bench.stream.skipped + len(bench.numbers) == 199
    assert bench.stream.skipped > 0


def test_another_sub_environment_replaces_the_one_before(qtbot: QtBot, bench: Bench) -> None:
    """A frame of the one before that was on its way is not shown."""
    bench.watch()
    qtbot.waitUntil(lambda: len(bench.stub.asked) == 1, timeout=WAIT_MS)
    bench.watch()
    bench.watch(env=2, smooth=True)
    qtbot.waitUntil(lambda: len(bench.stub.asked) == 3, timeout=WAIT_MS)
    assert bench.ops() == [("watch", 0), ("unwatch", None), ("watch", 2)]
    bench.stub.send(frame(RUN, 1), frame(RUN, 2, env=2), frame(OTHER, 3))
    qtbot.waitUntil(lambda: bench.numbers == [2], timeout=WAIT_MS)


def test_after_a_loss_it_is_asked_again(qtbot: QtBot, bench: Bench) -> None:
    """A gateway that restarts is found again, and what is watched is said again."""
    bench.watch()
    qtbot.waitUntil(lambda: len(bench.stub.asked) == 1, timeout=WAIT_MS)
    bench.stub.drop()
    qtbot.waitUntil(lambda: len(bench.stub.asked) == 2, timeout=WAIT_MS)
    assert [run for run, _ in bench.problems] == [RUN]
    assert bench.problems[0][1].startswith("Frames do not come: ")
    bench.stub.send(frame(RUN, 7))
    qtbot.waitUntil(lambda: bench.numbers == [7], timeout=WAIT_MS)


def test_problems_and_promises_are_passed_on(qtbot: QtBot, bench: Bench) -> None:
    """What this version does not know, and bytes that are no frame, are left out."""
    bench.watch()
    qtbot.waitUntil(lambda: len(bench.stub.asked) == 1, timeout=WAIT_MS)
    problem = {"code": "run_ended", "title": "No frames", "status": 409, "detail": "Old."}
    bench.stub.say(op="problem", run_id=RUN, problem=problem)
    bench.stub.say(op="watching", run_id=RUN, env=0)
    bench.stub.say(op="of tomorrow")
    bench.stub.send_raw(b"\x00")
    bench.stub.send_raw(encode_frame(frame(RUN, 4))[:-3])
    bench.stub.send(frame(RUN, 5))
    qtbot.waitUntil(lambda: bench.numbers == [5], timeout=WAIT_MS)
    assert bench.promised == [RUN]
    assert bench.problems[0] == (RUN, "No frames. Old.")


def test_an_older_gateway_is_named_and_not_asked_again(qtbot: QtBot, bench: Bench) -> None:
    """It answers 404: trying again would not help."""
    bench.stub.close()
    from tests.net.gateway_stub import Answer, HttpStub

    http = HttpStub()
    http.answers.append(Answer(404, {}))
    bench.stream.move_to(StackLocation(http.url, "secret"))
    bench.watch()
    qtbot.waitUntil(lambda: bool(bench.problems), timeout=WAIT_MS)
    assert "older" in bench.problems[0][1]
    assert bench.stream.is_idle
    http.close()
