from collections.abc import Iterator
from typing import Any

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtTest import QSignalSpy
from PyQt6.QtWidgets import QCheckBox, QLineEdit, QPushButton
from pytestqt.qtbot import QtBot
from tests.specimen import report, worker

from mosaic_contracts.services import WorkerEntries
from mosaic_gui.viewmodels.launch import LaunchModel
from mosaic_gui.views.train_page import TrainPage

LEFT = Qt.MouseButton.LeftButton


class Shown:
    """The page, and the stack's part played by the test."""

    def __init__(self) -> None:
        self.model = LaunchModel()
        self.page = TrainPage(self.model)
        self.asked: list[dict[str, Any]] = []
        self.model.preflight_wanted.connect(self.asked.append)

    def settle(self, qtbot: QtBot, level: str = "ok", **fields: Any) -> None:
        """Let typing settle and answer the preflight."""
        with qtbot.waitSignal(self.model.preflight_wanted, timeout=5_000):
            pass
        self.model.take_report(self.asked[-1], report(level, **fields))

    def field(self, name: str) -> QLineEdit:
        """An input of the form."""
        found = self.page.findChild(QLineEdit, f"field.{name}")
        assert found is not None, name
        return found

    def button(self, name: str) -> QPushButton:
        """A button by its object name."""
        found = self.page.findChild(QPushButton, name)
        assert found is not None, name
        return found


@pytest.fixture
def shown(qtbot: QtBot) -> Iterator[Shown]:
    """The page with one worker, checked and ready to launch."""
    made = Shown()
    qtbot.addWidget(made.page)
    made.page.resize(1100, 700)
    made.page.show()
    made.model.take_catalogue(WorkerEntries(workers=[worker()]))
    made.settle(qtbot)
    yield made
    made.model._settle.stop()


def test_a_first_run_takes_one_click(qtbot: QtBot, shown: Shown) -> None:
    """With every default in place, Launch is all that is to be pressed."""
    wanted = QSignalSpy(shown.model.launch_wanted)
    qtbot.mouseClick(shown.button("preflight.launch"), LEFT)
    assert wanted[0][0]["environment"] == "CartPole-v1"
    assert not shown.button("preflight.launch").isEnabled()


def test_a_fault_is_shown_while_it_is_typed(qtbot: QtBot, shown: Shown) -> None:
    """The field turns red, says what would be right, and Launch waits."""
    gamma = shown.field("parameters.gamma")
    gamma.clear()
    qtbot.keyClicks(gamma, "1.5")
    row = shown.page.form.rows[("parameters", "gamma")]
    assert gamma.property("wrong") is True
    assert row._beside.text == "at most 1"
    assert not shown.button("preflight.launch").isEnabled()
    gamma.clear()
    qtbot.keyClicks(gamma, "0.5")
    assert gamma.property("wrong") is False
    shown.settle(qtbot)
    assert shown.button("preflight.launch").isEnabled()
    assert shown.asked[-1]["parameters"] == {"gamma": 0.5}


def test_the_form_has_every_argument_of_the_schema(shown: Shown) -> None:
    """Nothing of the worker's schema is left out, and help stands beside it."""
    assert {name for _, name in shown.page.form.rows} >= {
        "exp_name",
        "learning_rate",
        "gamma",
        "anneal_lr",
        "target_kl",
        "loss",
        "seed",
        "steps",
    }
    row = shown.page.form.rows[("parameters", "learning_rate")]
    assert row._beside.text == "the learning rate of the optimizer"
    assert shown.field("run.steps").placeholderText() == "500,000"


def test_only_what_was_changed_can_be_looked_at(qtbot: QtBot, shown: Shown) -> None:
    """Search and `only changed` narrow the form."""
    shown.field("parameters.gamma").clear()
    qtbot.keyClicks(shown.field("parameters.gamma"), "0.5")
    shown.page.form.bar.only_changed.setChecked(True)
    visible = [name for (_, name), row in shown.page.form.rows.items() if row.isVisible()]
    assert visible == ["gamma"]
    shown.page.form.bar.only_changed.setChecked(False)
    shown.page.form.bar.search.setText("learn")
    visible = [name for (_, name), row in shown.page.form.rows.items() if row.isVisible()]
    assert visible == ["learning_rate"]


def test_a_switch_is_a_check_box(qtbot: QtBot, shown: Shown) -> None:
    """A boolean argument is switched, and only then sent."""
    box = shown.page.findChild(QCheckBox, "field.parameters.anneal_lr")
    assert box is not None
    assert box.isChecked()
    box.click()
    shown.settle(qtbot)
    assert shown.asked[-1]["parameters"] == {"anneal_lr": False}


def test_a_blocking_line_hinders_and_says_why(qtbot: QtBot, shown: Shown) -> None:
    """What the stack lacks stands first in the list, and at the button."""
    shown.model.check_again()
    shown.settle(qtbot, "blocking")
    assert not shown.button("preflight.launch").isEnabled()
    assert shown.page.preflight._obstacle.text() == "Device: 3 GPUs are needed."


def test_the_dry_run_shows_the_exact_plan(qtbot: QtBot, shown: Shown) -> None:
    """Command, image, environment, mounts, GPU and network as the stack would start it, and every value."""
    qtbot.mouseClick(shown.button("preflight.view.plan"), LEFT)
    text = shown.page.preflight.plan.text.toPlainText()
    for part in ("python -m mosaic_worker_cleanrl", "OMP_NUM_THREADS=1", "runs/RUN"):
        assert part in text
    for title in (
        "Command",
        "Script",
        "Image",
        "Environment",
        "Mounts",
        "GPU",
        "Network",
        "Limits",
    ):
        assert title in text
    assert '"total_steps": 500' in text.replace("\xa0", " ")


def test_a_dry_run_that_was_looked_at_is_kept(qtbot: QtBot, shown: Shown) -> None:
    """The plan goes into the run's note beneath the user's own words; without a look, or unticked, it does not."""
    wanted = QSignalSpy(shown.model.launch_wanted)
    qtbot.keyClicks(shown.field("run.note"), "first try")
    shown.settle(qtbot)
    qtbot.mouseClick(shown.button("preflight.view.plan"), LEFT)
    qtbot.mouseClick(shown.button("preflight.launch"), LEFT)
    note = wanted[0][0]["note"]
    assert note.startswith("first try\n\nDry run before the launch\n# Command\n")
    assert "# Network" in note
    qtbot.mouseClick(shown.button("preflight.view.lines"), LEFT)
    shown.model.take_launched()
    qtbot.mouseClick(shown.button("preflight.launch"), LEFT)
    assert wanted[1][0]["note"] == "first try"


def test_consent_is_asked_for_beside_the_button(qtbot: QtBot, shown: Shown) -> None:
    """What is needed from outside is named, and launching takes a deliberate click more."""
    shown.model.check_again()
    shown.settle(qtbot, needs=["internet access to example.org"])
    assert shown.button("preflight.agree").isVisible()
    assert not shown.button("preflight.launch").isEnabled()
    qtbot.mouseClick(shown.button("preflight.agree"), LEFT)
    assert shown.button("preflight.launch").isEnabled()
