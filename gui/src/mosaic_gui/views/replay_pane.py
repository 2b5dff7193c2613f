"""One replayed episode: its frame, what belongs to it, and how it compares with the record."""

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QProgressBar,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from mosaic_gui.state.language import tr
from mosaic_gui.state.replay_words import difference_words, progress_share
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.player import PlayerModel
from mosaic_gui.viewmodels.replay import ReplayModel, ReplayPhase
from mosaic_gui.views.badge import Badge
from mosaic_gui.views.episode_list import episode_words
from mosaic_gui.views.facts_strip import FactsStrip
from mosaic_gui.views.frame_canvas import FrameCanvas
from mosaic_gui.views.text import ElidedLabel, IconLabel, button, label, show_reported

_PER_MILLE = 1_000


class ReplayPane(QFrame):
    """Shows one episode of the player."""

    close_wanted = pyqtSignal()

    def __init__(self, model: ReplayModel, player: PlayerModel) -> None:
        super().__init__()
        self.setProperty("kind", "panel")
        self.setObjectName("replay.pane")
        self._model, self._player = model, player
        self.title = ElidedLabel("", "strong")
        self.badge = Badge()
        self.close_button = button("", "quiet", "replay.close")
        self.close_button.setIcon(icon("close", "muted"))
        self.close_button.setAccessibleName(tr("Close this episode"))
        self.close_button.setToolTip(tr("Show this episode no more"))
        self.warnings = label("", "warn", wraps=True)
        self.difference = label("", "fault", wraps=True)
        self.canvas = FrameCanvas(tr("Frame of the step"))
        self.approximate = label(tr("Approximate"), "warn")
        self.facts = FactsStrip(tr("The step that is looked at"))
        self._words = label("", "muted", wraps=True)
        self.progress = QProgressBar()
        self.retry = button(tr("Try again"), "", "replay.retry")
        self.setMinimumSize(200, 160)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        self._head, self._below = QHBoxLayout(), QHBoxLayout()
        self._parts = QStackedWidget()
        self._parts.addWidget(self.canvas)
        self._parts.addWidget(self._make_words())
        self._arrange()
        self.close_button.clicked.connect(self.close_wanted)
        self.retry.clicked.connect(model.retry_wanted)
        model.changed.connect(self.refresh)
        model.steps_changed.connect(self.refresh)
        model.frame_changed.connect(self.refresh_frame)
        player.kind_changed.connect(self.refresh_frame)

    def set_alone(self, alone: bool) -> None:
        """Show whether there are other episodes; a single one is not closed here."""
        self.close_button.setVisible(not alone)
        row, at = (self._head, 1) if alone else (self._below, 0)
        for part in (self.badge, self.approximate):
            for other in (self._head, self._below):
                other.removeWidget(part)
            row.insertWidget(at, part)

    def refresh(self) -> None:
        """Show the verdict, and what to know before it."""
        model, verdict = self._model, self._model.verdict
        address = model.address
        words = episode_words(address, with_env=True, with_attempt=address.attempt > 1)
        names_runs = len({address.run_id for address in self._player.addresses}) > 1
        self.title.set_whole(f"{words} · {model.title}" if names_runs else words)
        self.badge.set_state(verdict.word, verdict.tone)
        self.badge.setToolTip(verdict.help)
        self.warnings.setText("\n".join(verdict.warnings))
        self.warnings.setVisible(bool(verdict.warnings))
        differs = difference_words(model.result) if model.result is not None else ""
        self.difference.setText(differs)
        self.difference.setVisible(bool(differs))
        self.refresh_frame()

    def refresh_frame(self) -> None:
        """Show the frame, the grid, the values, or why there is nothing."""
        model = self._model
        has_grid = model.grid is not None and model.place is not None
        if has_grid and (self._player.prefers_grid or model.image is None):
            self.canvas.show_grid(model.grid, model.place)  # type: ignore[arg-type]  # has_grid
        elif model.image is not None:
            self.canvas.show_image(model.image)
        elif model.frame is not None and model.frame.values:
            self.canvas.show_values(model.frame.values)
        has = has_grid or model.image is not None or bool(model.frame and model.frame.values)
        self._parts.setCurrentIndex(0 if has else 1)
        self.canvas.set_faded(model.is_late)
        self.approximate.setVisible(has and model.is_approximate)
        self._show_words()
        self.facts.show_facts(model.facts)
        self.facts.setVisible(bool(model.facts))

    def _show_words(self) -> None:
        model = self._model
        show_reported(self._words, model.words)
        failed = model.phase is ReplayPhase.FAILED
        share = progress_share(model.run) if model.result is None and not failed else None
        self.progress.setVisible(share is not None)
        self.progress.setValue(round((share or 0.0) * _PER_MILLE))
        self.retry.setVisible(failed)

    def _make_words(self) -> QWidget:
        made = QWidget()
        column = QVBoxLayout(made)
        column.setContentsMargins(28, 20, 28, 20)
        column.setSpacing(12)
        self._words.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        self.progress.setRange(0, _PER_MILLE)
        self.progress.setTextVisible(False)
        self.progress.setFixedSize(220, 6)
        self.progress.setAccessibleName(tr("Steps that were rebuilt"))
        column.addStretch(2)
        column.addWidget(IconLabel("replay", "muted", 36), 0, Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(self._words)
        column.addWidget(self.progress, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(self.retry, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(3)
        return made

    def _arrange(self) -> None:
        head = self._head
        head.setContentsMargins(12, 6, 6, 0)
        head.setSpacing(8)
        head.addWidget(self.title, 1)
        head.addWidget(self.close_button)
        self._below.setContentsMargins(12, 0, 12, 0)
        self._below.setSpacing(8)
        self._below.addStretch(1)
        self.set_alone(True)
        strip = QHBoxLayout()
        strip.setContentsMargins(12, 0, 12, 8)
        strip.addWidget(self.facts)
        for words in (self.warnings, self.difference):
            words.setContentsMargins(12, 0, 12, 0)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 1, 1, 1)
        layout.setSpacing(4)
        layout.addLayout(head)
        layout.addLayout(self._below)
        layout.addWidget(self.warnings)
        layout.addWidget(self.difference)
        layout.addWidget(self._parts, 1)
        layout.addLayout(strip)
