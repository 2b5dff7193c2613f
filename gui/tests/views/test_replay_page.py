"""The replay page: what it shows of an episode, and what mouse and keys do."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PyQt6.QtCore import QPoint, Qt
from PyQt6.QtGui import QGuiApplication
from PyQt6.QtTest import QSignalSpy, QTest
from PyQt6.QtWidgets import QFileDialog, QPushButton
from pytestqt.qtbot import QtBot
from tests.replay_specimen import STEPS, differing, episode_rows, fill, fill_replay, verified
from tests.specimen import run, run_id, summary
from tests.state.test_branches import branch, person
from tests.state.test_takeover import CLEANRL, PLAY

from mosaic_contracts.exports import DatasetExport, VideoExport
from mosaic_contracts.runs import EpisodeRow
from mosaic_contracts.states import RunState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.state.branches import BranchFacts
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.state.episode_list import EpisodeAddress
from mosaic_gui.viewmodels.replay import ReplayModel
from mosaic_gui.views.export_popup import ExportPopup
from mosaic_gui.views.main_window import REPLAY, RUNS, WATCH
from mosaic_gui.views.replay_page import ReplayPage
from mosaic_gui.views.takeover_popup import TakeoverPopup

LEFT = Qt.MouseButton.LeftButton
RUN = run_id(0)


class Shown:
    """The page in a window that is not connected."""

    def __init__(self, client: DesktopClient) -> None:
        self.client = client
        client.window.show_page(REPLAY)
        self.page: ReplayPage = client.window.replay
        fill_replay(client)
        client.player.close(client.player.panes[1])

    @property
    def pane(self) -> ReplayModel:
        """The episode."""
        assert self.client.player.main is not None
        return self.client.player.main

    @property
    def step(self) -> int:
        """The step that is looked at."""
        return self.client.player.playback.step


@pytest.fixture
def client(qtbot: QtBot, tmp_path: Path) -> Iterator[DesktopClient]:
    """A client with a run that has ended."""
    made = DesktopClient(tmp_path)
    made.window.resize(1280, 800)
    made.window.show()
    made.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    made._on_tick(made.store.replace_runs([run(0, RunState.SUCCEEDED), run(1)]))
    made.window.activateWindow()
    qtbot.waitUntil(made.window.isActiveWindow)
    yield made
    made.player.play(False)
    made.launch._settle.stop()
    made.window.close()
    made.window.deleteLater()


@pytest.fixture
def shown(client: DesktopClient) -> Shown:
    """One verified episode at step 10."""
    return Shown(client)


def test_the_page_lists_the_newest_run_where_none_is_open(client: DesktopClient) -> None:
    """Replay is pressed before any run was opened: the page shows a run that can be replayed."""
    client.window.show_page(REPLAY)
    assert client.episodes.run_id == run_id(1)


def test_an_episode_shows_its_badge_frame_and_recorded_step(shown: Shown) -> None:
    """The table's row, the facts and the picture are of the same step."""
    (pane,) = shown.page.panes()
    assert pane.badge.text() == f"Verified {STEPS} of {STEPS} · generator"
    assert dict(pane.facts.facts)["Step"] == "10"
    assert shown.page.steps.currentIndex().row() == 10
    assert not pane.approximate.isVisible()
    image = pane.canvas.grab().toImage()
    middle = image.pixelColor(image.width() // 2, image.height() // 2)
    assert abs(middle.hsvHue() - 70) < 4


def test_a_difference_is_explained_above_the_frame(shown: Shown) -> None:
    """Versions first, then the step, and frames from it on are marked."""
    shown.pane.take_result(differing())
    (pane,) = shown.page.panes()
    assert pane.badge.tone == "bad"
    assert pane.warnings.text().startswith("gymnasium 0.29.1 was recorded")
    assert "reward recorded 1, rebuilt 0.5" in pane.difference.text()
    assert pane.warnings.isVisible()


@pytest.mark.nightly(by_day=["Right-11", "J-5"])
@pytest.mark.parametrize(
    ("keys", "step"),
    [
        ("Right", 11),
        ("Left", 9),
        (".", 11),
        (",", 9),
        ("Shift+Right", 20),
        ("Shift+Left", 0),
        ("Home", 0),
        ("End", STEPS),
        ("L", 15),
        ("J", 5),
    ],
)
def test_keys_are_those_of_a_video_player(qtbot: QtBot, shown: Shown, keys: str, step: int) -> None:
    """Beliefs changed at steps 5 and 15."""
    shown.page.timeline.setFocus()
    qtbot.keySequence(shown.page.timeline, keys)
    assert shown.step == step


def test_space_plays_and_pauses_and_brackets_change_the_speed(qtbot: QtBot, shown: Shown) -> None:
    """The position moves by itself meanwhile."""
    player = shown.client.player
    shown.page.timeline.setFocus()
    qtbot.keySequence(shown.page.timeline, "]")
    qtbot.keySequence(shown.page.timeline, "]")
    assert shown.page.transport.speed.currentText() == "4 ×"
    qtbot.keySequence(shown.page.timeline, "Space")
    qtbot.waitUntil(lambda: shown.step >= 14)
    qtbot.keySequence(shown.page.timeline, "Space")
    assert player.playback.is_playing is False
    qtbot.keySequence(shown.page.timeline, "[")
    assert player.playback.speed == 2.0


def test_a_focused_button_keeps_space(qtbot: QtBot, shown: Shown) -> None:
    """A user with the keyboard alone presses buttons with it."""
    button = shown.page.transport.forward
    button.setFocus()
    qtbot.keyClick(button, Qt.Key.Key_Space)
    assert (shown.step, shown.client.player.playback.is_playing) == (11, False)


def test_a_group_of_choices_keeps_its_arrows(qtbot: QtBot, shown: Shown) -> None:
    """Arrows move within it."""
    second = shown.client.player.add(EpisodeAddress(RUN, 1, 1, 3), "CartPole-v1")
    assert second is not None
    fill(second, verified())
    lock = shown.page.transport.lock
    first, other = lock.findChildren(QPushButton)
    first.setFocus()
    qtbot.keyClick(first, Qt.Key.Key_Right)
    assert other.hasFocus()
    assert shown.step == 10


def test_the_scrub_bar_goes_where_it_is_pressed_and_dragged(qtbot: QtBot, shown: Shown) -> None:
    """The whole width is the whole episode."""
    line = shown.page.timeline
    for step in (0, 30, STEPS):
        where = QPoint(round(line.x_of(step)), 42)
        qtbot.mousePress(line, LEFT, pos=where)
        assert shown.client.player.is_dragging
        assert shown.step == step
        qtbot.mouseRelease(line, LEFT, pos=where)
        assert not shown.client.player.is_dragging
    assert "Unusual reward: 9" in line.words_at(QPoint(round(line.x_of(30)), 42).toPointF())


def test_a_row_of_the_table_is_a_step(qtbot: QtBot, shown: Shown) -> None:
    """A click goes there, and pauses."""
    table = shown.page.steps
    index = table.model().index(14, 1)  # type: ignore[union-attr]
    table.scrollTo(index)
    viewport = table.viewport()
    assert viewport is not None
    qtbot.mouseClick(viewport, LEFT, pos=table.visualRect(index).center())
    assert shown.step == 14


def test_the_footer_of_a_live_run_says_the_same_all_along(shown: Shown) -> None:
    """The newest episode has no recorded step at first; the numbers of steps are not rounded where there is room."""
    listed, model = shown.page.list, shown.client.episodes
    known = {"attempt": 1, "env": 0, "global_step": 1_234_567, "start_seq": 90}
    said = []
    for steps in (0, 5):
        model.take(RUN, [EpisodeRow(episode=99, recorded_steps=steps, **known)], is_all=True)
        said.append((listed._count.whole(), listed.all.isHidden()))
    assert said == [("19 of 21 can be replayed", False), ("20 of 21 can be replayed", False)]
    listed.setFixedWidth(400)
    texts = [str(model.index(0, n).data()) for n in range(model.columnCount())]
    assert "1,234,567" in texts
    listed.setFixedWidth(250)
    texts = [str(model.index(0, n).data()) for n in range(model.columnCount())]
    assert "1.23M" in texts


def test_a_click_on_an_episode_replays_it_unless_it_was_not_recorded(
    qtbot: QtBot, shown: Shown
) -> None:
    """A row without recorded steps says why."""
    listed, spy = shown.page.list, QSignalSpy(shown.page.list.replay_wanted)
    assert listed._count.whole() == "19 of 20 can be replayed"
    assert shown.client.episodes.rowCount() == 19
    qtbot.mouseClick(listed.all, LEFT)
    assert shown.client.episodes.rowCount() == 20
    shown.client.episodes.sort(0, Qt.SortOrder.AscendingOrder)
    viewport = listed.table.viewport()
    assert viewport is not None
    model = shown.client.episodes
    places = [n for n, row in enumerate(model.rows) if (row.env, row.episode) in ((0, 2), (1, 2))]
    for place in places:
        index = model.index(place, 0)
        qtbot.mouseClick(viewport, LEFT, pos=listed.table.visualRect(index).center())
    assert [spy[n][0][2:] for n in range(len(spy))] == [(1, 2)]
    missing = next(n for n, row in enumerate(model.rows) if not row.recorded_steps)
    assert model.data(model.index(missing, 0), Qt.ItemDataRole.ToolTipRole) == (
        "The steps of this episode were not recorded."
    )


def test_the_list_is_sorted_by_a_click_on_a_title(qtbot: QtBot, shown: Shown) -> None:
    """The episode that is shown stays selected."""
    shown.page.list.table.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    returns = [row.episode_return for row in shown.client.episodes.rows]
    assert returns == sorted(returns, key=lambda value: -(value or 0.0))
    assert shown.page.list.selected == EpisodeAddress(RUN, 1, 0, 9)


def test_a_run_without_recorded_steps_says_what_would_help(client: DesktopClient) -> None:
    """All its episodes are grey."""
    level = run(0, RunState.SUCCEEDED, spec={"record": "episodes"})
    client.window.show_page(REPLAY)
    client.episodes.show_run(RUN, level)
    rows = [row.model_copy(update={"recorded_steps": 0}) for row in episode_rows()]
    client.episodes.take(RUN, rows, is_all=True)
    page = client.window.replay
    assert page._what.text() == "No episode of this run can be replayed"
    assert "level replay" in page._how.text()
    assert not any(pick.isEnabled() for pick in page.list.picks.values())


def test_a_growing_list_stays_where_it_was_scrolled(shown: Shown) -> None:
    """New episodes come at the top; at the top they are seen."""
    model, table = shown.client.episodes, shown.page.list.table
    bar = table.verticalScrollBar()
    assert bar is not None
    old = episode_rows()[0]
    many = [old.model_copy(update={"episode": n, "start_seq": n}) for n in range(100, 200)]
    model.take(RUN, many, is_all=False)
    bar.setValue(30)
    before = model.key_at(table.rowAt(0))
    newer = [old.model_copy(update={"episode": n, "start_seq": n}) for n in range(200, 205)]
    model.take(RUN, newer, is_all=False)
    assert model.key_at(table.rowAt(0)) == before
    bar.setValue(0)
    model.take(RUN, [old.model_copy(update={"episode": 999, "start_seq": 999})], is_all=False)
    assert model.key_at(table.rowAt(0)) == (1, 0, 999)


def test_the_episode_is_in_sight_when_its_list_was_read_later(client: DesktopClient) -> None:
    """Where the page is opened at an episode, its list may come after it."""
    client.window.show_page(REPLAY)
    client.episodes.show_run(RUN, client.store.runs.get(RUN))
    address = EpisodeAddress(RUN, 1, 0, 100)
    client.player.open(address, "CartPole-v1")
    old = episode_rows()[0]
    many = [old.model_copy(update={"episode": n, "start_seq": n}) for n in range(100, 200)]
    client.episodes.take(RUN, many, is_all=True)
    listed = client.window.replay.list
    index = client.episodes.index(client.episodes.place_of(address), 0)
    assert listed.selected == address
    assert listed.table.viewport().rect().contains(listed.table.visualRect(index))  # type: ignore[union-attr]


def test_the_episode_stays_in_sight_above_its_branches(qtbot: QtBot, client: DesktopClient) -> None:
    """The tree appears below the list, which gets lower by it."""
    client.window.show_page(REPLAY)
    client.episodes.show_run(RUN, client.store.runs.get(RUN))
    old = episode_rows()[0]
    many = [old.model_copy(update={"episode": n, "start_seq": n}) for n in range(100, 200)]
    client.episodes.take(RUN, many, is_all=True)
    client.player.open(EpisodeAddress(RUN, 1, 0, 100), "CartPole-v1")
    table = client.window.replay.list.table
    before = table.height()
    client._on_tick(client.store.take_runs([branch(5, 0, 12, episode=100)]))
    qtbot.waitUntil(lambda: table.height() < before)
    place = table.visualRect(table.currentIndex())
    assert table.viewport().rect().contains(place)  # type: ignore[union-attr]


def test_while_it_is_rebuilt_the_page_says_how_far(client: DesktopClient) -> None:
    """Progress in words and as a bar; without episodes it says what to do."""
    client.window.show_page(REPLAY)
    page = client.window.replay
    assert page._empty.isVisible()
    model = client.player.open(EpisodeAddress(RUN, 1, 0, 9), "CartPole-v1")
    fill(model, None)
    progress = {"step": 30, "total": 60}
    model.take_run(run(0, RunState.RUNNING, spec={"kind": "replay"}, progress=progress))
    (pane,) = page.panes()
    assert pane._words.text() == "Rebuilding: 30 of 60 steps"
    assert pane.progress.isVisible()
    model.fail("The worker cannot replay.")
    assert pane._words.text() == "The worker cannot replay."
    assert pane.retry.isVisible()
    assert not pane.progress.isVisible()


def test_escape_leads_from_the_replay_to_the_page_before(qtbot: QtBot, shown: Shown) -> None:
    """And the button to the run."""
    shown.client.window.show_page(WATCH)
    shown.client.window.show_page(REPLAY)
    qtbot.keyClick(shown.page, Qt.Key.Key_Escape)
    assert shown.client.window.page == WATCH
    shown.client.window.show_page(RUNS)
    shown.client.window.runs.select_run(RUN)
    qtbot.keySequence(shown.client.window.runs.table, "Ctrl+R")
    assert shown.client.window.page == REPLAY


def test_playing_waits_for_frames_that_are_not_here(qtbot: QtBot, shown: Shown) -> None:
    """Steps are not passed unseen."""
    shown.pane.cache.clear()
    shown.client.player.play(True)
    qtbot.waitUntil(lambda: shown.client.player.is_waiting)
    assert shown.step == 10
    assert shown.page.transport._waiting.isVisible()


def test_an_episode_is_exported_by_keys(shown: Shown, qtbot: QtBot, tmp_path: Path) -> None:
    """Ctrl+E opens the choice; a video has a speed and a file with a name that says which episode it is."""
    wanted = QSignalSpy(shown.page.export_wanted)
    qtbot.keySequence(shown.page.timeline, "Ctrl+E")
    qtbot.waitUntil(lambda: shown.page.findChild(ExportPopup) is not None)
    popup = shown.page.findChild(ExportPopup)
    assert popup is not None
    assert popup.words.text().startswith("Episode 9 · env 0, 60 steps: a video of 2")
    popup.speed.setCurrentIndex(popup.speed.findData(2.0))
    assert "a video of 1" in popup.words.text()
    popup.kinds.choose("gif")
    popup.give.click()
    dialog = shown.page.findChild(QFileDialog)
    assert dialog is not None
    assert Path(dialog.selectedFiles()[0]).name == f"{RUN}-env0-episode9.gif"
    dialog.fileSelected.emit(str(tmp_path / "a.gif"))
    dialog.close()
    export = wanted[0][0]
    assert isinstance(export, VideoExport)
    assert (export.form, export.speed, export.target) == ("gif", 2.0, str(tmp_path / "a.gif"))
    assert (export.episode.env, export.episode.episode) == (0, 9)


def test_return_presses_the_button_with_the_focus(shown: Shown, qtbot: QtBot) -> None:
    """In a popup, Return on Save asks for the file, and Return on a kind chooses it."""
    popup = shown.page.open_export()
    gif = popup.findChild(QPushButton, "export.kind.gif")
    assert gif is not None
    gif.setFocus()
    qtbot.keyClick(gif, Qt.Key.Key_Return)
    assert popup.kind == "gif"
    popup.give.setFocus()
    qtbot.keyClick(popup.give, Qt.Key.Key_Enter)
    dialog = shown.page.findChild(QFileDialog)
    assert dialog is not None
    dialog.close()


def test_the_shown_episode_is_selected_while_ctrl_is_held(shown: Shown, qtbot: QtBot) -> None:
    """An episode that a key with Ctrl shows, and that is marked again as rows come, is selected, alone, each time."""
    lists, handle = shown.page.list, shown.client.window.windowHandle()
    rows = (1, 3, 3)
    addresses = [a for row in rows if (a := shown.client.episodes.address_at(row)) is not None]
    assert len(addresses) == len(rows)
    control = Qt.KeyboardModifier.ControlModifier
    QTest.keyPress(handle, Qt.Key.Key_Control, control)  # type: ignore[call-overload] # the stub has `self` twice
    try:
        assert QGuiApplication.keyboardModifiers() == control
        for address in addresses:
            lists.mark(address)
            assert lists.selected_ones == [address]
    finally:
        QTest.keyRelease(handle, Qt.Key.Key_Control)  # type: ignore[call-overload] # the stub has `self` twice


def test_selected_episodes_become_a_dataset(shown: Shown, qtbot: QtBot) -> None:
    """Ctrl and a click selects without a replay; the selection stays while the list grows."""
    table, model = shown.page.list.table, shown.client.episodes
    replayed, wanted = (
        QSignalSpy(shown.page.list.replay_wanted),
        QSignalSpy(shown.page.export_wanted),
    )
    control = Qt.KeyboardModifier.ControlModifier
    for row in (2, 3, 5):
        place = table.visualRect(model.index(row, 0)).center()
        modifier = control if row > 2 else Qt.KeyboardModifier.NoModifier
        qtbot.mouseClick(table.viewport(), LEFT, modifier, place)
    chosen = [model.address_at(row) for row in (2, 3, 5)]
    assert len(replayed) == 1
    model.sort(-1)
    assert set(shown.page.list.selected_ones) == set(chosen)
    popup = shown.page.open_export()
    popup.kinds.choose("dataset")
    assert popup.words.text().startswith("3 selected episodes.")
    assert popup.name.text() == "cartpole/ppo-v0"
    popup.name.setText("no name!")
    assert not popup.give.isEnabled()
    popup.name.setText("mine")
    popup.give.click()
    export = wanted[0][0]
    assert isinstance(export, DatasetExport)
    assert (export.run_id, export.name) == (RUN, "mine-v0")
    named = {(r.attempt, r.env, n) for r in export.ranges for n in range(r.first, r.last + 1)}
    assert named == {address[1:] for address in chosen if address is not None}


def test_an_export_is_seen_and_can_be_cancelled(shown: Shown) -> None:
    """While one is under way."""
    strip, cancelled = shown.page.export_strip, QSignalSpy(shown.page.export_strip.cancel_wanted)
    assert not strip.isVisible()
    shown.client.exports.take_progress("a.mp4: frame 5 of 10", 0.5)
    assert strip.isVisible()
    assert (strip.words.whole(), strip.bar.value()) == ("a.mp4: frame 5 of 10", 500)
    strip.cancel.click()
    assert len(cancelled) == 1
    shown.client.exports.take_end()
    assert not strip.isVisible()


def opened_takeover(qtbot: QtBot, shown: Shown) -> TakeoverPopup:
    """The choice, by its key."""
    shown.page.timeline.setFocus()
    qtbot.keySequence(shown.page.timeline, "T")
    qtbot.waitUntil(lambda: shown.page.findChild(TakeoverPopup) is not None)
    popup = shown.page.findChild(TakeoverPopup)
    assert popup is not None
    return popup


def test_t_takes_over_at_the_step_that_is_looked_at(qtbot: QtBot, shown: Shown) -> None:
    """A person first; the policy needs a checkpoint, which is said."""
    client = shown.client
    client.takeover.take_workers([CLEANRL, PLAY])
    wanted = QSignalSpy(client.takeover.fork_wanted)
    popup = opened_takeover(qtbot, shown)
    assert popup._heading.text() == "Take over at step 10"
    assert popup.plan.text().startswith("A new run rebuilds episode 9 up to step 10")
    popup.who.choose("policy")
    assert popup.fault.text() == "This run has left no checkpoint."
    assert not popup.give.isEnabled()
    client._on_tick(
        client.store.take_runs(
            [run(0, RunState.SUCCEEDED, revision=2, summary=summary(0, checkpoints=1))]
        )
    )
    popup.who.choose("policy")
    qtbot.mouseClick(popup.give, LEFT)
    fork = wanted[0][0]
    assert (fork.run_id, fork.by_person) == (RUN, False)
    assert {name: fork.body[name] for name in ("episode", "step", "env", "attempt", "actor")} == {
        "episode": 9,
        "step": 10,
        "env": 0,
        "attempt": 1,
        "actor": "policy",
    }
    client.takeover.take_refusal("It is full.")
    assert popup.fault.text() == "It is full."
    assert popup.give.isEnabled()
    client.takeover.take_started()
    qtbot.waitUntil(lambda: not client.takeover.is_open)


def test_nothing_goes_on_after_the_end(qtbot: QtBot, shown: Shown) -> None:
    """The last step from which something can is offered."""
    shown.client.takeover.take_workers([CLEANRL, PLAY])
    shown.client.player.go_last()
    popup = opened_takeover(qtbot, shown)
    assert popup.fault.text().startswith(f"The episode ended at step {STEPS}: nothing goes on")
    assert not popup.give.isEnabled()
    qtbot.mouseClick(popup.back, LEFT)
    assert shown.step == STEPS - 1
    assert popup.give.isEnabled()
    popup.close()


def test_branches_are_a_tree_that_opens_them(qtbot: QtBot, shown: Shown) -> None:
    """The shown one is marked; the keyboard opens another at its step, and a live one is watched."""
    client, tree = shown.client, shown.page.branches.tree
    assert not shown.page.branches.isVisible()
    client._on_tick(client.store.take_runs([branch(5, 0, 12, episode=9), person(6, 5, 20)]))
    client.branches.take_facts(run_id(5), BranchFacts(0, steps=30, episode_return=30.0))
    assert shown.page.branches.isVisible()
    assert shown.page.branches.title.text() == "2 branches"
    opened, watched = (
        QSignalSpy(client.branches.open_wanted),
        QSignalSpy(client.branches.watch_wanted),
    )
    tree.setFocus()
    words = []
    for _ in range(2):
        qtbot.keyClick(tree, Qt.Key.Key_Down)
        words.append(tree.currentIndex().data())
        qtbot.keyClick(tree, Qt.Key.Key_Return)
    assert words == ["ppo", "Person"]
    assert opened[0] == [EpisodeAddress(run_id(5), 1, 0, 0), 12]
    assert watched[0] == [run_id(6)]
    assert client.window.page == WATCH


def test_the_chosen_branch_stays_chosen_while_the_tree_grows(qtbot: QtBot, shown: Shown) -> None:
    """Facts of a branch come while the user has moved to it; the row is kept, also without the focus."""
    client, tree = shown.client, shown.page.branches.tree
    client._on_tick(client.store.take_runs([branch(5, 0, 12, episode=9)]))
    qtbot.keyClick(tree, Qt.Key.Key_Down)
    client.window.setFocus()
    client.branches.take_facts(run_id(5), BranchFacts(0, steps=30, episode_return=30.0))
    client._on_tick(client.store.take_runs([person(6, 5, 20)]))
    assert tree.currentIndex().data() == "ppo"
