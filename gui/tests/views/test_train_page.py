from collections.abc import Iterator
from typing import Any

import pytest
from PyQt6.QtCore import QPoint, Qt, QUrl
from PyQt6.QtGui import QDesktopServices, QGuiApplication
from PyQt6.QtTest import QSignalSpy
from PyQt6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QToolButton,
)
from pytestqt.qtbot import QtBot
from tests.specimen import report, run, run_id, summary, worker
from tests.state.test_tracking import tracked_worker

from mosaic_contracts.groups import GroupPlan
from mosaic_contracts.runs import ArtifactRow
from mosaic_contracts.services import WorkerEntries
from mosaic_contracts.stack import StackProxies
from mosaic_gui.theme.apply import current
from mosaic_gui.viewmodels.launch import LaunchModel
from mosaic_gui.views.form_section import FormSection
from mosaic_gui.views.origin_strip import OriginStrip
from mosaic_gui.views.picker import Picker
from mosaic_gui.views.preflight_panel import FADED
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
        return self.field_named(f"field.{name}")

    def field_named(self, name: str) -> QLineEdit:
        """An input by its whole object name."""
        found = self.page.findChild(QLineEdit, name)
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
    """Nothing of the worker's schema is left out, and help stands next to it."""
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


def test_no_label_lies_beneath_its_field(shown: Shown) -> None:
    """Each name has its own place, whatever stands next to it."""
    form = shown.page.form
    named = [one for one in form.findChildren(QLabel) if one.buddy() is form.environment]
    assert named
    assert named[0].geometry().right() < form.environment.geometry().left()


def test_what_is_narrowed_to_nothing_says_so_and_hides_no_fault(qtbot: QtBot, shown: Shown) -> None:
    """A form that shows no field says why, and a field that keeps Launch back is never among the hidden ones."""
    form = shown.page.form
    form.bar.only_changed.setChecked(True)
    assert form._none.isVisible()
    assert form._none.text() == "Default values."
    form.bar.only_changed.setChecked(False)
    form.bar.search.setText("nothing like it")
    assert form._none.text() == "No match."
    form.bar.search.clear()
    assert not form._none.isVisible()
    shown.field("run.seed").clear()
    qtbot.keyClicks(shown.field("run.seed"), "abc")
    form.bar.only_changed.setChecked(True)
    visible = [name for (_, name), row in form.rows.items() if row.isVisible()]
    assert visible == ["seed"]


def test_a_switch_is_a_check_box(qtbot: QtBot, shown: Shown) -> None:
    """A boolean argument is switched, and only then sent."""
    box = shown.page.findChild(QCheckBox, "field.parameters.anneal_lr")
    assert box is not None
    assert box.isChecked()
    box.click()
    shown.settle(qtbot)
    assert shown.asked[-1]["parameters"] == {"anneal_lr": False}


def test_a_blocking_line_hinders_and_says_why(qtbot: QtBot, shown: Shown) -> None:
    """What the stack lacks stands first in the list; at the button too, where the list is not in sight."""
    shown.model.check_again()
    shown.settle(qtbot, "blocking")
    assert not shown.button("preflight.launch").isEnabled()
    assert shown.page.preflight._obstacle.text() == "Device: see the checks above."
    shown.page.preflight.show_view("about")
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
    """The plan is kept with the run and is no part of the note; without a look, or unticked, it is not kept."""
    wanted = QSignalSpy(shown.model.launch_wanted)
    qtbot.keyClicks(shown.field("run.note"), "first try")
    shown.settle(qtbot)
    qtbot.mouseClick(shown.button("preflight.view.plan"), LEFT)
    qtbot.mouseClick(shown.button("preflight.launch"), LEFT)
    assert wanted[0][0]["note"] == "first try"
    assert shown.model.kept_plan.startswith("# Command\n")
    assert "# Network" in shown.model.kept_plan
    qtbot.mouseClick(shown.button("preflight.view.lines"), LEFT)
    shown.model.take_launched()
    qtbot.mouseClick(shown.button("preflight.launch"), LEFT)
    assert (wanted[1][0]["note"], shown.model.kept_plan) == ("first try", "")
    qtbot.mouseClick(shown.button("preflight.view.plan"), LEFT)
    shown.page.preflight.plan.keep.setChecked(False)
    shown.model.take_launched()
    qtbot.mouseClick(shown.button("preflight.launch"), LEFT)
    assert shown.model.kept_plan == ""


