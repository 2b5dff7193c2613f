"""Recorded episodes of runs: whether one can be rebuilt, and how far it goes."""

from dataclasses import dataclass
from typing import Any, Protocol

from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.replays import EpisodeEvents, ReplaySource
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.wire import TYPE_OF, EpisodeStart
from mosaic_scheduler.events.episodes import RecordedEpisodes
from mosaic_scheduler.runs.resets import needs_earlier_episodes

EPISODE_START = TYPE_OF[EpisodeStart]


class AskedEpisode(Protocol):
    """An episode as a person names it."""

    @property
    def episode(self) -> int: ...

    @property
    def env(self) -> int: ...

    @property
    def attempt(self) -> int | None: ...


@dataclass(frozen=True)
class FoundEpisode:
    """An episode that is stored with its reset."""

    source: ReplaySource
    extent: EpisodeEvents
    """Its first event, with how many steps it has."""


async def find_episode(
    episodes: RecordedEpisodes, record: RunRecord, asked: AskedEpisode
) -> FoundEpisode:
    """Find an episode, of the newest attempt that has it where none is named.

    Raises:
        ProblemError: `replay_impossible` or `episode_unknown`, in words; or why the recorder cannot answer now.
    """
    _check_recording(record)
    attempts = range(record.attempt, 0, -1) if asked.attempt is None else [asked.attempt]
    for attempt in attempts:
        source = ReplaySource(
            run_id=record.run_id, attempt=attempt, env=asked.env, episode=asked.episode
        )
        try:
            extent = await episodes.first_page(source)
        except ProblemError as error:
            if error.problem.code is not ProblemCode.EPISODE_UNKNOWN:
                raise
            continue
        first = extent.events[0] if extent.events else None
        _check_reset(record, source, first)
        _check_thinned(source, extent, (first or {}).get("reset") or {})
        return FoundEpisode(source, extent)
    raise _episode_unknown(record, asked)


def _check_recording(record: RunRecord) -> None:
    level = record.spec.record
    if level.has_steps:
        return
    raise impossible(
        "The steps of this run were not recorded",
        f"Run {record.run_id} has the recording level `{level}`; rebuilding an episode needs `replay` or `full`. "
        f"`./mosaic clone {record.run_id} --record replay` runs it again with its steps.",
    )


def _check_reset(record: RunRecord, source: ReplaySource, first: dict[str, Any] | None) -> None:
    if first is not None and first["type"] == EPISODE_START:
        return
    every = record.spec.replay_every
    if source.episode % every:
        raise impossible(
            "The steps of this episode were not recorded",
            f"Run {record.run_id} records one of {every} episodes (`replay_every`). The nearest before it is episode "
            f"{source.episode - source.episode % every}.",
        )
    raise impossible(
        "The reset of this episode is not in the store",
        f"Without it, episode {source.episode} of environment {source.env} cannot be rebuilt. "
        f"`./mosaic episodes {record.run_id}` lists the others.",
    )


def _check_thinned(source: ReplaySource, extent: EpisodeEvents, reset: dict[str, Any]) -> None:
    """Refuse an episode whose steps, or those that its reset needs, were removed from the store."""
    todo = (
        f"`./mosaic episodes {source.run_id}` shows which episodes have their steps (RECORDED); runs that are pinned "
        "(`./mosaic pin RUN`) keep all."
    )
    if extent.thinned_steps:
        raise impossible(
            "The steps of this episode were removed to free space",
            f"The steps of episode {source.episode} were thinned by {extent.thinned_by}. {todo}",
        )
    if extent.is_earlier_thinned and needs_earlier_episodes(reset):
        raise impossible(
            "Steps that this replay needs were removed to free space",
            f"The environment of this run cannot be set to a state, so that episode {source.episode} is rebuilt after "
            f"all episodes before it. Steps of these were thinned by {extent.thinned_by}. {todo}",
        )


def _episode_unknown(record: RunRecord, asked: AskedEpisode) -> ProblemError:
    where = f"environment {asked.env}"
    if asked.attempt is not None:
        where += f" in attempt {asked.attempt}"
    is_late = not record.state.is_final or record.telemetry_pending
    late = " Its newest events may not be stored yet." if is_late else ""
    return ProblemError(
        Problem(
            code=ProblemCode.EPISODE_UNKNOWN,
            title="There is no such episode",
            detail=f"Run {record.run_id} has no stored episode {asked.episode} of {where}.{late} "
            f"`./mosaic episodes {record.run_id}` lists what there is.",
            retry_after_s=2.0 if is_late else None,
        )
    )


def impossible(title: str, detail: str) -> ProblemError:
    """The episode cannot be rebuilt."""
    return ProblemError(Problem(code=ProblemCode.REPLAY_IMPOSSIBLE, title=title, detail=detail))
