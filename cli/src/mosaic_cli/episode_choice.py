"""Which episode a person means: a number, or best, worst, median and last by return."""

import math
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mosaic_cli.errors import NothingFound, ValueRefused
from mosaic_client import light, reading
from mosaic_client.stack_connection import StackConnection

BEST, WORST, MEDIAN, LAST = "best", "worst", "median", "last"
WORDS = (BEST, WORST, MEDIAN, LAST)


class WantedEpisode(NamedTuple):
    """An episode as a person names it."""

    text: str
    """A number, or one of `WORDS`."""
    env: int | None = None
    """Sub-environment; None: 0 for a number, any for a word."""
    attempt: int | None = None
    """Attempt of the run; None: for a number the newest that has the episode, any for a word."""


def find_episode(stack: StackConnection, run_id: str, wanted: WantedEpisode) -> light.EpisodeFields:
    """The episode with recorded steps that is meant.

    Raises:
        ValueRefused: the text is neither.
        NothingFound: there is no such episode, or none of its steps were recorded.
    """
    text, env, attempt = wanted
    if text not in WORDS and not text.isdecimal():
        raise ValueRefused(f"--episode takes a number, or {', '.join(WORDS)}; not {text!r}.")
    rows = _rows(stack, run_id, env if env is not None or text in WORDS else 0, attempt)
    if text.isdecimal():
        return _numbered(rows, run_id, int(text), env or 0)
    if text == LAST:
        newest = next((row for row in rows if row.recorded_steps), None)
        if newest is None:
            raise _none_recorded(run_id)
        return newest
    return _by_return(rows, run_id, text)


def _rows(
    stack: StackConnection, run_id: str, env: int | None, attempt: int | None
) -> Iterator[light.EpisodeFields]:
    for row in reading.episodes(stack, run_id, "newest", sys.maxsize):
        if env in (None, row.env) and attempt in (None, row.attempt):
            yield row


def _numbered(
    rows: Iterable[light.EpisodeFields], run_id: str, number: int, env: int
) -> light.EpisodeFields:
    row = next((row for row in rows if row.episode == number), None)
    if row is None:
        raise NothingFound(
            f"{run_id} has no episode {number} in environment {env}. `./mosaic episodes {run_id}` lists them."
        )
    if not row.recorded_steps:
        raise NothingFound(
            f"No steps of episode {number} are stored. `./mosaic episodes {run_id}` shows which episodes have some "
            "(RECORDED)."
        )
    return row


def _by_return(rows: Iterable[light.EpisodeFields], run_id: str, word: str) -> light.EpisodeFields:
    """The newest of several with the same return; NaN is no return."""
    ranked = [
        (row.episode_return, row)
        for row in rows
        if row.recorded_steps and row.episode_return is not None
        if not math.isnan(row.episode_return)
    ]
    if not ranked:
        raise _none_recorded(run_id)
    # stable, and the rows are newest first
    ranked.sort(key=lambda entry: entry[0], reverse=word == BEST)
    return ranked[(len(ranked) - 1) // 2 if word == MEDIAN else 0][1]


def _none_recorded(run_id: str) -> NothingFound:
    return NothingFound(
        f"{run_id} has no episode with an end and recorded steps. `./mosaic episodes {run_id}` lists its episodes."
    )
