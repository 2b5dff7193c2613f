"""Popups: a framed panel that closes by itself, opened next to its owner and always fully visible."""

from PyQt6.QtCore import QPoint, QRect, Qt
from PyQt6.QtGui import QGuiApplication, QKeyEvent
from PyQt6.QtWidgets import QAbstractButton, QVBoxLayout, QWidget

from mosaic_gui.views.text import frame

MARGIN = 4
"""Between a popup and the edge of its window."""


class PanelPopup(QWidget):
    """A popup with a panel; Escape or a click outside closes it. Return presses the button with the focus."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.panel = frame("panel")
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.panel)

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        """Take a key that the widget with the focus left."""
        focused = self.focusWidget()
        is_return = event is not None and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if is_return and isinstance(focused, QAbstractButton):
            focused.click()
        else:
            super().keyPressEvent(event)


def open_popup(popup: QWidget, place: QPoint) -> None:
    """Show a popup with its upper left corner at a place of the screen, or as near to it as the popup fits.

    It lies within its window, or within the screen where the window is too small for it.
    """
    popup.ensurePolished()
    popup.adjustSize()
    owner = popup.parentWidget()
    frame = owner.window().frameGeometry() if owner is not None else QRect()  # type: ignore[union-attr]
    screen = QGuiApplication.screenAt(place) or popup.screen()
    seen = screen.availableGeometry() if screen is not None else frame
    popup.move(inside(QRect(place, popup.size()), frame, seen))
    popup.show()


def inside(wanted: QRect, frame: QRect, seen: QRect) -> QPoint:
    """The corner of a popup that is wanted somewhere. `frame`: its window. `seen`: what the screen shows."""
    room = frame.intersected(seen).adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
    if room.width() < wanted.width() or room.height() < wanted.height():
        room = seen
    # where it is larger than all there is, its beginning is seen
    left = max(room.left(), min(wanted.left(), room.right() + 1 - wanted.width()))
    top = max(room.top(), min(wanted.top(), room.bottom() + 1 - wanted.height()))
    return QPoint(left, top)
