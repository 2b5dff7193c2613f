"""Heads of the run list: a row for a group, or for the runs that have one value of a column."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mosaic_contracts.group_words import FAILED_STATES
from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState, shown_state
from mosaic_gui.state import run_row, wording
from mosaic_gui.state.language import tr, tr_n

GROUP, VALUE = "=g", "=v"
"""Beginnings of a head's key. No run id begins so."""


@dataclass(frozen=True)
class RunHead:
    """A row above runs."""

    key: str
    title: str
    members: tuple[str, ...]
    """Ids of its runs that are shown, from top to bottom."""
    group_id: str = ""
    """Id of the group; empty: the runs have a value in common, and were not started together."""

    @property
    def is_group(self) -> bool:
        """Whether its runs were started together (ADR 0033)."""
        return bool(self.group_id)


@dataclass(frozen=True)
class GroupProgress:
    """How far a group is. If a combination was tried again, the newest run counts."""

    total: int
    done: int
    failed: int
    stopped: int
    live: int
    running: int
    fraction: float

    @property
    def badge(self) -> tuple[str, str]:
        """Word and tone of its state."""
        if self.running:
            return tr("Running"), "accent"
        if self.live:
            return tr("Queued"), "neutral"
        if self.failed:
            return tr_n("{n} failed", "{n} failed", self.failed), "bad"
        if self.stopped:
            return tr("Cancelled"), "neutral"
        return tr("Succeeded"), "ok"

    @property
    def text(self) -> str:
        """`3/5`, with what failed."""
        words = f"{self.done}/{self.total}"
        failed = tr_n("{n} failed", "{n} failed", self.failed)
        return f"{words} · {failed}" if self.failed and self.live else words


def group_progress(runs: Iterable[RunView]) -> GroupProgress:
    """Count the runs of a group."""
    newest: dict[int, RunView] = {}
    for run in runs:
        place = run.group.place if run.group is not None else len(newest)
        known = newest.get(place)
        if known is None or known.run_id < run.run_id:
            newest[place] = run
    counted = list(newest.values())
    states = [shown_state(run.state, run.started_at) for run in counted]
    total = max([len(counted), *(place + 1 for place in newest)])
    parts = [1.0 if run.state.is_final else run_row.fraction(run) or 0.0 for run in counted]
    return GroupProgress(
        total=total,
        done=states.count(RunState.SUCCEEDED),
        failed=sum(state in FAILED_STATES for state in states),
        stopped=states.count(RunState.CANCELLED),
        live=sum(not state.is_final for state in states),
        running=sum(state.has_process for state in states),
        fraction=sum(parts) / total if total else 0.0,
    )


def about(runs: Sequence[RunView], *, is_group: bool) -> str:
    """`5 runs · 2 live · best 500`, and of runs that have a value in common `mean 301`: of their last 20 returns.

    A group is often a grid: a mean over different parameters says nothing.
    """
    live = sum(not run.state.is_final for run in runs)
    best = [value for run in runs if (value := run_row.best_return(run)) is not None]
    parts = [tr_n("{n} run", "{n} runs", len(runs))]
    if live:
        parts.append(tr_n("{n} live", "{n} live", live))
    if best:
        parts.append(tr("best {value}", value=wording.number(max(best))))
    known = (run_row.mean_return(run) for run in runs)
    means = [value for value in known if value is not None and not math.isnan(value)]
    if len(means) > 1 and not is_group:
        parts.append(tr("mean {value}", value=wording.number(sum(means) / len(means))))
    return "  ·  ".join(parts)
