"""The smoothing factor: by slider, by keys and typed."""

import pytest
from PyQt6.QtCore import Qt
from pytestqt.qtbot import QtBot
from tests.specimen import run, run_id
from tests.views.test_watch_page import Shown

from mosaic_gui.views.chart_bar import SmoothingField

KEYS = Qt.Key


@pytest.fixture
def field(qtbot: QtBot) -> SmoothingField:
    """The field of a page that shows a run, with the focus."""
    made = Shown()
    qtbot.addWidget(made.page)
    made.store.replace_runs([run(0)])
    made.model.watch(run_id(0))
    made.page.activateWindow()
    qtbot.waitUntil(made.page.isActiveWindow)
    found: SmoothingField = made.page.bar.factor
    found.setProperty("shown", made)  # the page lives as long as its field
    found.setFocus()
    found.selectAll()
    return found


@pytest.mark.parametrize(
    ("typed", "factor", "text"),
    [("0.95", 0.95, "0.95"), ("0,5", 0.5, "0.5"), ("0.9873", 0.9873, "0.9873"), ("0", 0.0, "off")],
)
def test_a_factor_is_typed(
    qtbot: QtBot, field: SmoothingField, typed: str, factor: float, text: str
) -> None:
    """Return takes any number that smoothing knows, also those between two places of the slider."""
    qtbot.keyClicks(field, typed)
    qtbot.keyClick(field, KEYS.Key_Return)
    model = field.property("shown").model
    assert model.smoothing == factor
    assert field.text() == text


@pytest.mark.parametrize(("typed", "why"), [("1.5", "between 0 and 0.999"), ("much", "number")])
def test_what_is_no_factor_is_refused(
    qtbot: QtBot, field: SmoothingField, typed: str, why: str
) -> None:
    """The typed text stays, marked, and the reason is shown; Escape brings the factor back."""
    model = field.property("shown").model
    before = model.smoothing
    qtbot.keyClicks(field, typed)
    qtbot.keyClick(field, KEYS.Key_Return)
    assert (model.smoothing, field.text(), field.property("wrong")) == (before, typed, True)
    assert why in field.toolTip()
    qtbot.keyClick(field, KEYS.Key_Escape)
    assert field.text() == f"{before:g}"
    assert field.property("wrong") is False


def test_arrow_keys_change_it(qtbot: QtBot, field: SmoothingField) -> None:
    """Up and down in the field, and every key of a slider on the slider."""
    page = field.property("shown").page
    model = field.property("shown").model
    before = model.smoothing
    qtbot.keyClick(field, KEYS.Key_Up)
    assert model.smoothing > before
    qtbot.keyClick(field, KEYS.Key_Down)
    assert model.smoothing == pytest.approx(before, abs=0.01)
    slider = page.bar.smoothing
    slider.setFocus()
    qtbot.keyClick(slider, KEYS.Key_End)
    assert model.smoothing == 0.999
    assert field.text() == "0.999"
    qtbot.keyClick(slider, KEYS.Key_Home)
    assert model.smoothing == 0
    assert field.text() == "off"
