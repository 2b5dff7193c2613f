"""The built-in columns of the run list: their titles, texts, tool tips, and what they are sorted by."""

from datetime import datetime
from enum import IntEnum
from typing import Any

from PyQt6.QtCore import Qt

from mosaic_contracts.runs import RunView
from mosaic_gui.state import run_row, wording
from mosaic_gui.state.episodes import sample_words
from mosaic_gui.state.language import mark, tr


class Column(IntEnum):
    """Columns from left to right."""

    STATE = 0
    RUN = 1
    ALGORITHM = 2
    ENVIRONMENT = 3
    SEED = 4
    PROGRESS = 5
    ELAPSED = 6
    REMAINING = 7
    LAST_RETURN = 8
    BEST_RETURN = 9
    SPS = 10
    TAGS = 11
    CREATED = 12
    MEAN_RETURN = 13
    EPISODES = 14
    KIND = 15
    WORKER = 16
    GROUP = 17
    CORES = 18
    GPUS = 19
    NOTE = 20
    ID = 21

    @property
    def key(self) -> str:
        """The column in saved views."""
        return self.name.lower()


class Role(IntEnum):
    """Data roles in addition to Qt's own."""

    SORT = Qt.ItemDataRole.UserRole + 1
    RUN_ID = Qt.ItemDataRole.UserRole + 2
    SUBTITLE = Qt.ItemDataRole.UserRole + 3


TITLES = {
    Column.STATE: mark("State"),
    Column.RUN: mark("Run"),
    Column.ALGORITHM: mark("Algorithm"),
    Column.ENVIRONMENT: mark("Environment"),
    Column.SEED: mark("Seed"),
    Column.PROGRESS: mark("Progress"),
    Column.ELAPSED: mark("Elapsed"),
    Column.REMAINING: mark("Time remaining"),
    Column.LAST_RETURN: mark("Last return"),
    Column.BEST_RETURN: mark("Best"),
    Column.SPS: mark("Steps/s"),
    Column.TAGS: mark("Tags"),
    Column.CREATED: mark("Created"),
    Column.MEAN_RETURN: mark("Mean return"),
    Column.EPISODES: mark("Episodes"),
    Column.KIND: mark("Kind"),
    Column.WORKER: mark("Worker"),
    Column.GROUP: mark("Group"),
    Column.CORES: mark("Cores"),
    Column.GPUS: mark("GPUs"),
    Column.NOTE: mark("Note"),
    Column.ID: mark("Id"),
}
NUMERIC = frozenset(
    {
        Column.SEED,
        Column.ELAPSED,
        Column.LAST_RETURN,
        Column.BEST_RETURN,
        Column.SPS,
        Column.MEAN_RETURN,
        Column.EPISODES,
        Column.CORES,
        Column.GPUS,
    }
)
HIGH_FIRST = frozenset(
    {
        Column.PROGRESS,
        Column.LAST_RETURN,
        Column.BEST_RETURN,
        Column.SPS,
        Column.MEAN_RETURN,
        Column.EPISODES,
        Column.CREATED,
    }
)
"""Columns whose first click has the highest value above."""
BY_KEY = {column.key: column for column in Column}


def display_text(run: RunView, column: Column, now: datetime) -> str:
    """The text of a cell."""
    spec = run.spec
    match column:
        case Column.STATE:
            return run_row.badge(run)[0]
        case Column.RUN:
            return run_row.title(run)
        case Column.ALGORITHM:
            return spec.algorithm
        case Column.ENVIRONMENT:
            return spec.environment
        case Column.SEED:
            return str(spec.seed)
        case Column.PROGRESS:
            return run_row.steps_text(run)
        case Column.ELAPSED:
            return wording.duration(run_row.elapsed_s(run, now))
        case Column.REMAINING:
            return run_row.remaining_text(run)
        case Column.LAST_RETURN:
            return wording.number(run_row.last_return(run))
        case Column.BEST_RETURN:
            return wording.number(run_row.best_return(run))
        case Column.SPS:
            return wording.NOTHING if run.sps is None else wording.count(round(run.sps))
        case Column.TAGS:
            return ", ".join(run.tags)
        case Column.CREATED:
            return wording.ago(run.created_at, now)
        case Column.MEAN_RETURN:
            return wording.number(run_row.mean_return(run))
        case Column.EPISODES:
            return wording.count(run_row.episodes_played(run))
        case Column.KIND:
            return run_row.kind_word(run)
        case Column.WORKER:
            return spec.worker
        case Column.GROUP:
            return run.group.name if run.group is not None else ""
        case Column.CORES:
            return str(spec.cpus)
        case Column.GPUS:
            return str(spec.gpus)
        case Column.NOTE:
            return run.note.strip().split("\n", 1)[0]
        case Column.ID:
            return run.run_id


def sort_value(run: RunView, column: Column, now: datetime) -> Any:
    """What a column is sorted by; None where there is nothing."""
    match column:
        case Column.SEED:
            return run.spec.seed
        case Column.PROGRESS:
            return run_row.fraction(run)
        case Column.ELAPSED:
            return run_row.elapsed_s(run, now)
        case Column.REMAINING:
            return run.eta_s if run.position is None else float(run.position)
        case Column.LAST_RETURN:
            return run_row.last_return(run)
        case Column.BEST_RETURN:
            return run_row.best_return(run)
        case Column.SPS:
            return run.sps
        case Column.CREATED:
            return run.created_at.timestamp()
        case Column.MEAN_RETURN:
            return run_row.mean_return(run)
        case Column.EPISODES:
            return run_row.episodes_played(run)
        case Column.CORES:
            return run.spec.cpus
        case Column.GPUS:
            return run.spec.gpus
        case _:
            return display_text(run, column, now).casefold() or None


def tool_tip(run: RunView, column: Column) -> str | None:
    """What a cell says when it is pointed at."""
    match column:
        case Column.STATE:
            return "\n".join([*run.notes, run.end.message if run.end else ""]).strip() or None
        case Column.RUN:
            return f"{run.name}\n{run.run_id}" + (f"\n\n{run.note}" if run.note else "")
        case Column.PROGRESS if run.progress and run.total_steps:
            done, total = wording.count(run.step), wording.count(run.total_steps)
            return tr("{done} of {total} environment steps", done=done, total=total)
        case Column.REMAINING:
            return run_row.remaining_text(run) or None
        case Column.LAST_RETURN | Column.BEST_RETURN | Column.MEAN_RETURN:
            return sample_words(run) or None
        case Column.CREATED:
            return wording.moment(run.created_at)
        case Column.TAGS:
            return ", ".join(run.tags) or None
        case Column.NOTE:
            return run.note.strip() or None
    return None
