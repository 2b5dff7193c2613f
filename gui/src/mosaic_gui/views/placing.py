"""Where a popup opens: next to what it belongs to, and always fully visible."""

from PyQt6.QtCore import QPoint, QRect
from PyQt6.QtGui import QGuiApplication
from PyQt6.QtWidgets import QWidget

MARGIN = 4
"""Between a popup and the edge of its window."""


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
