"""The real library asks the user's keyring in its own process; a failure is reported with what to do."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from PyQt6.QtTest import QSignalSpy
from PyQt6.QtWidgets import QComboBox, QLineEdit, QWidget
from pytestqt.qtbot import QtBot
from tests.state.test_tracking import tracked_worker

from mosaic_contracts.services import WorkerEntries
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.controllers.keyring_client import KeyringClient
from mosaic_gui.viewmodels.launch import LaunchModel
from mosaic_gui.views.tracking_key import TrackingKey

WAIT_MS = 60_000
CANARY = "k3y-canary-0123456789"
_BACKEND = """\
import json, os, pathlib, time
from keyring.backend import KeyringBackend
from keyring.errors import KeyringError, KeyringLocked

FILE = pathlib.Path(os.environ["TEST_KEYRING_FILE"])

class Keyring(KeyringBackend):
    priority = 1
    def get_password(self, service, username):
        if not FILE.exists():
            return None
        kept = json.loads(FILE.read_text())
        if kept == "locked":
            raise KeyringLocked("Failed to unlock the collection!")
        if kept == "broken":
            raise KeyringError("the bus is gone")
        if kept == "hangs":
            time.sleep(600)
        return kept.get(f"{service}/{username}")
    def set_password(self, service, username, password):
        FILE.write_text(json.dumps({f"{service}/{username}": password}))
"""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A keyring whose content is a file that a test writes."""
    folder = tmp_path / "backend"
    folder.mkdir()
    (folder / "file_backend.py").write_text(_BACKEND)
    file = tmp_path / "keyring.json"
    settings = tmp_path / "config" / "python_keyring" / "keyringrc.cfg"
    settings.parent.mkdir(parents=True)
    settings.write_text(f"[backend]\ndefault-keyring=file_backend.Keyring\nkeyring-path={folder}\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("PYTHON_KEYRING_BACKEND", raising=False)
    monkeypatch.setenv("TEST_KEYRING_FILE", str(file))
    return file


@pytest.fixture
def model() -> Iterator[LaunchModel]:
    """A form's model with a desk."""
    made = LaunchModel()
    desk = KeyringClient(made, made)
    yield made
    desk.stop()


def answered(qtbot: QtBot, model: LaunchModel, verb: str, value: str = "") -> str:
    """What is said once the keyring has answered."""
    model.keyring_wanted.emit(verb, value)
    assert model.keyring_asked
    qtbot.waitUntil(lambda: not model.keyring_asked, timeout=WAIT_MS)
    return model.keyring_words


def test_a_key_is_remembered_and_found_again(qtbot: QtBot, model: LaunchModel, kept: Path) -> None:
    """What the user lets the keyring keep is handed to the stack when it is asked for, and lies under a known name."""
    given = QSignalSpy(model.secret_wanted)
    assert "no key" in answered(qtbot, model, "get")
    assert "Saved in" in answered(qtbot, model, "set", CANARY)
    assert json.loads(kept.read_text()) == {"mosaic/WANDB_API_KEY": CANARY}
    assert len(given) == 0
    assert "Taken from your keyring" in answered(qtbot, model, "get")
    assert given[0] == ["WANDB_API_KEY", CANARY]


@pytest.mark.parametrize(
    ("content", "words"), [("locked", "Unlock it"), ("broken", "an error (the bus is gone)")]
)
def test_a_keyring_without_a_result_is_reported(
    qtbot: QtBot, model: LaunchModel, kept: Path, content: str, words: str
) -> None:
    """In words, with what to do; the next question is another chance."""
    kept.write_text(json.dumps(content))
    assert words in answered(qtbot, model, "get")
    kept.write_text(json.dumps({"mosaic/WANDB_API_KEY": CANARY}))
    assert "Taken" in answered(qtbot, model, "get")


def test_a_machine_without_a_keyring_says_so(
    qtbot: QtBot, model: LaunchModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library's own word for that, and the other two ways to give a key."""
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    words = answered(qtbot, model, "get")
    assert "There is no keyring here" in words
    assert "WANDB_API_KEY" in words


def test_a_keyring_that_waits_for_the_user_can_be_left(
    qtbot: QtBot, model: LaunchModel, kept: Path
) -> None:
    """The window goes on meanwhile; a user who does not wait, or closes the window, leaves no process behind."""
    kept.write_text(json.dumps("hangs"))
    model.keyring_wanted.emit("get", "")
    desk = model.findChild(KeyringClient)
    assert desk is not None
    process = desk._process
    assert process is not None
    assert process.waitForStarted()
    pid = process.processId()
    row = TrackingKey(model)
    qtbot.addWidget(row)
    assert row.keyring.text() == "Do not wait"
    row.keyring.click()
    assert not model.keyring_asked
    assert not Path(f"/proc/{pid}").exists()


def assert_not_seen(window: QWidget, field: QLineEdit, others: Sequence[QWidget]) -> None:
    """A picture of the field is the same with any other key, and no text of the window has it.

    Args:
        window: the window.
        field: where the key is typed.
        others: fields in which the test typed it too.
    """
    picture = field.grab().toImage()
    for part in (window, *window.findChildren(QWidget)):
        kind = part.metaObject()
        assert kind is not None
        for n in range(kind.propertyCount()):
            name = kind.property(n).name()
            if part in others or (part, name) == (field, "text"):
                continue
            assert CANARY not in str(part.property(name)), (part.objectName(), name)
    field.setText(CANARY[::-1])
    assert field.grab().toImage() == picture
    field.setText(CANARY)


def test_no_key_is_written_by_the_client(
    qtbot: QtBot,
    tmp_path: Path,
    kept: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Pasted, from the environment or the keyring, and a proxy's password: in no file, output, field or undo."""
    monkeypatch.setenv("WANDB_API_KEY", f"{CANARY}-env")
    home = tmp_path / "data"
    client = DesktopClient(home)
    client.launch.take_catalogue(WorkerEntries(workers=[tracked_worker("wandb")]))
    client.window.show()
    key = client.window.train.findChild(TrackingKey)
    assert key is not None
    given = QSignalSpy(client.launch.secret_wanted)
    mode = client.window.findChild(QComboBox, "field.parameters.track")
    proxy = client.window.findChild(QLineEdit, "field.parameters.proxy")
    assert mode is not None
    assert proxy is not None
    mode.setCurrentIndex(mode.findData("online"))
    qtbot.keyClicks(proxy, f"http://me:{CANARY}@vpn:3128")
    key.remember.setChecked(True)
    qtbot.keyClicks(key.field, CANARY)
    assert_not_seen(client.window, key.field, [proxy])
    key.field.returnPressed.emit()
    qtbot.waitUntil(lambda: not client.launch.keyring_asked, timeout=WAIT_MS)
    key.environment.click()
    key.keyring.click()
    qtbot.waitUntil(lambda: len(given) == 3, timeout=WAIT_MS)
    assert [given[n][1] for n in range(3)] == [CANARY, f"{CANARY}-env", CANARY]
    assert (key.field.text(), key.field.isUndoAvailable()) == ("", False)
    assert "no name and password" in client.launch.faults["parameters.proxy"]
    client.window.close()
    written = [path for path in home.rglob("*") if path.is_file()]
    assert {"memory.toml", "layouts.ini"} <= {path.name for path in written}
    assert [path for path in written if CANARY.encode() in path.read_bytes()] == []
    assert CANARY not in "".join(capfd.readouterr())
    client.window.deleteLater()
