"""Names, log tails, queue places, heartbeats: small things that are pure."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.records import RUN_ID, ManualClock, make_record

from mosaic_contracts.runs import Progress
from mosaic_contracts.services import Heartbeat
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.states import RunState
from mosaic_scheduler.admission.admission import display_name
from mosaic_scheduler.executors.log_tail import last_lines
from mosaic_scheduler.queue.plan import QueueEntry, queue_places
from mosaic_scheduler.runs.heartbeats import HeartbeatTracker
from mosaic_scheduler.runs.selection import PAGE_BYTES, first_that_fit
from mosaic_scheduler.runs.view import RunViews
from mosaic_servicekit.logging import redactor


def test_a_name_is_fit_for_a_file() -> None:
    """A slash in an environment's id does not reach the name; a given name is kept."""
    spec = RunSpec(worker="w", algorithm="ppo", environment="ALE/Pong-v5", seed=7)
    name = display_name(spec, datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert name.startswith("ALE-Pong-v5__ppo__7__2030010")
    assert display_name(spec.model_copy(update={"name": "mine"}), datetime.now(UTC)) == "mine"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (b"one\ntwo\n", ["one", "two"]),
        (b"10%\r50%\r100%\r\nend\n", ["100%", "end"]),
        (b"\x1b[31mred\x1b[0m \x1b]0;title\x07text\n", ["red text"]),
        (b"\x1b(B\x1b[m\x1b7sgr0\x1b8\x1b]0;unfinished\nnext\n", ["sgr0", "next"]),
        (b"\x1bPq~\x1b\\dcs \xc2\x9b31mc1\n", ["dcs c1"]),
        (b"bad \xff\xfe utf-8\n", ["bad \ufffd\ufffd utf-8"]),
        (b"key=canary-secret-1 here\n", ["key=[hidden] here"]),
        (b"\n\n  \nlast", ["last"]),
        (
            b"<" + b"x" * 598 + b">",
            ["<" + "x" * 374 + " … [100 characters left out] … " + "x" * 124 + ">"],
        ),
        (b"x" * 2**17, ["x" * 375 + " … [130,572 characters left out] … " + "x" * 125]),
        (b"x" * 2**21 + b"\n", ["[beginning not read] … " + "x" * 500]),
        (b"\r 50%" * 2**18 + b"\nend", [" 50%", "end"]),
        (b"\n".join(b"%d" % n for n in range(50)), [str(n) for n in range(30, 50)]),
    ],
)
def test_last_lines_are_fit_to_show(tmp_path: Path, written: bytes, shown: list[str]) -> None:
    """Bars collapse, colours and secrets vanish, broken text survives, the rest is bounded."""
    redactor.hide("canary-secret-1")
    path = tmp_path / "worker.log"
    path.write_bytes(written)
    assert last_lines(path) == shown


def test_a_missing_log_has_no_lines(tmp_path: Path) -> None:
    """A worker that never started has written nothing."""
    assert last_lines(tmp_path / "none") == []


def test_the_queue_is_first_come_first_served() -> None:
    """A run that needs many cores holds back the small ones behind it."""
    claims = [QueueEntry("a", 1), QueueEntry("b", 4), QueueEntry("c", 1)]
    places = queue_places(claims, cores_in_use=0, core_limit=4)
    assert [(p.run_id, p.starts, p.position, p.reason) for p in places] == [
        ("a", True, None, None),
        ("b", False, 1, "needs 4 cores; 3 of 4 free"),
        ("c", False, 2, "behind 1 run in the queue"),
    ]


def _beat(step: int, last_seq: int = 0) -> Heartbeat:
    return Heartbeat(run_id=RUN_ID, attempt=1, progress=Progress(step=step), last_seq=last_seq)


def test_age_is_measured_on_our_clock() -> None:
    """Progress ages since its step last changed, silence since the last word."""
    clock = ManualClock()
    tracker = HeartbeatTracker(clock)
    tracker.on_connection(True)
    tracker.on_heartbeat(_beat(5))
    clock.now += 3
    tracker.on_heartbeat(_beat(5))
    clock.now += 1
    progress = tracker.progress(RUN_ID, 1)
    assert progress is not None
    assert (progress.step, progress.age_s) == (5, 4.0)
    assert tracker.silence_s(RUN_ID, 1) == 1.0


def test_a_broker_outage_is_not_a_workers_silence() -> None:
    """Without a broker silence is unknown; afterwards it counts from the reconnect."""
    clock = ManualClock()
    tracker = HeartbeatTracker(clock)
    tracker.on_connection(True)
    tracker.on_heartbeat(_beat(1))
    tracker.on_connection(False)
    clock.now += 60
    assert tracker.silence_s(RUN_ID, 1) is None
    tracker.on_connection(True)
    clock.now += 2
    assert tracker.silence_s(RUN_ID, 1) == 2.0


def test_only_news_wakes_the_scheduler() -> None:
    """The first word and the first event are news; the same again is not; a word after silence is."""
    clock = ManualClock()
    tracker = HeartbeatTracker(clock)
    assert tracker.on_heartbeat(_beat(0))
    assert not tracker.on_heartbeat(_beat(1))
    assert tracker.on_heartbeat(_beat(2, last_seq=1))
    assert tracker.has_events(RUN_ID, 1)
    assert not tracker.on_heartbeat(_beat(3, last_seq=2))
    clock.now += 20
    assert tracker.on_heartbeat(_beat(3, last_seq=2))


def test_a_note_that_a_run_has_already_is_shown_once() -> None:
    """A run that goes on has the notes of its first attempt, and its folder has them too."""
    tracker = HeartbeatTracker(ManualClock())
    tracker.on_heartbeat(_beat(1).model_copy(update={"notes": ["a", "b"]}))
    view = RunViews(tracker).view(make_record(RunState.RUNNING, notes=["a"]))
    assert view.notes == ["a", "b"]


def test_a_page_of_large_runs_is_cut() -> None:
    """A page stays within its bytes, and one run is given however large it is: the next page goes on from it."""
    large = make_record(notes=["x" * (PAGE_BYTES // 3)])
    assert len(first_that_fit([large] * 5)) == 2
    assert len(first_that_fit([make_record(notes=["x" * 2 * PAGE_BYTES])] * 2)) == 1
    assert len(first_that_fit([make_record()] * 501)) == 501
    assert first_that_fit([]) == []
