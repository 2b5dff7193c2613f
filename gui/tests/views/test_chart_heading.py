"""The line above a chart: name, newest values and menu lie side by side."""

import pytest
from PyQt6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from mosaic_gui.plots.chart_heading import ChartHeading


@pytest.mark.parametrize("name", ["loss", "charts/episodic_length_of_a_long_name"])
def test_a_new_value_never_lies_over_the_menu(qtbot: QtBot, name: str) -> None:
    """The layout follows at once, not in the next turn of the event loop: a picture may be taken in between."""
    menu = QMenu()
    heading = ChartHeading(name, menu)
    qtbot.addWidget(heading)
    heading.resize(310, 30)
    heading.show()
    qtbot.waitExposed(heading)
    for values in (["171"], ["171", "75", "-4.70e-05"]):
        heading.show_values([(text, "#ffffff") for text in values])
        assert heading.values.geometry().right() < heading.more.geometry().left()
        assert heading.values.geometry().left() > heading.width() - 310
        assert heading.more.geometry().right() < heading.width()
