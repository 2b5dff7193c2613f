"""Requests of the page of alerts, and that a removal can be undone."""

from pathlib import Path
from typing import Any, cast

import pytest
from pytestqt.qtbot import QtBot
from tests.controllers.test_run_actions import FakeSession
from tests.specimen import BEGAN, run, run_id

from mosaic_contracts.alerts import AlertReport, AlertRuleView, AlertView
from mosaic_contracts.states import RunState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.reply import ApiProblem
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.views.main_window import ALERTS, WATCH

RULE = AlertRuleView(rule_id="r1", rule="nan", plain="A value of a loss is NaN", created_at=BEGAN)
ALERT = AlertView(
    alert_id=1,
    run_id=run_id(1),
    run_name="x",
    rule="nan",
    plain=RULE.plain,
    message="a_loss is NaN",
    raised_at=BEGAN,
)


class Opened:
    """A client on the page of alerts, and the stack's part played by the test."""

    def __init__(self, client: DesktopClient) -> None:
        self.client, self.page = client, client.window.alerts
        self.session = FakeSession(store=client.store)
        self.answered = 0
        client.alerts_controller.attach(cast(StreamSession, self.session))
        client._on_tick(client.store.take_runs([run(1, RunState.RUNNING)]))

    @property
    def last(self) -> tuple[str, tuple[Any, ...]]:
        """What was asked last."""
        return self.session.api.asked[-1]

    def answer(self, qtbot: QtBot, name: str, answer: object) -> None:
        """Answer the next question of this name that was not answered."""
        api = self.session.api

        def places() -> list[int]:
            return [n for n in range(self.answered, len(api.asked)) if api.asked[n][0] == name]

        qtbot.waitUntil(lambda: bool(places()))
        place = places()[0]
        self.answered = place + 1
        if isinstance(answer, ApiProblem):
            api.replies[place].fail(answer)
        else:
            api.replies[place].succeed(answer)


@pytest.fixture
def opened(qtbot: QtBot, tmp_path: Path) -> Opened:
    """The page, shown."""
    client = DesktopClient(tmp_path)
    qtbot.addWidget(client.window, before_close_func=lambda _: client.close())
    client.window.resize(1280, 800)
    client.window.show()
    client.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    client.window.show_page(ALERTS)
    return Opened(client)


def test_an_empty_page_says_how_to_begin(qtbot: QtBot, opened: Opened) -> None:
    """The words have examples that can be typed."""
    opened.answer(qtbot, "alerts", AlertReport(rules=[], alerts=[], targets=[]))
    assert "return<50 for 50k steps" in opened.page._no_rules.text()
    assert opened.page._no_rules.isVisible()
    assert not opened.page.rules.isVisible()


def test_a_rule_is_added_and_its_removal_undone(qtbot: QtBot, opened: Opened) -> None:
    """The line is cleared once the stack has the rule; Undo restores the removed one."""
    page = opened.page
    opened.answer(qtbot, "alerts", AlertReport(rules=[], alerts=[], targets=[]))
    page.rule.setText("nan")
    page.add.click()
    assert opened.last == (
        "add_alert_rule",
        ({"rule": "nan", "runs": ""},),
    )
    opened.answer(qtbot, "add_alert_rule", RULE)
    assert page.rule.text() == ""
    opened.answer(qtbot, "alerts", AlertReport(rules=[RULE], alerts=[], targets=[]))
    page.rules.mark(0)
    page._say_chosen()
    page.remove.click()
    opened.answer(qtbot, "remove_alert_rule", RULE)
    opened.answer(qtbot, "alerts", AlertReport(rules=[], alerts=[], targets=[]))
    opened.client.window.notices.act()
    assert opened.session.api.asked[-1:] == [("restore_alert_rule", ("r1",))]


def test_a_wrong_rule_cannot_be_added(qtbot: QtBot, opened: Opened) -> None:
    """What is wrong is said below the line while it is typed."""
    opened.page.rule.setText("loss<3")
    assert not opened.page.add.isEnabled()
    assert "m.loss" in opened.page._meaning.text()
    opened.page.rule.setText("return<3")
    assert opened.page.add.isEnabled()
    opened.page.add.click()
    opened.answer(qtbot, "add_alert_rule", ApiProblem("The search is wrong."))
    assert opened.page._meaning.text() == "The search is wrong."
    assert opened.page.rule.text() == "return<3"


def test_an_alert_leads_to_its_run(qtbot: QtBot, opened: Opened) -> None:
    """Open and a double click show the run."""
    opened.answer(qtbot, "alerts", AlertReport(rules=[RULE], alerts=[ALERT], targets=[]))
    opened.page.alerts.mark(0)
    opened.page._say_chosen()
    with qtbot.waitSignal(opened.client.alerts.run_wanted) as wanted:
        opened.page.open.click()
    assert wanted.args == [run_id(1)]
    assert opened.client.window.page == WATCH
