"""A popup that asks who goes on from the step that is looked at."""

from PyQt6.QtCore import QPoint
from PyQt6.QtGui import QCloseEvent
from PyQt6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from mosaic_gui.state import wording
from mosaic_gui.state.language import tr
from mosaic_gui.state.takeover import Successor
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.takeover import TakeoverModel
from mosaic_gui.views.form_field import CalmCombo
from mosaic_gui.views.popup import PanelPopup, open_popup
from mosaic_gui.views.segments import Segments
from mosaic_gui.views.text import button, label, show_reported

WIDTH = 420


class TakeoverPopup(PanelPopup):
    """Closes with Escape, a click outside, or once the new run was queued."""

    def __init__(self, parent: QWidget, model: TakeoverModel) -> None:
        super().__init__(parent)
        self.setObjectName("takeover")
        self._model = model
        self._heading = label("", "heading")
        self.who = Segments(
            {
                Successor.PERSON: tr("You"),
                Successor.POLICY: tr("The same policy"),
                Successor.CHECKPOINT: tr("A checkpoint"),
            },
            "takeover.who",
            fills=True,
        )
        self.checkpoints = CalmCombo()
        self.checkpoints.setObjectName("takeover.checkpoint")
        self.checkpoints.setAccessibleName(tr("Checkpoint"))
        self.checkpoints.setMinimumContentsLength(12)
        self.checkpoints.setSizeAdjustPolicy(
            CalmCombo.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.plan = label("", "small", wraps=True)
        self.doubt = label("", "warn", wraps=True)
        self.fault = label("", "fault", wraps=True)
        self.back = button("", "", "takeover.back")
        self.give = button(tr("Take over"), "primary", "takeover.give")
        self.give.setIcon(icon("hybrid", "on_accent"))
        self._layout = QVBoxLayout(self.panel)
        self._lay_out()
        self.who.chosen.connect(lambda key: model.choose(Successor(key)))
        self.checkpoints.activated.connect(
            lambda n: model.choose_checkpoint(str(self.checkpoints.itemData(n)))
        )
        self.back.clicked.connect(model.go_back)
        self.give.clicked.connect(model.start)
        model.changed.connect(self.refresh)
        model.started.connect(self.close)
        self.refresh()

    def show_at(self, place: QPoint) -> None:
        """Open with the focus on what starts it, or on the choice where nothing can be started."""
        self._model.is_open = True
        open_popup(self, place)
        if self.give.isEnabled():
            self.give.setFocus()
        else:
            self.focusNextChild()

    def closeEvent(self, event: QCloseEvent | None) -> None:
        self._model.is_open = False
        super().closeEvent(event)

    def refresh(self) -> None:
        """Show what is chosen, what will happen, and what is in the way."""
        model, fault = self._model, self._model.fault
        self._heading.setText(tr("Take over at step {n}", n=wording.count(model.step)))
        self.who.set_key(model.successor.value)
        self._fill_checkpoints()
        words = model.refusal or (fault.words if fault is not None else model.obstacle)
        show_reported(self.fault, words)
        self.fault.setVisible(bool(words))
        self.plan.setText(model.plan)
        self.plan.setVisible(bool(model.plan) and fault is None)
        self.doubt.setText(model.doubt)
        self.doubt.setVisible(bool(model.doubt) and fault is None)
        instead = fault.instead if fault is not None else None
        self.back.setVisible(instead is not None)
        self.back.setText(tr("Go to step {n}", n=wording.count(instead)))
        self.give.setEnabled(model.can_start)
        self.give.setText(tr("Starting …") if model.is_starting else tr("Take over"))
        # the size hint of wrapped words is that of a narrower panel
        self.panel.setFixedHeight(self._layout.heightForWidth(WIDTH))
        self.adjustSize()

    def _fill_checkpoints(self) -> None:
        model, combo = self._model, self.checkpoints
        offers = model.offers
        if [offer.key for offer in offers] != [combo.itemData(n) for n in range(combo.count())]:
            combo.clear()
            for offer in offers:
                combo.addItem(offer.words, offer.key)
        combo.setCurrentIndex(combo.findData(model.checkpoint))
        combo.setToolTip(combo.currentText())
        combo.setVisible(model.successor is Successor.CHECKPOINT and bool(offers))

    def _lay_out(self) -> None:
        layout = self._layout
        layout.setContentsMargins(14, 12, 14, 14)
        layout.setSpacing(10)
        for part in (self._heading, self.who, self.checkpoints, self.plan, self.doubt, self.fault):
            layout.addWidget(part)
        for words in (self.plan, self.doubt, self.fault):
            words.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        foot = QHBoxLayout()
        foot.addWidget(self.back)
        foot.addStretch(1)
        foot.addWidget(self.give)
        layout.addLayout(foot)
        self.panel.setFixedWidth(WIDTH)
