"""How far the data that is shown is behind the stack."""

import pytest
from tests.specimen import episodes, run, run_id

from mosaic_contracts.live import Ended, RunChanged, Snapshot
from mosaic_contracts.runs import RunSummary, SourceMark
from mosaic_gui.state.connection import ConnectionStatus, Lag, LinkState
from mosaic_gui.state.store import Store
from mosaic_gui.viewmodels.connection import ConnectionModel

WORKER = (1, "worker")


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_it_counts_from_the_first_report_that_is_not_reached() -> None:
    """The age is that of the oldest events that are missing here, whatever came since."""
    lag = Lag()
    assert lag.behind_s({}, 0.0) == 0
    for second, seq in enumerate((10, 20, 30)):
        lag.report({WORKER: seq}, float(second))
    assert lag.behind_s({}, 5.0) == 5
    assert lag.behind_s({WORKER: 15}, 5.0) == 4
    assert lag.behind_s({WORKER: 29}, 7.5) == 5.5
    assert lag.behind_s({WORKER: 30}, 8.0) == 0
    lag.report({WORKER: 30, (2, "worker"): 1}, 9.0)
    assert lag.behind_s({WORKER: 30}, 10.0) == 1


def test_memory_is_bounded() -> None:
    """After an hour behind, the age is that of the oldest report still, and a million reports are not kept."""
    lag = Lag()
    for n in range(100_000):
        lag.report({WORKER: n + 1}, float(n))
    assert len(lag._reports) < 1_000
    assert lag.behind_s({}, 100_000.0) == 100_000
    assert lag.behind_s({WORKER: 10**6}, 100_001.0) == 0


def changed(last_seq: int) -> RunChanged:
    """The run's record with what the store has."""
    mark = SourceMark(
        attempt=1, source="worker", last_seq=last_seq, next_seq=last_seq + 1, missing=0
    )
    return RunChanged(run=run(0, summary=RunSummary(run_id=run_id(0), sources=[mark])))


def test_a_followed_run_is_behind_until_its_events_are_here() -> None:
    """A report of the stack counts from the snapshot on, until the events up to it came or the run ended."""
    clock = Clock()
    store = Store(clock)
    store.follow(run_id(0))
    store.apply(changed(3))
    clock.now += 50
    assert store.behind_s == 0  # its past is being opened
    store.apply(Snapshot(run=run(0), cursor=""))
    store.apply(changed(3))
    clock.now += 7
    assert store.behind_s == 7
    store.apply(episodes(1, [1.0, 2.0, 3.0]))
    assert store.behind_s == 0
    store.apply(changed(9))
    clock.now += 2
    assert store.behind_s == 2
    store.apply(Ended(run_id=run_id(0), cursor="1.worker.9"))
    assert store.behind_s == 0
    store.apply(changed(12))
    clock.now += 2
    assert store.behind_s == 0


def test_an_old_snapshot_does_not_bring_back_an_old_state() -> None:
    """A snapshot that waited behind events is left out where the state is known; a newer one is taken."""
    store = Store()
    store.follow(run_id(0))
    store.apply(RunChanged(run=run(0, revision=5, progress={"step": 900})))
    store.apply(Snapshot(run=run(0, revision=5, progress={"step": 1}), cursor=""))
    known = store.runs[run_id(0)].progress
    assert known is not None
    assert known.step == 900
    store.apply(Snapshot(run=run(0, revision=6), cursor=""))
    assert store.runs[run_id(0)].revision == 6


@pytest.mark.parametrize(
    ("seconds", "word", "tone"),
    [
        (0.0, "Live", "ok"),
        (1.9, "Live", "ok"),
        (12.4, "Live, 12 s behind", "warn"),
        (125.0, "Live, 2:05 behind", "warn"),
    ],
)
def test_the_pill_says_how_far_behind(seconds: float, word: str, tone: str) -> None:
    """From two seconds on; a lost connection says that it is lost, and nothing else."""
    model = ConnectionModel()
    model.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    model.take_behind(seconds)
    assert (model.word, model.tone) == (word, tone)
    assert ("are current" in model.detail) == (tone == "warn")
    model.take(ConnectionStatus(LinkState.STALE, "http://127.0.0.1:1"))
    assert (model.word, model.tone) == ("Connection lost", "warn")
