"""Every key that is documented works wherever the focus is, on every page."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PyQt6.QtCore import QEvent, QObject, Qt
from PyQt6.QtGui import QAction, QKeyEvent, QKeySequence, QShortcut
from PyQt6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot
from tests.alert_specimen import alert_report
from tests.checkpoint_specimen import checkpoints
from tests.looks.test_theme_switch import use_beliefs, use_log, use_side, use_trash
from tests.replay_specimen import fill_replay
from tests.specimen import report, run, run_id, summary, worker
from tests.storage_specimen import plan as prune_plan
from tests.storage_specimen import report as storage_report
from tests.sweep_specimen import page as trial_page
from tests.sweep_specimen import sweep_run, trials, view

from mosaic_contracts.runs import ArtifactRow
from mosaic_contracts.services import WorkerEntries
from mosaic_contracts.states import RunState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.state.agents import Mode
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.views.command import Command, of_actions, on_page
from mosaic_gui.views.main_window import (
    ALERTS,
    CHECKPOINTS,
    COMPARE,
    CONNECTION,
    REPLAY,
    RUNS,
    SETTINGS,
    STORAGE,
    SWEEPS,
    TRAIN,
    TRAINED,
    WATCH,
)

README = Path(__file__).parents[2] / "README.md"
TYPED_INTO = (QLineEdit, QPlainTextEdit, QTextEdit, QAbstractSpinBox)
TYPED = ("F", "?", "/", "Del", "Backspace", "Return", "Enter")
PLAYED = ("Space", "Left", "Right", ",", ".", "Home", "End", "J", "L", "T", "[", "]")
"""Keys without Ctrl or Alt, which are typed where text can be typed."""
OF_A_WIDGET = ("Esc", "Alt+Down", "Ctrl+C")
"""Escape leaves what has the focus, Alt+Down opens the list of a checkpoint's field, Ctrl+C copies rows: tests of
their own."""


class Greedy(QObject):
    """Takes all keys with Ctrl for editing, as fields on X11 take some."""

    def eventFilter(self, _watched: QObject | None, event: QEvent | None) -> bool:
        is_override = event is not None and event.type() is QEvent.Type.ShortcutOverride
        if not isinstance(event, QKeyEvent) or not is_override:
            return False
        takes = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        event.setAccepted(takes)
        return takes


def documented() -> list[str]:
    """All keys that the README names."""
    text = README.read_text("utf-8")
    (part,) = re.findall(r"^Keys: .*?(?=^Exit codes)", text, re.MULTILINE | re.DOTALL)
    part = part.replace("Alt+1 to Alt+4", "Alt+1 Alt+2 Alt+3 Alt+4")
    part = part.replace("comma and full stop", "`,` `.`")
    words = ("F[12]?", "Del", "Backspace", "Return", "Space", "Left", "Right", "Home", "End")
    plain = "|".join([r"\?", *(rf"\b{word}\b" for word in (*words, "J", "L", "T", "P"))])
    keys = re.findall(rf"(?:(?:Ctrl|Alt|Shift)\+)+\S+|{plain}|(?<=`)[\[\],./](?=`)", part)
    named = (key if key.endswith("+,") or key == "," else key.rstrip(",;:") for key in keys)
    # a sentence may end behind a key, and one key is a full stop
    shown = (key if key.endswith("+.") or key == "." else key.rstrip(".") for key in named)
    return list(dict.fromkeys(shown))


def show_train(client: DesktopClient) -> None:
    """The form, with something to undo."""
    client.window.show_page(TRAIN)
    client.launch.set_text("parameters", "gamma", "0.5")
    client.launch.typed_replaced.emit()
    client.launch._settle.stop()


def show_replay(client: DesktopClient) -> None:
    """Two episodes side by side."""
    client.window.show_page(REPLAY)
    if not client.player.panes:
        fill_replay(client)


def show_checkpoints(client: DesktopClient) -> None:
    """Cards of checkpoints."""
    client.window.show_page(CHECKPOINTS)
    client.all_checkpoints.take_page(checkpoints(), is_last=True)


def show_sweeps(client: DesktopClient) -> None:
    """A sweep with a selected trial."""
    client._on_tick(client.store.take_runs([sweep_run(90)]))
    client.window.show_page(SWEEPS)
    client.sweeps.choose(run_id(90))
    client.sweeps.take_view(view(90))
    client.sweeps.take_trials(run_id(90), trial_page(trials(9)))
    client.window.sweeps.trials.table.selectRow(0)


def show_sweep_form(client: DesktopClient) -> None:
    """The form of a sweep, with something to undo."""
    show_sweeps(client)
    client.sweep_form.open()
    client.sweep_form.vary("gamma", True)
    client.sweep_form._settle.stop()


def show_storage(client: DesktopClient) -> None:
    """A picture of what fills the disks, with a chosen run."""
    client.window.show_page(STORAGE)
    client.storage.take_report(storage_report(9))
    client.storage.take_plan(prune_plan())
    client.storage.choose(client.storage.tiles.tiles[0])


def show_alerts(client: DesktopClient) -> None:
    """Rules and alerts."""
    client.window.show_page(ALERTS)
    client.alerts.take(alert_report())
    client.window.alerts.alerts.mark(1)


PAGES: dict[str, tuple[str, Callable[[DesktopClient], None]]] = {
    "runs": (RUNS, lambda client: client.window.show_page(RUNS)),
    "trash": (RUNS, use_trash),
    "train": (TRAIN, show_train),
    "dry run": (TRAIN, lambda client: client.window.train.preflight.show_view("plan")),
    "about": (TRAIN, lambda client: client.window.train.preflight.show_view("about")),
    "trained": (TRAINED, lambda client: client.window.show_page(TRAINED)),
    "log": (WATCH, use_log),
    "files": (WATCH, use_side("files")),
    "details": (WATCH, use_side("details")),
    "beliefs": (WATCH, use_beliefs),
    "replay": (REPLAY, show_replay),
    "checkpoints": (CHECKPOINTS, show_checkpoints),
    "compare": (COMPARE, lambda client: client.window.show_page(COMPARE)),
    "sweeps": (SWEEPS, show_sweeps),
    "sweep form": (SWEEPS, show_sweep_form),
    "storage": (STORAGE, show_storage),
    "alerts": (ALERTS, show_alerts),
    "settings": (SETTINGS, lambda client: client.window.show_page(SETTINGS)),
    "connection": (CONNECTION, lambda client: client.window.show_connection()),
}
KEYS_OF_PAGE = {
    RUNS: (
        "Return",
        "Ctrl+G",
        "Ctrl+.",
        "Ctrl+D",
        "Ctrl+R",
        "Ctrl+Shift+A",
        "Ctrl+Shift+C",
        "Ctrl+Shift+D",
        "Ctrl+Shift+K",
        "Ctrl+Shift+P",
        "Ctrl+Shift+R",
        "Ctrl+Shift+T",
        "Ctrl+Shift+Y",
        "F2",
        "Ctrl+T",
        "Ctrl+E",
        "Del",
        "Ctrl+Z",
        "Ctrl+Shift+Del",
    ),
    TRAIN: ("Ctrl+Return", "Ctrl+Z", "Ctrl+Shift+Z", "Ctrl+L", "Ctrl+Shift+C"),
    TRAINED: ("Ctrl+Return",),
    COMPARE: ("Ctrl+Return",),
    WATCH: ("F", "Ctrl+.", "Ctrl+E", "Ctrl+Z", "Backspace"),
    CHECKPOINTS: ("/", "Return"),
    STORAGE: ("Return", "P"),
    ALERTS: ("Return", "Del"),
    SWEEPS: ("/", "Return"),
    REPLAY: (*PLAYED, "Shift+Left", "Shift+Right"),
}
"""Keys that are documented for one page; all others are for every page."""
KEYS_OF_SWEEP_FORM = ("/", "Ctrl+Return", "Ctrl+Z", "Ctrl+Shift+Z", "Ctrl+L")
KEYS_OF_TRASH = ("Return", "Ctrl+Z", "Ctrl+Shift+Del")
"""Nothing is done to runs that are not seen."""


@pytest.fixture
def client(qtbot: QtBot, tmp_path: Path) -> Iterator[DesktopClient]:
    """The client with runs, a worker, a run that is watched, and something to do on every page."""
    made = DesktopClient(tmp_path)
    made.window.resize(1280, 800)
    made.window.show()
    made.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    runs = [
        run(70),
        run(71),
        *(run(n, RunState.SUCCEEDED, summary=summary(n, checkpoints=1)) for n in range(5)),
    ]
    made._on_tick(made.store.replace_runs(runs))
    made.agents.set_mode(Mode.AGENT)
    entry = worker()
    assert entry.description is not None
    algorithms = [a.model_copy(update={"play": True}) for a in entry.description.algorithms]
    described = entry.description.model_copy(update={"algorithms": algorithms})
    able = entry.model_copy(update={"description": described})
    made.launch.preflight_wanted.connect(lambda spec: made.launch.take_report(spec, report()))
    made.launch.take_catalogue(WorkerEntries(workers=[able]))
    made.trained.take_checkpoints(
        made.trained.run_id, [ArtifactRow(path="checkpoints/a.pt", kind="checkpoint", bytes=1)]
    )
    made.window.runs.table.select_run(run_id(71))
    made.window.activateWindow()
    qtbot.waitUntil(made.window.isActiveWindow)
    yield made
    made.launch._settle.stop()
    made.preferences._settle.stop()  # what a test changed about the charts is not saved
    made.window.close()
    made.window.deleteLater()


def commands(client: DesktopClient) -> list[Command]:
    """What the palette would list now."""
    page = client.window._stack.currentWidget()
    assert page is not None
    return of_actions(client.window.actions() + client.window._page_actions()) + on_page(page)


def record(client: DesktopClient) -> list[str]:
    """Let all keys do nothing but be recorded, with what was ambiguous."""
    given: list[str] = []
    window = client.window
    for action in [*window.actions(), *window.findChildren(QAction)]:
        if not action.shortcut().isEmpty() and action.isEnabled():
            names = [keys.toString() for keys in action.shortcuts()]
            action.triggered.disconnect()
            action.triggered.connect(lambda _on=False, names=names: given.append(names[0]))
    for shortcut in window.findChildren(QShortcut):
        name = shortcut.key().toString()
        shortcut.activated.disconnect()
        shortcut.activated.connect(lambda name=name: given.append(name))
        shortcut.activatedAmbiguously.connect(lambda name=name: given.append(f"{name} ambiguous"))
    return given


def kinds_of_focus(window: QWidget) -> list[QWidget]:
    """One widget of each kind that can have the focus now, and the window's middle itself."""
    found: dict[str, QWidget] = {}
    for widget in window.findChildren(QWidget):
        can = widget.focusPolicy() & Qt.FocusPolicy.StrongFocus or widget.hasFocus()
        if can and widget.isVisible() and widget.isEnabled() and widget.focusProxy() is None:
            editable = isinstance(widget, QComboBox) and widget.isEditable()
            found.setdefault(f"{type(widget).__name__}{editable}", widget)
    found["middle"] = window._stack  # type: ignore[attr-defined]
    return list(found.values())


