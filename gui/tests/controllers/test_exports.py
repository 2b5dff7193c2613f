"""Exports: a real process of a stand-in program gets its order, reports, and is ended."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from PyQt6.QtCore import QUrl
from pytestqt.qtbot import QtBot
from tests.specimen import run_id

from mosaic_contracts.exports import DATASETS_VARIABLE, DatasetExport, EpisodeRef, VideoExport
from mosaic_gui.controllers.exports import ExportController
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.viewmodels.exports import ExportModel

EPISODE = EpisodeRef(run_id=run_id(0), attempt=1, env=0, episode=3)
PROGRAM = """#!{python}
import json, os, sys
order = json.loads(sys.stdin.readline())
json.dump(order, open({seen!r}, "w"))
for said in {says!r}[: -1 if {late!r} else None]:
    print(json.dumps(said), flush=True)
if {waits!r}:
    sys.stdin.read()
    sys.exit(130)
if {killed!r}:
    target = order["export"].get("target") or os.path.join({datasets!r}, order["export"]["name"])
    folder, name = os.path.split(target)
    os.makedirs(os.path.join(folder, f".{{name}}.{{os.getpid()}}.part"))
    open(os.path.join(folder, f".{{name}}.0123abcd.draft"), "w").close()
    os.kill(os.getpid(), 9)
if {late!r}:
    sys.stdin.read()
    print(json.dumps({says!r}[-1]), flush=True)
