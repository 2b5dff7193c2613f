"""Frames of a replay by step, in bounded memory, and which ones to ask for next."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from mosaic_contracts.frames import MAX_PAGE_FRAMES, EnvironmentFrame

CACHE_BYTES = 256 * 2**20
"""A game of 27,000 frames of 8 KiB fits."""
FRAME_BYTES = 600
"""Memory of a frame in addition to its encoded picture."""
FIRST_FRAMES = 4
"""Frames of the first request at a place, so that its first picture comes soon."""
AHEAD = 384
"""Frames that are fetched ahead of the cursor."""
PAGE_S = 0.2
"""Time that one request may take."""
WHOLE_STEPS = 3_000
"""Episodes of up to so many steps are fetched whole."""


@dataclass(frozen=True)
class FrameRange:
    """Every `every`-th step from `first` to `last`."""

    first: int
    last: int
    every: int = 1


class FrameCache:
    """Keeps frames by step; beyond its limit those that were used longest ago go."""

    def __init__(self, limit_bytes: int = CACHE_BYTES) -> None:
        self._limit = limit_bytes
        self._frames: OrderedDict[int, EnvironmentFrame] = OrderedDict()
        self._present = bytearray()
        """One byte for each step: 1 where its frame is here."""
        self.size_bytes = 0
        self.version = 0
        """Grows with each change."""

    def __len__(self) -> int:
        return len(self._frames)

    def __contains__(self, step: int) -> bool:
        return step in self._frames

    def put(self, frames: Iterable[EnvironmentFrame]) -> None:
        """Keep frames; `number` is the step of each."""
        for frame in frames:
            self._drop(frame.number)
            self._frames[frame.number] = frame
            self.size_bytes += _size(frame)
            self._mark(frame.number, True)
        while self.size_bytes > self._limit and len(self._frames) > 1:
            self._drop(next(iter(self._frames)))
        self.version += 1

    def get(self, step: int) -> EnvironmentFrame | None:
        """The frame of a step, used now."""
        frame = self._frames.get(step)
        if frame is not None:
            self._frames.move_to_end(step)
        return frame

    def clear(self) -> None:
        """Drop all frames."""
        self._frames.clear()
        self._present.clear()
        self.size_bytes = 0
        self.version += 1

    def nearest_before(self, step: int) -> int | None:
        """The last step up to this one whose frame is here."""
        found = self._present.rfind(1, 0, step + 1)
        return found if found >= 0 else None

    def has_any(self, first: int, last: int) -> bool:
        """Whether a frame of these steps is here."""
        return self._present.find(1, max(0, first), last + 1) >= 0

    def _drop(self, step: int) -> None:
        old = self._frames.pop(step, None)
        if old is not None:
            self.size_bytes -= _size(old)
            self._mark(step, False)

    def _mark(self, step: int, present: bool) -> None:
        if step >= len(self._present):
            self._present.extend(bytes(step + 1 - len(self._present)))
        self._present[step] = present


class PageSize:
    """Number of frames for one request: as many as come soon, so that a seek does not wait for long."""

    def __init__(self) -> None:
        self.frames = FIRST_FRAMES

    def note(self, frames: int, elapsed_s: float) -> None:
        """Take how long a page of so many frames took."""
        if frames > 0:
            fitting = int(PAGE_S * frames / max(elapsed_s, 1e-3))
            # twice as many at most: the first frames of a place may have been waiting already
            self.frames = min(max(1, fitting), 2 * self.frames, MAX_PAGE_FRAMES)


def next_range(
    cache: FrameCache,
    cursor: int,
    last: int,
    stride: int = 1,
    *,
    is_dragging: bool = False,
    most: int = MAX_PAGE_FRAMES,
) -> FrameRange | None:
    """Which frames to ask for next; None: all that are needed are here.

    Args:
        cache: what is here.
        cursor: the step that is looked at.
        last: number of the episode's last step.
        stride: every so many steps are played.
        is_dragging: the user moves the cursor, so that nothing but its step is needed.
        most: maximum number of frames.
    """
    cursor = min(max(cursor, 0), last)
    if cursor not in cache:
        most = 1 if is_dragging else min(most, FIRST_FRAMES)
        return FrameRange(cursor, min(last, cursor + (most - 1) * stride), stride)
    if is_dragging:
        return None
    whole = last <= WHOLE_STEPS
    end = last if whole else min(last, cursor + AHEAD * stride)
    ahead = _first_missing(cache, cursor, end, stride, most)
    if ahead is not None or not whole:
        return ahead
    return _first_missing(cache, 0, cursor, 1, most)


def _first_missing(
    cache: FrameCache, first: int, end: int, stride: int, most: int
) -> FrameRange | None:
    step = next((step for step in range(first, end + 1, stride) if step not in cache), None)
    if step is None:
        return None
    until = step
    while (
        until + stride <= end
        and until + stride not in cache
        and (until - step) // stride < most - 1
    ):
        until += stride
    return FrameRange(step, until, stride)


def _size(frame: EnvironmentFrame) -> int:
    return len(frame.data) + FRAME_BYTES
