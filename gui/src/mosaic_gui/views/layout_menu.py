"""The menu of layouts: built-in ones, the user's, and actions on them."""

from collections.abc import Sequence

from PyQt6.QtCore import QPoint, Qt, pyqtSignal
from PyQt6.QtWidgets import QMenu, QWidget

from mosaic_gui.state.language import tr, tr_mark
from mosaic_gui.views.arrangement import BUILT_IN, TITLES
from mosaic_gui.views.word_popup import WordPopup

KEYS = {name: f"Alt+{n}" for n, name in enumerate(BUILT_IN, start=1)}


class LayoutMenu(QMenu):
    """Opens next to its button."""

    chosen = pyqtSignal(str)
    saved = pyqtSignal(str)
    removed = pyqtSignal(str)
    reset_wanted = pyqtSignal()
    movable_wanted = pyqtSignal(bool)
    panel_wanted = pyqtSignal(str, bool)

    def __init__(
        self,
        parent: QWidget,
        own: Sequence[str],
        panels: dict[str, tuple[str, bool]],
        *,
        movable: bool,
    ) -> None:
        """`panels`: title of each panel and whether it is shown, by name."""
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for name in BUILT_IN:
            self._add(f"{tr_mark(TITLES[name])}\t{KEYS[name]}", name)
        if own:
            self.addSeparator()
            for name in own:
                self._add(name, name)
        self.addSeparator()
        self._add_panels(panels)
        move = self.addAction(tr("Move panels"))
        if move is not None:
            move.setCheckable(True)
            move.setChecked(movable)
            move.toggled.connect(self.movable_wanted)
        self.addSeparator()
        keep = self.addAction(tr("Save as …"))
        if keep is not None:
            keep.triggered.connect(self._ask_name)
        self._add_removals(own)
        reset = self.addAction(tr("Reset this layout"))
        if reset is not None:
            reset.triggered.connect(self.reset_wanted)

    def _add(self, text: str, name: str) -> None:
        action = self.addAction(text)
        if action is not None:
            action.triggered.connect(lambda: self.chosen.emit(name))

    def _add_panels(self, panels: dict[str, tuple[str, bool]]) -> None:
        for name, (title, shown) in panels.items():
            action = self.addAction(title)
            if action is not None:
                action.setCheckable(True)
                action.setChecked(shown)
                action.toggled.connect(lambda on, name=name: self.panel_wanted.emit(name, on))

    def _add_removals(self, own: Sequence[str]) -> None:
        submenu = self.addMenu(tr("Remove")) if own else None
        for name in own if submenu is not None else ():
            action = submenu.addAction(name) if submenu is not None else None
            if action is not None:
                action.triggered.connect(lambda _on, name=name: self.removed.emit(name))

    def _ask_name(self) -> None:
        popup = WordPopup(
            self.parentWidget() or self,
            tr("Name of this layout"),
            tr("Two monitors"),
            tr("Save"),
        )
        popup.given.connect(self.saved)
        popup.show_at(self.mapToGlobal(QPoint(0, 0)))
