"""Which runs are passed on to an engine that queues them itself."""

from mosaic_scheduler.queue.forwarding import forwarded_places
from mosaic_scheduler.queue.plan import HELD, SENDING, QueueEntry


def test_cores_and_gpus_hold_nobody_back() -> None:
    """The engine owns them: every run is passed on while there is room in its queue."""
    waiting = [QueueEntry("a", cpus=64, gpus=8), QueueEntry("b", cpus=1)]
    assert [place.starts for place in forwarded_places(waiting, 0, 50)] == [True, True]


def test_only_so_many_wait_at_the_engine() -> None:
    """The others keep their place here, with the reason."""
    waiting = [QueueEntry(name, cpus=1) for name in "abc"]
    places = forwarded_places(waiting, 4, 5)
    assert [(place.starts, place.position) for place in places] == [
        (True, None),
        (False, 1),
        (False, 2),
    ]
    assert "5 runs wait at the cluster" in (places[1].reason or "")


def test_a_held_run_holds_up_nobody() -> None:
    """What is held, or waits for its own events, is not passed on and takes no room."""
    waiting = [
        QueueEntry("a", cpus=1, held=True),
        QueueEntry("b", cpus=1, sending=True),
        QueueEntry("c", cpus=1, unready="its record is not there yet"),
        QueueEntry("d", cpus=1),
    ]
    places = forwarded_places(waiting, 0, 1)
    assert [place.reason for place in places] == [
        HELD,
        SENDING,
        "its record is not there yet",
        None,
    ]
    assert places[3].starts
