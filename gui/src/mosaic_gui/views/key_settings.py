"""The list of commands with their keys, each of which can be changed."""

from PyQt6.QtCore import QEvent, Qt, pyqtSignal
from PyQt6.QtGui import QFocusEvent, QKeyEvent, QKeySequence
from PyQt6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from mosaic_gui.state.command_keys import (
    COMMANDS,
    PAGE_WORDS,
    KeyedCommand,
    default_of,
    refusal,
    resolved,
)
from mosaic_gui.state.language import tr, tr_mark
from mosaic_gui.viewmodels.rows import RowsModel
from mosaic_gui.views.command_keys import TAKES_KEYS
from mosaic_gui.views.plain_table import PlainTable
from mosaic_gui.views.text import button, label

LIST_HEIGHT = 260
_LONE = (Qt.Key.Key_Control, Qt.Key.Key_Shift, Qt.Key.Key_Alt, Qt.Key.Key_Meta, Qt.Key.Key_AltGr)


class KeySettings(QWidget):
    """A table of commands. Each change is emitted at once."""

    changed = pyqtSignal(dict)
    """All keys that are not those of the beginning, by command."""

    def __init__(self, chosen: dict[str, str]) -> None:
        super().__init__()
        self._chosen = resolved(chosen)
        self._shown: list[KeyedCommand] = []
        self._rows = RowsModel((tr("Command"), tr("Where"), tr("Keys")), parent=self)
        self.search = QLineEdit()
        self.search.setObjectName("keys.search")
        self.search.setAccessibleName(tr("Search commands"))
        self.search.setPlaceholderText(tr("Search commands …"))
        self.search.setClearButtonEnabled(True)
        self.table = PlainTable(self._rows, "keys.table")
        self.table.setAccessibleName(tr("Keys of commands"))
        self.table.setFixedHeight(LIST_HEIGHT)
        self.change = KeyRecorder(tr("Change …"))
        self.reset = button(tr("Reset"), "", "keys.reset")
        self.reset_all = button(tr("Reset all"), "quiet", "keys.reset_all")
        self.state = label("", "small", wraps=True)
        self._arrange()
        self.search.textChanged.connect(self._fill)
        self.table.row_chosen.connect(self._on_row)
        self.table.doubleClicked.connect(self.change.click)
        self.change.recorded.connect(self._take)
        self.reset.clicked.connect(self._reset)
        self.reset_all.clicked.connect(lambda: self._give({}))
        self._fill()

    def show_keys(self, chosen: dict[str, str]) -> None:
        """Show keys that were changed elsewhere."""
        self._chosen = resolved(chosen)
        self._fill()

    def choose(self, name: str) -> None:
        """Select a command."""
        at = [command.name for command in self._shown].index(name)
        self.table.selectRow(at)

    @property
    def _command(self) -> KeyedCommand | None:
        row = self.table.currentIndex().row()
        return self._shown[row] if 0 <= row < len(self._shown) else None

    def _take(self, keys: str) -> None:
        """Give the selected command these keys, or say why it cannot have them."""
        command = self._command
        if command is None:
            return
        rest = {name: one for name, one in self._chosen.items() if name != command.name}
        why = refusal(command.name, keys, rest)
        if why:
            self.state.setText(why)
            return
        self._give(rest if keys == command.keys else rest | {command.name: keys})

    def _reset(self) -> None:
        if (command := self._command) is not None:
            self._take(default_of(command.name))

    def _give(self, chosen: dict[str, str]) -> None:
        self._chosen = chosen
        self._fill()
        self.changed.emit(chosen)

    def _fill(self) -> None:
        """Show the commands that have all words of the search; the selected one stays selected."""
        before = self._command
        words = self.search.text().casefold().split()
        lines = {
            command: (
                tr_mark(command.title),
                tr_mark(PAGE_WORDS[command.page]),
                self._chosen.get(command.name, command.keys),
            )
            for command in COMMANDS
        }
        self._shown = [
            command
            for command, line in lines.items()
            if all(word in " ".join(line).casefold() for word in words)
        ]
        self._rows.replace([lines[command] for command in self._shown])
        if before in self._shown:
            self.table.mark(self._shown.index(before))
        self._on_row()

    def _on_row(self) -> None:
        command = self._command
        self.change.setEnabled(command is not None)
        self.reset.setEnabled(command is not None and command.name in self._chosen)
        self.reset_all.setEnabled(bool(self._chosen))
        self.state.setText(
            tr("Choose a command, then press Change and its new keys.")
            if command is None
            else tr("At first: {keys}", keys=command.keys)
        )

    def _arrange(self) -> None:
        foot = QHBoxLayout()
        foot.setSpacing(8)
        for made in (self.change, self.reset, self.reset_all):
            foot.addWidget(made)
        foot.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self.search)
        layout.addWidget(self.table)
        layout.addLayout(foot)
        layout.addWidget(self.state)


class KeyRecorder(QPushButton):
    """A button that, once pressed, takes the next keys instead of letting them act. Escape cancels."""

    recorded = pyqtSignal(str)
    """Keys as Qt writes them."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.setObjectName("keys.change")
        self._text = text
        self.clicked.connect(self._begin)

    def event(self, event: QEvent | None) -> bool:
        if (
            event is not None
            and event.type() is QEvent.Type.ShortcutOverride
            and self.property(TAKES_KEYS)
        ):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        if event is None or not self.property(TAKES_KEYS):
            super().keyPressEvent(event)
        elif event.key() == Qt.Key.Key_Escape:
            self._end()
        elif event.key() not in _LONE:
            self._end()
            self.recorded.emit(QKeySequence(event.keyCombination()).toString())

    def focusOutEvent(self, event: QFocusEvent | None) -> None:
        self._end()
        super().focusOutEvent(event)

    def focusNextPrevChild(self, next: bool) -> bool:
        """Leave Tab to the recording."""
        return not self.property(TAKES_KEYS) and super().focusNextPrevChild(next)

    def _begin(self) -> None:
        self.setProperty(TAKES_KEYS, True)
        self.setText(tr("Press the keys …"))
        self.setFocus()

    def _end(self) -> None:
        self.setProperty(TAKES_KEYS, False)
        self.setText(self._text)