def test_every_documented_key_is_a_command_of_its_page(client: DesktopClient) -> None:
    """The README names no key that the palette does not have, and the palette none that the README lacks."""
    known = set()
    for _, use in PAGES.values():
        use(client)
        QApplication.processEvents()
        known |= {one.keys for one in commands(client) if one.keys}
        known |= {keys.toString() for keys in client.window._keys()}
    wanted = {QKeySequence(keys).toString() for keys in documented()}
    assert wanted - known == {QKeySequence(keys).toString() for keys in ("Alt+Down", "Ctrl+C")}
    also = {
        QKeySequence(keys).toString() for keys in ("Enter", "Ctrl+Enter", "Ctrl+Y", "Backspace")
    }
    assert known - wanted - also == set()


@pytest.mark.nightly(by_day=["runs", "train"])
@pytest.mark.parametrize("name", PAGES)
def test_every_documented_key_works_wherever_the_focus_is(
    qtbot: QtBot, client: DesktopClient, name: str
) -> None:
    """From each kind of widget of each page a key gives its own command, once, and edits nothing."""
    page, use = PAGES[name]
    if page == TRAIN:
        show_train(client)
    use(client)
    client.window.runs.table.selectAll()
    client.window.runs.commands.copy_action.setEnabled(True)
    client.window.runs.commands.replay_action.setEnabled(True)
    client.window.runs.commands.trials_action.setEnabled(True)
    client.window.runs.commands.retry_action.setEnabled(True)
    client.window.runs.commands.rename_action.setEnabled(True)
    client.window.runs.commands.compare_action.setEnabled(True)
    client.window.runs.commands.note_action.setEnabled(True)
    client.run_actions._note_deletion("1 run deleted", lambda: None)
    for _ in range(3):
        QApplication.processEvents()
    client.launch._settle.stop()
    greedy = Greedy()
    others = {keys for keys_of in KEYS_OF_PAGE.values() for keys in keys_of}
    of_part = {"trash": KEYS_OF_TRASH, "sweep form": KEYS_OF_SWEEP_FORM}
    mine = set(of_part.get(name, KEYS_OF_PAGE.get(page, ())))
    everywhere = [keys for keys in documented() if keys not in others and keys not in OF_A_WIDGET]
    given = record(client)
    wrong = []
    kinds = kinds_of_focus(client.window)
    assert len(kinds) > 3
    for widget in kinds:
        widget.setFocus(Qt.FocusReason.OtherFocusReason)
        QApplication.processEvents()
        focused = QApplication.focusWidget()
        assert focused is not None
        if isinstance(widget, (*TYPED_INTO, QComboBox)):
            # Qt asks the filter that came last first: after refocusing, it is as if the field took the key
            focused.installEventFilter(greedy)
            focused.clearFocus()
            focused.setFocus()
        for keys in [*everywhere, *sorted(mine)]:
            if keys in TYPED and _takes_text(widget):
                continue
            if keys in PLAYED and _takes_text(widget):
                continue
            given.clear()
            qtbot.keySequence(QApplication.focusWidget(), keys)
            wanted = [_first_name(keys)]
            if given != wanted:
                where = f"{type(widget).__name__} {widget.objectName()}"
                wrong.append(f"{keys} from {where}: {given} instead of {wanted}")
        focused.removeEventFilter(greedy)
    assert wrong == [], "\n".join(wrong)


