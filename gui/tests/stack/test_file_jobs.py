"""Archives, imports and backups from the window, on a real stack, by the command line's own code."""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from PyQt6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PyQt6.QtGui import QAction, QDragEnterEvent, QDropEvent
from PyQt6.QtWidgets import QApplication, QFileDialog, QPushButton
from pytestqt.qtbot import QtBot
from tests.real_stack import VENVS, RealStack, absent, connected_window

from mosaic_contracts.file_jobs import COMMAND_LINE_PYTHON
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.viewmodels.file_jobs import JobState
from mosaic_gui.views.choices_popup import ChoicesPopup
from mosaic_gui.views.main_window import STORAGE, WATCH

LEFT = Qt.MouseButton.LeftButton
WAIT_MS = 120_000
MLFLOW_RUN = {
    "meta.yaml": "run_id: 0123456789abcdef0123456789abcdef\nrun_name: old\nexperiment_id: '0'\nstatus: 3\n"
    "start_time: 1700000000000\nend_time: 1700000060000\nlifecycle_stage: active\nuser_id: me\n",
    "metrics/return": "1700000001000 1.5 10\n1700000002000 2.5 20\n",
    "params/seed": "7",
}

pytestmark = [
    pytest.mark.stack,
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(absent()), reason=absent()),
]


