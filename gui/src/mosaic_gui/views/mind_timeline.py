"""An episode from left to right: plan, goal, changed beliefs and reward of each step, and which one is looked at."""

from collections.abc import Callable

from PyQt6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PyQt6.QtGui import QColor, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PyQt6.QtWidgets import QSizePolicy, QToolTip, QWidget

from mosaic_contracts.decisions import DecisionStep
from mosaic_gui.state import wording
from mosaic_gui.state.language import tr
from mosaic_gui.theme.apply import current, ui_font
from mosaic_gui.theme.tokens import mixed
from mosaic_gui.viewmodels.mind import MindModel

_NAMES = 62
"""Width of the lanes' names."""
_LANE, _GAP, _SCALE = 20, 4, 16
_LEFT_KEYS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_PageUp: -10}
_KEYS = _LEFT_KEYS | {Qt.Key.Key_PageDown: 10}


class MindTimeline(QWidget):
    """Scrubbed with the mouse or the arrow keys. A lane that has nothing to say is not there."""

    def __init__(self, model: MindModel) -> None:
        super().__init__()
        self._model = model
        self._lanes: list[tuple[str, Callable[[QPainter, QRectF], None]]] = []
        self.setObjectName("mind.timeline")
        self.setAccessibleName(tr("Steps of the episode"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        model.looks_changed.connect(self._on_looks)
        model.place_changed.connect(self.update)
        self._on_looks()

    def sizeHint(self) -> QSize:
        return QSize(320, max(1, len(self._lanes)) * (_LANE + _GAP) + _SCALE + 8)

    def x_of(self, place: int) -> float:
        """Middle of a step."""
        return _NAMES + (place + 0.5) * self._step_width

    @property
    def _step_width(self) -> float:
        return max(1, self.width() - _NAMES - 4) / max(1, len(self._model.looks))

    def _place_at(self, x: float) -> int:
        return int((x - _NAMES) / self._step_width)

    def _on_looks(self) -> None:
        looks = self._model.looks
        lanes: list[tuple[str, Callable[[QPainter, QRectF], None]]] = []
        if any(look.plan for look in looks):
            lanes.append((tr("Plan"), self._draw_plans))
        if any(look.intentions for look in looks):
            lanes.append((tr("Intention"), self._draw_goals))
        if any(look.added or look.removed for look in looks):
            lanes.append((tr("Beliefs"), self._draw_beliefs))
        if any(look.confidence is not None for look in looks):
            lanes.append((tr("Sure"), self._draw_confidence))
        lanes.append((tr("Reward"), self._draw_rewards))
        self._lanes = lanes
        self.setFixedHeight(self.sizeHint().height())
        self.update()

    def paintEvent(self, _event: QPaintEvent | None) -> None:
        painter = QPainter(self)
        tokens = current()
        looks = self._model.looks
        if not looks:
            return
        for n, (name, draw) in enumerate(self._lanes):
            lane = QRectF(_NAMES, 2 + n * (_LANE + _GAP), self._step_width * len(looks), _LANE)
            painter.setFont(ui_font(11))
            painter.setPen(QColor(tokens.muted))
            painter.drawText(
                QRectF(0, lane.top(), _NAMES - 6, _LANE), Qt.AlignmentFlag.AlignVCenter, name
            )
            painter.fillRect(lane, QColor(mixed(tokens.raised, tokens.surface, 0.7)))
            draw(painter, lane)
        self._draw_scale(painter)
        self._draw_head(painter)
        if self.hasFocus():
            painter.setPen(QColor(tokens.accent))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)

    def _draw_scale(self, painter: QPainter) -> None:
        looks, tokens = self._model.looks, current()
        painter.setPen(QColor(tokens.muted))
        painter.setFont(ui_font(10))
        every = _round_step(len(looks), max(1, int((self.width() - _NAMES) / 56)))
        top = self.height() - _SCALE - 2
        for place in range(0, len(looks), every):
            where = QRectF(self.x_of(place) - 28, top, 56, _SCALE)
            painter.drawText(where, Qt.AlignmentFlag.AlignCenter, f"{looks[place].step:,}")

    def _draw_head(self, painter: QPainter) -> None:
        tokens, x = current(), self.x_of(self._model.place)
        bottom = 2 + len(self._lanes) * (_LANE + _GAP) - _GAP
        half = max(1.5, self._step_width / 2)
        colour = QColor(tokens.text)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(colour, 1.5))
        painter.drawRoundedRect(QRectF(x - half, 1, 2 * half, bottom), 2, 2)

    def _draw_plans(self, painter: QPainter, lane: QRectF) -> None:
        self._draw_stretches(painter, lane, [look.plan or "" for look in self._model.looks])

    def _draw_goals(self, painter: QPainter, lane: QRectF) -> None:
        self._draw_stretches(painter, lane, [_goal(look) for look in self._model.looks])

    def _draw_stretches(self, painter: QPainter, lane: QRectF, words: list[str]) -> None:
        tokens, width = current(), self._step_width
        colours = {word: n for n, word in enumerate(dict.fromkeys(w for w in words if w))}
        begin = 0
        painter.setFont(ui_font(11))
        for end in range(1, len(words) + 1):
            if end < len(words) and words[end] == words[begin]:
                continue
            if word := words[begin]:
                colour = tokens.series[colours[word] % len(tokens.series)]
                box = QRectF(lane.left() + begin * width, lane.top(), (end - begin) * width, _LANE)
                painter.fillRect(
                    box.adjusted(0.5, 0, -0.5, 0), QColor(mixed(colour, tokens.surface, 0.32))
                )
                painter.setPen(QColor(tokens.text))
                inside = box.adjusted(5, 0, -3, 0)
                shown = painter.fontMetrics().elidedText(
                    word, Qt.TextElideMode.ElideRight, int(inside.width())
                )
                if len(shown) > 2:
                    painter.drawText(inside, Qt.AlignmentFlag.AlignVCenter, shown)
            begin = end

    def _draw_beliefs(self, painter: QPainter, lane: QRectF) -> None:
        tokens = current()
        most = max(
            1,
            *(
                max(len(k.added), len(k.removed))
                for k in self._model.looks[1:] or self._model.looks
            ),
        )
        for place, look in enumerate(self._model.looks):
            for count, colour, up in (
                (len(look.added), tokens.ok, True),
                (len(look.removed), tokens.bad, False),
            ):
                height = min(1.0, count / most) * (_LANE / 2 - 1)
                self._draw_bar(painter, lane, place, height, colour, up)

    def _draw_confidence(self, painter: QPainter, lane: QRectF) -> None:
        tokens = current()
        for place, look in enumerate(self._model.looks):
            if look.confidence is not None:
                box = self._bar(lane, place)
                height = max(1.0, look.confidence * _LANE)
                colour = tokens.warn if look.explored else tokens.accent
                box.setTop(lane.bottom() - height)
                painter.fillRect(box, QColor(mixed(colour, tokens.surface, 0.75)))

    def _draw_rewards(self, painter: QPainter, lane: QRectF) -> None:
        tokens = current()
        most = max((abs(look.reward) for look in self._model.looks), default=0.0) or 1.0
        for place, look in enumerate(self._model.looks):
            height = abs(look.reward) / most * (_LANE / 2 - 1)
            colour = tokens.ok if look.reward > 0 else tokens.bad
            self._draw_bar(painter, lane, place, height, colour, look.reward > 0)

    def _draw_bar(
        self, painter: QPainter, lane: QRectF, place: int, height: float, colour: str, up: bool
    ) -> None:
        if height <= 0:
            return
        box, middle = self._bar(lane, place), lane.center().y()
        box.setTop(middle - max(2.0, height) if up else middle)
        box.setBottom(middle if up else middle + max(2.0, height))
        painter.fillRect(box, QColor(colour))

    def _bar(self, lane: QRectF, place: int) -> QRectF:
        width = self._step_width
        gap = 1.0 if width > 4 else 0.0
        return QRectF(
            lane.left() + place * width + gap, lane.top(), max(1.0, width - 2 * gap), lane.height()
        )

    def mousePressEvent(self, event: QMouseEvent | None) -> None:
        if event is not None and event.button() == Qt.MouseButton.LeftButton:
            self._model.choose_place(self._place_at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent | None) -> None:
        if event is not None and event.buttons() & Qt.MouseButton.LeftButton:
            self._model.choose_place(self._place_at(event.position().x()))

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        if event is None:
            return
        key = Qt.Key(event.key())
        if key in _KEYS:
            self._model.choose_place(self._model.place + _KEYS[key])
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            self._model.choose_place(0 if key == Qt.Key.Key_Home else len(self._model.looks) - 1)
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent | None) -> bool:
        if isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.words_at(QPointF(event.pos())), self)
            return True
        return super().event(event)

    def words_at(self, point: QPointF) -> str:
        """What was held at the step under a point, in short."""
        place = self._place_at(point.x())
        if not 0 <= place < len(self._model.looks) or point.x() < _NAMES:
            return ""
        look = self._model.looks[place]
        lines = [tr("Step {n}: {action}", n=look.step, action=look.action_name)]
        if look.plan:
            lines.append(tr("Plan {plan}", plan=look.plan))
        lines += look.intentions
        lines += [f"+ {belief}" for belief in look.added[:8]]
        lines += [f"− {belief}" for belief in look.removed[:8]]
        lines.append(tr("Reward {value}", value=wording.number(look.reward)))
        return "\n".join(lines)


def _goal(look: DecisionStep) -> str:
    """What the agent is about: the top of its first stack."""
    return look.intentions[0].rpartition(" > ")[2] if look.intentions else ""


def _round_step(count: int, most: int) -> int:
    """1, 2, 5, 10, ... so that at most so many remain."""
    step = 1
    while count / step > most:
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    return step
