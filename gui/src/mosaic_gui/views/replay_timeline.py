"""The scrub bar of the player: return so far, moments, frames that are here, and the position."""

from PyQt6.QtCore import QPointF, QRectF, QSize, Qt
from PyQt6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap, QPolygonF
from PyQt6.QtWidgets import QSizePolicy

from mosaic_gui.state import wording
from mosaic_gui.state.episode_steps import EpisodeMoment, MomentKind, RecordedSteps
from mosaic_gui.state.language import tr
from mosaic_gui.state.live_frames import action_names, action_words
from mosaic_gui.theme.apply import current
from mosaic_gui.theme.tokens import Tokens, mixed
from mosaic_gui.viewmodels.player import PlayerModel
from mosaic_gui.viewmodels.replay import ReplayModel
from mosaic_gui.views.bases import PaintedWidget

HEIGHT = 58
_EDGE = 9
"""Space on both sides, half of the handle."""
_TRACK_TOP, _TRACK = 40, 6
_CURVE_TOP, _CURVE_BOTTOM = 3, 30
_HANDLE = 7


class ReplayTimeline(PaintedWidget):
    """Moves the player with the mouse. Keys are the page's."""

    def __init__(self, player: PlayerModel) -> None:
        super().__init__()
        self._player = player
        self._ground: tuple[tuple[object, ...], QPixmap] | None = None
        self.setObjectName("replay.timeline")
        self.setAccessibleName(tr("Position in the episode"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(HEIGHT)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        player.moved.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(400, HEIGHT)

    def x_of(self, step: float) -> float:
        """Place of a step."""
        return _EDGE + step / max(1, self._player.playback.last) * self._room

    def step_at(self, x: float) -> int:
        """The step at a place."""
        last = self._player.playback.last
        return min(max(0, round((x - _EDGE) / max(1.0, self._room) * last)), last)

    @property
    def _room(self) -> float:
        return max(1.0, self.width() - 2 * _EDGE)

    @property
    def _track(self) -> QRectF:
        return QRectF(_EDGE, _TRACK_TOP, self._room, _TRACK)

    def paintEvent(self, _event: QPaintEvent | None) -> None:
        painter, tokens = QPainter(self), current()
        painter.drawPixmap(0, 0, self._ground_of(tokens))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._draw_played(painter, tokens)
        self._draw_handle(painter, tokens)

    def _ground_of(self, tokens: Tokens) -> QPixmap:
        """All that does not move with the position; it is drawn when something of it changed."""
        main, scale = self._player.main, self.devicePixelRatioF()
        key: tuple[object, ...] = (tokens.name, self.size(), scale, self._player.playback.last)
        if main is not None:
            key += (id(main.steps), id(main.moments), main.cache.version)
        if self._ground is None or self._ground[0] != key:
            picture = QPixmap(self.size() * scale)
            picture.setDevicePixelRatio(scale)
            picture.fill(Qt.GlobalColor.transparent)
            painter = QPainter(picture)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            self._draw_ground(painter, tokens, main)
            painter.end()
            self._ground = (key, picture)
        return self._ground[1]

    def _draw_ground(self, painter: QPainter, tokens: Tokens, main: ReplayModel | None) -> None:
        self._draw_track(painter, tokens)
        if main is None:
            return
        if len(main.steps) > 1:
            self._draw_curve(painter, tokens, main)
        self._draw_cached(painter, tokens, main)
        self._draw_difference(painter, tokens, main)
        places: set[tuple[int, MomentKind, bool]] = set()
        for moment in main.moments:
            place = (round(self.x_of(moment.step)), moment.kind, moment.value >= 0)
            if place not in places:
                places.add(place)
                self._draw_moment(painter, tokens, moment)

    def _draw_curve(self, painter: QPainter, tokens: Tokens, main: ReplayModel) -> None:
        """The return so far, over the whole episode."""
        painter.setPen(QPen(QColor(mixed(tokens.accent, tokens.surface, 0.55)), 1.3))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(self._make_curve(main.steps))

    def _make_curve(self, steps: RecordedSteps) -> QPolygonF:
        every = max(1, len(steps) // max(1, int(self._room)))
        shown = [*steps.steps[::every], steps.steps[-1]]
        values = [step.episode_return for step in shown]
        low, high = min(values), max(values)
        span = (high - low) or 1.0
        height = _CURVE_BOTTOM - _CURVE_TOP
        return QPolygonF(
            QPointF(
                self.x_of(step.number),
                _CURVE_BOTTOM - (step.episode_return - low) / span * height,
            )
            for step in shown
        )

    def _draw_track(self, painter: QPainter, tokens: Tokens) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(mixed(tokens.edge, tokens.surface, 0.35)))
        painter.drawRoundedRect(self._track, _TRACK / 2, _TRACK / 2)

    def _draw_cached(self, painter: QPainter, tokens: Tokens, main: ReplayModel) -> None:
        """Stretches whose frames are here."""
        last, track = self._player.playback.last, self._track
        colour = QColor(mixed(tokens.edge, tokens.surface, 0.85))
        columns = int(track.width())
        begin: int | None = None
        for x in range(columns + 1):
            first = int(x * last / max(1, columns))
            here = x < columns and main.cache.has_any(first, int((x + 1) * last / max(1, columns)))
            if here and begin is None:
                begin = x
            elif not here and begin is not None:
                painter.fillRect(
                    QRectF(track.left() + begin, track.top(), x - begin, _TRACK), colour
                )
                begin = None

    def _draw_played(self, painter: QPainter, tokens: Tokens) -> None:
        track = self._track
        track.setRight(self.x_of(self._player.playback.position))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.accent))
        painter.drawRoundedRect(track, _TRACK / 2, _TRACK / 2)

    def _draw_difference(self, painter: QPainter, tokens: Tokens, main: ReplayModel) -> None:
        """From the first step that differs on, frames are approximate."""
        found = main.result.first_difference if main.result is not None else None
        if found is not None:
            left = self.x_of(found.step)
            rest = QRectF(left, _TRACK_TOP + _TRACK + 2, self.x_of(main.last) - left, 2)
            painter.fillRect(rest, QColor(tokens.bad))

    def _draw_moment(self, painter: QPainter, tokens: Tokens, moment: EpisodeMoment) -> None:
        x, top = self.x_of(moment.step), float(_TRACK_TOP - 7)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(_colour(tokens, moment)))
        if moment.kind in (MomentKind.END, MomentKind.DIFFERENCE):
            painter.drawRect(QRectF(x - 1, top - 2, 2, _TRACK + 11))
        elif moment.kind is MomentKind.PERSON:
            painter.drawRoundedRect(QRectF(x - 2.5, top, 5, 5), 1, 1)
        elif moment.kind is MomentKind.BELIEF:
            painter.drawRect(QRectF(x - 0.6, top + 1, 1.2, 4))
        else:
            up = moment.value >= 0
            tip, base = (top - 1, top + 4) if up else (top + 5, top)
            painter.drawPolygon(
                QPolygonF([QPointF(x, tip), QPointF(x - 3.2, base), QPointF(x + 3.2, base)])
            )

    def _draw_handle(self, painter: QPainter, tokens: Tokens) -> None:
        middle = QPointF(self.x_of(self._player.playback.position), _TRACK_TOP + _TRACK / 2)
        painter.setPen(QPen(QColor(tokens.accent if self.hasFocus() else tokens.surface), 2))
        painter.setBrush(QColor(tokens.text))
        painter.drawEllipse(middle, _HANDLE, _HANDLE)

    def mousePressEvent(self, event: QMouseEvent | None) -> None:
        if event is not None and event.button() == Qt.MouseButton.LeftButton:
            self._player.drag(True)
            self._player.seek(self.step_at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent | None) -> None:
        if event is not None and event.buttons() & Qt.MouseButton.LeftButton:
            self._player.seek(self.step_at(event.position().x()))

    def mouseReleaseEvent(self, event: QMouseEvent | None) -> None:
        if event is not None and event.button() == Qt.MouseButton.LeftButton:
            self._player.drag(False)

    def words_at(self, point: QPointF) -> str:
        """Summary of the step at a point, and what is special about it."""
        main = self._player.main
        if main is None:
            return ""
        number = self.step_at(point.x())
        near = [m for m in main.moments if abs(self.x_of(m.step) - point.x()) <= 4]
        if near:
            number = min(near, key=lambda m: abs(self.x_of(m.step) - point.x())).step
        step = main.steps.at(number)
        lines = [tr("Step {n}", n=wording.count(number))]
        if step is not None and number > 0:
            lines.append(
                tr(
                    "Action {action}, reward {reward}, return {value}",
                    action=action_words(step.action, action_names(main.grid)),
                    reward=wording.number(step.reward),
                    value=wording.number(step.episode_return),
                )
            )
        lines += [moment_words(moment) for moment in near if moment.step == number]
        return "\n".join(lines)


def moment_words(moment: EpisodeMoment) -> str:
    """Why a step is worth a jump."""
    match moment.kind:
        case MomentKind.REWARD:
            return tr("Unusual reward: {value}", value=wording.number(moment.value))
        case MomentKind.END:
            return tr("The episode ended here.")
        case MomentKind.PERSON:
            return tr("A person acts from here on.")
        case MomentKind.BELIEF:
            return tr("Beliefs, plan or intentions changed.")
        case MomentKind.DIFFERENCE:
            return tr("The first step that is not as recorded.")


def _colour(tokens: Tokens, moment: EpisodeMoment) -> str:
    match moment.kind:
        case MomentKind.REWARD:
            return tokens.ok if moment.value >= 0 else tokens.bad
        case MomentKind.DIFFERENCE:
            return tokens.bad
        case MomentKind.PERSON:
            return tokens.warn
        case MomentKind.BELIEF:
            return tokens.series[4]
        case MomentKind.END:
            return tokens.text
