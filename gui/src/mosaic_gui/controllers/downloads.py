"""Downloads of files of runs: target path, progress, and the notice at the end."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PyQt6.QtCore import QObject, QStandardPaths, QUrl, pyqtSignal

from mosaic_contracts.checkpoints import CheckpointRow
from mosaic_contracts.runs import ArtifactRow, RunView
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.run_actions import Say
from mosaic_gui.net.download import Download, unwritable
from mosaic_gui.net.reply import ApiProblem
from mosaic_gui.state import wording
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.state.run_files import free_place, local_name
from mosaic_gui.viewmodels.files import FilesModel

Open = Callable[[QUrl], bool]


class DownloadController(Controller):
    """Any number of downloads at once; each ends with a notice, or with the video that it is."""

    video_here = pyqtSignal(object)
    """Path of a video on this machine that is to be shown."""

    def __init__(
        self, model: FilesModel, say: Say, open_externally: Open, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._model, self._say, self._open = model, say, open_externally
        self.folder: Callable[[], Path] = downloads
        self.cache: Callable[[], Path] = video_cache
        self._under_way: dict[Path, Download] = {}

    def fetch(self, run: RunView, file: ArtifactRow, place: str) -> None:
        """Download a file to `place`; an empty `place` means a new file in the downloads folder."""
        target = Path(place)
        if self.session is None or target in self._under_way:
            return
        try:
            if not place:
                target = self._free_place(local_name(run, file))
            download = self.session.api.download(run.run_id, file.path, target)
        except OSError as error:
            self._say(unwritable(target, error).message, "", None)
            return
        again = partial(self.fetch, run, file, place)
        self._watch(download, target, file.bytes, self._on_done, again)

    def export_checkpoint(self, row: CheckpointRow, place: str) -> None:
        """Write a checkpoint with its facts to `place`, for another stack."""
        target = Path(place)
        if self.session is None or target in self._under_way:
            return
        try:
            download = self.session.api.export_checkpoint(row.run_id, row.path, target)
        except OSError as error:
            self._say(unwritable(target, error).message, "", None)
            return
        again = partial(self.export_checkpoint, row, place)
        self._watch(download, target, row.bytes, self._on_done, again)

    def show_video(self, run: RunView, file: ArtifactRow) -> None:
        """Show a video: where it lies, if the stack is on this machine, else a copy in the cache."""
        if self._model.root is not None:
            self.video_here.emit(self._model.root / run.run_dir / file.path)
            return
        target = self.cache() / run.run_id / local_name(run, file)
        if self.session is None or target in self._under_way:
            return
        try:
            if target.is_file() and target.stat().st_size == file.bytes:
                self.video_here.emit(target)
                return
            target.parent.mkdir(parents=True, exist_ok=True)
            download = self.session.api.download(run.run_id, file.path, target)
        except OSError as error:
            self._say(unwritable(target, error).message, "", None)
            return
        again = partial(self.show_video, run, file)
        self._watch(download, target, file.bytes, self._on_video, again)

    def play_externally(self, video: Path) -> None:
        """Show a video in the program that this desktop has for it."""
        if not self._open(QUrl.fromLocalFile(str(video))):
            said = tr(
                "This window cannot play videos here, and no program for them is installed. The file: {file}",
                file=video,
            )
            self._say(said, "", None)

    def _watch(
        self,
        download: Download,
        target: Path,
        size_bytes: int,
        done: Callable[[Path], None],
        again: Callable[[], None],
    ) -> None:
        self._under_way[target] = download
        self._model.take_progress(target.name, 0, size_bytes)
        download.progressed.connect(partial(self._on_progress, target.name, size_bytes))
        download.done.connect(done)
        download.failed.connect(partial(self._on_failed, target, again))

    def cancel(self) -> None:
        """Cancel all downloads, and say so."""
        count = len(self._under_way)
        self._cancel_all()
        if count:
            said = tr_n(
                "{n} download cancelled; nothing was left.",
                "{n} downloads cancelled; nothing was left.",
                count,
            )
            self._say(said, "", None)

    def detach(self) -> None:
        """Cancel all downloads: nothing half-written stays."""
        super().detach()
        self._cancel_all()

    def _cancel_all(self) -> None:
        for target, download in list(self._under_way.items()):
            download.cancel()
            self._forget(target)

    def _free_place(self, name: str) -> Path:
        folder = self.folder()
        folder.mkdir(parents=True, exist_ok=True)
        return free_place(folder, name, self._under_way)

    def _forget(self, target: Path) -> None:
        self._under_way.pop(target, None)
        self._model.take_end(target.name)

    def _on_progress(self, name: str, announced: int, got: int, whole: int | None) -> None:
        self._model.take_progress(name, got, whole or announced)

    def _on_done(self, target: Path) -> None:
        self._forget(target)
        size = wording.bytes_text(target.stat().st_size)
        said = tr(
            "{file} ({size}) is in {folder}.", file=target.name, size=size, folder=target.parent
        )
        self._say(said, tr("Show"), partial(self._show, target))

    def _on_video(self, target: Path) -> None:
        self._forget(target)
        self.video_here.emit(target)

    def _on_failed(self, target: Path, again: Callable[[], None], problem: ApiProblem) -> None:
        self._forget(target)
        self._say(problem.message, tr("Try again"), again)

    def _show(self, target: Path) -> None:
        if not self._open(QUrl.fromLocalFile(str(target.parent))):
            self._say(tr("No program here opens folders. The file: {file}", file=target), "", None)


def downloads() -> Path:
    """The user's downloads folder."""
    where = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DownloadLocation)
    return Path(where) if where else Path.home()


def video_cache() -> Path:
    """Folder for copies of videos that lie on another machine."""
    where = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.CacheLocation)
    return Path(where or Path.home() / ".cache" / "mosaic") / "videos"
