"""Details of a run: parent and children to go to, its values, and its whole note."""

from html import escape

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QLabel, QPlainTextEdit, QVBoxLayout, QWidget

from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.state.lineage import Lineage, Relative
from mosaic_gui.theme.apply import current, mono_font
from mosaic_gui.theme.current import on_theme
from mosaic_gui.viewmodels.watch import WatchModel


class DetailsPanel(QWidget):
    """The table, parent and children above it, and next to it a note of more than one line."""

    open_wanted = pyqtSignal(str)
    """A run by its id."""

    def __init__(self, model: WatchModel, table: QWidget) -> None:
        super().__init__()
        self.setObjectName("side.details")
        self._model = model
        self.relatives = QLabel()
        self.relatives.setObjectName("details.relatives")
        self.relatives.setTextFormat(Qt.TextFormat.RichText)
        self.relatives.setWordWrap(True)
        self.relatives.setContentsMargins(12, 8, 12, 6)
        flags = Qt.TextInteractionFlag
        self.relatives.setTextInteractionFlags(
            flags.LinksAccessibleByMouse | flags.LinksAccessibleByKeyboard
        )
        table.setAccessibleName(tr("Details of the run"))
        self.note = QPlainTextEdit()
        self.note.setObjectName("details.note")
        self.note.setAccessibleName(tr("Note of the run"))
        self.note.setReadOnly(True)
        self.note.setFont(mono_font())
        self.note.setTabChangesFocus(True)
        beside = QHBoxLayout()
        beside.setSpacing(1)
        beside.addWidget(table, 3)
        beside.addWidget(self.note, 2)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.relatives)
        layout.addLayout(beside, 1)
        self.relatives.linkActivated.connect(self.open_wanted)
        on_theme(self, self.refresh)
        for signal in (model.run_replaced, model.run_changed, model.family_changed):
            signal.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the run; unchanged texts keep their selection."""
        run = self._model.run
        words = self._lineage_words(self._model.lineage)
        if words != self.relatives.text():
            self.relatives.setText(words)
        self.relatives.setVisible(bool(words))
        note = run.note.strip() if run is not None else ""
        self.note.setVisible("\n" in note)
        if note != self.note.toPlainText():
            self.note.setPlainText(note)

    def _lineage_words(self, lineage: Lineage) -> str:
        lines = []
        if lineage.parent is not None:
            lines.append(tr("Comes from {run}", run=_link(lineage.parent)))
        if lineage.children:
            named = ", ".join(_link(child) for child in lineage.children)
            lines.append(
                tr_n(
                    "Continued in {runs} and {n} more",
                    "Continued in {runs} and {n} more",
                    lineage.more,
                    runs=named,
                )
                if lineage.more
                else tr("Continued in {runs}", runs=named)
            )
        return "<br>".join(lines)


def _link(relative: Relative) -> str:
    words = escape(relative.words)
    if not relative.is_known:
        return words
    return f'<a href="{escape(relative.run_id)}" style="color:{current().accent}">{words}</a>'
