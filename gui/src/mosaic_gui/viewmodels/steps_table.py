"""The table of an episode's recorded steps."""

from typing import Any

from PyQt6.QtCore import QAbstractTableModel, QModelIndex, QObject, Qt

from mosaic_gui.state import wording
from mosaic_gui.state.episode_steps import EpisodeStep, RecordedSteps
from mosaic_gui.state.language import mark, tr_mark
from mosaic_gui.state.live_frames import action_names, action_words, actor_words, flag_words
from mosaic_gui.viewmodels.replay import ReplayModel
from mosaic_gui.viewmodels.rows import ROOT

STEP, ACTION, REWARD, RETURN, ACTOR, FLAGS = range(6)
_TITLES = (
    mark("Step"),
    mark("Action"),
    mark("Reward"),
    mark("Return"),
    mark("Acted"),
    mark("End"),
)
_NUMERIC = (STEP, REWARD, RETURN)
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class StepsTableModel(QAbstractTableModel):
    """Steps of the episode that is shown; a text is made when its row is."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._episode = RecordedSteps()
        self._actions: list[str] = []

    def show_steps(self, model: ReplayModel | None) -> None:
        """Show the steps of an episode."""
        episode = model.steps if model is not None else RecordedSteps()
        if episode is self._episode:
            return
        self.beginResetModel()
        self._episode = episode
        self._actions = action_names(model.grid) if model is not None else []
        self.endResetModel()

    @property
    def has_actors(self) -> bool:
        """Whether more than one kind of actor chose actions."""
        return len({step.actor for step in self._episode.steps if step.number > 0}) > 1

    def row_of(self, step: int) -> int:
        """The row of a step, or of the nearest one before it."""
        return self._episode.row_of(step)

    def step_at(self, row: int) -> int:
        """The number of the step in a row."""
        return self._episode.numbers[row]

    def rowCount(self, parent: QModelIndex = ROOT) -> int:
        return 0 if parent.isValid() else len(self._episode)

    def columnCount(self, parent: QModelIndex = ROOT) -> int:
        return 0 if parent.isValid() else len(_TITLES)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return tr_mark(_TITLES[section])
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if section in _NUMERIC else _LEFT
        return None

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(self._episode.steps[index.row()], index.column())
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if index.column() in _NUMERIC else _LEFT
        return None

    def _text(self, step: EpisodeStep, column: int) -> str:
        if step.number == 0 and column in (ACTION, REWARD, ACTOR):
            return wording.NOTHING
        if column == STEP:
            return wording.count(step.number)
        if column == ACTION:
            return action_words(step.action, self._actions)
        if column == REWARD:
            return wording.number(step.reward, 3)
        if column == RETURN:
            return wording.number(step.episode_return)
        return actor_words(step.actor) if column == ACTOR else flag_words(step.flags)
