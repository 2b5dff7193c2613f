"""Everything that opens for a moment above the window."""

from collections.abc import Callable

from PyQt6.QtCore import QPoint
from tests.alert_specimen import alert_report
from tests.checkpoint_specimen import checkpoints
from tests.looks.spoken_views import show_form, show_replay, show_runs, show_watched
from tests.looks.spoken_window import FILES, LIVE, Spoken
from tests.specimen import run_id

from mosaic_contracts.tracking import TrackedRun
from mosaic_gui.state.store import Changes
from mosaic_gui.viewmodels.checkpoints import ImportQuestion
from mosaic_gui.views.layout_menu import LayoutMenu
from mosaic_gui.views.main_window import (
    ALERTS,
    CHECKPOINTS,
)
from mosaic_gui.views.tracker_popup import TrackerPopup


def open_palette(spoken: Spoken) -> None:
    """Every command of the list."""
    show_runs(spoken)
    spoken.client.window.open_palette()


def open_palette_of_form(spoken: Spoken) -> None:
    """Every command of the form."""
    show_form(spoken)
    spoken.client.window.open_palette()


def open_palette_of_watch(spoken: Spoken) -> None:
    """Every command of a watched run."""
    show_watched(spoken)
    spoken.client.window.open_palette()


def open_palette_of_replay(spoken: Spoken) -> None:
    """Every key of the player."""
    show_replay(spoken)
    spoken.client.window.open_palette()


def open_columns(spoken: Spoken) -> None:
    """Which columns the list has."""
    spoken.client.window.runs.view_menu.choose_columns()


def open_run_menu(spoken: Spoken) -> None:
    """What can be done with a run."""
    spoken.client.window.runs._show_menu(QPoint())


def open_tags(spoken: Spoken) -> None:
    """Words to find runs by."""
    show_runs(spoken)
    spoken.client.window.runs.commands.tag_action.trigger()


def open_note(spoken: Spoken) -> None:
    """The user's own words."""
    show_runs(spoken)
    spoken.client.window.runs.commands.note_action.trigger()


def open_layouts(spoken: Spoken) -> None:
    """Layouts, and the name of a new one."""
    spoken.client.layouts._open_menu(QPoint())
    menu = spoken.client.window.findChild(LayoutMenu)
    assert menu is not None
    menu._ask_name()


def open_curves(spoken: Spoken) -> None:
    """Which curves are shown."""
    show_watched(spoken)
    spoken.given("episode/*", "losses/*")
    spoken.client.window.watch.bar._open_picker()


def open_copies(spoken: Spoken) -> None:
    """Runs to copy from."""
    spoken.client.window.train.form.bar._pick()


def open_checkpoints(spoken: Spoken) -> None:
    """Runs to go on from, and their checkpoints."""
    form = spoken.client.window.train.form
    form._pick_run(next(iter(form.rows.values())))
    form._on_picked(next(iter(form.rows.values())), run_id(23))
    spoken.client.launch.take_checkpoints(run_id(23), spoken.given(FILES))


def open_summary(spoken: Spoken) -> None:
    """A run that is tracked offline."""
    show_watched(spoken)
    reported = TrackedRun(tracker="wandb", mode="offline", folder="wandb/offline-1")
    spoken.given(reported, f"./mosaic wandb sync {run_id(LIVE)}", run_id(LIVE), "runs/")
    spoken.client.store.followed[run_id(LIVE)].tracked = reported
    spoken.tick(Changes(events=frozenset({run_id(LIVE)})))
    spoken.client.window.watch.links.tracker.click()
    assert spoken.client.window.findChild(TrackerPopup) is not None


def open_takeover(spoken: Spoken) -> None:
    """The successors at a step, and why none of them can go on."""
    show_replay(spoken)
    client = spoken.client
    client.takeover.take_workers([])
    popup = client.window.replay.open_takeover()
    for who in ("policy", "checkpoint", "person"):
        popup.who.choose(who)
    client.player.go_last()
    client.takeover.changed.emit()


def open_readout(spoken: Spoken) -> None:
    """What all curves have where the pointer is."""
    show_watched(spoken)
    charts = spoken.client.window.watch.charts
    charts.redraw()
    chart = charts.charts[0]
    found = spoken.client.watch.nearest(chart.name, 30.0) * 20
    chart.readout.show_readings("20", found, QPoint())


def open_import(spoken: Spoken) -> None:
    """What a file does not say."""
    spoken.client.window.show_page(CHECKPOINTS)
    assert spoken.client.window.checkpoints
    words, name = spoken.given("Name its algorithm."), spoken.given("dqn.zip")
    spoken.given("dqn", "CartPole-v1", "cleanrl")
    spoken.client.all_checkpoints.ask(ImportQuestion(f"/a/{name}", words, {}))


def open_targets(spoken: Spoken) -> None:
    """Targets of alerts, one that failed, and both kinds of new ones: faults, consents and results."""
    client = spoken.client
    client.window.show_page(ALERTS)
    client.window.alerts.rule.clear()
    report = alert_report(1)
    target = report.targets[0]
    failed = target.model_copy(update={"name": "desk", "last_problem": "HTTP 500"})
    client.alerts.take(spoken.given(report.model_copy(update={"targets": [target, failed]})))
    client.alerts.takes_commands = True
    popup = client.window.alerts.open_targets()
    spoken.given("chat2", "https://example.org/x", "desk2", "example.org", "tee")
    for kind, name, value in (
        ("webhook", "chat2", "https://example.org/x"),
        ("command", "desk2", "tee x"),
    ):
        popup.kinds.choose(kind)
        popup.name.setText(name)
        popup.value.setText(value)
    client.alerts.target_said.emit(spoken.given("It took the test."), True)


def open_checkpoint_menu(spoken: Spoken) -> None:
    """Everything that can be done with a checkpoint."""
    spoken.client.window.show_page(CHECKPOINTS)
    spoken.client.all_checkpoints.take_page(spoken.given(checkpoints()), is_last=True)
    spoken.client.window.checkpoints.side.show_menu(QPoint(10, 10))


POPUPS: tuple[Callable[[Spoken], None], ...] = (
    open_palette,
    open_palette_of_form,
    open_palette_of_watch,
    open_palette_of_replay,
    open_columns,
    open_run_menu,
    open_tags,
    open_note,
    open_layouts,
    open_curves,
    open_copies,
    open_checkpoints,
    open_summary,
    open_takeover,
    open_readout,
    open_import,
    open_checkpoint_menu,
    open_targets,
)
