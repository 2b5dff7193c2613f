"""Episodes of a run as a list: which can be replayed, and in which order they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from mosaic_contracts.runs import EpisodeRow, RunView
from mosaic_contracts.spec import RecordLevel
from mosaic_gui.state.language import tr


class EpisodeAddress(NamedTuple):
    """One episode of one run."""

    run_id: str
    attempt: int
    env: int
    episode: int

    @classmethod
    def of(cls, run_id: str, row: EpisodeRow) -> EpisodeAddress:
        """The address of a row."""
        return cls(run_id, row.attempt, row.env, row.episode)

    @classmethod
    def parse(cls, text: str) -> EpisodeAddress:
        """Read `RUN:ATTEMPT:ENV:EPISODE`.

        Raises:
            ValueError: it is written otherwise.
        """
        run_id, *numbers = text.split(":")
        if not run_id or len(numbers) != 3 or not all(part.isdecimal() for part in numbers):
            raise ValueError(text)
        attempt, env, episode = map(int, numbers)
        return cls(run_id, attempt, env, episode)


class Pick(StrEnum):
    """An episode that is chosen by how it went."""

    WORST = "worst"
    MEDIAN = "median"
    BEST = "best"
    NEWEST = "newest"


class EpisodeColumn(StrEnum):
    """By what episodes are sorted."""

    EPISODE = "episode"
    ENV = "env"
    ATTEMPT = "attempt"
    RETURN = "return"
    LENGTH = "length"
    END = "end"
    TIME = "time"


@dataclass(frozen=True)
class EpisodeOrder:
    """How a list is sorted."""

    column: EpisodeColumn = EpisodeColumn.TIME
    descending: bool = True


def can_replay(row: EpisodeRow) -> bool:
    """Whether the steps of an episode were recorded."""
    return row.recorded_steps > 0


def obstacle(row: EpisodeRow, run: RunView | None) -> str:
    """Why an episode cannot be replayed; empty: it can."""
    if can_replay(row):
        return ""
    if run is not None and not run.spec.record.has_steps:
        return tr(
            "The run has the recording level {level}, so that steps were not recorded. A copy of it with the level "
            "{wanted} can be replayed.",
            level=run.spec.record.value,
            wanted=RecordLevel.REPLAY.value,
        )
    if row.thinned_steps:
        return tr("The steps of this episode were removed to free space.")
    return tr("The steps of this episode were not recorded.")


def sort_episodes(rows: Iterable[EpisodeRow], order: EpisodeOrder) -> list[EpisodeRow]:
    """Sort rows; those without a value are last in both directions."""
    known = sorted(rows, key=_age, reverse=order.descending)
    if order.column is EpisodeColumn.TIME:
        return known
    with_value = [(value, row) for row in known if (value := _value(row, order.column)) is not None]
    without = [row for row in known if _value(row, order.column) is None]
    with_value.sort(key=lambda pair: pair[0], reverse=order.descending)
    return [row for _, row in with_value] + without


def pick_episode(rows: Sequence[EpisodeRow], which: Pick) -> EpisodeRow | None:
    """The episode with the lowest, median or highest return, or the newest one, of those that can be replayed."""
    offered = [row for row in rows if can_replay(row)]
    if which is Pick.NEWEST:
        return max(offered, key=_age, default=None)
    ended = [row for row in offered if row.episode_return is not None]
    if not ended:
        return None
    ended.sort(key=_age)
    ended.sort(key=lambda row: row.episode_return or 0.0)
    if which is Pick.MEDIAN:
        return ended[(len(ended) - 1) // 2]
    return ended[0] if which is Pick.WORST else ended[-1]


def _age(row: EpisodeRow) -> tuple[int, float, int, int]:
    """Order in which episodes began."""
    return row.attempt, row.t_start or 0.0, row.start_seq or 0, row.episode


def _value(row: EpisodeRow, column: EpisodeColumn) -> float | None:
    match column:
        case EpisodeColumn.EPISODE:
            return row.episode
        case EpisodeColumn.ENV:
            return row.env
        case EpisodeColumn.ATTEMPT:
            return row.attempt
        case EpisodeColumn.RETURN:
            return row.episode_return
        case EpisodeColumn.LENGTH:
            return row.length
        case EpisodeColumn.END:
            return None if row.terminated is None else int(row.terminated)
        case _:
            return None
