"""The buttons of the player: play, step, jump, speed, and the present position."""

from collections.abc import Callable

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QComboBox, QHBoxLayout, QPushButton, QWidget

from mosaic_gui.state import wording
from mosaic_gui.state.language import tr
from mosaic_gui.state.playback import SPEEDS, Lock
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.player import PlayerModel
from mosaic_gui.views.segments import Segments
from mosaic_gui.views.text import button, label

_PICTURE, _GRID = "picture", "grid"


class TransportBar(QWidget):
    """One line below the scrub bar."""

    def __init__(self, player: PlayerModel) -> None:
        super().__init__()
        self.setObjectName("replay.transport")
        self._player = player
        self._is_playing: bool | None = None
        self.play = button("", "primary", "replay.play")
        self.play.setFixedWidth(52)
        self.first = self._make("first", tr("First step"), "Home", player.go_first)
        self.event_back = self._make(
            "event_back", tr("Previous event"), "J", lambda: player.go_moment(-1)
        )
        self.back = self._make("step_back", tr("One step back"), ",", lambda: player.step_by(-1))
        self.forward = self._make(
            "step_forward", tr("One step further"), ".", lambda: player.step_by(1)
        )
        self.event_forward = self._make(
            "event_forward", tr("Next event"), "L", lambda: player.go_moment(1)
        )
        self.last = self._make("last", tr("Last step"), "End", player.go_last)
        self._position = label("", "fact")
        self._time = label("", "small")
        self._waiting = label(tr("Loading frames …"), "small")
        self.lock = Segments(
            {Lock.STEP.value: tr("By step"), Lock.TIME.value: tr("By time")}, "replay.lock"
        )
        self.kind = Segments({_PICTURE: tr("Picture"), _GRID: tr("Grid")}, "replay.kind")
        self.speed = self._make_speed()
        self._arrange()
        self.play.clicked.connect(player.toggle)
        self.lock.chosen.connect(lambda key: player.set_lock(Lock(key)))
        self.kind.chosen.connect(lambda key: player.set_prefers_grid(key == _GRID))
        player.moved.connect(self.refresh)
        player.panes_changed.connect(self.refresh)
        player.kind_changed.connect(self.refresh)

    def refresh(self) -> None:
        """Show position, speed, and what has an effect now."""
        player, playback = self._player, self._player.playback
        last = playback.last
        if self._is_playing is not playback.is_playing:
            self._is_playing = playback.is_playing
            self.play.setIcon(icon("pause" if playback.is_playing else "play", "on_accent"))
            name = tr("Pause") if playback.is_playing else tr("Play")
            self.play.setAccessibleName(name)
            self.play.setToolTip(_with_keys(name, tr("Space")))
        self._position.setText(f"{wording.count(playback.step)} / {wording.count(last)}")
        now, whole = playback.seconds(playback.step), playback.seconds(last)
        self._time.setText(f"{_clock(now)} / {_clock(whole)}")
        self._waiting.setVisible(player.is_waiting)
        self.speed.setCurrentIndex(SPEEDS.index(playback.speed))
        has = last > 0
        self.play.setEnabled(has)
        for made in (self.first, self.back):
            made.setEnabled(has and playback.step > 0)
        for made in (self.last, self.forward):
            made.setEnabled(has and playback.step < last)
        moments = player.moments
        self.event_back.setEnabled(bool(moments) and moments[0].step < playback.step)
        self.event_forward.setEnabled(bool(moments) and moments[-1].step > playback.step)
        self.lock.setVisible(len(player.panes) > 1)
        self.lock.set_key(playback.lock.value)
        self.kind.setVisible(any(p.grid is not None and p.image is not None for p in player.panes))
        self.kind.set_key(_GRID if player.prefers_grid else _PICTURE)

    def _make(self, name: str, text: str, keys: str, act: Callable[[], object]) -> QPushButton:
        made = button("", "quiet", f"replay.{name}")
        made.setIcon(icon(name, "text"))
        made.setAccessibleName(text)
        made.setToolTip(_with_keys(text, keys))
        made.clicked.connect(lambda: act())
        return made

    def _make_speed(self) -> QComboBox:
        made = QComboBox()
        made.setObjectName("replay.speed")
        made.setAccessibleName(tr("Speed"))
        made.setToolTip(tr("Speed, in multiples of the environment's frame rate ([ and ])"))
        for speed in SPEEDS:
            made.addItem(f"{speed:g} ×")
        made.activated.connect(lambda n: self._player.set_speed(SPEEDS[n]))
        return made

    def _arrange(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        parts = (self.first, self.event_back, self.back, self.play)
        for made in (*parts, self.forward, self.event_forward, self.last):
            row.addWidget(made)
        row.addSpacing(10)
        self._position.setMinimumWidth(96)
        self._position.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self._position)
        row.addSpacing(6)
        row.addWidget(self._time)
        row.addSpacing(6)
        row.addWidget(self._waiting)
        row.addStretch(1)
        row.addWidget(self.lock)
        row.addWidget(self.kind)
        row.addWidget(self.speed)


def _with_keys(text: str, keys: str) -> str:
    return f"{text} ({keys})"


def _clock(seconds: float) -> str:
    """`0:04.5`; tenths, since a step may be short."""
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes)}:{rest:04.1f}"
