from pathlib import Path

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtGui import QGuiApplication
from PyQt6.QtTest import QSignalSpy
from PyQt6.QtWidgets import QApplication, QFileDialog, QMenu, QPushButton
from pytestqt.qtbot import QtBot
from tests.specimen import run, run_id, worker

from mosaic_contracts.runs import ArtifactRow
from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.states import RunState
from mosaic_gui.state.store import Store
from mosaic_gui.viewmodels.watch import WatchModel
from mosaic_gui.views.files_panel import FilesPanel

CHECKPOINT = ArtifactRow(path="checkpoints/a.pt", kind="checkpoint", bytes=2048, step=100)
VIDEO = ArtifactRow(path="videos/a.mp4", kind="video", bytes=5)


class Shown:
    """The panel over a finished run with two files."""

    def __init__(self, entry: WorkerEntry) -> None:
        store = Store()
        store.replace_runs([run(0, RunState.SUCCEEDED)])
        self.model = WatchModel(store)
        self.model.take_workers([entry])
        self.panel = FilesPanel(self.model)
        self.panel.resize(700, 300)
        self.panel.show()
        self.model.watch(run_id(0))
        self.model.take_files([CHECKPOINT, VIDEO])

    def button(self, name: str) -> QPushButton:
        """A button by its object name."""
        found = self.panel.findChild(QPushButton, f"files.{name}")
        assert found is not None, name
        return found


def able(**fields: object) -> WorkerEntry:
    """A worker whose first algorithm can do as the fields say, and takes a checkpoint."""
    entry = worker().model_dump(mode="json")
    algorithm = entry["description"]["algorithms"][0]
    algorithm |= fields
    algorithm["parameters"]["properties"]["start"] = {"type": "string", "x-checkpoint": True}
    return WorkerEntry.model_validate(entry)


@pytest.fixture
def shown(qtbot: QtBot) -> Shown:
    """The panel of a run whose algorithm plays and begins with checkpoints."""
    made = Shown(able(play=True, warm_start=True))
    qtbot.addWidget(made.panel)
    return made


def test_what_was_learned_last_is_chosen_at_first(shown: Shown) -> None:
    """Its buttons can be used at once, and are about the next one once that is there; without files all are grey."""
    assert shown.panel.file == CHECKPOINT
    newer = CHECKPOINT.model_copy(update={"path": "checkpoints/b.pt", "step": 200})
    shown.model.take_files([CHECKPOINT, newer])
    assert shown.panel.file == newer
    assert shown.button("save").isEnabled()
    shown.model.take_files([])
    for name in ("save", "save_as", "copy", "train_on", "play"):
        assert not shown.button(name).isEnabled()
        assert shown.button(name).toolTip() == "Choose a file."


def test_what_was_learned_can_be_used(shown: Shown) -> None:
    """A checkpoint opens the form or acts; another file does neither, and says why."""
    on, play = QSignalSpy(shown.panel.train_on_wanted), QSignalSpy(shown.panel.play_wanted)
    shown.panel.table.selectRow(0)
    shown.button("train_on").click()
    shown.button("play").click()
    assert on[0] == [run_id(0), "checkpoints/a.pt"]
    assert play[0] == [shown.model.run, "checkpoints/a.pt"]
    shown.model.take_files([CHECKPOINT, ArtifactRow(path="a.csv", kind="table", bytes=5)])
    shown.panel.table.selectRow(1)
    assert shown.button("save").isEnabled()
    assert not shown.button("train_on").isEnabled()
    assert shown.button("play").toolTip() == "It is no checkpoint."


def test_a_video_is_shown(qtbot: QtBot, shown: Shown) -> None:
    """By its button and by Return; it is listed with its episode, and what belongs to checkpoints is not offered."""
    clip = VIDEO.model_copy(update={"episode": 1200, "step": 40_000})
    shown.model.take_files([CHECKPOINT, clip])
    assert not shown.button("show").isVisible()
    wanted = QSignalSpy(shown.panel.show_wanted)
    shown.panel.table.selectRow(1)
    assert [shown.model.files.index(1, n).data() for n in (1, 3)] == [
        "video, episode 1,200",
        "40,000",
    ]
    assert not shown.button("train_on").isVisible()
    shown.button("show").click()
    qtbot.keyClick(shown.panel.table, Qt.Key.Key_Return)
    assert [wanted[n] for n in range(len(wanted))] == [[shown.model.run, clip]] * 2


def test_an_algorithm_that_cannot_says_so(qtbot: QtBot) -> None:
    """What the worker does not offer is grey, with the reason."""
    shown = Shown(able())
    qtbot.addWidget(shown.panel)
    shown.panel.table.selectRow(0)
    assert "PPO can begin with a checkpoint" in shown.button("train_on").toolTip()
    assert "PPO can act without learning" in shown.button("play").toolTip()
    assert not shown.button("play").isEnabled()
    assert not shown.button("play").isVisible()
    shown.model.take_workers([able(play=True)])
    assert shown.button("play").isVisible()
    assert shown.button("play").isEnabled()


