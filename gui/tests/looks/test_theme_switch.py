"""Another theme while the window is in use: every page keeps everything, and looks as if it had begun in that theme."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PyQt6 import sip
from PyQt6.QtCore import QEvent, QItemSelectionModel, QPoint, QRect, QSize
from PyQt6.QtGui import QImage, QTextCursor
from PyQt6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot
from tests.alert_specimen import alert_report
from tests.beliefs_specimen import CONFIG, EMITTED, STEPS, event
from tests.checkpoint_specimen import checkpoint, checkpoints, reward_curve
from tests.media_specimen import NAMES, histograms
from tests.net.frames_stub import frame
from tests.replay_specimen import fill_replay
from tests.specimen import (
    episodes,
    machine_sample,
    metrics,
    report,
    run,
    run_id,
    summary,
    worker,
)
from tests.storage_specimen import plan as prune_plan
from tests.storage_specimen import report as storage_report
from tests.sweep_specimen import page as trial_page
from tests.sweep_specimen import sweep_run, trials, view
from tests.themes import back_to_dark, wear

from mosaic_contracts.machine import MachineHistory
from mosaic_contracts.runs import ArtifactRow, EpisodeRow
from mosaic_contracts.services import WorkerEntries
from mosaic_contracts.states import RunState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.state.agents import Mode
from mosaic_gui.state.chart_page import AxisChoice, ValueFit
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.state.follow import EventBatch
from mosaic_gui.state.reward_trend import trend_of
from mosaic_gui.theme.apply import current
from mosaic_gui.theme.tokens import DARK, LIGHT, Tokens
from mosaic_gui.views.main_window import (
    ALERTS,
    CHECKPOINTS,
    REPLAY,
    RUNS,
    SETTINGS,
    STORAGE,
    SWEEPS,
    TRAIN,
    TRAINED,
    WATCH,
)

PICTURES = os.environ.get("MOSAIC_TEST_PICTURES")
"""A folder in which pictures that differ are left."""
COLOUR = re.compile(r"#[0-9a-f]{6}", re.IGNORECASE)
PLAIN = (str, int, float, bool, QRect, QSize, QPoint)
IGNORED = {"styleSheet", "autoFillBackground", "sizeHint", "minimumSizeHint", "opacity"}
CONTENT = {
    "text",
    "plainText",
    "checked",
    "value",
    "currentIndex",
    "currentText",
    "placeholderText",
}
"""What a widget that nobody sees keeps, too; its size and place are made when it is shown."""
LOG = "".join(
    f"step {n} \x1b[32mgood\x1b[0m \x1b[1;31mbad {n % 7}\x1b[0m {'x' * 300}\n" for n in range(400)
)


def prepared(folder: Path) -> DesktopClient:
    """A client that is being used: on every page something was typed, chosen, scrolled or folded."""
    client = DesktopClient(folder)
    window = client.window
    window.resize(1280, 800)
    window.show()
    client.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    runs = [
        run(n, RunState.FAILED if n % 2 else RunState.SUCCEEDED, summary=summary(n, checkpoints=2))
        for n in range(60)
    ]
    client._on_tick(client.store.replace_runs([run(70), *runs]))
    samples = [machine_sample(t=float(t), cpu_percent=float(t)) for t in range(9)]
    client.hardware.take(MachineHistory(interval_s=2.0, samples=samples))
    client.agents.set_mode(Mode.AGENT)
    client.launch.preflight_wanted.connect(
        lambda spec: client.launch.take_report(spec, report("warning"))
    )
    client.launch.take_catalogue(WorkerEntries(workers=[worker()]))
    client.launch._settle.stop()
    client.launch._ask()
    return client


def use_runs(client: DesktopClient) -> None:
    """A filter, a search, a selection and a place in the list."""
    client.window.show_page(RUNS)
    page = client.window.runs
    page.groups.choose("failed")
    page.search.setText("cartpole")
    page.grouping.setChecked(True)
    page.table.select_run(run_id(41))
    page.table.verticalScrollBar().setValue(333)  # type: ignore[union-attr]
    page.table.setColumnHidden(10, False)


def use_trash(client: DesktopClient) -> None:
    """Deleted runs, of which two are chosen."""
    client.window.show_page(RUNS)
    client.window.runs.show_trash(True)
    old = run(0).created_at
    client.trash_runs.take([run(n, RunState.FAILED, deleted_at=old) for n in range(40)])
    client.window.runs.trash.table.selectRow(5)


def watch_run(client: DesktopClient) -> None:
    """A run with an agent's mind, curves, output, episodes and files."""
    client.window.show_page(WATCH)
    client.store.follow(run_id(70))
    client.watch.watch(run_id(70), [run_id(3)])
    client.store.follow(run_id(3))
    config = EventBatch(run_id(70), [event(1, "config", data=CONFIG)], {}, "1.worker.1")
    values = [float(n % 13) for n in range(60)]
    values[20] = float("nan")
    for batch in (config, episodes(20, values, 70), metrics(90, "losses/a", values, 70)):
        client._on_tick(client.store.apply(batch))
    client._on_tick(client.store.apply(episodes(20, values, 3)))
    client.feed.show_run(run_id(70))
    client.feed.take(run_id(70), LOG, len(LOG))
    client.watch.take_files(
        [ArtifactRow(path=f"checkpoints/{n}.pt", kind="checkpoint", bytes=n) for n in range(30)]
    )
    rows = [EpisodeRow(attempt=1, env=0, episode=n, length=9) for n in range(90)]
    client.watch.take_episodes(rows)
    client.store.apply(EventBatch(run_id(70), EMITTED, {}, "1.worker.13"))
    client.beliefs.take_events(run_id(70), EMITTED, "1.worker.13")
    row = EpisodeRow(attempt=1, env=0, episode=3, length=2, start_seq=5, recorded_steps=2)
    client.beliefs.take_episodes(run_id(70), [row])
    client.beliefs.take_steps(run_id(70), (1, 0, 3), STEPS)  # type: ignore[arg-type]