def test_checklist_stays_while_a_change_is_checked(qtbot: QtBot, shown: Shown) -> None:
    """What was found before is faded and named as such until the answer to the change."""
    panel = shown.page.preflight
    shown.model.check_again()
    shown.settle(qtbot, "warning")

    def seen() -> tuple[list[str], str, float]:
        texts = [one.text() for one in panel._area.findChildren(QLabel) if one.text()]
        words = panel.outdated.text() if panel.outdated.isVisible() else ""
        return texts, words, panel._fade.opacity()

    before = seen()
    assert before[1:] == ("", 1.0)
    assert "Device" in before[0]
    gamma = shown.field("parameters.gamma")
    gamma.clear()
    qtbot.keyClicks(gamma, "0.5")
    assert seen() == (before[0], "Checking the change …", FADED)
    assert not shown.button("preflight.launch").isEnabled()
    qtbot.keyClicks(gamma, "x")
    words = "From before the last change. It is checked again when the form is valid."
    assert seen() == (before[0], words, FADED)
    assert not shown.button("preflight.launch").isEnabled()
    qtbot.keyClick(gamma, Qt.Key.Key_Backspace)
    shown.settle(qtbot)
    assert seen()[1:] == ("", 1.0)
    assert shown.button("preflight.launch").isEnabled()


def test_first_check_says_that_it_checks(qtbot: QtBot) -> None:
    """Before the first answer nothing says that the form is wrong."""
    made = Shown()
    qtbot.addWidget(made.page)
    made.model.take_catalogue(WorkerEntries(workers=[worker()]))
    texts = [one.text() for one in made.page.preflight._area.findChildren(QLabel)]
    assert texts == ["Checking what the run needs …"]
    made.model._settle.stop()


def test_outdated_consent_is_not_asked_for(qtbot: QtBot, shown: Shown) -> None:
    """While the form is wrong nobody can agree to what an earlier form needed."""
    shown.model.check_again()
    shown.settle(qtbot, needs=["internet access to example.org"])
    assert shown.button("preflight.agree").isVisible()
    qtbot.keyClicks(shown.field("parameters.gamma"), "x")
    assert not shown.button("preflight.agree").isVisible()
    shown.model.launch()
    assert not shown.model.launching


def test_consent_is_asked_for_beside_the_button(qtbot: QtBot, shown: Shown) -> None:
    """What is needed from outside is named, and launching takes a deliberate click more."""
    shown.model.check_again()
    shown.settle(qtbot, needs=["internet access to example.org"])
    assert shown.button("preflight.agree").isVisible()
    assert not shown.button("preflight.launch").isEnabled()
    qtbot.mouseClick(shown.button("preflight.agree"), LEFT)
    assert shown.button("preflight.launch").isEnabled()


def test_a_changed_field_has_a_way_back(qtbot: QtBot, shown: Shown) -> None:
    """Its button is there while it differs from the default, and takes it back alone."""
    reset = shown.page.findChild(QToolButton, "reset.parameters.gamma")
    assert reset is not None
    assert not reset.isVisible()
    shown.field("parameters.gamma").clear()
    qtbot.keyClicks(shown.field("parameters.gamma"), "0.5")
    assert reset.isVisible()
    qtbot.mouseClick(reset, LEFT)
    assert shown.field("parameters.gamma").text() == "0.99"
    assert not reset.isVisible()


