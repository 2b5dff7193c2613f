"""Next to the picture of a play: which key does what, and what this play has brought so far."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from mosaic_gui.discard import discard
from mosaic_gui.state import wording
from mosaic_gui.state.key_map import KeyRow
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.state.play_keys import PlayerCommand, cap_text
from mosaic_gui.state.play_status import PlayedEpisode
from mosaic_gui.viewmodels.play import PlayModel
from mosaic_gui.views.key_cap import KeyCap, edit_button
from mosaic_gui.views.text import ElidedLabel, button, frame, inside_of_scroll, label, restyle

WIDTH = 212
MOST_EPISODES = 4
_CAPS_A_LINE = 4
_DENSE = 8
"""Actions above which combinations of keys are folded."""


class PlaySide(QFrame):
    """The key map with lit caps, in which keys can be changed; below it the player's commands and episodes."""

    def __init__(self, model: PlayModel) -> None:
        super().__init__()
        self.setObjectName("play.side")
        self.setFixedWidth(WIDTH)
        self._model = model
        self._caps: list[KeyCap] = []
        self._shows_combinations = False
        self._lost = ""
        self.edit = edit_button("play.edit_keys")
        self.default = button(tr("Default keys"), "quiet", "play.default_keys")
        self.again = button(tr("Play again"), "", "play.again_keys")
        self.again.setToolTip(tr("Stop this play, and start it again with the changed keys"))
        self._note = label("", "small", wraps=True)
        self._rows = QVBoxLayout()
        self._rows.setSpacing(5)
        self._commands = QVBoxLayout()
        self._commands.setSpacing(4)
        self._shown_commands: list[tuple[str, str]] = []
        self._past = PlayedEpisodes()
        self._past_heading = label(tr("This play"), "section")
        self._arrange()
        self.edit.toggled.connect(self._on_edit)
        self.default.clicked.connect(self._on_default)
        self.again.clicked.connect(model.play_again)
        model.map_changed.connect(self.rebuild)
        model.held_changed.connect(self._light)
        model.changed.connect(self.refresh)
        self.rebuild()

    @property
    def caps(self) -> list[KeyCap]:
        """The caps that are shown, in their order."""
        return list(self._caps)

    def rebuild(self) -> None:
        """Show another key map."""
        _empty(self._rows)
        self._caps = []
        edited = self._model.map
        rows = edited.rows if edited is not None else []
        combined = [row for row in rows if row.is_combination]
        folds = len(combined) > _DENSE
        for n, row in enumerate(rows):
            if not (folds and row.is_combination) or self._shows_combinations:
                self._rows.addWidget(self._make_row(n, row))
        if folds:
            self._rows.addWidget(self._make_fold(len(combined)))
        self._light()
        self.refresh()

    def refresh(self) -> None:
        """Show commands, episodes, and what a changed map means."""
        model, edited = self._model, self._model.map
        self.setVisible(edited is not None and model.is_played)
        is_editing = self.edit.isChecked()
        self.edit.setVisible(model.can_edit)
        if is_editing and not model.can_edit:
            self.edit.setChecked(False)
        self.default.setVisible(is_editing and edited is not None and not edited.is_default)
        self._note.setText(self._note_words())
        self._note.setVisible(bool(self._note.text()))
        self.again.setVisible(edited is not None and edited.is_changed)
        self._show_commands()
        self._past.show_episodes(model.episodes)
        for part in (self._past, self._past_heading):
            part.setVisible(bool(model.episodes))

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.addWidget(label(tr("Keys"), "heading"), 1)
        head.addWidget(self.edit)
        inside = inside_of_scroll()
        column = QVBoxLayout(inside)
        column.setContentsMargins(2, 0, 6, 0)
        column.setSpacing(8)
        column.addLayout(self._rows)
        for part in (self._note, self.default, self.again):
            column.addWidget(part)
        column.addWidget(frame("rule"))
        column.addLayout(self._commands)
        column.addSpacing(4)
        column.addWidget(self._past_heading)
        column.addWidget(self._past)
        column.addStretch(1)
        area = QScrollArea()
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(inside)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(4, 10, 10, 4)
        layout.setSpacing(6)
        layout.addLayout(head)
        layout.addWidget(area, 1)

    def _make_row(self, n: int, row: KeyRow) -> QWidget:
        """The caps and the word: next to each other, or below each other where there are many caps."""
        made = QWidget()
        caps = [self._make_cap(f"play.key.{n}.{entry}", entry, row.action) for entry in row.entries]
        if self.edit.isChecked():
            caps.append(self._make_cap(f"play.key.{n}.add", "", row.action))
        layout = QGridLayout(made)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        for at, cap in enumerate(caps):
            layout.addWidget(cap, at // _CAPS_A_LINE, at % _CAPS_A_LINE)
        word = ElidedLabel(row.word)
        if len(caps) < _CAPS_A_LINE and not row.is_combination:
            layout.addWidget(word, 0, len(caps))
            layout.setColumnStretch(len(caps), 1)
        else:
            layout.addWidget(word, len(caps) // _CAPS_A_LINE + 1, 0, 1, _CAPS_A_LINE + 1)
            layout.setColumnStretch(_CAPS_A_LINE, 1)
        return made

    def _make_cap(self, name: str, entry: str, action: Any) -> KeyCap:
        cap = KeyCap(entry, name=name)
        cap.set_editable(self.edit.isChecked())
        cap.key_chosen.connect(partial(self._on_key, cap, action))
        cap.remove_wanted.connect(partial(self._on_removed, cap))
        self._caps.append(cap)
        return cap

    def _make_fold(self, count: int) -> QWidget:
        words = tr_n("{n} combination", "{n} combinations", count)
        made = button(words, "fold", "play.combinations")
        made.clicked.connect(self._on_fold)
        return made

    def _light(self) -> None:
        held = frozenset(self._model.held)
        for cap in self._caps:
            cap.set_held(held)

    def _note_words(self) -> str:
        edited = self._model.map
        if edited is None:
            return ""
        if edited.is_changed:
            words = tr("The changed keys count from the next play.")
            return f"{self._lost} {words}".strip()
        if not self.edit.isChecked():
            return ""
        return self._lost or tr("Click a key, then press the one to use instead. + adds one.")

    def _show_commands(self) -> None:
        """Show the keys of the player's commands, where they have changed."""
        model = self._model
        words = {
            PlayerCommand.PAUSE: tr("pause"),
            PlayerCommand.STEP: tr("one step"),
            PlayerCommand.RESET: tr("new episode"),
        }
        if not model.has_clock:
            del words[PlayerCommand.PAUSE]
        if model.has_agent:
            words[PlayerCommand.ACTOR] = tr("take over, give back")
        keys = [(model.key_of(command), word) for command, word in words.items()]
        shown = [(key, word) for key, word in keys if key]
        if not model.means("escape"):
            shown.append(("escape", tr("leave the keyboard")))
        if shown == self._shown_commands:
            return
        self._shown_commands = shown
        _empty(self._commands)
        for key, word in shown:
            self._commands.addWidget(_command_row(key, word))

    def _on_fold(self) -> None:
        self._shows_combinations = not self._shows_combinations
        self.rebuild()

    def _on_edit(self, on: bool) -> None:
        model = self._model
        self._lost = ""
        self.edit.setText(tr("Done") if on else tr("Edit"))
        if on and model.has_clock and not model.status.paused:
            model.set_paused(True)
        self.rebuild()

    def _on_key(self, cap: KeyCap, action: Any, key: str) -> None:
        edited = self._model.map
        if edited is None or key == cap.entry:
            return
        lost = edited.put(key, action, cap.entry)
        self._lost = tr("{key} meant {word} before.", key=cap_text(key), word=lost) if lost else ""
        self._model.edit_map()

    def _on_removed(self, cap: KeyCap) -> None:
        if self._model.map is not None:
            self._model.map.remove(cap.entry)
            self._lost = ""
            self._model.edit_map()

    def _on_default(self) -> None:
        if self._model.map is not None:
            self._model.map.reset()
            self._lost = ""
            self._model.edit_map()


class PlayedEpisodes(QWidget):
    """The newest episodes of a play: number, return and length."""

    def __init__(self) -> None:
        super().__init__()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(2, 1)
        self._cells = [[label("", "small") for _ in range(3)] for _ in range(MOST_EPISODES)]
        for n, cells in enumerate(self._cells):
            for column, cell in enumerate(cells):
                self._grid.addWidget(cell, n, column)
            cells[1].setAlignment(Qt.AlignmentFlag.AlignRight)

    def show_episodes(self, ended: Sequence[PlayedEpisode]) -> None:
        """Show the newest ones, the best of all in bold."""
        best = max((one.episode_return for one in ended), default=0.0)
        newest = list(ended[-MOST_EPISODES:])
        for n, cells in enumerate(self._cells):
            one = newest[n] if n < len(newest) else None
            texts = ("", "", "")
            if one is not None:
                texts = (
                    f"#{wording.count(one.episode)}",
                    wording.number(one.episode_return),
                    tr_n("{n} step", "{n} steps", one.length),
                )
            is_best = one is not None and len(ended) > 1 and one.episode_return == best
            cells[1].setToolTip(tr("The best return of this play") if is_best else "")
            for cell, text in zip(cells, texts, strict=True):
                cell.setText(text)
                cell.setVisible(bool(text))
            kind = "strong" if is_best else "small"
            if cells[1].property("kind") != kind:
                cells[1].setProperty("kind", kind)
                restyle(cells[1])


def _command_row(key: str, word: str) -> QWidget:
    made = QWidget()
    row = QHBoxLayout(made)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(8)
    row.addWidget(KeyCap(key, name=f"play.command.{key}"))
    row.addWidget(ElidedLabel(word, "small"), 1)
    return made


def _empty(layout: QVBoxLayout) -> None:
    while (item := layout.takeAt(0)) is not None:
        if (old := item.widget()) is not None:
            discard(old)