def use_log(client: DesktopClient) -> None:
    """A place and a selection in the output, a word that is searched, and charts that were moved."""
    watch_run(client)
    log = client.window.watch.log
    client.window.watch.tabs.setCurrentWidget(log)
    QApplication.processEvents()
    log.search.setText("bad 3")
    log.follow.setChecked(False)
    cursor = QTextCursor(log.text.document())
    cursor.setPosition(9_000)
    cursor.setPosition(9_500, QTextCursor.MoveMode.KeepAnchor)
    log.text.setTextCursor(cursor)
    log.text.verticalScrollBar().setValue(31)  # type: ignore[union-attr]
    log.text.horizontalScrollBar().setValue(40)  # type: ignore[union-attr]
    client.watch.set_smoothing(0.5)
    client.watch.show_span(300, 500)
    name = client.window.watch.charts.charts[0].name
    client.watch.view.set_axis(name, AxisChoice(fit=ValueFit.LIMITS, low=-3, high=20))


def use_side(name: str) -> Callable[[DesktopClient], None]:
    """A tab next to the curves, with a row that is chosen and a place."""

    def use(client: DesktopClient) -> None:
        watch_run(client)
        watch = client.window.watch
        page = {"files": watch.files, "episodes": watch.episodes, "details": watch.details}[name]
        watch.tabs.setCurrentWidget(page)
        view = page if isinstance(page, QAbstractItemView) else page.findChild(QAbstractItemView)
        assert view is not None
        model = view.model()
        assert model is not None
        selection = view.selectionModel()
        assert selection is not None
        flags = QItemSelectionModel.SelectionFlag
        selection.setCurrentIndex(model.index(5, 0), flags.ClearAndSelect | flags.Rows)
        view.verticalScrollBar().setValue(3)  # type: ignore[union-attr]

    return use


def use_beliefs(client: DesktopClient) -> None:
    """The agent's mind at an earlier step."""
    watch_run(client)
    client.window.watch.views.setCurrentWidget(client.window.watch.beliefs)
    client.beliefs.choose_place(0)
    client.window.watch.beliefs.findChild(QWidget, "beliefs.split").setSizes([300, 400])  # type: ignore[attr-defined]
    client.window.watch.stop_asked(run_id(70))


def use_media(client: DesktopClient) -> None:
    """Histograms at an earlier step."""
    watch_run(client)
    client.media.take_names(run_id(70), NAMES)
    client.media.choose(("histogram", "weights/fc1"))
    client.media.take_values(run_id(70), histograms())
    client.window.watch.views.setCurrentWidget(client.window.watch.media)
    client.media.choose_place(7)
    client.window.watch.media.findChild(QWidget, "media.split").setSizes([150, 400])  # type: ignore[attr-defined]


