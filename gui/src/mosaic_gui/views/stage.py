"""The environment in the middle of the window: live frames, a grid, values, or one line that says why nothing."""

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from mosaic_gui.state.form_field import FieldKind, FormField
from mosaic_gui.state.language import tr
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.play import PlayModel
from mosaic_gui.viewmodels.stage import Picture, StageModel
from mosaic_gui.views.bases import VisibilityFrame
from mosaic_gui.views.facts_strip import FactsStrip
from mosaic_gui.views.frame_canvas import MARGIN
from mosaic_gui.views.number_box import NumberBox
from mosaic_gui.views.play_bar import PlayBar
from mosaic_gui.views.play_canvas import PlayCanvas
from mosaic_gui.views.play_side import PlaySide
from mosaic_gui.views.segments import Segments
from mosaic_gui.views.text import ElidedLabel, IconLabel, button, label

LINE_HEIGHT = 46
"""Height of the stage without a picture: one line."""
LEAST_HEIGHT, LOW_HEIGHT = 312, 280
"""Least height of a picture, and the same in a low window."""
LOW_WINDOW = 720
_UNBOUNDED = 16_777_215
"""Qt's largest height."""
_PICTURE, _GRID = "picture", "grid"


class StageView(VisibilityFrame):
    """Shows the environment of the watched run."""

    replay_wanted = pyqtSignal()
    """The user wants to see recorded episodes."""
    play_wanted = pyqtSignal()
    """A play is to be started."""
    runs_wanted = pyqtSignal()
    """A run is to be chosen."""

    def __init__(self, model: StageModel) -> None:
        super().__init__()
        self.setProperty("kind", "panel")
        self.setObjectName("stage")
        self._model = model
        self._parts = QStackedWidget()
        self.canvas = PlayCanvas(tr("Environment"))
        self._play: PlayModel | None = None
        self._play_bar: PlayBar | None = None
        self.facts = FactsStrip(tr("The newest frame"))
        self.bar = StageBar(model)
        self._problem = label("", "small", wraps=True)
        self._drawn = self._make_drawn()
        self._words = self._make_line()
        self.is_large = False
        self._empty = self._make_large_words()
        for part in (self._drawn, self._words, self._empty):
            self._parts.addWidget(part)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 1, 1, 1)
        layout.addWidget(self._parts)
        model.changed.connect(self.refresh)
        model.frame_changed.connect(self._show_frame)
        self.canvas.painted.connect(model.note_painted)
        self.bar.replay.clicked.connect(self.replay_wanted)
        self.refresh()

    def offer_replay(self) -> None:
        """Offer to replay recorded episodes of a run that does not run now."""
        self.bar.offers_replay = True
        self.refresh()

    def offer_play(self, play: PlayModel) -> None:
        """Let a person act in a run that takes inputs."""
        self._play = play
        self._middle.addWidget(PlaySide(play))
        self._play_bar = PlayBar(play)
        self._controls.insertWidget(0, self._play_bar, 1)
        self.bar.offer_again(play)
        canvas = self.canvas
        canvas.pressed.connect(play.press)
        canvas.released.connect(play.release)
        canvas.captured.connect(play.set_captured)
        play.capture_wanted.connect(lambda: canvas.setFocus(Qt.FocusReason.OtherFocusReason))
        play.changed.connect(self._show_play)
        self._show_play()

    def set_large(self, on: bool) -> None:
        """Set whether the stage keeps its space while there is no picture."""
        self.is_large = on
        self.refresh()

    def refresh(self) -> None:
        """Shrink to one line where there is no picture."""
        has = self._is_drawn
        without = self._empty if self.is_large else self._words
        self._parts.setCurrentWidget(self._drawn if has else without)
        takes_room = has or self.is_large
        self.setMaximumHeight(_UNBOUNDED if takes_room else LINE_HEIGHT)
        window = self.window()
        is_low = window is not None and window.height() < LOW_WINDOW
        least = LOW_HEIGHT if is_low else LEAST_HEIGHT
        self.setMinimumHeight(least if takes_room else LINE_HEIGHT)
        self._refresh_foot()
        self._explain()
        self._show_frame()

    def _show_frame(self) -> None:
        model = self._model
        if model.picture is Picture.FRAME and model.image is not None:
            self.canvas.show_image(model.image)
        elif model.picture is Picture.GRID and model.grid is not None:
            self.canvas.show_grid(model.grid, model.place)
        elif model.picture is Picture.VALUES and model.frame is not None:
            self.canvas.show_values(model.frame.values or [])
        else:
            self.canvas.show_nothing()
        facts, help_words = model.facts, model.help_words
        if self._play is not None:
            facts += self._play.facts if facts else []
            help_words = f"{help_words}\n{self._play.help_words}".strip()
        self.facts.setVisible(bool(facts))
        self.facts.help = help_words
        self.facts.show_facts(facts)

    def _refresh_foot(self) -> None:
        self.bar.refresh()
        bars = [self.bar, *([self._play_bar] if self._play_bar is not None else [])]
        self._foot.setVisible(any(not bar.isHidden() for bar in bars))

    @property
    def _is_drawn(self) -> bool:
        """Whether there is a picture, or a person plays without one."""
        is_played = self._play is not None and self._play.is_played
        return is_played or self._model.has_picture

    def _show_play(self) -> None:
        """Show what is asked of the player, and let the picture read the keyboard, or not."""
        play = self._play
        if play is None:
            return
        self.canvas.set_takes_keys(play.takes_keys, play.means)
        headline, more = play.headline
        self.canvas.show_notice(headline, more, calls=play.calls)
        if (self._parts.currentWidget() is self._drawn) is not self._is_drawn:
            self.refresh()
        else:
            self._refresh_foot()
            self._explain()

    def _make_drawn(self) -> QWidget:
        made = QWidget()
        column = QVBoxLayout(made)
        column.setContentsMargins(0, 0, 0, 6)
        column.setSpacing(4)
        self._problem.setContentsMargins(MARGIN, 8, MARGIN, 0)
        column.addWidget(self._problem)
        self._middle = QHBoxLayout()
        self._middle.setSpacing(0)
        self._middle.addWidget(self.canvas, 1)
        column.addLayout(self._middle, 1)
        strip = QHBoxLayout()
        strip.setContentsMargins(MARGIN, 0, MARGIN, 2)
        strip.addWidget(self.facts)
        column.addLayout(strip)
        self._foot = QWidget()
        self._controls = QHBoxLayout(self._foot)
        self._controls.setContentsMargins(0, 0, 0, 0)
        self._controls.setSpacing(0)
        self._controls.addWidget(self.bar)
        column.addWidget(self._foot)
        return made

    def _make_large_words(self) -> QWidget:
        made = QWidget()
        layout = QVBoxLayout(made)
        layout.setContentsMargins(28, 20, 28, 20)
        layout.setSpacing(8)
        icon_label = IconLabel("stage", "muted", 40)
        self._name, self._how = label("", "hero"), label("", "muted", wraps=True)
        self._name.setWordWrap(True)
        layout.addStretch(2)
        layout.addWidget(icon_label, 0, Qt.AlignmentFlag.AlignHCenter)
        for part in (self._name, self._how):
            part.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
            layout.addWidget(part)
        self._watch_large = self._make_watch("stage.watch_large")
        self._replay_large = self._make_replay("stage.replay_large")
        for act in (self._watch_large, self._replay_large):
            layout.addWidget(act, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addWidget(self._make_beginning(), 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(3)
        return made

    def _make_beginning(self) -> QWidget:
        """Make the buttons with which one begins where no run is watched."""
        self.begin = button(tr("Start a play"), "primary", "stage.begin")
        self.choose = button(tr("Show the runs"), "", "stage.choose")
        self.begin.clicked.connect(self.play_wanted)
        self.choose.clicked.connect(self.runs_wanted)
        self._beginning = QWidget()
        # one below the other: side by side they would make the smallest window wider
        column = QVBoxLayout(self._beginning)
        column.setContentsMargins(0, 4, 0, 0)
        column.setSpacing(8)
        column.addWidget(self.begin)
        column.addWidget(self.choose)
        return self._beginning

    def _make_line(self) -> QWidget:
        made = QWidget()
        row = QHBoxLayout(made)
        row.setContentsMargins(12, 0, 8, 0)
        row.setSpacing(10)
        self._why = ElidedLabel("", "muted")
        self._watch_line = self._make_watch("stage.watch_line")
        self._replay_line = self._make_replay("stage.replay_line")
        row.addWidget(IconLabel("stage", "muted"))
        row.addWidget(self._why, 1)
        row.addWidget(self._watch_line)
        row.addWidget(self._replay_line)
        return made

    def _make_watch(self, name: str) -> QWidget:
        """The button that is there while watching is off."""
        made = button(tr("Watch"), "", name)
        made.setIcon(icon("eye", "text"))
        made.clicked.connect(lambda: self._model.set_on(True))
        return made

    def _make_replay(self, name: str) -> QWidget:
        made = button(tr("Replay"), "", name)
        made.setIcon(icon("replay", "text"))
        made.clicked.connect(self.replay_wanted)
        return made

    def _explain(self) -> None:
        model = self._model
        short, how = model.words
        self._why.set_whole(short)
        self._why.setToolTip(f"{short}\n{how}".strip())
        self._name.setText(short)
        self._how.setText(how)
        self._how.setVisible(bool(how))
        self._beginning.setVisible(not model.environment)
        may_watch = model.is_running and not model.is_on
        for act in (self._watch_line, self._watch_large):
            act.setVisible(may_watch)
        for act in (self._replay_line, self._replay_large):
            offers = self.bar.offers_replay and bool(model.environment)
            act.setVisible(offers and not model.is_running)
        is_lost = self._play is not None and bool(self._play.loss)  # which is said where keys are
        self._problem.setText(model.problem_words)
        self._problem.setVisible(bool(model.problem_words) and not is_lost)


class StageBar(QWidget):
    """The controls below the picture."""

    def __init__(self, model: StageModel) -> None:
        super().__init__()
        self.setObjectName("stage.bar")
        self._model = model
        self.watch = button(tr("Watch"), "segment", "stage.watch")
        self.watch.setCheckable(True)
        self.watch.setIcon(icon("eye", "muted", "accent"))
        self.watch.setToolTip(
            tr("Draw the running environment. Nothing is drawn while nobody watches.")
        )
        self._name, self._of = label(tr("Env"), "small"), label("", "small")
        self.env = self._make_env()
        self.replay = button(tr("Replay"), "quiet", "stage.replay")
        self.replay.setIcon(icon("replay", "muted"))
        self.replay.setToolTip(tr("See recorded episodes again, step by step"))
        self.offers_replay = False
        self._play: PlayModel | None = None
        self.again = button(tr("Play again"), "", "stage.again")
        self.again.setIcon(icon("play", "text"))
        self.again.setToolTip(tr("Start a play with the same settings"))
        self.kind = Segments({_PICTURE: tr("Picture"), _GRID: tr("Grid")}, "stage.kind")
        self.smooth = button(tr("Smooth"), "segment", "stage.smooth")
        self.smooth.setCheckable(True)
        self.smooth.setToolTip(
            tr(
                "Up to 30 frames a second, also where drawing is slow. The run waits for each drawing: it loses up "
                "to as much time as the drawings take. Without it, drawing takes at most 1.7 % of the run's time."
            )
        )
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 0, 8, 0)
        row.setSpacing(6)
        row.addWidget(self.watch)
        row.addWidget(self.smooth)
        row.addWidget(self.again)
        row.addWidget(self.replay)
        row.addStretch(1)
        row.addWidget(self._name)
        row.addWidget(self.env)
        row.addWidget(self._of)
        row.addWidget(self.kind)
        self.watch.clicked.connect(lambda on: model.set_on(bool(on)))
        self.smooth.clicked.connect(lambda on: model.set_smooth(bool(on)))
        self.kind.chosen.connect(lambda key: model.set_prefers_grid(key == _GRID))

    def offer_again(self, play: PlayModel) -> None:
        """Offer to start a play again that has ended."""
        self._play = play
        self.again.clicked.connect(play.play_again)

    def refresh(self) -> None:
        """Show what holds, and only controls that have an effect."""
        model = self._model
        is_watched = model.is_running and not model.is_played
        self.watch.setVisible(is_watched)
        self.watch.setChecked(model.is_on)
        self.smooth.setVisible(is_watched and model.frame is not None)
        self.smooth.setChecked(model.is_smooth)
        several = model.num_envs > 1 and model.is_running
        for part in (self._name, self.env, self._of):
            part.setVisible(several)
        self._of.setText(tr("of {n}", n=model.num_envs))
        if int(self.env.value()) != model.env:
            self.env.setValue(model.env)
        self.kind.setVisible(model.has_choice)
        self.kind.set_key(_GRID if model.prefers_grid else _PICTURE)
        self.replay.setVisible(self.offers_replay and not model.is_running)
        was_played = self._play is not None and self._play.was_played
        self.again.setVisible(was_played and not model.is_running)
        shown = (self.watch, self.env, self.kind, self.replay, self.again)
        self.setVisible(any(not part.isHidden() for part in shown))

    def _make_env(self) -> NumberBox:
        field = FormField("env", tr("Sub-environment"), FieldKind.INTEGER, default=0, minimum=0)
        made = NumberBox(field)
        made.setObjectName("stage.env")
        made.setFixedWidth(64)
        made.setToolTip(tr("Which of the run's sub-environments is drawn, counted from 0"))
        made.changed.connect(lambda value: self._model.set_env(int(value)))
        return made
