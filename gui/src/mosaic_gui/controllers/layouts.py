"""Apply, save and restore layouts by name. QSettings stores geometry only, in a file of its own."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, unquote

from PyQt6.QtCore import QByteArray, QObject, QPoint, QSettings

from mosaic_gui.state.language import mark, tr, tr_mark
from mosaic_gui.views.arrangement import BUILT_IN, TITLES, TRAIN, PanelLayout
from mosaic_gui.views.layout_menu import LayoutMenu
from mosaic_gui.views.main_window import WATCH, MainWindow

LAST = "last"
_OWN = "own"
_REFUSED = mark("The panels have changed since this layout was saved. The built-in one is shown.")

Say = Callable[[str], None]


class LayoutController(QObject):
    """Applies, saves and restores layouts; without a folder it saves nothing."""

    def __init__(self, folder: Path | None, say: Say, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._say = say
        self._window: MainWindow | None = None
        self._pending: PanelLayout | str | None = None
        """A layout, or the name of a built-in one, for the page of a watched run, which was not made yet."""
        self._lent: PanelLayout | None = None
        """The user's layout while a play has another one."""
        self._kept: QSettings | None = None
        if folder is not None:
            path = str(folder / "layouts.ini")
            self._kept = QSettings(path, QSettings.Format.IniFormat, self)

    @property
    def own(self) -> list[str]:
        """Names of the layouts that the user saved."""
        if self._kept is None:
            return []
        self._kept.beginGroup(_OWN)
        names = sorted(unquote(name) for name in self._kept.childGroups())
        self._kept.endGroup()
        return names

    def attach(self, window: MainWindow) -> None:
        """Restore the layout of the last session in a new window."""
        self._window = window
        window.layout_wanted.connect(self.apply)
        window.layout_menu_wanted.connect(self._open_menu)
        window.watch_made.connect(self._on_watch_made)
        if not self._restore(LAST):
            self.apply(TRAIN, go=False)

    def restore_geometry(self) -> bool:
        """Restore position and size of the window; False when none were saved."""
        kept = self._kept.value("window/geometry") if self._kept is not None else None
        if self._window is None or not isinstance(kept, QByteArray):
            return False
        return self._window.restoreGeometry(kept)

    def keep(self) -> None:
        """Save window and layout for the next start."""
        if self._window is not None and self._kept is not None:
            self._kept.setValue("window/geometry", self._window.saveGeometry())
            if self._window.has_watch:
                self._store(LAST, self._lent or self.snapshot())
            elif self._kept.contains(f"{LAST}/places"):
                self._kept.setValue(f"{LAST}/folded", self._window.agents_dock.folded)
            self._kept.sync()

    def snapshot(self) -> PanelLayout:
        """The present layout."""
        window = self._require()
        area, stage = window.watch.area, window.watch.stage
        return PanelLayout(
            places=area.places(),
            folded=window.agents_dock.folded,
            stage=area.shows_middle,
            stage_is_large=stage.is_large,
            curves_share=area.curves_share,
        )

    def apply(self, name: str, go: bool = True) -> None:
        """Apply a layout; `go`: also show the watch page."""
        self._lent = None
        self._apply(name, go)

    def lend(self, name: str) -> None:
        """Apply a built-in layout until `take_back`; it is not saved as the user's."""
        kept = self._lent or self.snapshot()
        self._apply(name, go=True)
        self._lent = kept

    def take_back(self) -> None:
        """Go back to the user's layout."""
        kept, self._lent = self._lent, None
        if kept is not None:
            self._take(kept)

    def _apply(self, name: str, go: bool) -> None:
        window = self._require()
        plan = BUILT_IN.get(name)
        if plan is not None:
            window.agents_dock.set_folded(plan.folded)
            self._pending = name
        else:
            self._restore(f"{_OWN}/{quote(name, safe='')}")
        if go or window.has_watch:
            self._arrange(window)
        if go:
            window.show_page(WATCH)

    def save(self, name: str) -> None:
        """Save the present layout under a name that is not built in."""
        if name in BUILT_IN:
            title = tr_mark(TITLES[name])
            self._say(tr("{layout} is built in: choose another name.", layout=title))
        elif self._kept is None:
            self._say(tr("This client saves no layouts."))
        else:
            self._store(f"{_OWN}/{quote(name, safe='')}", self.snapshot())
            self._kept.sync()
            self._say(tr("Layout {layout} is saved.", layout=name))

    def remove(self, name: str) -> None:
        """Delete a layout of the user."""
        if self._kept is not None:
            self._kept.remove(f"{_OWN}/{quote(name, safe='')}")
            self._say(tr("Layout {layout} is removed.", layout=name))

    def _open_menu(self, place: QPoint) -> None:
        window = self._require()
        area = window.watch.area
        panels = {
            name: (dock.windowTitle(), not dock.isHidden()) for name, dock in area.docks.items()
        }
        panels["stage"] = (tr("Environment"), area.shows_middle)
        menu = LayoutMenu(window, self.own, panels, movable=area.movable)
        menu.chosen.connect(self.apply)
        menu.saved.connect(self.save)
        menu.removed.connect(self.remove)
        menu.reset_wanted.connect(lambda: self.apply(TRAIN))
        menu.movable_wanted.connect(self._set_movable)
        menu.panel_wanted.connect(self._show_panel)
        menu.popup(place)

    def _set_movable(self, on: bool) -> None:
        window = self._require()
        window.watch.area.set_movable(on)
        window.show_page(WATCH)
        if on:
            self._say(tr("Drag a panel by its title. The same menu entry hides the titles."))

    def _show_panel(self, name: str, shown: bool) -> None:
        area = self._require().watch.area
        if name == "stage":
            area.show_middle(shown)
        else:
            area.docks[name].setVisible(shown)

    def _store(self, key: str, layout: PanelLayout) -> None:
        if self._kept is not None:
            for name, value in layout.as_stored().items():
                held = QByteArray(value) if isinstance(value, bytes) else value
                self._kept.setValue(f"{key}/{name}", held)

    def _restore(self, key: str) -> bool:
        kept = self._kept
        places = kept.value(f"{key}/places") if kept is not None else None
        if kept is None or not isinstance(places, QByteArray):
            return False

        def is_on(name: str) -> bool:
            return str(kept.value(f"{key}/{name}")).lower() == "true"

        layout = PanelLayout(
            places.data(),
            is_on("folded"),
            is_on("stage"),
            is_on("stage_is_large"),
            _share_of(kept.value(f"{key}/curves_share")),
        )
        self._take(layout)
        return True

    def _take(self, layout: PanelLayout) -> None:
        window = self._require()
        window.agents_dock.set_folded(layout.folded)
        self._pending = layout
        if window.has_watch:
            self._arrange(window)

    def _on_watch_made(self) -> None:
        self._arrange(self._require())

    def _arrange(self, window: MainWindow) -> None:
        """Give the page of a watched run the layout that waits for it."""
        watch, pending = window.watch, self._pending
        self._pending = None
        if isinstance(pending, str):
            plan = BUILT_IN[pending]
            watch.stage.set_large(plan.stage_is_large)
            watch.area.arrange(plan)
        elif pending is not None:
            if not watch.area.take_places(pending.places, pending.curves_share):
                self.apply(TRAIN, go=False)
                self._say(tr_mark(_REFUSED))
                return
            watch.stage.set_large(pending.stage_is_large)
            watch.area.show_middle(pending.stage)

    def _require(self) -> MainWindow:
        if self._window is None:
            raise RuntimeError("a layout is of a window, and there is none yet")
        return self._window


def _share_of(kept: object) -> float:
    """A share of a width as it was stored; none where that is not one."""
    try:
        share = float(str(kept))
    except ValueError:
        return 0.0
    return share if 0 < share < 1 else 0.0
