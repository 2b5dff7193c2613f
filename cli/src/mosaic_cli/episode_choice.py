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
    text, env = wanted.text, wanted.env
    if text not in WORDS and not text.isdecimal():
        raise ValueRefused(f"--episode takes a number, or {', '.join(WORDS)}; not {text!r}.")
    if text.isdecimal() and env is None:
        wanted = wanted._replace(env=0)
    rows = _rows(stack, run_id, wanted)
    if text.isdecimal():
        return _numbered(rows, run_id, wanted)
    if text == LAST:
        newest = next((row for row in rows if row.recorded_steps), None)
        if newest is None:
            raise _missing(run_id, "episode with recorded steps", wanted)
        return newest
    return _by_return(rows, run_id, wanted)


def _rows(
    stack: StackConnection, run_id: str, wanted: WantedEpisode
) -> Iterator[light.EpisodeFields]:
    for row in reading.episodes(stack, run_id, "newest", sys.maxsize):
        if wanted.env in (None, row.env) and wanted.attempt in (None, row.attempt):
            yield row


def _numbered(
    rows: Iterable[light.EpisodeFields], run_id: str, wanted: WantedEpisode
) -> light.EpisodeFields:
    number = int(wanted.text)
    row = next((row for row in rows if row.episode == number), None)
    if row is None:
        raise _missing(run_id, f"episode {number}", wanted)
    if row.thinned_steps:
        raise NothingFound(
            f"The steps of episode {number} were removed to free space (`./mosaic show {run_id}` names the rule). "
            f"`./mosaic episodes {run_id}` shows which episodes have their steps (RECORDED)."
        )
    if not row.recorded_steps:
        raise NothingFound(
            f"No steps of episode {number} are stored. `./mosaic episodes {run_id}` shows which episodes have some "
            "(RECORDED)."
        )
    return row


def _by_return(
    rows: Iterable[light.EpisodeFields], run_id: str, wanted: WantedEpisode
) -> light.EpisodeFields:
    """The newest of several with the same return; NaN is no return."""
    ranked = [
        (row.episode_return, row)
        for row in rows
        if row.recorded_steps and row.episode_return is not None
        if not math.isnan(row.episode_return)
    ]
    if not ranked:
        raise _missing(run_id, "episode with an end and recorded steps", wanted)
    # stable, and the rows are newest first
    ranked.sort(key=lambda entry: entry[0], reverse=wanted.text == BEST)
    return ranked[(len(ranked) - 1) // 2 if wanted.text == MEDIAN else 0][1]


def _missing(run_id: str, what: str, wanted: WantedEpisode) -> NothingFound:
    env = "" if wanted.env is None else f" in environment {wanted.env}"
    attempt = "" if wanted.attempt is None else f" of attempt {wanted.attempt}"
    return NothingFound(
        f"{run_id} has no {what}{env}{attempt}. `./mosaic episodes {run_id}` lists its episodes."
    )
