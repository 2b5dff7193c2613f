from hypothesis import given
from hypothesis import strategies as st

from mosaic_contracts.frames import MAX_PAGE_FRAMES, EnvironmentFrame
from mosaic_gui.state.frame_cache import (
    AHEAD,
    FIRST_FRAMES,
    FRAME_BYTES,
    WHOLE_STEPS,
    FrameCache,
    FrameRange,
    PageSize,
    next_range,
)


def frames(*steps: int, size: int = 0) -> list[EnvironmentFrame]:
    """Frames of these steps."""
    return [EnvironmentFrame("R", 0, n, episode=0, step=n, t_us=0, data=b"x" * size) for n in steps]


def filled(*steps: int) -> FrameCache:
    """A cache with frames of these steps."""
    cache = FrameCache()
    cache.put(frames(*steps))
    return cache


def test_frames_that_were_used_longest_ago_go_first() -> None:
    """The limit is one of bytes, and one frame always stays."""
    cache = FrameCache(3 * (1000 + FRAME_BYTES))
    cache.put(frames(1, 2, 3, size=1000))
    assert cache.get(1) is not None
    cache.put(frames(4, size=1000))
    assert [n in cache for n in (1, 2, 3, 4)] == [True, False, True, True]
    cache.put(frames(9, size=100_000))
    assert len(cache) == 1


def test_a_frame_that_comes_again_is_counted_once() -> None:
    """A page may overlap the one before."""
    cache = filled(1, 2)
    before = cache.size_bytes
    cache.put(frames(2))
    assert (cache.size_bytes, len(cache)) == (before, 2)


def test_the_nearest_frame_before_a_step_is_found() -> None:
    """It is shown while the frame itself is on its way."""
    cache = filled(3, 8)
    assert [cache.nearest_before(n) for n in (0, 2, 3, 7, 8, 500)] == [None, None, 3, 3, 8, 8]
    assert cache.has_any(4, 8)
    assert not cache.has_any(4, 7)
    assert not cache.has_any(9, 900)


def test_the_first_request_at_a_place_is_small() -> None:
    """Its picture comes soon; the rest follows."""
    assert next_range(filled(), 50, 200) == FrameRange(50, 50 + FIRST_FRAMES - 1)
    assert next_range(filled(), 199, 200) == FrameRange(199, 200)


def test_while_dragging_only_the_newest_place_is_asked_for() -> None:
    """Frames that the cursor passed are of no use."""
    assert next_range(filled(), 50, 200, is_dragging=True) == FrameRange(50, 50)
    assert next_range(filled(50), 50, 200, is_dragging=True) is None


def test_frames_ahead_of_the_cursor_come_in_pages() -> None:
    """Up to what is here already, and up to a page."""
    assert next_range(filled(50), 50, 5000) == FrameRange(51, 50 + MAX_PAGE_FRAMES)
    assert next_range(filled(50, 55), 50, 5000) == FrameRange(51, 54)
    assert next_range(filled(50), 50, 5000, most=8) == FrameRange(51, 58)


def test_a_fast_playback_leaves_out_steps() -> None:
    """Only the steps that are drawn are asked for."""
    wanted = next_range(filled(48), 48, 5000, 8)
    assert wanted == FrameRange(56, 56 + 8 * (MAX_PAGE_FRAMES - 1), 8)


def test_a_long_episode_is_fetched_around_the_cursor() -> None:
    """It would be many megabytes."""
    last = WHOLE_STEPS + 1
    cache = filled(*range(100, 100 + AHEAD + 1))
    assert next_range(cache, 100, last) is None
    assert next_range(cache, 101, last) == FrameRange(100 + AHEAD + 1, 100 + AHEAD + 1)


def test_a_short_episode_is_fetched_whole() -> None:
    """First ahead of the cursor, then what lies before it."""
    assert next_range(filled(*range(5, 21)), 5, 20) == FrameRange(0, 4)
    assert next_range(filled(*range(21)), 5, 20) is None


def test_pages_grow_to_what_comes_in_time() -> None:
    """An environment that draws ten frames a second is asked for two at once."""
    size = PageSize()
    for _ in range(9):
        size.note(size.frames, size.frames * 0.001)
    assert size.frames == MAX_PAGE_FRAMES
    size.note(15, 1.5)
    assert size.frames == 2
    size.note(0, 1.0)
    assert size.frames == 2


@given(
    st.sets(st.integers(0, 60)),
    st.integers(0, 60),
    st.integers(1, 9),
    st.booleans(),
    st.integers(1, MAX_PAGE_FRAMES),
)
def test_what_is_asked_for_is_missing_and_within_the_episode(
    present: set[int], cursor: int, stride: int, is_dragging: bool, most: int
) -> None:
    """Each request makes progress, so that fetching ends."""
    cache, last = filled(*present), 50
    wanted = next_range(cache, cursor, last, stride, is_dragging=is_dragging, most=most)
    if wanted is None:
        assert min(cursor, last) in cache
        return
    asked = range(wanted.first, wanted.last + 1, wanted.every)
    assert wanted.first not in cache
    assert asked
    assert len(asked) <= max(most, 1)
    assert 0 <= wanted.first <= wanted.last <= last
