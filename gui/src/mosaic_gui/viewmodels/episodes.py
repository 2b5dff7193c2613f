"""The table of a run's episodes, sorted, with those that can be replayed."""

from collections.abc import Iterable
from typing import Any

from PyQt6.QtCore import QAbstractTableModel, QModelIndex, QObject, Qt, pyqtSignal

from mosaic_contracts.runs import EpisodeRow, RunView
from mosaic_gui.state import wording
from mosaic_gui.state.episode_list import (
    EpisodeAddress,
    EpisodeColumn,
    EpisodeOrder,
    Pick,
    can_replay,
    obstacle,
    pick_episode,
    sort_episodes,
)
from mosaic_gui.state.episodes import episode_end, newest_episodes
from mosaic_gui.state.language import mark, tr_mark
from mosaic_gui.viewmodels.rows import ROOT

COLUMNS = (
    (EpisodeColumn.EPISODE, mark("Episode")),
    (EpisodeColumn.RETURN, mark("Return")),
    (EpisodeColumn.LENGTH, mark("Length")),
    (EpisodeColumn.ENV, mark("Env")),
    (EpisodeColumn.ATTEMPT, mark("Attempt")),
    (EpisodeColumn.TIME, mark("At step")),
    (EpisodeColumn.END, mark("Ended by")),
)
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_Key = tuple[int, int, int]


