"""Words about a run's episodes: how many were played and recorded, and how each ended."""

from collections.abc import Iterable, Mapping

from mosaic_contracts.runs import EpisodeRow, RunSummary, RunView
from mosaic_gui.state import wording
from mosaic_gui.state.language import tr

Fact = tuple[str, str]
NO_EPISODES: Mapping[tuple[int, int], int] = {}


def episode_facts(summary: RunSummary) -> list[Fact]:
    """Number and returns by name. Where episodes were sampled, the names say that returns are of recorded ones."""
    last, mean, best = (
        wording.number(value)
        for value in (summary.last_return, summary.mean_return, summary.best_return)
    )
    if not summary.is_sample:
        return [
            (tr("Episodes"), wording.count(summary.episodes)),
            (tr("Last return"), last),
            (tr("Mean of 20"), mean),
            (tr("Best"), best),
        ]
    return [
        (tr("Episodes"), wording.count(summary.episodes_played)),
        (tr("Recorded"), wording.count(summary.episodes)),
        (tr("Last recorded"), last),
        (tr("Mean of 20 recorded"), mean),
        (tr("Best recorded"), best),
    ]


def newest_replayable(runs: Mapping[str, RunView]) -> str:
    """Id of the newest run that recorded steps; empty: there is none."""
    return max((run_id for run_id, run in runs.items() if run.spec.record.has_steps), default="")


def sample_words(run: RunView) -> str:
    """Words about sampled episodes; empty where every episode was recorded."""
    summary = run.summary
    if summary is None or not summary.is_sample:
        return ""
    return tr(
        "{played} episodes were played, and {recorded} of them recorded. Returns are of "
        "recorded episodes.",
        played=wording.count(summary.episodes_played),
        recorded=wording.count(summary.episodes),
    )


def episode_ends(rows: Iterable[EpisodeRow], run: RunView | None) -> list[str]:
    """How each episode ended. `rows`: the newest ones of each sub-environment are among them."""
    known = list(rows)
    newest = newest_episodes(known)
    return [
        episode_end(row, run, is_newest=row.episode == newest[row.attempt, row.env])
        for row in known
    ]


def newest_episodes(
    rows: Iterable[EpisodeRow], known: Mapping[tuple[int, int], int] = NO_EPISODES
) -> dict[tuple[int, int], int]:
    """Number of the newest episode of each attempt and sub-environment. `known`: those of earlier rows."""
    newest = dict(known)
    for row in rows:
        key = (row.attempt, row.env)
        newest[key] = max(newest.get(key, row.episode), row.episode)
    return newest


def open_end(row: EpisodeRow, run: RunView | None) -> str:
    """What became of an episode without an end that is the newest of its sub-environment."""
    if run is None or (not run.state.is_final and row.attempt >= run.attempt):
        return tr("goes on")
    return tr("cut off by the run's end")


def episode_end(row: EpisodeRow, run: RunView | None, *, is_newest: bool) -> str:
    """How an episode ended. `is_newest`: of its attempt and sub-environment."""
    if row.length is None:
        return open_end(row, run) if is_newest else tr("its end was not recorded")
    if row.terminated:
        return tr("terminated")
    return tr("truncated") if row.truncated else wording.NOTHING
