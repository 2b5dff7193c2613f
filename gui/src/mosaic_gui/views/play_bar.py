"""The controls of a play, below the picture."""

import math
from collections.abc import Callable

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QSlider, QVBoxLayout, QWidget

from mosaic_gui.state.form_field import FieldKind, FormField
from mosaic_gui.state.language import tr
from mosaic_gui.state.play_keys import PlayerCommand, cap_text
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.play import PlayModel
from mosaic_gui.views.text import ElidedLabel, button, label, restyle

SLOWEST, FASTEST = 1.0, 120.0
"""Steps per second at the ends of the slider."""
_TICKS = 200
MOST_SEED = 2**32 - 1
_SEED = FormField(
    "seed", "", FieldKind.INTEGER, nullable=True, default=None, minimum=0, maximum=MOST_SEED
)


class PlayBar(QWidget):
    """Pause, step, new episode with a seed, rate, take and give; and why an input was refused."""

    def __init__(self, model: PlayModel) -> None:
        super().__init__()
        self.setObjectName("play.bar")
        self._model = model
        self._is_paused: bool | None = None
        self._seed_fault = ""
        """What is wrong with the typed seed; empty: nothing."""
        self.pause = self._make("", PlayerCommand.PAUSE, self._on_pause)
        self.step = self._make("step_forward", PlayerCommand.STEP, self._on_step)
        self.reset = self._make("reset", PlayerCommand.RESET, self._on_reset)
        self.actor = button("", "", "play.actor")
        self.actor.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.actor.clicked.connect(lambda: model.do(PlayerCommand.ACTOR))
        self.seed = self._make_seed()
        self.rate = self._make_rate()
        self._rate_words = label("", "small")
        self._refusal = ElidedLabel("", "fault")
        self._acts = label("", "small")
        self._arrange()
        model.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show what has an effect now."""
        model, status = self._model, self._model.status
        self.setVisible(model.is_played or bool(model.refusal))
        self._show_problem()
        has_clock = model.has_clock
        if self._is_paused is not status.paused:
            self._is_paused = status.paused
            self.pause.setIcon(icon("play" if status.paused else "pause", "text"))
        name = tr("Go on") if status.paused else tr("Pause")
        self._name(self.pause, PlayerCommand.PAUSE, name)
        self._name(self.step, PlayerCommand.STEP, tr("One step"))
        self._name(self.reset, PlayerCommand.RESET, tr("New episode"))
        self.pause.setVisible(has_clock or (model.is_played and status.paused))
        for part in (self.step, self.reset, self.seed):
            part.setVisible(model.is_played)
        self.rate.setVisible(has_clock)
        self._rate_words.setVisible(has_clock)
        if has_clock and not self.rate.isSliderDown():
            self._show_rate(model.rate)
        has_agent = model.is_played and model.has_agent
        self.actor.setVisible(has_agent)
        self.actor.setText(tr("Give back") if model.person_acts else tr("Take over"))
        key = model.key_of(PlayerCommand.ACTOR)
        self.actor.setToolTip(f"{self.actor.text()} ({cap_text(key)})" if key else "")
        self._acts.setVisible(has_agent)
        self._acts.setText(tr("You act") if model.person_acts else tr("The agent acts"))

    def _arrange(self) -> None:
        row = QHBoxLayout()
        row.setContentsMargins(8, 0, 8, 0)
        row.setSpacing(6)
        for part in (self.pause, self.step, self.reset, self.seed):
            row.addWidget(part)
        row.addSpacing(8)
        row.addWidget(self.rate)
        row.addWidget(self._rate_words)
        row.addStretch(1)
        row.addWidget(self._acts)
        row.addWidget(self.actor)
        refusal = QHBoxLayout()
        refusal.setContentsMargins(12, 0, 12, 0)
        refusal.addWidget(self._refusal)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addLayout(refusal)
        column.addLayout(row)

    def _make(self, picture: str, command: PlayerCommand, act: Callable[[], object]) -> QPushButton:
        made = button("", "quiet", f"play.{command.value}")
        # a click leaves the keyboard with the picture
        made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        if picture:
            made.setIcon(icon(picture, "text"))
        made.clicked.connect(lambda: act())
        return made

    def _name(self, made: QPushButton, command: PlayerCommand, name: str) -> None:
        key = self._model.key_of(command)
        made.setAccessibleName(name)
        made.setToolTip(f"{name} ({cap_text(key)})" if key else name)

    def _make_seed(self) -> QLineEdit:
        made = QLineEdit()
        made.setObjectName("play.seed")
        made.setAccessibleName(tr("Seed of the next episode"))
        made.setPlaceholderText(tr("seed"))
        made.setFixedWidth(92)
        made.setToolTip(
            tr(
                "Return begins an episode with this seed. Empty: the environment goes on with its own numbers."
            )
        )
        made.returnPressed.connect(self._on_reset)
        made.textChanged.connect(lambda _text: self._mark_seed(""))
        return made

    def _make_rate(self) -> QSlider:
        made = QSlider(Qt.Orientation.Horizontal)
        made.setObjectName("play.rate")
        made.setAccessibleName(tr("Steps per second"))
        made.setToolTip(tr("Steps per second"))
        made.setRange(0, _TICKS)
        made.setFixedWidth(120)
        made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        made.valueChanged.connect(self._on_slid)
        made.sliderReleased.connect(self._send_rate)
        return made

    def _on_pause(self) -> None:
        self._model.do(PlayerCommand.PAUSE)

    def _on_step(self) -> None:
        self._model.do(PlayerCommand.STEP)

    def _on_reset(self) -> None:
        try:
            seed = _SEED.parse(self.seed.text())
        except ValueError as error:
            self._mark_seed(str(error))
            return
        self._model.reset(seed if isinstance(seed, int) else None)
        if self.seed.hasFocus():
            self._model.capture_soon()

    def _mark_seed(self, fault: str) -> None:
        if self.seed.property("wrong") is not bool(fault):
            self.seed.setProperty("wrong", bool(fault))
            restyle(self.seed)
        self._seed_fault = fault
        self._show_problem()

    def _show_problem(self) -> None:
        words = self._model.refusal or self._seed_fault
        self._refusal.set_whole(words)
        self._refusal.setVisible(bool(words))

    def _show_rate(self, rate: float) -> None:
        self.rate.blockSignals(True)
        self.rate.setValue(ticks_of(rate))
        self.rate.blockSignals(False)
        self._say_rate(rate)

    def _say_rate(self, rate: float) -> None:
        self._rate_words.setText(tr("{n} steps/s", n=f"{rate:.3g}"))

    def _on_slid(self, ticks: int) -> None:
        self._say_rate(rate_of(ticks))
        if not self.rate.isSliderDown():
            self._send_rate()

    def _send_rate(self) -> None:
        self._model.set_rate(rate_of(self.rate.value()))


def rate_of(ticks: int) -> float:
    """Steps per second at a place of the slider, rounded to what a person can see."""
    rate = SLOWEST * (FASTEST / SLOWEST) ** (ticks / _TICKS)
    return round(rate, 1) if rate < 10 else float(round(rate))


def ticks_of(rate: float) -> int:
    """Place of the slider for steps per second."""
    bounded = min(max(rate, SLOWEST), FASTEST)
    return round(_TICKS * math.log(bounded / SLOWEST) / math.log(FASTEST / SLOWEST))