def test_return_and_the_button_fetch(qtbot: QtBot, shown: Shown) -> None:
    """Without a place named it goes where downloads go."""
    wanted = QSignalSpy(shown.panel.save_wanted)
    shown.panel.table.selectRow(0)
    shown.button("save").click()
    qtbot.keyClick(shown.panel.table, Qt.Key.Key_Return)
    assert [wanted[n][1:] for n in range(len(wanted))] == [[CHECKPOINT, ""]] * 2


def test_a_place_is_chosen_without_waiting_for_it(shown: Shown, tmp_path: Path) -> None:
    """The window goes on while the dialog is open; what is fetched is the file that it was opened for."""
    wanted = QSignalSpy(shown.panel.save_wanted)
    shown.panel.table.selectRow(0)
    shown.button("save_as").click()
    dialog = shown.panel.findChild(QFileDialog)
    assert dialog is not None
    assert dialog.isVisible()
    shown.panel.table.selectRow(1)
    dialog.fileSelected.emit(str(tmp_path / "b.pt"))
    dialog.close()
    assert wanted[0][1:] == [CHECKPOINT, str(tmp_path / "b.pt")]


def test_where_it_is_can_be_copied(shown: Shown, tmp_path: Path) -> None:
    """A path of this machine where the stack is here, else what the stack takes as a checkpoint."""
    clipboard = QGuiApplication.clipboard()
    assert clipboard is not None
    shown.panel.table.selectRow(0)
    shown.button("copy").click()
    assert clipboard.text() == f"{run_id(0)}/checkpoints/a.pt"
    shown.model.files.root = tmp_path
    shown.button("copy").click()
    assert clipboard.text() == str(tmp_path / "runs" / run_id(0) / "checkpoints/a.pt")


def test_the_chosen_file_stays_chosen(shown: Shown) -> None:
    """Another file above it does not change what the buttons are about; when it goes, the newest takes over."""
    shown.panel.table.selectRow(1)
    newer = CHECKPOINT.model_copy(update={"path": "checkpoints/b.pt", "step": 200})
    shown.model.take_files([CHECKPOINT, newer, VIDEO])
    assert shown.panel.file == VIDEO
    assert shown.panel.table.currentIndex().row() == 2
    shown.model.take_files([CHECKPOINT, newer])
    assert shown.panel.file == newer
    assert shown.panel.table.currentIndex().row() == 1


def test_what_is_under_way_is_seen(shown: Shown) -> None:
    """How much is here, and a button that ends it; nothing while nothing comes."""
    assert not shown.button("cancel").isVisible()
    cancelled = QSignalSpy(shown.panel.cancel_wanted)
    shown.model.files.take_progress("a.pt", 512, 2048)
    assert shown.panel._words.whole() == "a.pt  ·  512 B of 2.0 KiB"
    assert shown.panel._bar.value() == 250
    shown.button("cancel").click()
    assert len(cancelled) == 1
    shown.model.files.take_end("a.pt")
    assert not shown.button("cancel").isVisible()


def test_names_of_files_are_read_in_a_narrow_panel(shown: Shown) -> None:
    """The tool tip has the folder, and the kind gives way; a name that is there twice keeps its folder."""
    again = ArtifactRow(path="old/a.pt", kind="checkpoint", bytes=1, step=1)
    rows = shown.model.files
    assert [rows.index(n, 0).data() for n in range(2)] == ["a.pt", "a.mp4"]
    assert rows.index(0, 0).data(Qt.ItemDataRole.ToolTipRole) == CHECKPOINT.path
    shown.model.take_files([CHECKPOINT, again])
    assert [rows.index(n, 0).data() for n in range(2)] == ["checkpoints/a.pt", "old/a.pt"]
    assert not shown.panel.table.isColumnHidden(1)
    shown.panel.resize(330, 300)
    assert shown.panel.table.isColumnHidden(1)


def test_a_right_click_offers_what_the_buttons_do(shown: Shown) -> None:
    """For the file below the pointer; what the buttons do not offer, the menu does not."""
    panel, rows = shown.panel, shown.model.files
    asked = QSignalSpy(panel.train_on_wanted)
    panel._open_menu(panel.table.visualRect(rows.index(0, 0)).center())
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    titles = [action.text() for action in menu.actions()]
    assert titles == ["Play", "Train on", "Download", "Save as …", "Copy path"]
    menu.actions()[titles.index("Train on")].trigger()
    assert len(asked) == 1
    assert asked[0] == [run_id(0), CHECKPOINT.path]
    menu.close()