sys.exit({code!r})
"""
SETUP = """#!{python}
import sys
print("no network here")
sys.exit({code!r})
"""
PROGRESS = {"progress": {"phase": "drawing", "done": 5, "total": 10}}
VIDEO = {"video": {"file": "a.mp4", "frames": 10, "fps": 25.0, "approximate_from": 7}}
TIMEOUT_MS = 60_000


class Bench:
    """A controller, what it says, and the folder of its environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notices: list[tuple[str, str, Callable[[], None] | None]] = []
        self.opened: list[QUrl] = []
        self.model = ExportModel()
        self.environ = {"MOSAIC_VENVS": str(folder / "venvs")}
        self.exports = ExportController(
            self.model,
            self._say,
            self._open,
            self.environ,
        )
        location = SimpleNamespace(url="http://127.0.0.1:1", token="secret", ca_file=None)
        self.exports.session = cast(StreamSession, SimpleNamespace(location=location))
        self.video = VideoExport(episode=EPISODE, target=str(folder / "a.mp4"))

    def install(
        self,
        *says: dict[str, Any],
        code: int = 0,
        waits: bool = False,
        killed: bool = False,
        late: bool = False,
    ) -> None:
        """Make the exporter's environment, with a program that says this.

        `late`: the last of it comes once the export is cancelled.
        """
        text = PROGRAM.format(
            python=sys.executable,
            seen=str(self.folder / "seen.json"),
            says=says,
            waits=waits,
            killed=killed,
            datasets=str(self.folder / "datasets"),
            late=late,
            code=code,
        )
        self._write(self.folder / "venvs" / "exporter" / "bin" / "python", text)

    def install_setup(self, code: int) -> None:
        """Name a program that sets the exporter up."""
        program = self.folder / "mosaic"
        self._write(program, SETUP.format(python=sys.executable, code=code))
        self.environ["MOSAIC_PROGRAM"] = str(program)

    @staticmethod
    def _write(path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def _say(self, text: str, act: str = "", then: Callable[[], None] | None = None) -> None:
        self.notices.append((text, act, then))

    def _open(self, url: QUrl) -> bool:
        self.opened.append(url)
        return True


@pytest.fixture
def bench(tmp_path: Path, qtbot: QtBot) -> Iterator[Bench]:
    """A controller of a session."""
    made = Bench(tmp_path)
    yield made
    made.exports.cancel()
    qtbot.waitUntil(lambda: not made.model.is_running, timeout=TIMEOUT_MS)


def ended(bench: Bench, qtbot: QtBot) -> tuple[str, str]:
    """The notice at the end, and its button."""
    qtbot.waitUntil(lambda: bool(bench.notices), timeout=TIMEOUT_MS)
    assert not bench.model.is_running
    return bench.notices[-1][:2]


def test_a_video_is_ordered_and_reported(bench: Bench, qtbot: QtBot) -> None:
    """Set up first, then the order with stack and episode, progress meanwhile, and the folder at the end."""
    bench.install_setup(0)
    bench.install(PROGRESS, VIDEO)
    seen: list[tuple[str, float | None]] = []
    bench.model.changed.connect(lambda: seen.append((bench.model.words, bench.model.share)))
    bench.exports.start(bench.video)
    words, act = ended(bench, qtbot)
    assert "Setting up the exporter" in seen[0][0]
    assert ("a.mp4: frame 5 of 10", 0.5) in seen
    assert words.startswith(f"a.mp4 is in {bench.folder}. 10 frames, 25 a second.")
    assert "from step 7 on are approximate" in words
    assert act == "Open folder"
    order = json.loads((bench.folder / "seen.json").read_text())
    assert order["stack"] == {"url": "http://127.0.0.1:1", "token": "secret", "ca_file": None}
    assert order["export"]["episode"]["episode"] == 3
    then = bench.notices[-1][2]
    assert then is not None
    then()
    assert bench.opened == [QUrl.fromLocalFile(str(bench.folder))]


def test_a_dataset_says_what_was_left_out(bench: Bench, qtbot: QtBot) -> None:
    """Episodes without an end, and those that differ from the record."""
    made = {
        "name": "a-v0", "folder": "/data/a-v0", "episodes": 3, "steps": 40,
        "left_out": [[1, 0, 9]], "unverified": [[1, 0, 7], [1, 0, 8]],
    }  # fmt: skip
    bench.install({"dataset": made})
    bench.exports.start(DatasetExport(run_id=run_id(0), name="a-v0"))
    words, _ = ended(bench, qtbot)
    assert "a-v0: 3 episodes with 40 steps." in words
    assert "1 episode without a recorded end is left out." in words
    assert "2 episodes that differ from their record are left out." in words


def test_what_cannot_be_made_is_said_and_tried_again(bench: Bench, qtbot: QtBot) -> None:
    """In the exporter's words; the button starts the same once more."""
    bench.install({"problem": "a.mp4 cannot be written (No space left on device)."}, code=1)
    bench.exports.start(bench.video)
    words, act = ended(bench, qtbot)
    assert words == "a.mp4 cannot be written (No space left on device)."
    assert act == "Try again"
    bench.install(VIDEO)
    then = bench.notices.pop()[2]
    assert then is not None
    then()
    assert "a.mp4 is in" in ended(bench, qtbot)[0]


def test_a_missing_exporter_is_named_with_what_to_do(bench: Bench, qtbot: QtBot) -> None:
    """Where nothing can set it up, and where that fails."""
    bench.exports.start(bench.video)
    assert "`./mosaic sync exporter`" in ended(bench, qtbot)[0]
    bench.notices.clear()
    bench.install_setup(2)
    bench.exports.start(bench.video)
    assert "cannot be set up: no network here" in ended(bench, qtbot)[0]


def test_an_exporter_that_breaks_is_said(bench: Bench, qtbot: QtBot) -> None:
    """Its exit code, and nothing goes on."""
    bench.install(code=9)
    bench.exports.start(bench.video)
    assert "ended with exit code 9" in ended(bench, qtbot)[0]


def test_an_exporter_that_is_killed_is_said(bench: Bench, qtbot: QtBot) -> None:
    """By its signal; what it has left is removed, and a draft of another program stays."""
    bench.install(PROGRESS, killed=True)
    before = bench.folder / ".a.mp4.4567cdef.draft"
    before.touch()
    bench.exports.start(bench.video)
    words, act = ended(bench, qtbot)
    assert words == "The exporter was ended by SIGKILL. Nothing of the export was left."
    assert act == "Try again"
    assert list(bench.folder.glob(".*.draft")) == [before]


def test_the_folder_of_a_killed_dataset_goes(
    bench: Bench, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no name yet, and thousands of files."""
    monkeypatch.setenv(DATASETS_VARIABLE, str(bench.folder / "datasets"))
    bench.install(PROGRESS, killed=True)
    bench.exports.start(DatasetExport(run_id=run_id(0), name="mine/lake-v0"))
    assert "Nothing of the export was left." in ended(bench, qtbot)[0]
    assert list((bench.folder / "datasets" / "mine").glob(".*.part")) == []


def test_an_export_that_was_done_before_it_is_cancelled_is_reported(
    bench: Bench, qtbot: QtBot
) -> None:
    """Its file is there, and is not denied."""
    bench.install(PROGRESS, VIDEO, late=True)
    bench.exports.start(bench.video)
    qtbot.waitUntil(lambda: bench.model.share == 0.5, timeout=TIMEOUT_MS)
    bench.exports.cancel()
    assert ended(bench, qtbot)[0].startswith(f"a.mp4 is in {bench.folder}.")


def test_a_cancelled_export_ends_and_says_so(bench: Bench, qtbot: QtBot) -> None:
    """The program learns it from its closed input; meanwhile a second export is refused."""
    bench.install(PROGRESS, waits=True)
    bench.exports.start(bench.video)
    qtbot.waitUntil(lambda: bench.model.share == 0.5, timeout=TIMEOUT_MS)
    bench.exports.start(bench.video)
    assert "Another export is under way" in bench.notices.pop()[0]
    bench.exports.cancel()
    assert ended(bench, qtbot) == ("Export cancelled; nothing was left.", "")


def test_a_window_that_closes_waits_for_the_end_of_its_exporter(bench: Bench, qtbot: QtBot) -> None:
    """The rest of the program goes on meanwhile."""
    bench.install(PROGRESS, waits=True)
    closed: list[bool] = []
    bench.exports.close(lambda: closed.append(True))
    assert closed == [True]
    bench.exports.start(bench.video)
    qtbot.waitUntil(lambda: bench.model.share == 0.5, timeout=TIMEOUT_MS)
    bench.exports.close(lambda: closed.append(True))
    assert closed == [True]
    qtbot.waitUntil(lambda: closed == [True, True], timeout=TIMEOUT_MS)
