"""Whole episodes with observations out of a run's record."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mosaic_client import Client
from mosaic_client.export.stored import stored_parts
from mosaic_contracts.exports import EpisodeId, EpisodeRange
from mosaic_contracts.stored import BatchPage
from mosaic_contracts.wire import EpisodeStart, Step, StepFlag
from mosaic_exporter.errors import ExportProblem

TYPES = ["config", "episode_start", "step"]


@dataclass
class RecordedEpisode:
    """One episode as it was recorded, in values of the wire."""

    key: EpisodeId
    spaces: Mapping[str, Any]
    seed: int | None = None
    observations: list[Any] = field(default_factory=list)
    actions: list[Any] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    flags: int = 0
    has_gap: bool = False
    """Whether a step is missing in the store."""

    @property
    def is_terminated(self) -> bool:
        """Whether the environment ended it."""
        return bool(self.flags & StepFlag.TERMINATED)

    @property
    def is_truncated(self) -> bool:
        """Whether a limit ended it."""
        return bool(self.flags & StepFlag.TRUNCATED)


class Selection:
    """Which episodes are wanted.

    Args:
        ranges: episodes by numbers, sub-environment and attempt; empty: all.
    """

    def __init__(self, ranges: Iterable[EpisodeRange]) -> None:
        self._ranges = list(ranges)

    def has(self, key: EpisodeId) -> bool:
        """Whether this episode is wanted."""
        return not self._ranges or any(
            part.first <= key.episode <= part.last
            and part.env in (None, key.env)
            and part.attempt in (None, key.attempt)
            for part in self._ranges
        )


def whole_episodes(
    client: Client,
    run_id: str,
    selection: Selection,
    on_steps: Callable[[int], None],
    unfinished: list[EpisodeId],
) -> Iterator[RecordedEpisode]:
    """Read the wanted episodes in the order in which they ended, in bounded memory: one for each sub-environment.

    Args:
        client: of the stack that has the run.
        run_id: id of the run.
        selection: which episodes.
        on_steps: called with the number of recorded steps that were read so far.
        unfinished: gets the episodes without an end, or with missing steps.

    Yields:
        Episodes with every step and an observation more than steps.

    Raises:
        ExportProblem: an observation is missing.
    """
    open_ones: dict[tuple[int, int], RecordedEpisode] = {}
    count = 0
    for (batch, _), records, spaces in stored_parts(_pages(client, run_id), TYPES):
        for record in records:
            if isinstance(record, EpisodeStart):
                key = EpisodeId(batch.attempt, record.env, record.episode)
                if not selection.has(key):
                    continue
                began = _begin(key, record, spaces or {})
                if (cut := open_ones.get(key[:2])) is not None:
                    unfinished.append(cut.key)
                open_ones[key[:2]] = began
            elif isinstance(record, Step):
                count += 1
                found = open_ones.get((batch.attempt, record.env))
                if found is not None and found.key.episode == record.episode:
                    _add(found, record)
                    if record.flags:
                        del open_ones[found.key[:2]]
                        if found.has_gap:
                            unfinished.append(found.key)
                        else:
                            yield found
        on_steps(count)
    unfinished += [episode.key for episode in open_ones.values()]


def _begin(key: EpisodeId, start: EpisodeStart, spaces: Mapping[str, Any]) -> RecordedEpisode:
    seed = start.reset.get("seed")
    episode = RecordedEpisode(key, spaces, seed if isinstance(seed, int) else None)
    episode.observations.append(_observed(start.observation))
    return episode


def _add(episode: RecordedEpisode, step: Step) -> None:
    if step.step != len(episode.rewards) + 1:
        episode.has_gap = True
        return
    episode.observations.append(_observed(step.observation))
    episode.actions.append(step.action)
    episode.rewards.append(step.reward)
    episode.flags = step.flags


def _observed(observation: Any) -> Any:
    if observation is None:
        raise ExportProblem(
            "An observation of the run is not in the record: it was too large for an event. `./mosaic logs RUN` says "
            "which."
        )
    return observation


def _pages(client: Client, run_id: str) -> Iterator[BatchPage]:
    cursor = ""
    while True:
        page = client.batches(run_id, cursor, TYPES)
        yield page
        if not page.has_more:
            return
        cursor = page.cursor