def test_undo_is_the_forms_and_not_the_fields(qtbot: QtBot, shown: Shown) -> None:
    """Ctrl+Z takes the last edit back wherever the cursor stands, a switch too, and shows it."""
    gamma = shown.field("parameters.gamma")
    gamma.setFocus()
    gamma.clear()
    qtbot.keyClicks(gamma, "0.5")
    shown.settle(qtbot)
    box = shown.page.findChild(QCheckBox, "field.parameters.anneal_lr")
    assert box is not None
    box.click()
    qtbot.keyClick(gamma, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert (box.isChecked(), gamma.text()) == (True, "0.5")
    qtbot.keyClick(gamma, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert gamma.text() == "0.99"
    qtbot.keyClick(gamma, Qt.Key.Key_Y, Qt.KeyboardModifier.ControlModifier)
    assert gamma.text() == "0.5"


def test_help_is_whole_while_its_field_is_used(qtbot: QtBot, shown: Shown) -> None:
    """At rest two lines; with the cursor in the field all of it, and the row grows with it."""
    shown.page.resize(900, 600)
    row = shown.page.form.rows[("run", "record")]
    qtbot.waitUntil(lambda: row._beside.is_cut, timeout=60_000)
    before = row.height()
    shown.page.activateWindow()
    row.input.setFocus()
    qtbot.waitUntil(lambda: not row._beside.is_cut and row.height() > before, timeout=60_000)
    shown.field("run.seed").setFocus()
    qtbot.waitUntil(lambda: row._beside.is_cut, timeout=60_000)


def test_sections_fold_and_a_search_looks_into_them(qtbot: QtBot, shown: Shown) -> None:
    """What is folded stays so for the next algorithm, says what was changed in it, and is found all the same."""
    section = shown.page.findChild(FormSection, "section.parameters.run")
    assert section is not None
    assert section.is_folded
    row = shown.page.form.rows[("parameters", "exp_name")]
    assert not row.isVisible()
    shown.page.form.bar.search.setText("exp name")
    assert row.isVisible()
    shown.page.form.bar.search.clear()
    assert not row.isVisible()
    qtbot.mouseClick(section.head, LEFT)
    assert row.isVisible()
    shown.model.choose("cleanrl", "dqn")
    section = shown.page.findChild(FormSection, "section.parameters.run")
    assert section is not None
    assert not section.is_folded


def test_the_way_to_a_fault_is_one_click(qtbot: QtBot, shown: Shown) -> None:
    """The button next to Launch opens the section and puts the cursor into the field that is wrong."""
    shown.page.activateWindow()
    shown.model.set_text("parameters", "exp_name", "x")
    section = shown.page.findChild(FormSection, "section.run.resources")
    assert section is not None
    section.fold(True)
    shown.model.set_text("run", "cpus", "0")
    qtbot.mouseClick(shown.button("preflight.show"), LEFT)
    assert not section.is_folded
    assert shown.field("run.cpus").hasFocus()


def test_another_run_fills_the_form_by_its_name(qtbot: QtBot, shown: Shown) -> None:
    """Copy from: a few letters and Return; the strip says of which run it is a copy, and what differs."""
    shown.model.store.take_runs([run(3, spec={"parameters": {"gamma": 0.7}}), run(4)])
    qtbot.mouseClick(shown.button("form.copy"), LEFT)
    picker = shown.page.findChild(Picker, "form.copy.picker")
    assert picker is not None
    area = picker.screen().availableGeometry()  # type: ignore[union-attr]
    picker.open_at(area.bottomRight())
    assert area.contains(picker.geometry())
    qtbot.keyClicks(picker.field, "ppo__4")
    qtbot.keyClick(picker.field, Qt.Key.Key_Return)
    assert shown.field("parameters.gamma").text() == "0.7"
    strip = shown.page.findChild(OriginStrip)
    assert strip is not None
    assert strip.isVisible()
    assert strip._words.text() == "No differences yet: this repeats the run."
    shown.model.set_text("parameters", "gamma", "0.8")
    assert strip._words.text() == "gamma 0.7 → 0.8"
    qtbot.mouseClick(shown.button("form.origin.forget"), LEFT)
    assert not strip.isVisible()
    assert shown.model.text("parameters", "gamma") == "0.8"


def test_a_checkpoint_is_chosen_run_first(qtbot: QtBot, shown: Shown) -> None:
    """The run, then its checkpoint, newest first; field and spec have what was chosen."""
    entry = worker()
    assert entry.description is not None
    algorithm = entry.description.algorithms[0]
    properties = algorithm.parameters["properties"]
    start = {"type": ["string", "null"], "default": None, "x-checkpoint": True}
    algorithm.parameters = {"properties": {**properties, "start": start}}
    algorithm.warm_start, algorithm.resumes = True, False
    shown.model.take_catalogue(WorkerEntries(workers=[entry]))
    shown.model._drafts.clear()
    shown.model.choose("cleanrl", "ppo")
    shown.model.store.take_runs([run(3, summary=summary(3, checkpoints=1))])
    wanted = QSignalSpy(shown.model.checkpoints_wanted)
    shown.page.form.rows[("parameters", "start")].choice_wanted.emit()
    picker = shown.page.findChild(Picker, "form.checkpoint.picker")
    assert picker is not None
    qtbot.keyClick(picker.field, Qt.Key.Key_Return)
    assert wanted[0][0] == run_id(3)
    row = ArtifactRow(path="checkpoints/7.pt", kind="checkpoint", bytes=9, step=7)
    shown.model.take_checkpoints(run_id(3), [row])
    qtbot.keyClick(picker.field, Qt.Key.Key_Return)
    assert shown.field("parameters.start").text() == f"{run_id(3)}/checkpoints/7.pt"
    strip = shown.page.findChild(OriginStrip)
    assert strip is not None
    assert strip._words.text().startswith("Warm start: ")
    assert (strip.isVisible(), strip.forget.isVisible()) == (True, False)
    shown.settle(qtbot)
    assert shown.asked[-1]["parameters"]["start"] == f"{run_id(3)}/checkpoints/7.pt"
    shown.model.set_text("parameters", "start", "")
    assert not strip.isVisible()


def test_documentation_reaches_for_nothing(
    qtbot: QtBot, shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Markdown of a worker is text: pictures and pages in it are not loaded, and only links of the web open."""
    entry = worker()
    assert entry.description is not None
    entry.description.algorithms[
        0
    ].documentation = (
        "**Take it** when.\n\n![x](http://127.0.0.1:9/x.png) ![y](file:///etc/hostname) <b>raw</b>"
    )
    shown.model.workers = [entry]
    shown.model._drafts.clear()
    shown.model.choose("cleanrl", "ppo")
    qtbot.mouseClick(shown.button("preflight.view.about"), LEFT)
    about = shown.page.preflight.about
    assert "Take it when." in about.toPlainText()
    assert about.loadResource(2, QUrl("file:///etc/hostname")) is None
    opened: list[QUrl] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    for link in ("https://docs.cleanrl.dev", "file:///etc/passwd", "javascript:1"):
        about.anchorClicked.emit(QUrl(link))
    assert [url.toString() for url in opened] == ["https://docs.cleanrl.dev"]


def test_a_tracker_that_is_not_offered_is_greyed_with_the_reason(shown: Shown) -> None:
    """The section is there, so that nobody seeks it, and cannot be typed into."""
    entry = tracked_worker()
    shown.model.workers = [entry]
    shown.model._drafts.clear()
    shown.model.choose("cleanrl", "ppo")
    section = shown.page.findChild(FormSection, "section.parameters.tracking")
    assert section is not None
    section.fold(False)
    assert "does not offer W&B" in section._note.text()
    assert not any(row.input.isEnabled() for row in section.rows)


def test_a_key_goes_to_the_stack_and_nowhere_else(qtbot: QtBot, shown: Shown) -> None:
    """It is handed over under its name, is not left in the field, and is in no spec."""
    shown.model.workers = [tracked_worker("wandb")]
    shown.model._drafts.clear()
    shown.model.choose("cleanrl", "ppo")
    section = shown.page.findChild(FormSection, "section.parameters.tracking")
    assert section is not None
    section.fold(False)
    given = QSignalSpy(shown.model.secret_wanted)
    mode = shown.page.findChild(QComboBox, "field.parameters.track")
    assert mode is not None
    rows = {row.field.name: row for row in section.rows}
    key = shown.field_named("tracking.key")
    assert (rows["proxy"].isVisible(), key.isVisible()) == (False, False)
    mode.setCurrentIndex(mode.findData("online"))
    assert (rows["proxy"].isVisible(), key.isVisible()) == (True, True)
    assert key.echoMode() is QLineEdit.EchoMode.Password
    qtbot.keyClicks(key, "s3cret")
    qtbot.keyClick(key, Qt.Key.Key_Return)
    assert given[0] == ["WANDB_API_KEY", "s3cret"]
    assert len(given) == 1
    assert key.text() == ""
    shown.settle(qtbot)
    assert "s3cret" not in str(shown.asked[-1])
    assert not key.isUndoAvailable()
    assert shown.asked[-1]["secrets"] == ["WANDB_API_KEY"]


def test_the_stacks_proxy_shows_where_none_is_named(shown: Shown) -> None:
    """An empty field shows the value that holds for it, which is no value of the run."""
    shown.model.workers = [tracked_worker("wandb")]
    shown.model._drafts.clear()
    shown.model.choose("cleanrl", "ppo")
    proxy = shown.field_named("field.parameters.proxy")
    assert proxy.placeholderText() == "none"
    shown.model.take_proxies(StackProxies(https="http://vpn:3128"))
    assert proxy.placeholderText() == "http://vpn:3128"
    row = shown.page.form.rows[("parameters", "proxy")]
    assert "the stack's http://vpn:3128" in row._beside.text
    assert "vpn" not in str(shown.model.draft.spec())  # type: ignore[union-attr]


def group_plan(**fields: Any) -> GroupPlan:
    """What a stack says of a group of six runs."""
    known = {"ok": True, "runs": 6, "expected_s": 540.0, "names": ["lr=0.1 · seed 1", "seed 2"]}
    return GroupPlan.model_validate(known | fields)


def type_into(qtbot: QtBot, edit: QLineEdit, text: str) -> None:
    """Replace the text of a field by typing."""
    edit.clear()
    qtbot.keyClicks(edit, text)


def test_seeds_and_lists_launch_one_group(qtbot: QtBot, shown: Shown) -> None:
    """How many runs and how long they take stands above Launch, which starts all of them as one group."""
    plans, groups = QSignalSpy(shown.model.plan_wanted), QSignalSpy(shown.model.group_wanted)
    launches = QSignalSpy(shown.model.launch_wanted)
    panel = shown.page.preflight
    assert not panel.runs.isVisible()
    type_into(qtbot, shown.field("run.seed"), "1-3")
    type_into(qtbot, shown.field("parameters.gamma"), "0.9, 0.95")
    assert panel.runs.isVisible()
    assert panel.runs.text() == "6 runs"
    row = shown.page.form.rows[("run", "seed")]
    assert row._beside.text.startswith("Read as 1, 2, 3.")
    shown.settle(qtbot)
    assert not shown.button("preflight.launch").isEnabled()
    shown.model.take_plan(plans[-1][0], group_plan())
    assert panel.runs.text() == "6 runs, about 9 min"
    assert panel.runs.toolTip() == "lr=0.1 · seed 1\nseed 2"
    assert shown.asked[-1]["parameters"] == {"gamma": 0.9}
    qtbot.mouseClick(shown.button("preflight.launch"), LEFT)
    assert not launches
    assert groups[0][0]["seeds"] == [1, 2, 3]
    assert groups[0][0]["parameters"] == {"gamma": [0.9, 0.95]}


def test_unknown_duration_leaves_the_number(qtbot: QtBot, shown: Shown) -> None:
    """Without earlier runs of the kind only the number of runs is said."""
    plans = QSignalSpy(shown.model.plan_wanted)
    type_into(qtbot, shown.field("run.seed"), "1,2")
    shown.settle(qtbot)
    shown.model.take_plan(plans[-1][0], group_plan(runs=2, expected_s=None))
    assert shown.page.preflight.runs.text() == "2 runs"


def test_a_refused_group_says_where(qtbot: QtBot, shown: Shown) -> None:
    """What the worker refuses of one combination stands at its field and hinders the launch."""
    plans = QSignalSpy(shown.model.plan_wanted)
    type_into(qtbot, shown.field("parameters.gamma"), "0.9, 0.95")
    shown.settle(qtbot)
    finding = {"level": "blocking", "where": "parameters.gamma", "message": "too far"}
    shown.model.take_plan(plans[-1][0], group_plan(ok=False, findings=[finding]))
    assert shown.page.form.rows[("parameters", "gamma")]._beside.text == "too far"
    assert shown.page.preflight._obstacle.text() == "Correct gamma."
    assert shown.model.obstacle_field == "parameters.gamma"


def test_a_wrong_list_says_which_value(qtbot: QtBot, shown: Shown) -> None:
    """The fault names the value, and Launch waits."""
    type_into(qtbot, shown.field("parameters.gamma"), "0.9, 7")
    row = shown.page.form.rows[("parameters", "gamma")]
    assert row._beside.text == "value 2, 7: at most 1"
    assert not shown.page.preflight.runs.isVisible()
    assert not shown.button("preflight.launch").isEnabled()


def test_a_switch_takes_both_values(qtbot: QtBot, shown: Shown) -> None:
    """The menu of a choice turns it into a list, and its reset turns it back."""
    row = shown.page.form.rows[("parameters", "anneal_lr")]
    row._open_menu(row.input.rect().center())
    menu = row.findChild(QMenu)
    assert menu is not None
    qtbot.waitUntil(menu.isVisible)
    menu.actions()[0].trigger()
    menu.close()
    edit = shown.field("parameters.anneal_lr")
    assert edit.text() == "true, false"
    assert shown.page.preflight.runs.text() == "2 runs"
    qtbot.mouseClick(row.reset, LEFT)
    assert isinstance(row.input, QCheckBox)
    assert not shown.page.preflight.runs.isVisible()
    shown.settle(qtbot)


def test_the_form_is_copied_as_a_command(qtbot: QtBot, shown: Shown) -> None:
    """The clipboard has the command, and a notice shows it."""
    said = QSignalSpy(shown.page.said)
    type_into(qtbot, shown.field("run.seed"), "1-3")
    qtbot.mouseClick(shown.button("preflight.copy"), LEFT)
    clipboard = QGuiApplication.clipboard()
    assert clipboard is not None
    assert clipboard.text() == "./mosaic run cleanrl ppo CartPole-v1 --seed 1-3"
    assert said[0][0] == "Copied: ./mosaic run cleanrl ppo CartPole-v1 --seed 1-3"
    type_into(qtbot, shown.field("run.seed"), "1-")
    assert not shown.button("preflight.copy").isEnabled()


def test_another_algorithm_clears_the_search(qtbot: QtBot, shown: Shown) -> None:
    """A search for arguments of the last algorithm hides nothing of the next one."""
    shown.page.form.bar.search.setText("learn")
    shown.model.reset()
    assert shown.page.form.bar.search.text() == "learn"
    shown.model.choose("cleanrl", "dqn")
    assert shown.page.form.bar.search.text() == ""
    assert shown.page.form.rows[("parameters", "gamma")].isVisible()
    shown.settle(qtbot)


def test_an_error_of_a_field_is_said_once(qtbot: QtBot, shown: Shown) -> None:
    """At the field; checklist and button name the field and lead there."""
    shown.model.check_again()
    qtbot.waitUntil(lambda: bool(shown.asked))
    shown.settle(qtbot, "blocking")
    said = "gamma: it has to be at most 1"
    bad = report("blocking")
    bad.lines[1].where, bad.lines[1].message, bad.lines[1].todo = "parameters.gamma", said, ""
    shown.model._asked = shown.asked[-1]
    shown.model.take_report(shown.asked[-1], bad)
    texts = [one.text() for one in shown.page.findChildren(QLabel) if one.isVisible()]
    assert [text for text in texts if said.split(": ")[1] in text] == []
    assert shown.page.form.rows[("parameters", "gamma")]._beside.text == said
    assert "Correct gamma in the form." in texts
    assert shown.page.preflight._obstacle.text() == "Correct gamma."
    assert shown.page.preflight.show_field.isVisible()


def test_the_focus_ring_of_a_section_is_whole(shown: Shown) -> None:
    """Its left edge is drawn as its right one."""
    shown.page.activateWindow()
    section = shown.page.form.sections[0][1]
    section.head.setFocus()
    QApplication.processEvents()
    image = section.head.grab().toImage()
    middle, accent = image.height() // 2, current().accent
    edges = [image.pixelColor(x, middle).name() for x in (0, image.width() - 1)]
    assert edges == [accent, accent]
    left = section.head.mapTo(shown.page.form._area.viewport(), QPoint(0, 0)).x()
    assert left >= 0
