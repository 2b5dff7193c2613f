"""Beliefs, intentions and plan of the watched run's agents over time, and their values over the grid."""

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from mosaic_contracts.runs import EpisodeRow
from mosaic_gui.state import wording
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.viewmodels.beliefs import BeliefsModel
from mosaic_gui.views.bases import VisibilityFrame
from mosaic_gui.views.belief_facts import BeliefFacts
from mosaic_gui.views.beliefs_timeline import BeliefsTimeline
from mosaic_gui.views.policy_view import PolicyView
from mosaic_gui.views.text import ElidedLabel, button, frame, label


class BeliefsPanel(VisibilityFrame):
    """The panel of beliefs. It depends on the run's events alone, not on its worker."""

    def __init__(self, model: BeliefsModel) -> None:
        super().__init__()
        self.setObjectName("beliefs")
        self._model = model
        self.episodes = QComboBox()
        self.episodes.setObjectName("beliefs.episodes")
        self.episodes.setAccessibleName(tr("Episode"))
        self.episodes.setMinimumContentsLength(18)
        self.episodes.setMaxVisibleItems(20)
        self.earlier = button("‹", "quiet", "beliefs.earlier")
        self.later = button("›", "quiet", "beliefs.later")
        self.follow = button(tr("Newest"), "segment", "beliefs.follow")
        self.timeline = BeliefsTimeline(model)
        self.policy = PolicyView(model)
        self.facts = BeliefFacts(model)
        self._under = ElidedLabel("", "small")
        self._words = label("", "muted", wraps=True)
        self._parts = QStackedWidget()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addLayout(self._bar())
        layout.addWidget(self._body(), 1)
        self._connect()
        self._on_episodes()
        self._on_decisions()

    def _bar(self) -> QHBoxLayout:
        self.earlier.setToolTip(tr("The recorded episode before this one"))
        self.later.setToolTip(tr("The recorded episode after this one"))
        self.earlier.setAccessibleName(tr("Earlier episode"))
        self.later.setAccessibleName(tr("Later episode"))
        self.follow.setCheckable(True)
        self.follow.setToolTip(
            tr("Keep showing the newest recorded episode, until another one is chosen")
        )
        row = QHBoxLayout()
        row.setSpacing(4)
        row.addWidget(self.earlier)
        row.addWidget(self.episodes, 1)
        row.addWidget(self.later)
        row.addWidget(self.follow)
        return row

    def _body(self) -> QWidget:
        world = QWidget()
        column = QVBoxLayout(world)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addWidget(self.policy, 1)
        column.addWidget(self._under)
        self._world = world
        split = QSplitter(Qt.Orientation.Horizontal)
        split.setObjectName("beliefs.split")
        split.addWidget(world)
        split.addWidget(self.facts)
        split.setStretchFactor(0, 3)
        split.setStretchFactor(1, 2)
        split.setChildrenCollapsible(False)
        whole = frame("panel")
        inside = QVBoxLayout(whole)
        inside.setContentsMargins(10, 8, 6, 8)
        inside.addWidget(self.timeline)
        inside.addWidget(split, 1)
        empty = frame("panel")
        middle = QVBoxLayout(empty)
        middle.setContentsMargins(24, 16, 24, 16)
        self._words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        middle.addWidget(self._words)
        self._parts.addWidget(whole)
        self._parts.addWidget(empty)
        return self._parts

    def _connect(self) -> None:
        model = self._model
        model.episodes_changed.connect(self._on_episodes)
        model.decisions_changed.connect(self._on_decisions)
        model.place_changed.connect(self._on_place)
        model.offered_changed.connect(self._on_decisions)
        self.episodes.activated.connect(self._on_chosen)
        self.earlier.clicked.connect(lambda: model.choose_neighbour(-1))
        self.later.clicked.connect(lambda: model.choose_neighbour(1))
        self.follow.clicked.connect(lambda on: model.set_following(bool(on)))

    def _on_chosen(self, n: int) -> None:
        if n < len(self._model.episodes):
            self._model.choose_episode(self._model.episodes[n])

    def _on_episodes(self) -> None:
        model = self._model
        self.episodes.blockSignals(True)
        self.episodes.clear()
        several = len({key.env for key in model.episodes}) > 1
        again = len({key.attempt for key in model.episodes}) > 1
        for key, end in zip(model.episodes, model.ends, strict=True):
            row = model.rows[key]
            parts = [tr("Episode {n}", n=wording.count(key.episode))]
            if several:
                parts.append(tr("env {n}", n=key.env))
            if again:
                parts.append(tr("attempt {n}", n=key.attempt))
            self.episodes.addItem(" · ".join(parts) + f"  —  {_outcome(row, end)}")
        at = model.episodes.index(model.key) if model.key in model.episodes else -1
        self.episodes.setCurrentIndex(at)
        self.episodes.blockSignals(False)
        self.episodes.setEnabled(bool(model.episodes))
        self.earlier.setEnabled(0 <= at < len(model.episodes) - 1)
        self.later.setEnabled(at > 0)
        self.follow.setChecked(model.following)
        self._on_decisions()

    def _on_decisions(self) -> None:
        model = self._model
        has = bool(model.decisions) or model.policy is not None
        self._parts.setCurrentIndex(0 if has else 1)
        self.timeline.setVisible(bool(model.decisions))
        self.facts.setVisible(bool(model.decisions))
        self._world.setVisible(model.grid is not None)
        if not model.episodes:
            self._words.setText(
                tr("No episode has been recorded step by step yet: the first one appears here.")
                if model.is_live
                else tr("No episode of this run was recorded step by step.")
            )
        else:
            self._words.setText(tr("Reading the episode …"))
        self._on_place()

    def _on_place(self) -> None:
        model = self._model
        values, grid = model.values, model.grid
        if values is None:
            self._under.set_whole(tr("No values were recorded before this step."))
            return
        words = [tr("Values recorded at the run's step {n}", n=wording.count(values.step))]
        if values.epsilon is not None:
            words.append(tr("epsilon {value}", value=wording.number(values.epsilon, 3)))
        if grid is not None and grid.states_per_cell > 1:
            words.append(tr("of the states that differ from this one in their position only"))
        self._under.set_whole(" · ".join(words))


def _outcome(row: EpisodeRow, end: str) -> str:
    if row.length is None:
        return end
    value = wording.number(row.episode_return)
    return tr_n("return {value}, {n} step", "return {value}, {n} steps", row.length, value=value)
