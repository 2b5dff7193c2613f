"""Titles of the horizontal axis."""

from mosaic_gui.state.language import mark
from mosaic_gui.state.settings import XAxis

AXIS_TITLES = {
    XAxis.STEP: mark("Environment steps"),
    XAxis.EPISODE: mark("Episodes"),
    XAxis.RELATIVE: mark("Seconds since the first point"),
    XAxis.WALL: mark("Time"),
}
