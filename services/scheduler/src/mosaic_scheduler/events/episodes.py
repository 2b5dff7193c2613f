"""Recorded episodes, read from the recorder page by page."""

from collections.abc import AsyncIterator
from typing import Any

from mosaic_contracts.replays import EpisodeEvents, EpisodeRequest, ReplaySource
from mosaic_contracts.verbs import RECORDER_EPISODE
from mosaic_servicekit.bus import Bus


class RecordedEpisodes:
    """Asks the recorder. Every call raises ProblemError: why it cannot answer now."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def config(self, run_id: str, attempt: int) -> dict[str, Any] | None:
        """The config event of an attempt; None: none is stored."""
        found = await self._ask(EpisodeRequest(run_id=run_id, attempt=attempt))
        return found.events[0] if found.events else None

    async def first_event(self, source: ReplaySource) -> dict[str, Any] | None:
        """The first stored event of the episode, its reset or a step; None: no step of it was recorded.

        Raises:
            ProblemError: `episode_unknown`, the store has nothing of this episode.
        """
        found = await self.first_page(source)
        return found.events[0] if found.events else None

    async def first_page(self, source: ReplaySource) -> EpisodeEvents:
        """The first stored event of the episode with its number of steps; errors as for `first_event`."""
        return await self._ask(_request(source, limit=1))

    async def pages(
        self, source: ReplaySource, from_episode: int
    ) -> AsyncIterator[list[dict[str, Any]]]:
        """All stored resets and steps of the sub-environment, from those of `from_episode` to the episode's own.

        Raises:
            ProblemError: as `first_event`.
        """
        after_seq, has_more = 0, True
        while has_more:
            page = await self._ask(_request(source, after_seq=after_seq, from_episode=from_episode))
            yield page.events
            after_seq, has_more = page.last_seq, page.has_more

    async def _ask(self, request: EpisodeRequest) -> EpisodeEvents:
        return await self._bus.call(RECORDER_EPISODE, request)


def _request(source: ReplaySource, **more: int) -> EpisodeRequest:
    return EpisodeRequest(
        run_id=source.run_id,
        attempt=source.attempt,
        env=source.env,
        episode=source.episode,
        **more,
    )