def use_replay(client: DesktopClient) -> None:
    """Two episodes side by side at a step, with a place in the table."""
    client.window.show_page(REPLAY)
    fill_replay(client, 70)
    client.player.seek(30)


def use_stage(client: DesktopClient) -> None:
    """Values of an environment that draws no picture."""
    watch_run(client)
    client.stage.grid = None
    client.stage.take_frame(frame(run_id(70), problem="no pictures", values=[0.5, -1.0]), None)


def use_card(client: DesktopClient) -> None:
    """A run that failed, in another layout with the agents panel folded."""
    watch_run(client)
    client.layouts.apply("Replay")
    client.store.follow(run_id(1))
    client.watch.watch(run_id(1))


def use_form(client: DesktopClient) -> None:
    """What was typed, right and wrong, with steps to undo and a folded section."""
    client.window.show_page(TRAIN)
    form = client.window.train.form
    for name, text in (("gamma", "0,5"), ("learning_rate", "fast"), ("exp_name", "mine")):
        row = form.rows[("parameters", name)]
        row.set_text(text)
        row.typed.emit(text)
    client.launch.undo()
    form.sections[1][1].fold(True)
    form.bar.search.setText("a")
    client.launch._settle.stop()


def use_plan(client: DesktopClient) -> None:
    """The dry run, with a part of it selected."""
    client.window.show_page(TRAIN)
    client.launch._settle.stop()
    client.launch._ask()
    client.window.train.preflight.show_view("plan")
    text = client.window.train.preflight.plan.text
    cursor = text.textCursor()
    cursor.setPosition(10)
    cursor.setPosition(60, QTextCursor.MoveMode.KeepAnchor)
    text.setTextCursor(cursor)


def use_about(client: DesktopClient) -> None:
    """What the worker says of the algorithm."""
    client.window.show_page(TRAIN)
    client.launch._settle.stop()
    client.window.train.preflight.show_view("about")


def use_trained(client: DesktopClient) -> None:
    """A number that is none yet."""
    client.window.show_page(TRAINED)
    client.window.trained.seed.lineEdit().setText("1,2")  # type: ignore[union-attr]


def use_checkpoints(client: DesktopClient) -> None:
    """A search, an order, a chosen card, and a comparison of hashes that goes on."""
    client.window.show_page(CHECKPOINTS)
    model, page = client.all_checkpoints, client.window.checkpoints
    more = [checkpoint(n, f"checkpoints/{n}.pt", t=None) for n in range(20)]
    model.take_page([*checkpoints(), *more], is_last=True)
    page.search.setText("ppo")
    page.order.setCurrentIndex(1)
    model.take_trend(run_id(3), trend_of(reward_curve(3)))
    model.take_checked([checkpoint(1, state="altered"), checkpoint(4)], run(0).created_at)
    model.take_check_progress(2, 5)
    page.cards.setCurrentIndex(model.cards.index(4, 0))


def use_sweeps(client: DesktopClient) -> None:
    """A sweep in parallel coordinates, with a range of an axis and a selected trial."""
    client._on_tick(client.store.take_runs([sweep_run(90)]))
    client.window.show_page(SWEEPS)
    client.sweeps.choose(run_id(90))
    client.sweeps.take_view(view(90))
    client.sweeps.take_trials(run_id(90), trial_page(trials(40)))
    plots = client.window.sweeps.plots
    plots.show_plot("parallel")
    client.sweeps.brush("gamma", (0.92, 0.99))
    client.sweeps.select(7)
    plots._queue.stop()
    plots.redraw()


def use_storage(client: DesktopClient) -> None:
    """A picture of what fills the disks, with a chosen tile, files that are removed, and the trash."""
    client.window.show_page(STORAGE)
    client.storage.take_report(storage_report(30))
    client.storage.take_plan(prune_plan())
    client.storage.choose(client.storage.tiles.tiles[2])
    client.storage.take_progress("Removing files …", 3, 7)
    client.window.storage.lists.show_list("trash")


def use_alerts(client: DesktopClient) -> None:
    """Rules and alerts, with a wrong rule that is being typed."""
    client.window.show_page(ALERTS)
    client.alerts.take(alert_report(4))
    client.window.alerts.rule.setText("loss<3")
    client.window.alerts.alerts.mark(1)