def _takes_text(widget: QWidget) -> bool:
    if isinstance(widget, QComboBox):
        return widget.isEditable()
    if isinstance(widget, QPlainTextEdit | QTextEdit):
        return not widget.isReadOnly()
    return isinstance(widget, TYPED_INTO)


def _first_name(keys: str) -> str:
    """A command with several keys is recorded by its first."""
    first = {"F1": "Ctrl+K", "?": "Ctrl+K"}.get(keys, keys)
    return QKeySequence(first).toString()


def test_ctrl_f_searches_what_is_shown(qtbot: QtBot, client: DesktopClient) -> None:
    """The log of a watched run, the arguments of a form, else the list of runs; from anywhere on the page."""
    window = client.window
    use_log(client)
    QApplication.processEvents()
    for start in (window.watch.log.text, window.watch.stop, window.watch.bar.smoothing):
        start.setFocus()
        qtbot.keySequence(start, "Ctrl+F")
        assert window.watch.log.search.hasFocus()
    window.watch.tabs.setCurrentWidget(window.watch.details)
    qtbot.keySequence(window, "Ctrl+F")
    assert window.watch.log.search.hasFocus()
    client.layouts.apply("Compare")
    qtbot.keySequence(window, "Ctrl+F")
    assert (window.page, window.runs.search.hasFocus()) == (RUNS, True)
    show_train(client)
    qtbot.keySequence(window, "Ctrl+F")
    assert window.train.form.bar.search.hasFocus()


@pytest.mark.nightly(by_day=["runs", "train"])
@pytest.mark.parametrize("name", PAGES)
def test_escape_leads_back_from_every_widget(
    qtbot: QtBot, client: DesktopClient, name: str
) -> None:
    """Whatever has the focus, a few presses of Escape lead to the list of runs."""
    page, use = PAGES[name]
    if page == TRAIN:
        show_train(client)
    use(client)
    QApplication.processEvents()
    stuck = []
    for widget in kinds_of_focus(client.window):
        if page == CONNECTION:
            client.window.show_connection()
        else:
            client.window.show_page(RUNS)
            client.window.show_page(page)
        QApplication.processEvents()
        widget.setFocus()
        for _ in range(5):
            at = QApplication.focusWidget()
            assert at is not None
            qtbot.keyClick(at, Qt.Key.Key_Escape)
        if client.window.page != RUNS or not client.window.runs.table.hasFocus():
            stuck.append(f"{type(widget).__name__} {widget.objectName()}: {client.window.page}")
    assert stuck == []
