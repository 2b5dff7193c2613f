import pytest

from mosaic_contracts.runs import SourceMark
from mosaic_gui.state.gaps import Filled, Gaps

KEY = (1, "worker")


def mark(last: int, following: int | None = None, missing: int = 0) -> SourceMark:
    """How far the worker is in the store; without a hole, the next seq follows the last."""
    return SourceMark(
        attempt=1, source="worker", last_seq=last, next_seq=following or last + 1, missing=missing
    )


def test_what_was_not_sent_in_time_is_there_when_the_store_has_come_so_far() -> None:
    """A part of it is reported as a part, the whole of it once."""
    gaps = Gaps()
    gaps.skip("1.worker.100")
    looks = [gaps.look([mark(last)], {KEY: 150}) for last in (20, 20, 60, 99, 100, 160)]
    nothing, some, every = Filled.NOTHING, Filled.SOME, Filled.ALL
    assert looks == [nothing, nothing, some, some, every, nothing]
    assert not gaps


def test_a_store_that_is_only_behind_has_no_gap() -> None:
    """What came live before the recorder had it is not missing."""
    gaps = Gaps()
    assert gaps.look([mark(50)], {KEY: 90}) is Filled.NOTHING
    assert not gaps
    assert gaps.look([mark(90)], {KEY: 90}) is Filled.NOTHING


def test_a_hole_that_was_passed_by_and_is_filled_later_is_seen() -> None:
    """Nothing live reports a hole behind the cursor; a part that is filled counts as a part."""
    gaps = Gaps()
    assert gaps.look([mark(90, 11, 20)], {KEY: 90}) is Filled.NOTHING
    assert gaps
    assert gaps.look([mark(95, 21, 10)], {KEY: 95}) is Filled.SOME
    assert gaps.look([mark(99)], {KEY: 99}) is Filled.ALL


def test_a_hole_that_is_waited_for_still_is_none() -> None:
    """Before the client is beyond it, it comes in its place."""
    gaps = Gaps()
    assert gaps.look([mark(90, 11, 20)], {KEY: 10}) is Filled.NOTHING
    assert not gaps


def test_a_hole_that_stays_asks_for_nothing() -> None:
    """One that grows, or that nobody will ever fill, is no reason to read a run again."""
    gaps = Gaps()
    looks = [gaps.look([mark(90 + n, 11, 20 + n)], {KEY: 90 + n}) for n in range(5)]
    assert set(looks) == {Filled.NOTHING}
    assert gaps.close()
    assert not gaps.close()


@pytest.mark.parametrize("marks", [[], [mark(5)]])
def test_one_source_that_is_whole_does_not_speak_for_another(marks: list[SourceMark]) -> None:
    """Until each source that was passed over is there, only a part is."""
    gaps = Gaps()
    gaps.skip("1.supervisor.3~1.worker.10")
    other = SourceMark(attempt=1, source="supervisor", last_seq=3, next_seq=4, missing=0)
    assert gaps.look([other, *marks], {}) is Filled.SOME
    assert gaps.look([other, mark(10)], {}) is Filled.ALL
