"""What a replay is made from: the recorded events of its episode, checked event by event. Pure.

An episode that goes on after a step that is not stored is rebuilt up to there. An episode that others are rebuilt
after must be complete. Where several episodes are rebuilt each on its own, those that are not stored are left out.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from mosaic_contracts.replays import MAX_CHAIN_STEPS, ReplaySource
from mosaic_contracts.wire import TYPE_OF, EpisodeStart, Step
from mosaic_scheduler.errors import RecordUnusable

_START, _STEP = TYPE_OF[EpisodeStart], TYPE_OF[Step]


class EpisodeFilter:
    """Takes the events of one or more episodes in their order, and lets through what a replay can use.

    Args:
        source: the episode that is rebuilt, or several.
        first: number of the first episode: 0 where resets need all earlier ones, else the first that is rebuilt.
        is_chain: whether resets need all earlier episodes.
    """

    def __init__(self, source: ReplaySource, first: int, *, is_chain: bool) -> None:
        self._source = source
        self._is_chain = is_chain
        self._episode = first - 1
        """Number of the episode that is being read."""
        self._step = 0
        self._total = 0
        self._is_cut = False
        self._start: dict[str, Any] | None = None
        """Reset of an episode of several that is left out unless a step follows."""

    def usable(self, events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The next events, without those after a gap in the episode itself.

        Raises:
            RecordUnusable: something that the replay needs is not stored, or it is too much.
        """
        for event in events:
            if event["type"] == _START:
                self._begin(int(event["episode"]))
                if self._is_chain or self._episode == self._source.episode:
                    yield event
                else:
                    self._start = event
            elif event["type"] == _STEP and self._continue(event):
                if self._start is not None:
                    yield self._start
                    self._start = None
                yield event

    def finish(self) -> None:
        """Check that the episode itself was among the events. Raises RecordUnusable."""
        self._require_episode(self._source.episode, self._episode)

    def _begin(self, episode: int) -> None:
        if self._is_chain:
            self._require_episode(self._episode + 1, episode)
        self._episode, self._step, self._is_cut, self._start = episode, 0, False, None

    def _require_episode(self, expected: int, found: int) -> None:
        if found != expected:
            raise RecordUnusable(
                f"Episode {expected} of environment {self._source.env} is not in the store.{self._reason()}"
            )

    def _continue(self, event: dict[str, Any]) -> bool:
        step = int(event["step"])
        if self._is_cut:
            return False
        if int(event["episode"]) != self._episode or step != self._step + 1:
            if self._episode == self._source.episode or not self._is_chain:
                self._is_cut = True
                return False
            raise RecordUnusable(
                f"Step {self._step + 1} of episode {self._episode} of environment {self._source.env} is not in the "
                f"store.{self._reason()}"
            )
        self._step = step
        self._total += 1
        if self._total > MAX_CHAIN_STEPS:
            raise RecordUnusable(
                f"The replay would take more than {MAX_CHAIN_STEPS:,} recorded steps.{self._reason()} Replay an "
                "earlier episode."
            )
        return True

    def _reason(self) -> str:
        """Why earlier episodes are needed; empty where none is."""
        if not self._is_chain or self._episode >= self._source.episode:
            return ""
        return (
            f" The environment of this run cannot be set to a state, so that episode {self._source.episode} is rebuilt "
            "after all episodes before it."
        )
