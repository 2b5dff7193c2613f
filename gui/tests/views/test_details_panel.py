from collections.abc import Iterator
from pathlib import Path

import pytest
from PyQt6.QtTest import QSignalSpy
from PyQt6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot
from tests.specimen import report, run, run_id
from tests.storage_specimen import use

from mosaic_contracts.states import RunState
from mosaic_contracts.storage_reports import RunStorage
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.state.dry_run import kept_text
from mosaic_gui.state.lineage import MOST_CHILDREN, lineage_of
from mosaic_gui.views.main_window import WATCH


@pytest.fixture
def client(qtbot: QtBot, tmp_path: Path) -> Iterator[DesktopClient]:
    """The window of a run with a parent and a child that plays."""
    made = DesktopClient(tmp_path)
    made.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    made.window.show()
    parent = {"parent": run_id(0)}
    child = {"parent": run_id(1), "kind": "play"}
    made.store.replace_runs(
        [run(0, RunState.SUCCEEDED), run(1, spec=parent), run(2, spec=child), run(3)]
    )
    made.watch.watch(run_id(1))
    made.window.show_page(WATCH)
    made.window.watch.tabs.setCurrentWidget(made.window.watch.details)
    yield made
    made.window.close()
    made.window.deleteLater()


def test_relatives_are_links(client: DesktopClient) -> None:
    """Where it comes from and what came of it, each one click away; a run alone has no line for it."""
    relatives = client.window.watch.details.relatives
    assert f'Comes from <a href="{run_id(0)}"' in relatives.text()
    assert f'Continued in <a href="{run_id(2)}"' in relatives.text()
    assert "CartPole-v1 · play · ppo" in relatives.text()
    relatives.linkActivated.emit(run_id(2))
    client.watch.watch(run_id(3))
    assert not relatives.isVisible()


def test_a_new_child_and_a_parent_that_goes_are_seen(client: DesktopClient) -> None:
    """The line follows the list; who is not in it is named, and no link."""
    relatives = client.window.watch.details.relatives
    client.watch.consume(client.store.take_runs([run(4, spec={"parent": run_id(1)})]))
    assert f'href="{run_id(4)}"' in relatives.text()
    client.watch.consume(client.store.forget_runs([run_id(0)]))
    assert f"Comes from {run_id(0)} (not in the list)" in relatives.text()
    assert f'href="{run_id(0)}"' not in relatives.text()


def test_a_name_is_no_markup(client: DesktopClient) -> None:
    """What a person calls a run, and its environment, are shown as they are: of a child, and of the parent."""
    name, shown = "<b>&x", "&lt;b&gt;&amp;x"
    relatives = client.window.watch.details.relatives
    named = run(5, name=name, spec={"parent": run_id(1), "name": name})
    elsewhere = run(6, spec={"parent": run_id(1), "environment": "<i>Maze"})
    client.watch.consume(client.store.take_runs([named, elsewhere]))
    assert f">{shown} · CartPole-v1 · ppo · seed 6</a>" in relatives.text()
    assert ">&lt;i&gt;Maze · ppo · seed 7</a>" in relatives.text()
    client.watch.consume(
        client.store.take_runs([run(0, RunState.SUCCEEDED, revision=2, name=name)])
    )
    assert f">{shown} · CartPole-v1 · ppo · seed 1</a><br>" in relatives.text()
    assert name not in relatives.text()
    assert "<i>" not in relatives.text()


def test_of_many_children_the_newest_are_named() -> None:
    """Not all of a sweep's hundred runs can be read: the number of the rest is shown."""
    runs = {run_id(n): run(n, spec={"parent": run_id(0)}) for n in range(1, 101)}
    found = lineage_of(run(0), runs)
    assert len(found.children) == MOST_CHILDREN
    assert found.children[0].run_id == run_id(100)
    assert found.more == 100 - MOST_CHILDREN


def test_a_dry_run_has_a_section_of_its_own(client: DesktopClient) -> None:
    """The plan that was looked at is a tab, whole and apart from the note; a run without one has no such tab."""
    watch = client.window.watch
    at = watch.tabs.indexOf(watch.plan)
    assert not watch.tabs.isTabVisible(at)
    plan = kept_text(report())
    client.watch.consume(client.store.take_runs([run(1, revision=2, note="try it", dry_run=plan)]))
    assert watch.tabs.isTabVisible(at)
    watch.tabs.setCurrentWidget(watch.plan)
    assert watch.plan.isVisible()
    assert watch.plan.toPlainText() == plan
    assert "mosaic_worker_cleanrl train" in plan.replace("\\\n  ", "")
    assert watch.note.field.toPlainText() == "try it"
    details = [str(client.watch.details._rows[n]) for n in range(client.watch.details.rowCount())]
    assert not any("mosaic_worker_cleanrl" in row for row in details)


def test_storage_is_said_with_what_is_kept_and_a_pin(client: DesktopClient) -> None:
    """Bytes by kind and `3 of 5`; the button asks for the opposite of what holds; another run has its own."""
    panel = client.window.watch.details
    assert not panel.storage.isVisible()
    client.watch.take_storage(RunStorage.model_validate(use(1)))
    assert panel.storage.whole().startswith("Storage: ")
    rows = client.watch.details
    values = {
        rows.data(rows.index(n, 0)): rows.data(rows.index(n, 1)) for n in range(rows.rowCount())
    }
    assert values["Videos (disk)"].endswith("(3 of 5)")
    wanted = QSignalSpy(panel.pin_wanted)
    panel.pin.click()
    client._on_tick(client.store.take_runs([run(1, pinned=True, revision=2)]))
    assert panel.pin.text() == "Unpin"
    panel.pin.click()
    assert [list(wanted[n]) for n in range(len(wanted))] == [[run_id(1), True], [run_id(1), False]]
    client.watch.watch(run_id(3))
    assert not panel.storage.isVisible()


def test_details_are_searched_by_name_and_value(qtbot: QtBot, client: DesktopClient) -> None:
    """All words, in any case; a row that is not found is hidden, and an empty search shows all."""
    panel = client.window.watch.details
    table, rows = panel._table, client.watch.details

    def shown() -> list[str]:
        return [rows.index(n, 0).data() for n in range(rows.rowCount()) if not table.isRowHidden(n)]

    assert len(shown()) > 4
    qtbot.keyClicks(panel.search, "CREATED")
    assert shown() == ["Created"]
    panel.search.setText(run_id(1)[-6:])
    assert shown() == ["Run"]
    panel.search.clear()
    assert len(shown()) == rows.rowCount()


def test_names_leave_values_at_least_half(client: DesktopClient) -> None:
    """A date and the id of a run are read in a narrow panel."""
    panel = client.window.watch.details
    panel._share_width()
    assert panel._table.columnWidth(1) >= panel._table.columnWidth(0)


def test_a_value_is_copied_by_a_right_click(client: DesktopClient) -> None:
    """The whole value, however narrow its column is."""
    panel, rows = client.window.watch.details, client.watch.details
    panel._open_menu(panel._table.visualRect(rows.index(0, 1)).center())
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    assert [action.text() for action in menu.actions()] == ["Copy value", "Copy name and value"]
    menu.actions()[0].trigger()
    clipboard = QApplication.clipboard()
    assert clipboard is not None
    assert clipboard.text() == run_id(1)
    menu.close()
