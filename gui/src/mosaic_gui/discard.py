"""Deletes widgets that a layout shows no longer."""

from PyQt6 import sip
from PyQt6.QtWidgets import QWidget


def discard(widget: QWidget) -> None:
    """Hide a widget, take it out of its layout, and delete it in the event loop.

    `deleteLater` alone leaves a widget and its parts to Python's garbage collector. It may take their Python halves
    at any time, even during a call by Qt: a part of a plot then finds no view, though the plot is still there.
    """
    widget.hide()
    widget.setParent(None)
    widget.deleteLater()
    # the widget refers to itself, which the collector does not see, until Qt deletes it
    sip.transferto(widget, widget)