@pytest.fixture
def client(
    stack: RealStack, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> Iterator[DesktopClient]:
    """The client as a person starts it on the stack's machine."""
    monkeypatch.setenv(COMMAND_LINE_PYTHON, str(VENVS / "cli" / "bin" / "python"))
    for name in ("MOSAIC_HOME", "MOSAIC_ROOT"):
        monkeypatch.setenv(name, stack.environ[name])
    with connected_window(stack.home) as made:
        qtbot.waitUntil(lambda: made.connection.shows_data, timeout=WAIT_MS)
        yield made
        made.window.close()
        qtbot.waitUntil(lambda: not made.file_job_controller._tool.is_running, timeout=WAIT_MS)


@pytest.fixture(scope="module")
def kept_run(stack: RealStack) -> str:
    """A run that every test leaves as it is."""
    return stack.submit(rate=0, events=300)


@pytest.fixture
def run_id(kept_run: str, client: DesktopClient, qtbot: QtBot) -> str:
    """The kept run, which has ended, and of which the client knows."""
    qtbot.waitUntil(lambda: _is_whole(client, kept_run), timeout=WAIT_MS)
    return kept_run


def _is_whole(client: DesktopClient, run_id: str) -> bool:
    run = client.store.runs.get(run_id)
    return run is not None and run.state.is_final and not run.telemetry_pending


def _opened(client: DesktopClient) -> list[QUrl]:
    """What is opened outside the window from now on."""
    opened: list[QUrl] = []

    def note(url: QUrl) -> bool:
        opened.append(url)
        return True

    client.open_externally = note
    return opened


def _found(client: DesktopClient, name: str) -> QPushButton:
    found = client.window.findChild(QPushButton, name)
    assert found is not None, name
    return found


def _give_file(client: DesktopClient, path: Path) -> None:
    """Answer the file dialog that is open."""
    (dialog,) = [d for d in client.window.findChildren(QFileDialog) if d.isVisible()]
    dialog.fileSelected.emit(str(path))
    dialog.close()


def _choose(client: DesktopClient, qtbot: QtBot, *keys: str) -> None:
    """Tick boxes of the popup that is open, and press Return."""
    (popup,) = [p for p in client.window.findChildren(ChoicesPopup) if p.isVisible()]
    for key in keys:
        popup.boxes[key].setChecked(True)
    qtbot.keyClick(popup.give, Qt.Key.Key_Return)


def _result(client: DesktopClient, qtbot: QtBot) -> str:
    qtbot.waitUntil(lambda: not client.file_jobs.is_running, timeout=WAIT_MS)
    assert client.file_jobs.state is JobState.DONE, client.file_jobs.words
    return client.file_jobs.words


def _drop(client: DesktopClient, *paths: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    copy, keys = Qt.DropAction.CopyAction, Qt.KeyboardModifier.NoModifier
    entered = QDragEnterEvent(QPoint(400, 300), copy, data, LEFT, keys)
    QApplication.sendEvent(client.window, entered)
    assert entered.isAccepted()
    QApplication.sendEvent(client.window, QDropEvent(QPointF(400, 300), copy, data, LEFT, keys))


def test_a_run_is_archived_from_its_menu_and_comes_back_by_a_drop(
    client: DesktopClient, qtbot: QtBot, stack: RealStack, tmp_path: Path
) -> None:
    """The file is an archive; the result offers its folder; the same file dropped later brings the run back."""
    run_id = stack.submit(rate=0, events=300)
    qtbot.waitUntil(lambda: _is_whole(client, run_id), timeout=WAIT_MS)
    opened = _opened(client)
    client.window.runs.select_run(run_id)
    client.window.runs.commands.archive_action.trigger()
    _choose(client, qtbot, "video")
    target = tmp_path / "one.mosaic.zip"
    _give_file(client, target)
    seen: list[float | None] = []
    client.file_jobs.changed.connect(lambda: seen.append(client.file_jobs.share))
    assert "one.mosaic.zip has 1 run" in _result(client, qtbot)
    assert any(share is not None for share in seen)
    with zipfile.ZipFile(target) as archive:
        facts = json.loads(archive.read(f"runs/{run_id}/archive.json"))
    assert facts["without"] == ["video"]
    _found(client, "job.act").click()
    assert opened == [QUrl.fromLocalFile(str(tmp_path))]
    _found(client, "job.close").click()
    assert client.file_jobs.state is JobState.NONE

    stack.mosaic("rm", run_id, "--now")
    qtbot.waitUntil(lambda: run_id not in client.store.runs, timeout=WAIT_MS)
    _drop(client, target)
    assert "1 run was imported" in _result(client, qtbot)
    qtbot.waitUntil(lambda: run_id in client.store.runs, timeout=WAIT_MS)
    _found(client, "job.act").click()
    assert (client.window.page, client.watch.run_id) == (WATCH, run_id)


@pytest.mark.nightly
def test_a_folder_of_old_runs_is_imported_by_the_menu(
    client: DesktopClient, qtbot: QtBot, tmp_path: Path
) -> None:
    """An mlflow store becomes a run next to the others; a second import changes nothing."""
    folder = tmp_path / "mlruns" / "0" / "0123456789abcdef0123456789abcdef"
    for name, text in MLFLOW_RUN.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for words in ("1 run was imported", "1 run is here already"):
        _trigger(client, "Import a folder of old runs …")
        _give_file(client, tmp_path / "mlruns")
        assert words in _result(client, qtbot)
    qtbot.waitUntil(
        lambda: any(run.spec.worker == "mlflow" for run in client.store.runs.values()),
        timeout=WAIT_MS,
    )


def test_everything_is_backed_up_from_the_page_of_storage(
    client: DesktopClient, qtbot: QtBot, run_id: str, tmp_path: Path
) -> None:
    """The command line can read the file, which has the run."""
    client.window.show_page(STORAGE)
    _found(client, "storage.back_up").click()
    target = tmp_path / "all.zip"
    _give_file(client, target)
    assert "all.zip has" in _result(client, qtbot)
    with zipfile.ZipFile(target) as backup:
        assert any(f"runs/{run_id}" in name for name in backup.namelist())


@pytest.mark.nightly
def test_a_report_of_selected_runs_is_written_and_opened(
    client: DesktopClient, qtbot: QtBot, run_id: str, tmp_path: Path
) -> None:
    """The page has the run's id and its curves; the result's button opens it."""
    opened = _opened(client)
    client.window.runs.select_run(run_id)
    client.window.runs.commands.report_action.trigger()
    _choose(client, qtbot)
    target = tmp_path / "report.html"
    _give_file(client, target)
    assert "report.html has 1 run" in _result(client, qtbot)
    page = target.read_text("utf-8")
    assert run_id in page
    assert '<svg class="chart"' in page
    _found(client, "job.act").click()
    assert opened == [QUrl.fromLocalFile(str(target))]


def test_what_cannot_be_imported_is_said_in_words_and_can_be_tried_again(
    client: DesktopClient, qtbot: QtBot, tmp_path: Path
) -> None:
    """The fault of a damaged archive stays on the screen until it is closed."""
    _trigger(client, "Import an archive or a file …")
    file = tmp_path / "broken.mosaic.zip"
    file.write_bytes(b"PK\x03\x04 this is no archive")
    _give_file(client, file)
    qtbot.waitUntil(lambda: client.file_jobs.state is JobState.FAILED, timeout=WAIT_MS)
    assert "archive" in client.file_jobs.words
    assert client.file_jobs.act == "Try again"


def test_a_cancelled_archive_leaves_nothing(
    client: DesktopClient, qtbot: QtBot, run_id: str, tmp_path: Path
) -> None:
    """Cancel ends the process, which removes what it has begun."""
    client.window.runs.select_run(run_id)
    client.window.runs.commands.archive_action.trigger()
    _choose(client, qtbot)
    _give_file(client, tmp_path / "a.mosaic.zip")
    assert client.file_jobs.is_running
    _found(client, "job.cancel").click()
    assert "cancelled" in _result(client, qtbot)
    assert list(tmp_path.glob("*")) == []


def _trigger(client: DesktopClient, text: str) -> None:
    (action,) = [a for a in client.window.findChildren(QAction) if a.text() == text]
    action.trigger()
