"""The card of a run that did not succeed."""

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QFrame, QHBoxLayout, QPlainTextEdit, QSizePolicy, QVBoxLayout

from mosaic_gui.discard import discard
from mosaic_gui.state.failure_fixes import Fix
from mosaic_gui.state.failure_summary import FailureSummary
from mosaic_gui.state.language import tr
from mosaic_gui.theme.apply import mono_font
from mosaic_gui.views.text import button, label, restyle, show_reported

LINES_SHOWN = 6


class FailureSummaryView(QFrame):
    """Cause, facts, what to try, and the last lines. Its buttons start the run again."""

    again_wanted = pyqtSignal(dict)
    """Overrides of the spec; empty for an equal run."""
    resume_wanted = pyqtSignal()
    """From its newest checkpoint."""
    edit_wanted = pyqtSignal(str)
    """Name of the field at which the form opens; empty: none."""
    closed = pyqtSignal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("failure_summary")
        self._title = label("", "heading")
        self._facts = label("", "small")
        self._message = label("", wraps=True)
        self._advice = label("", wraps=True)
        self._lines = QPlainTextEdit()
        self._lines.setReadOnly(True)
        self._lines.setProperty("kind", "quote")
        self._lines.setFont(mono_font(11))
        self._lines.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._lines.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._buttons = QHBoxLayout()
        self._hide = button(tr("Hide"), "quiet")
        self._hide.clicked.connect(self.closed)
        top = QHBoxLayout()
        top.addWidget(self._title)
        top.addSpacing(8)
        top.addWidget(self._facts)
        top.addStretch(1)
        top.addWidget(self._hide)
        words = QVBoxLayout()
        words.setSpacing(6)
        words.addWidget(self._message)
        words.addWidget(self._advice)
        words.addStretch(1)
        words.addLayout(self._buttons)
        body = QHBoxLayout()
        body.setSpacing(14)
        body.addLayout(words, 4)
        body.addWidget(self._lines, 5)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 10, 12, 12)
        layout.setSpacing(6)
        layout.addLayout(top)
        layout.addLayout(body)

    def show_summary(self, card: FailureSummary) -> None:
        """Show a summary."""
        self.setProperty("kind", "card_bad" if card.tone == "bad" else "card_neutral")
        restyle(self)
        self._title.setText(card.title)
        self._facts.setText("   ·   ".join(f"{name} {value}" for name, value in card.facts))
        show_reported(self._message, card.message)
        self._message.setVisible(card.message.rstrip(".") != card.title)
        show_reported(self._advice, "\n".join(f"→  {line}" for line in card.advice))
        self._lines.setPlainText("\n".join(card.last_lines))
        self._lines.setVisible(bool(card.last_lines) and card.tone == "bad")
        shown = min(LINES_SHOWN, max(4, len(card.last_lines)))
        self._lines.setFixedHeight(shown * self._lines.fontMetrics().lineSpacing() + 22)
        bar = self._lines.verticalScrollBar()
        if bar is not None:
            bar.setValue(bar.maximum())
        self._fill_buttons(card)

    def _use(self, fix: Fix) -> None:
        if fix.where:
            self.edit_wanted.emit(fix.where)
        elif fix.resumes:
            self.resume_wanted.emit()
        else:
            self.again_wanted.emit(fix.overrides)

    def _fill_buttons(self, card: FailureSummary) -> None:
        while (item := self._buttons.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                discard(old)
        for n, fix in enumerate(card.fixes):
            made = button(fix.label, "primary" if n == 0 else "", f"failure_summary.fix{n}")
            made.clicked.connect(lambda _on, fix=fix: self._use(fix))
            self._buttons.addWidget(made)
        again = button(tr("Run again"), "" if card.fixes else "primary", "failure_summary.again")
        again.clicked.connect(lambda: self.again_wanted.emit({}))
        edit = button(tr("Clone and edit"), "", "failure_summary.edit")
        edit.clicked.connect(lambda: self.edit_wanted.emit(""))
        self._buttons.addWidget(again)
        self._buttons.addWidget(edit)
        self._buttons.addStretch(1)
