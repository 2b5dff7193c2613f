"""The frames of a replay in order, one page fetched while the one before is encoded."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from mosaic_client import Client
from mosaic_client.replays import FramePages
from mosaic_contracts.frames import EnvironmentFrame, EpisodeFrames


class NumberedFrame(NamedTuple):
    """A frame and how many there are."""

    frame: EnvironmentFrame
    total: int
    """Number of frames of the whole range."""


def replay_frames(
    client: Client, replay_id: str, every: int
) -> Generator[NumberedFrame, None, None]:
    """Read every n-th frame of a replay from the reset on, and its last one.

    Args:
        client: used by another thread while this runs.
        replay_id: a replay that draws.
        every: distance of the steps.

    Yields:
        The frames in order.
    """
    pages = FramePages(0, None, every)
    pool = ThreadPoolExecutor(1)
    try:
        coming = pool.submit(_fetch, client, replay_id, pages)
        while True:
            page = coming.result()
            frames = pages.take(page)
            if pages.next is not None:
                coming = pool.submit(_fetch, client, replay_id, pages)
            total = page.last // every + 1 + (page.last % every > 0)
            yield from (NumberedFrame(frame, total) for frame in frames)
            if pages.next is None:
                break
        if page.last % every:
            for frame in client.frames(replay_id, page.last, page.last):
                yield NumberedFrame(frame, total)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _fetch(client: Client, replay_id: str, pages: FramePages) -> EpisodeFrames:
    assert pages.next is not None  # noqa: S101 - asked for only while something is left
    return client.episode_frames(replay_id, pages.next, pages.last, pages.every)
