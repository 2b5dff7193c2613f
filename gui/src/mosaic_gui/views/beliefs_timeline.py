"""Timeline of an episode: plan, goal, changed beliefs and reward of each step, and the chosen step."""

from collections.abc import Callable

from PyQt6.QtCore import QPointF, QRectF, QSize, Qt
from PyQt6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PyQt6.QtWidgets import QSizePolicy

from mosaic_contracts.decisions import DecisionStep
from mosaic_gui.state import wording
from mosaic_gui.state.language import tr
from mosaic_gui.theme.apply import current, ui_font
from mosaic_gui.theme.tokens import mixed
from mosaic_gui.viewmodels.beliefs import BeliefsModel
from mosaic_gui.views.bases import PaintedWidget

_NAMES = 62
"""Width of the rows' names."""
_ROW, _GAP, _SCALE = 20, 4, 16
_LEFT_KEYS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_PageUp: -10}
_KEYS = _LEFT_KEYS | {Qt.Key.Key_PageDown: 10}


class BeliefsTimeline(PaintedWidget):
    """Steps are chosen with the mouse or the arrow keys. Rows without content are hidden."""

    def __init__(self, model: BeliefsModel) -> None:
        super().__init__()
        self._model = model
        self._rows: list[tuple[str, Callable[[QPainter, QRectF], None]]] = []
        self.setObjectName("beliefs.timeline")
        self.setAccessibleName(tr("Steps of the episode"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        model.decisions_changed.connect(self._on_decisions)
        model.place_changed.connect(self.update)
        self._on_decisions()

    def sizeHint(self) -> QSize:
        return QSize(320, max(1, len(self._rows)) * (_ROW + _GAP) + _SCALE + 8)

    def x_of(self, place: int) -> float:
        """Middle of a step."""
        return _NAMES + (place + 0.5) * self._step_width

    @property
    def _step_width(self) -> float:
        return max(1, self.width() - _NAMES - 4) / max(1, len(self._model.decisions))

    def _place_at(self, x: float) -> int:
        return int((x - _NAMES) / self._step_width)

    def _on_decisions(self) -> None:
        decisions = self._model.decisions
        rows: list[tuple[str, Callable[[QPainter, QRectF], None]]] = []
        if any(decision.plan for decision in decisions):
            rows.append((tr("Plan"), self._draw_plans))
        if any(decision.intentions for decision in decisions):
            rows.append((tr("Intention"), self._draw_goals))
        if any(decision.added or decision.removed for decision in decisions):
            rows.append((tr("Beliefs"), self._draw_beliefs))
        if any(decision.confidence is not None for decision in decisions):
            rows.append((tr("Sure"), self._draw_confidence))
        rows.append((tr("Reward"), self._draw_rewards))
        self._rows = rows
        self.setFixedHeight(self.sizeHint().height())
        self.update()

    def paintEvent(self, _event: QPaintEvent | None) -> None:
        painter = QPainter(self)
        tokens = current()
        decisions = self._model.decisions
        if not decisions:
            return
        for n, (name, draw) in enumerate(self._rows):
            row = QRectF(_NAMES, 2 + n * (_ROW + _GAP), self._step_width * len(decisions), _ROW)
            painter.setFont(ui_font(11))
            painter.setPen(QColor(tokens.muted))
            painter.drawText(
                QRectF(0, row.top(), _NAMES - 6, _ROW), Qt.AlignmentFlag.AlignVCenter, name
            )
            painter.fillRect(row, QColor(mixed(tokens.raised, tokens.surface, 0.7)))
            draw(painter, row)
        self._draw_scale(painter)
        self._draw_head(painter)
        if self.hasFocus():
            painter.setPen(QColor(tokens.accent))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)

    def _draw_scale(self, painter: QPainter) -> None:
        decisions, tokens = self._model.decisions, current()
        painter.setPen(QColor(tokens.muted))
        painter.setFont(ui_font(10))
        every = _round_step(len(decisions), max(1, int((self.width() - _NAMES) / 56)))
        top = self.height() - _SCALE - 2
        for place in range(0, len(decisions), every):
            where = QRectF(self.x_of(place) - 28, top, 56, _SCALE)
            painter.drawText(where, Qt.AlignmentFlag.AlignCenter, f"{decisions[place].step:,}")

    def _draw_head(self, painter: QPainter) -> None:
        tokens, x = current(), self.x_of(self._model.place)
        bottom = 2 + len(self._rows) * (_ROW + _GAP) - _GAP
        half = max(1.5, self._step_width / 2)
        colour = QColor(tokens.text)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(colour, 1.5))
        painter.drawRoundedRect(QRectF(x - half, 1, 2 * half, bottom), 2, 2)

    def _draw_plans(self, painter: QPainter, row: QRectF) -> None:
        self._draw_stretches(
            painter, row, [decision.plan or "" for decision in self._model.decisions]
        )

    def _draw_goals(self, painter: QPainter, row: QRectF) -> None:
        self._draw_stretches(painter, row, [_goal(decision) for decision in self._model.decisions])

    def _draw_stretches(self, painter: QPainter, row: QRectF, words: list[str]) -> None:
        tokens, width = current(), self._step_width
        colours = {word: n for n, word in enumerate(dict.fromkeys(w for w in words if w))}
        begin = 0
        painter.setFont(ui_font(11))
        for end in range(1, len(words) + 1):
            if end < len(words) and words[end] == words[begin]:
                continue
            if word := words[begin]:
                colour = tokens.series[colours[word] % len(tokens.series)]
                box = QRectF(row.left() + begin * width, row.top(), (end - begin) * width, _ROW)
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

    def _draw_beliefs(self, painter: QPainter, row: QRectF) -> None:
        tokens = current()
        most = max(
            1,
            *(
                max(len(k.added), len(k.removed))
                for k in self._model.decisions[1:] or self._model.decisions
            ),
        )
        for place, decision in enumerate(self._model.decisions):
            for count, colour, up in (
                (len(decision.added), tokens.ok, True),
                (len(decision.removed), tokens.bad, False),
            ):
                height = min(1.0, count / most) * (_ROW / 2 - 1)
                self._draw_bar(painter, row, place, height, colour, up)

    def _draw_confidence(self, painter: QPainter, row: QRectF) -> None:
        tokens = current()
        for place, decision in enumerate(self._model.decisions):
            if decision.confidence is not None:
                box = self._bar(row, place)
                height = max(1.0, decision.confidence * _ROW)
                colour = tokens.warn if decision.explored else tokens.accent
                box.setTop(row.bottom() - height)
                painter.fillRect(box, QColor(mixed(colour, tokens.surface, 0.75)))

    def _draw_rewards(self, painter: QPainter, row: QRectF) -> None:
        tokens = current()
        most = max((abs(decision.reward) for decision in self._model.decisions), default=0.0) or 1.0
        for place, decision in enumerate(self._model.decisions):
            height = abs(decision.reward) / most * (_ROW / 2 - 1)
            colour = tokens.ok if decision.reward > 0 else tokens.bad
            self._draw_bar(painter, row, place, height, colour, decision.reward > 0)

    def _draw_bar(
        self, painter: QPainter, row: QRectF, place: int, height: float, colour: str, up: bool
    ) -> None:
        if height <= 0:
            return
        box, middle = self._bar(row, place), row.center().y()
        box.setTop(middle - max(2.0, height) if up else middle)
        box.setBottom(middle if up else middle + max(2.0, height))
        painter.fillRect(box, QColor(colour))

    def _bar(self, row: QRectF, place: int) -> QRectF:
        width = self._step_width
        gap = 1.0 if width > 4 else 0.0
        return QRectF(
            row.left() + place * width + gap, row.top(), max(1.0, width - 2 * gap), row.height()
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
            self._model.choose_place(
                0 if key == Qt.Key.Key_Home else len(self._model.decisions) - 1
            )
        else:
            super().keyPressEvent(event)

    def words_at(self, point: QPointF) -> str:
        """Summary of the step under a point."""
        place = self._place_at(point.x())
        if not 0 <= place < len(self._model.decisions) or point.x() < _NAMES:
            return ""
        decision = self._model.decisions[place]
        lines = [tr("Step {n}: {action}", n=decision.step, action=decision.action_name)]
        if decision.plan:
            lines.append(tr("Plan {plan}", plan=decision.plan))
        lines += decision.intentions
        lines += [f"+ {belief}" for belief in decision.added[:8]]
        lines += [f"− {belief}" for belief in decision.removed[:8]]
        lines.append(tr("Reward {value}", value=wording.number(decision.reward)))
        return "\n".join(lines)


def _goal(decision: DecisionStep) -> str:
    """The present goal: the top of the first intention."""
    return decision.intentions[0].rpartition(" > ")[2] if decision.intentions else ""


def _round_step(count: int, most: int) -> int:
    """1, 2, 5, 10, ... so that at most so many remain."""
    step = 1
    while count / step > most:
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    return step
