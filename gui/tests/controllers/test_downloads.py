from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from PyQt6.QtCore import QObject, QUrl, pyqtSignal
from tests.specimen import run, run_id

from mosaic_contracts.runs import ArtifactRow
from mosaic_gui.controllers.downloads import DownloadController
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.reply import ApiProblem
from mosaic_gui.viewmodels.files import FilesModel

VIDEO = ArtifactRow(path="videos/a.mp4", kind="video", bytes=64, episode=3)
FILE = ArtifactRow(path="checkpoints/a.pt", kind="checkpoint", bytes=2048, step=100)


class FakeDownload(QObject):
    """Comes when the test says so. The real one has tests of its own."""

    progressed = pyqtSignal(object, object)
    done = pyqtSignal(object)
    failed = pyqtSignal(object)
    is_cancelled = False

    def cancel(self) -> None:
        """Nobody wants it any more."""
        self.is_cancelled = True


class Bench:
    """Downloads over a stack that is not there, and every notice."""

    def __init__(self, folder: Path) -> None:
        self.notices: list[tuple[str, str, Callable[[], None] | None]] = []
        self.opened: list[QUrl] = []
        self.can_open = True
        self.asked: list[tuple[str, str, Path]] = []
        self.downloads: list[FakeDownload] = []
        self.model = FilesModel()
        self.fetching = DownloadController(
            self.model, lambda text, act, then: self.notices.append((text, act, then)), self._open
        )
        self.fetching.folder = lambda: folder
        self.fetching.session = cast(StreamSession, self)

    @property
    def api(self) -> Any:
        """The session's API: this bench too."""
        return self

    def download(self, run: str, path: str, target: Path) -> FakeDownload:
        """Keep what is asked for."""
        self.asked.append((run, path, target))
        self.downloads.append(FakeDownload())
        return self.downloads[-1]

    def _open(self, url: QUrl) -> bool:
        self.opened.append(url)
        return self.can_open

    def press(self) -> None:
        """The button of the newest notice."""
        then = self.notices[-1][2]
        assert then is not None
        then()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Downloads go to a folder that is not there yet."""
    return Bench(tmp_path / "Downloads")


def test_a_file_goes_to_the_folder_of_downloads(bench: Bench, tmp_path: Path) -> None:
    """The file gets a name with its run's name, next to existing and coming files; once it is here it can be shown."""
    folder = tmp_path / "Downloads"
    for _ in range(2):
        bench.fetching.fetch(run(0, name="my run/1"), FILE, "")
    assert bench.asked == [
        (run_id(0), FILE.path, folder / "my-run-1-a.pt"),
        (run_id(0), FILE.path, folder / "my-run-1-a (2).pt"),
    ]
    assert bench.model.under_way.startswith("2 files")
    target = bench.asked[0][2]
    target.write_bytes(b"x" * 2048)
    bench.downloads[0].done.emit(target)
    assert bench.notices[-1][:2] == (f"my-run-1-a.pt (2.0 KiB) is in {folder}.", "Show")
    bench.press()
    assert bench.opened == [QUrl.fromLocalFile(str(folder))]
    assert bench.model.under_way.startswith("my-run-1-a (2).pt")


def test_progress_uses_the_size_that_the_stack_reported(bench: Bench, tmp_path: Path) -> None:
    """The announced length holds until the answer states its own."""
    bench.fetching.fetch(run(0), FILE, str(tmp_path / "a.pt"))
    bench.downloads[0].progressed.emit(512, None)
    assert bench.model.share == pytest.approx(0.25)
    bench.downloads[0].progressed.emit(512, 1024)
    assert bench.model.share == pytest.approx(0.5)


def test_a_failure_can_be_tried_again(bench: Bench, tmp_path: Path) -> None:
    """The reason is shown, nothing counts as under way, and the button asks for the same once more."""
    place = str(tmp_path / "b.pt")
    bench.fetching.fetch(run(0), FILE, place)
    bench.downloads[0].failed.emit(ApiProblem("It went."))
    assert bench.notices[-1][:2] == ("It went.", "Try again")
    assert bench.model.under_way == ""
    bench.press()
    assert bench.asked[1] == bench.asked[0]


def test_the_same_place_is_written_once(bench: Bench, tmp_path: Path) -> None:
    """A second click while it comes changes nothing."""
    for _ in range(2):
        bench.fetching.fetch(run(0), FILE, str(tmp_path / "b.pt"))
    assert len(bench.asked) == 1


def test_cancel_ends_everything(bench: Bench) -> None:
    """All that is under way, and it is said."""
    bench.fetching.fetch(run(0), FILE, "")
    bench.fetching.cancel()
    assert bench.downloads[0].is_cancelled
    assert bench.model.under_way == ""
    assert "cancelled" in bench.notices[-1][0]


def test_a_folder_that_cannot_be_made_is_said(bench: Bench, tmp_path: Path) -> None:
    """Nothing is asked of the stack, and the words say what to do."""
    (tmp_path / "Downloads").write_text("no folder")
    bench.fetching.fetch(run(0), FILE, "")
    assert bench.asked == []
    assert "Choose another place" in bench.notices[-1][0]


def test_a_video_of_this_machine_is_shown_where_it_is(bench: Bench, tmp_path: Path) -> None:
    """Nothing is copied."""
    shown: list[Path] = []
    bench.fetching.video_here.connect(shown.append)
    bench.model.root = tmp_path
    bench.fetching.show_video(run(0), VIDEO)
    assert shown == [tmp_path / "runs" / run_id(0) / VIDEO.path]
    assert bench.asked == []


def test_a_video_of_another_machine_is_fetched_once(bench: Bench, tmp_path: Path) -> None:
    """With progress, into the cache; the next time it is there."""
    shown: list[Path] = []
    bench.fetching.video_here.connect(shown.append)
    bench.fetching.cache = lambda: tmp_path / "cache"
    bench.fetching.show_video(run(0), VIDEO)
    (asked,) = bench.asked
    assert asked[:2] == (run_id(0), VIDEO.path)
    assert bench.model.under_way != ""
    asked[2].write_bytes(b"x" * VIDEO.bytes)
    bench.downloads[0].done.emit(asked[2])
    assert (shown, bench.model.under_way) == ([asked[2]], "")
    bench.fetching.show_video(run(0), VIDEO)
    assert (len(shown), len(bench.asked)) == (2, 1)


def test_without_any_player_the_file_is_named(bench: Bench, tmp_path: Path) -> None:
    """The desktop's program is asked first."""
    bench.fetching.play_externally(tmp_path / "a.mp4")
    assert bench.opened == [QUrl.fromLocalFile(str(tmp_path / "a.mp4"))]
    assert bench.notices == []
    bench.can_open = False
    bench.fetching.play_externally(tmp_path / "a.mp4")
    assert str(tmp_path / "a.mp4") in bench.notices[-1][0]