def use_settings(client: DesktopClient) -> None:
    """A number that is being typed."""
    client.window.show_page(SETTINGS)
    client.window.settings.fields["notice_s"].lineEdit().setText("30")  # type: ignore[attr-defined]


def use_connection(client: DesktopClient) -> None:
    """An address that is being typed."""
    client.window.show_connection()
    client.window.start.url.setText("http://gpu-box:84")


USES: dict[str, Callable[[DesktopClient], None]] = {
    "runs": use_runs,
    "trash": use_trash,
    "log": use_log,
    "files": use_side("files"),
    "episodes": use_side("episodes"),
    "details": use_side("details"),
    "beliefs": use_beliefs,
    "media": use_media,
    "replay": use_replay,
    "stage": use_stage,
    "card": use_card,
    "form": use_form,
    "plan": use_plan,
    "about": use_about,
    "trained": use_trained,
    "checkpoints": use_checkpoints,
    "sweeps": use_sweeps,
    "storage": use_storage,
    "alerts": use_alerts,
    "settings": use_settings,
    "connection": use_connection,
}


@pytest.fixture
def make(
    qtbot: QtBot, qapp: QApplication, tmp_path: Path
) -> Iterator[Callable[[Tokens, str], DesktopClient]]:
    """Makes clients in a theme, in the middle of some use."""
    made: list[DesktopClient] = []

    def build(tokens: Tokens, use: str) -> DesktopClient:
        wear(qapp, tokens)
        home = tmp_path / "home"  # the settings page shows where it is
        shutil.rmtree(home, ignore_errors=True)
        client = prepared(home)
        client.preferences.change("theme", tokens.name)
        made.append(client)
        USES[use](client)
        qtbot.waitUntil(lambda: is_still(client.window))
        return client

    yield build
    for client in made:
        if not sip.isdeleted(client.window):
            end(client)
    back_to_dark(qapp)


def end(client: DesktopClient) -> None:
    """Delete a client's window at once: another theme would be applied to it, too, which takes most of a second."""
    client.launch._settle.stop()
    client.theme.stop()
    client.window.close()
    client.window.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def is_still(window: QWidget) -> bool:
    """Buttons that fade in within a field are there, or gone."""
    typed = [
        field
        for field in window.findChildren(QLineEdit)
        if field.isVisible() and field.isClearButtonEnabled() and field.text()
    ]
    buttons = [button for field in typed for button in field.findChildren(QToolButton)]
    return all(button.property("opacity") == 1.0 for button in buttons)


def snapshot(window: QWidget) -> list[tuple[object, dict[str, Any]]]:
    """Every widget with all that Qt knows of it but its colours."""
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    theme = window.findChild(QWidget, "setting.theme")
    shown = [
        one
        for one in window.findChildren(QWidget)
        if theme not in parents(one)  # it says which theme it is
    ]
    # sip's stubs know no result of this function
    return [(sip.unwrapinstance(one), state_of(one)) for one in shown]  # type: ignore[func-returns-value]


def parents(widget: QWidget) -> Iterator[QWidget]:
    """A widget and all that it lies in, past the window of a popup."""
    one: QWidget | None = widget
    while one is not None:
        yield one
        one = one.parentWidget()


def state_of(widget: QWidget) -> dict[str, Any]:
    """Properties of a widget, and what is selected in it."""
    found: dict[str, Any] = {"name": f"{type(widget).__name__} {widget.objectName()}"}
    about = widget.metaObject()
    for number in range(about.propertyCount() if about is not None else 0):
        name = about.property(number).name()  # type: ignore[union-attr]
        value = widget.property(name)
        is_kept = name not in IGNORED and (widget.isVisible() or name in CONTENT)
        if is_kept and isinstance(value, PLAIN):
            found[name] = COLOUR.sub("#", value) if isinstance(value, str) else value
    if isinstance(widget, QAbstractItemView) and (selection := widget.selectionModel()) is not None:
        found["selection"] = [(i.row(), i.parent().row()) for i in selection.selectedRows()]
        found["current"] = (widget.currentIndex().row(), widget.currentIndex().column())
    if isinstance(widget, QPlainTextEdit | QTextEdit):
        cursor = widget.textCursor()
        found["cursor"] = (cursor.anchor(), cursor.position())
        found["plain"] = widget.toPlainText()
    return found


