from hypothesis import given
from hypothesis import strategies as st
from tests.specimen import episodes, metrics, run, run_id

from mosaic_contracts.live import Ended, Missed, RunChanged, Snapshot
from mosaic_contracts.states import RunState
from mosaic_gui.state.curves import EPISODE_RETURN
from mosaic_gui.state.follow import EventBatch
from mosaic_gui.state.store import Changes, Store


def followed_store() -> Store:
    """A store that follows run 0."""
    store = Store()
    store.follow(run_id(0))
    return store


def test_an_older_record_never_wins() -> None:
    """A frame that was overtaken on its way must not take a run back."""
    store = Store()
    store.apply(RunChanged(run=run(0, RunState.SUCCEEDED, revision=5)))
    changes = store.apply(RunChanged(run=run(0, RunState.RUNNING, revision=4)))
    assert not changes
    assert store.runs[run_id(0)].state is RunState.SUCCEEDED


def test_progress_comes_under_an_equal_revision() -> None:
    """Progress and notes change without a new revision, and are taken."""
    store = Store()
    store.apply(RunChanged(run=run(0)))
    assert store.apply(RunChanged(run=run(0, notes=["waits"]))).runs == {run_id(0)}
    assert store.runs[run_id(0)].notes == ["waits"]


def test_a_list_read_again_drops_deleted_runs() -> None:
    """After a lost connection the list is what the gateway has, deletions of others included."""
    store = Store()
    store.replace_runs([run(0), run(1)])
    changes = store.replace_runs([run(1), run(2)])
    assert changes.removed == {run_id(0)}
    assert changes.runs == {run_id(1), run_id(2)}
    assert set(store.runs) == {run_id(1), run_id(2)}


def test_a_deleted_run_leaves_the_list() -> None:
    """A record with `deleted_at` is a removal, wherever it comes from."""
    store = Store()
    store.take_runs([run(0)])
    gone = run(0, RunState.SUCCEEDED, revision=2, deleted_at="2026-01-02T13:00:00Z")
    assert store.apply(RunChanged(run=gone)).removed == {run_id(0)}
    assert store.runs == {}


def test_events_become_curves() -> None:
    """Episodes and metrics of a followed run are there to be drawn, each under its name."""
    store = followed_store()
    changes = store.apply(episodes(1, [1.0, 2.0]))
    assert changes == Changes(curves=frozenset({run_id(0)}))
    store.apply(metrics(3, "losses/value", [0.5, 0.25, 0.125]))
    curves = store.followed[run_id(0)].curves
    assert curves.series[EPISODE_RETURN].values.tolist() == [1.0, 2.0]
    assert curves.series["losses/value"].steps.tolist() == [30, 40, 50]


def test_events_of_a_run_that_was_let_go_are_dropped() -> None:
    """The last frames after an unsubscription must not bring a run's data back."""
    store = followed_store()
    store.unfollow(run_id(0))
    assert not store.apply(episodes(1, [1.0]))


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 12)), min_size=1, max_size=30))
def test_no_event_is_taken_twice(pieces: list[tuple[int, int]]) -> None:
    """Whatever overlaps after a reconnect, each event is drawn once and in order."""
    store = followed_store()
    end = 0
    for back, count in pieces:
        first = max(1, end + 1 - back)
        store.apply(metrics(first, "m", [float(first + i) for i in range(count)]))
        end = max(end, first + count - 1)
    assert store.followed[run_id(0)].curves.series["m"].values.tolist() == list(range(1, end + 1))


def test_it_goes_on_from_its_cursor() -> None:
    """After a loss the subscription begins where the last frame ended, per attempt and source."""
    store = followed_store()
    store.apply(episodes(1, [1.0] * 5))
    log = {"type": "log", "attempt": 1, "source": "supervisor", "seq": 2, "t": 1.0}
    store.apply(EventBatch(run_id(0), [log], {}, "1.supervisor.2~1.worker.5"))
    assert store.followed[run_id(0)].follower.cursor == "1.supervisor.2~1.worker.5"


def test_missed_events_are_reported_and_skipped() -> None:
    """A client that was too slow gets a message, and what it skipped does not come back as a double."""
    store = followed_store()
    missed = Missed(run_id=run_id(0), count=7, from_cursor="", to_cursor="1.worker.7")
    (problem,) = store.apply(missed).problems
    assert problem.title.startswith("7 events")
    assert not store.apply(metrics(3, "m", [1.0, 2.0]))


def test_the_past_of_a_run_that_is_opened_again_is_not_taken_twice() -> None:
    """What is read again by pages is left out where it is known already."""
    store = followed_store()
    words = [
        {"type": "log", "attempt": 1, "source": "worker", "seq": n, "t": float(n)} for n in (1, 2)
    ]
    store.take_past(run_id(0), words[:1])
    store.take_past(run_id(0), words)
    assert [event["seq"] for event in store.followed[run_id(0)].log_events] == [1, 2]


def test_history_is_whole_when_the_joint_is_reached() -> None:
    """Between the snapshot and its cursor there is history to come; after it all is live."""
    store = followed_store()
    followed = store.followed[run_id(0)]
    assert not followed.caught_up
    store.apply(Snapshot(run=run(0), cursor="1.worker.4"))
    store.apply(metrics(1, "m", [1.0, 2.0]))
    assert [followed.caught_up, store.apply(metrics(3, "m", [3.0, 4.0])).curves] == [
        False,
        {run_id(0)},
    ]
    assert store.followed[run_id(0)].caught_up
    store.apply(Ended(run_id=run_id(0), cursor="1.worker.4"))
    assert followed.ended


def test_what_a_run_has_is_known_by_its_events() -> None:
    """Panels for namespaced extras appear with the first such event, never before."""
    store = followed_store()
    assert store.followed[run_id(0)].extras == frozenset()
    event = {"type": "bdi.intention", "attempt": 1, "source": "worker", "seq": 1, "t": 1.0}
    changes = store.apply(EventBatch(run_id(0), [event], {}, "1.worker.1"))
    assert changes.events == {run_id(0)}
    assert store.followed[run_id(0)].extras == {"bdi.intention"}


def test_changes_add_up() -> None:
    """Two changes of one tick are one; what came back after its removal is there."""
    gone, back = Changes(removed=frozenset({"a"})), Changes(runs=frozenset({"a"}))
    assert gone | back == back
    assert back | gone == gone