class EpisodesModel(QAbstractTableModel):
    """Episodes of one run. Rows that come again replace those that were there."""

    choices_changed = pyqtSignal()
    filled = pyqtSignal()
    """Rows changed, or all are read."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.run_id = ""
        self.run: RunView | None = None
        self.order = EpisodeOrder()
        self.shows_all = False
        """Also episodes that cannot be replayed are shown, where there are others."""
        self.rounds_steps = False
        """The steps of the run are rounded: there is no room for all of their digits."""
        self.is_reading = False
        """Older episodes are still to come."""
        self.problem = ""
        """Why the list cannot be read; empty: it can."""
        self.choices: list[tuple[str, str]] = []
        """Ids and names of runs whose episodes can be listed, in place of those of this one."""
        self._known: dict[_Key, EpisodeRow] = {}
        self._rows: list[EpisodeRow] = []
        self._replayable = 0
        self._newest: dict[tuple[int, int], int] = {}

    @property
    def rows(self) -> list[EpisodeRow]:
        """Rows in the order in which they are shown."""
        return list(self._rows)

    @property
    def has_several_envs(self) -> bool:
        """Whether episodes are of more than one sub-environment."""
        return len({row.env for row in self._rows}) > 1

    @property
    def has_several_attempts(self) -> bool:
        """Whether episodes are of more than one attempt."""
        return len({row.attempt for row in self._rows}) > 1

    @property
    def count(self) -> int:
        """Number of all episodes."""
        return len(self._known)

    @property
    def replayable(self) -> int:
        """Number of episodes that can be replayed."""
        return self._replayable

    @property
    def obstacle(self) -> str:
        """Why none of the episodes can be replayed; empty: one can, or there is none."""
        if self._replayable or not self._known or self.is_reading:
            return ""
        return obstacle(next(iter(self._known.values())), self.run)

    def set_shows_all(self, on: bool) -> None:
        """Show also episodes that cannot be replayed, or only those that can."""
        self.shows_all = on
        self._fill()

    def show_run(self, run_id: str, run: RunView | None) -> None:
        """Show another run, of which nothing is known yet."""
        self.run_id, self.run = run_id, run
        self._known, self._newest = {}, {}
        self.is_reading, self.problem = bool(run_id), ""
        self._fill()

    def offer(self, choices: list[tuple[str, str]]) -> None:
        """Offer other runs, by id and name."""
        if choices != self.choices:
            self.choices = choices
            self.choices_changed.emit()

    def take(self, run_id: str, rows: Iterable[EpisodeRow], *, is_all: bool) -> None:
        """Take a page of rows. `is_all`: no older ones come."""
        if run_id != self.run_id:
            return
        new = {_key(row): row for row in rows if self._known.get(_key(row)) != row}
        self._known |= new
        self._newest = newest_episodes(new.values(), self._newest)
        was_reading, self.is_reading = self.is_reading, self.is_reading and not is_all
        self.problem = ""
        if new or was_reading:
            self._fill()

    def knows_any(self, rows: Iterable[EpisodeRow]) -> bool:
        """Whether one of these rows is here already."""
        return any(_key(row) in self._known for row in rows)

    def take_run(self, run: RunView) -> None:
        """Take a newer record of the run: an episode that is open may be cut off now."""
        if run.run_id == self.run_id:
            self.run = run
            self._fill()

    def fail(self, run_id: str, words: str) -> None:
        """Note why the list cannot be read."""
        if run_id == self.run_id:
            self.is_reading, self.problem = False, words
            self.filled.emit()

    def pick(self, which: Pick) -> EpisodeAddress | None:
        """The worst, median, best or newest episode that can be replayed."""
        row = pick_episode(self._rows, which)
        return EpisodeAddress.of(self.run_id, row) if row is not None else None

    def address_at(self, place: int) -> EpisodeAddress | None:
        """The episode in a row; None where it cannot be replayed."""
        if not 0 <= place < len(self._rows) or not can_replay(self._rows[place]):
            return None
        return EpisodeAddress.of(self.run_id, self._rows[place])

    def place_of(self, address: EpisodeAddress | None) -> int:
        """The row of an episode; -1: it is not here."""
        if address is None or address.run_id != self.run_id:
            return -1
        return self.place_of_key(address[1:])

    def key_at(self, place: int) -> tuple[int, int, int] | None:
        """Attempt, sub-environment and number of the episode in a row."""
        return _key(self._rows[place]) if 0 <= place < len(self._rows) else None

    def place_of_key(self, key: tuple[int, int, int]) -> int:
        """The row of an episode by attempt, sub-environment and number; -1: it is not here."""
        return next((n for n, row in enumerate(self._rows) if _key(row) == key), -1)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column; without one by time, the newest first."""
        descending = order is Qt.SortOrder.DescendingOrder
        if 0 <= column < len(COLUMNS):
            self.order = EpisodeOrder(COLUMNS[column][0], descending)
        else:
            self.order = EpisodeOrder()
        self._fill()

    def rowCount(self, parent: QModelIndex = ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: QModelIndex = ROOT) -> int:
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return tr_mark(COLUMNS[section][1])
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _LEFT if COLUMNS[section][0] is EpisodeColumn.END else _RIGHT
        return None

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row, column = self._rows[index.row()], COLUMNS[index.column()][0]
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(row, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return obstacle(row, self.run) or self._end(row)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _LEFT if column is EpisodeColumn.END else _RIGHT
        return None

    def flags(self, index: QModelIndex) -> Qt.ItemFlag:
        """Rows that cannot be replayed are grey."""
        if index.isValid() and not can_replay(self._rows[index.row()]):
            return Qt.ItemFlag.NoItemFlags
        return super().flags(index)

    def _end(self, row: EpisodeRow) -> str:
        is_newest = row.episode == self._newest.get((row.attempt, row.env))
        return episode_end(row, self.run, is_newest=is_newest)

    def _text(self, row: EpisodeRow, column: EpisodeColumn) -> str:
        match column:
            case EpisodeColumn.RETURN:
                return wording.number(row.episode_return)
            case EpisodeColumn.END:
                return self._end(row)
            case EpisodeColumn.LENGTH:
                return wording.count(row.length if row.length is not None else row.recorded_steps)
            case EpisodeColumn.ENV:
                return str(row.env)
            case EpisodeColumn.ATTEMPT:
                return str(row.attempt)
            case EpisodeColumn.TIME:
                step = row.global_step
                return wording.short_count(step) if self.rounds_steps else wording.count(step)
        return wording.count(row.episode)

    def _fill(self) -> None:
        self.beginResetModel()
        known = list(self._known.values())
        self._replayable = sum(map(can_replay, known))
        is_all = self.shows_all or not self._replayable
        shown = known if is_all else filter(can_replay, known)
        self._rows = sort_episodes(shown, self.order)
        self.endResetModel()
        self.filled.emit()


def _key(row: EpisodeRow) -> _Key:
    return row.attempt, row.env, row.episode