def changed(before: list[tuple[object, dict[str, Any]]], after: Any) -> list[str]:
    """What is another value than before, by the widget's name."""
    return [
        f"{one['name']}.{name}: {value!r} -> {other.get(name)!r}"
        for (_, one), (_, other) in zip(before, after, strict=True)
        for name, value in one.items()
        if value != other.get(name)
    ]


def picture(client: DesktopClient) -> QImage:
    """The window as it is seen."""
    client.window.activateWindow()
    QApplication.processEvents()  # sizes settle first: the curves are a picture of the chart's size
    client.window.watch.charts.redraw()
    QApplication.processEvents()
    image = client.window.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    bits = image.constBits()
    assert bits is not None
    bits.setsize(image.sizeInBytes())
    return image


def pixels(image: QImage) -> Any:
    """Rows of pixels."""
    bits = image.constBits()
    assert bits is not None
    bits.setsize(image.sizeInBytes())
    return np.frombuffer(bits.asstring(), np.uint8).reshape(image.height(), -1, 4).copy()


@pytest.mark.nightly(by_day=["form"])
@pytest.mark.parametrize("use", USES)
def test_nothing_changes_but_colours(
    qtbot: QtBot, make: Callable[[Tokens, str], DesktopClient], use: str
) -> None:
    """Switching the theme keeps every text, choice, selection, place and size, and switching back every pixel.

    In between the window looks exactly like one that began in the other theme.
    """
    client = make(DARK, use)
    client.window.activateWindow()
    before_image, before = picture(client), snapshot(client.window)
    focus, history = QApplication.focusWidget(), client.launch.draft.history.undoes  # type: ignore[union-attr]
    client.theme.toggle()
    qtbot.waitUntil(lambda: current() is LIGHT)
    light, after = picture(client), snapshot(client.window)
    assert [widget for widget, _ in after] == [widget for widget, _ in before]
    assert not changed(before, after), "\n".join(changed(before, after))
    assert QApplication.focusWidget() is focus
    assert client.launch.draft.history.undoes == history  # type: ignore[union-attr]
    began = make(LIGHT, use)
    assert_same(picture(client), picture(began), use)
    end(began)
    client.theme.toggle()
    qtbot.waitUntil(lambda: current() is DARK)
    assert_same(picture(client), before_image, use)
    assert not np.array_equal(pixels(light), pixels(before_image))


def test_window_stays_maximised_and_what_was_typed_in_a_popup_too(
    qtbot: QtBot, make: Callable[[Tokens, str], DesktopClient]
) -> None:
    """The window itself and a popup over it are the same ones after the switch."""
    client = make(DARK, "runs")
    window = client.window
    window.showMaximized()
    window.runs.commands.note_action.trigger()
    note = window.findChild(QPlainTextEdit, "note.field")
    assert note is not None
    note.setPlainText("half a thought")
    client.theme.toggle()
    qtbot.waitUntil(lambda: current() is LIGHT)
    assert client.window is window
    assert window.isMaximized()
    assert note.isVisible()
    assert note.toPlainText() == "half a thought"
    note.window().close()  # type: ignore[union-attr]


def test_output_grows_on_after_a_switch(
    qtbot: QtBot, make: Callable[[Tokens, str], DesktopClient]
) -> None:
    """A run that is watched goes on to be shown: its output, its curves, and what is filtered of the list."""
    client = make(DARK, "log")
    log = client.window.watch.log
    before = log.text.toPlainText()
    client.theme.toggle()
    qtbot.waitUntil(lambda: current() is LIGHT)
    client.feed.take(run_id(70), "one more line\n", len(LOG) + 14)
    assert log.text.toPlainText() == before + "\none more line"
    points = len(client.store.followed[run_id(70)].curves.series["losses/a"])
    client._on_tick(client.store.apply(metrics(900, "losses/a", [1.0], 70)))
    assert len(client.store.followed[run_id(70)].curves.series["losses/a"]) == points + 1


def assert_same(one: QImage, other: QImage, name: str) -> None:
    """No pixel differs."""
    different = np.argwhere((pixels(one) != pixels(other)).any(2))
    if PICTURES and len(different):
        one.save(f"{PICTURES}/{name}-is.png")
        other.save(f"{PICTURES}/{name}-should-be.png")
    where = f"from {different.min(0)} to {different.max(0)}" if len(different) else ""
    assert len(different) == 0, f"{len(different)} pixels differ, {where}"
