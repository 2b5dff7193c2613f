"""A replay's result and frames: what the sync and the async client share. No I/O here."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mosaic_client.errors import AnswerInvalid, ReplayFailed
from mosaic_client.live import FollowState, LiveItem
from mosaic_contracts.frames import EnvironmentFrame, EpisodeFrames, decode_frame
from mosaic_contracts.live import Ended, Events, RunChanged, Snapshot
from mosaic_contracts.replays import REPLAY_RESULT, ReplayResult
from mosaic_contracts.runs import RunView

ReplayProgress = Callable[[RunView], None]
"""Called with the replay at every change of its state."""
_LAST_LINES = 12
"""Lines of a replay's output that an error quotes."""


class ResultWait:
    """Waits for the result of one replay over the items that following it yields."""

    def __init__(self, replay_id: str, progress: ReplayProgress | None) -> None:
        self.result: ReplayResult | None = None
        self.follower = FollowState(run_id=replay_id, cursor="", types=[REPLAY_RESULT])
        self._progress = progress or (lambda _: None)
        self._run: RunView | None = None

    def take(self, item: LiveItem) -> bool:
        """Read one item; True when the wait is over.

        Raises:
            ReplayFailed: the replay has ended without a result.
        """
        if isinstance(item, Snapshot | RunChanged):
            self._run = item.run
            self._progress(item.run)
        elif isinstance(item, Events):
            found = [event for event in item.events if event["type"] == REPLAY_RESULT]
            if found:
                self.result = _read_result(found[-1]["data"])
        elif isinstance(item, Ended) and self.result is None:
            raise ReplayFailed(_without_result(self._run))
        return self.result is not None

    def found(self) -> ReplayResult:
        """Return the result once the wait is over.

        Raises:
            ReplayFailed: there is none.
        """
        if self.result is None:
            raise ReplayFailed(_without_result(self._run))
        return self.result


class FramePages:
    """Reads the pages of one range of frames in order."""

    def __init__(self, first: int, last: int | None, every: int) -> None:
        self.next: int | None = first
        """Step to ask for next; None: nothing is left."""
        self.last = last
        """Last step of the range; None until the first page says it."""
        self.every = every

    def take(self, page: EpisodeFrames) -> Iterator[EnvironmentFrame]:
        """Decode one page and move on.

        Raises:
            AnswerInvalid: a frame cannot be read, or the page does not lead on.
        """
        if self.last is None:
            self.last = page.last
        if page.next is not None and page.next <= (self.next or 0):
            raise AnswerInvalid(f"the stack sent a page of frames that leads back to {page.next}")
        self.next = page.next
        return map(read_frame, page.frames)


def read_frame(data: bytes) -> EnvironmentFrame:
    """Decode one frame.

    Raises:
        AnswerInvalid: not a frame of this version.
    """
    try:
        return decode_frame(data)
    except ValueError as error:
        raise AnswerInvalid(
            f"The stack sent a frame that this version cannot read ({error}). Check that it has the "
            "same version (`./mosaic doctor`)."
        ) from error


def _read_result(data: object) -> ReplayResult:
    try:
        return ReplayResult.model_validate(data)
    except ValueError as error:
        raise AnswerInvalid(
            f"the replay recorded a result that this version cannot read: {error}"
        ) from error


def _without_result(run: RunView | None) -> str:
    if run is None or run.end is None:
        return "The replay ended without a result."
    lines = "\n".join(f"  {line}" for line in run.end.last_lines[-_LAST_LINES:])
    said = f" Its last lines:\n{lines}" if lines else ""
    reason = run.end.message.rstrip(".") or run.state.value
    return f"The replay ended without a result: {reason}.{said}"
