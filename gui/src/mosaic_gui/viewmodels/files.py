"""The files of the watched run, and the progress of downloads."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from PyQt6.QtCore import QModelIndex, QObject, Qt, pyqtSignal

from mosaic_contracts.runs import ArtifactRow
from mosaic_gui.state import wording
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.state.run_files import CHECKPOINT, kind_text
from mosaic_gui.viewmodels.rows import RowsModel


class FilesModel(RowsModel):
    """A row for each file that is there."""

    transfers_changed = pyqtSignal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(
            (tr("File"), tr("Kind"), tr("Size"), tr("At step")), numeric=(2, 3), parent=parent
        )
        self.run_id = ""
        self.files: list[ArtifactRow] = []
        self.root: Path | None = None
        """Data root of the stack where it lies on this machine: files need not be fetched to be opened."""
        self._under_way: dict[str, tuple[int, int]] = {}

    def take(self, run_id: str, files: Sequence[ArtifactRow]) -> None:
        """The files that a run announced; those that are gone again are left out."""
        there = [file for file in files if file.exists]
        if (run_id, there) == (self.run_id, self.files):
            return
        self.run_id, self.files = run_id, there
        named = Counter(PurePosixPath(f.path).name for f in self.files)
        self.replace(
            [
                (_shown(f, named), kind_text(f), wording.bytes_text(f.bytes), wording.count(f.step))
                for f in self.files
            ]
        )

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.ToolTipRole and index.isValid() and index.column() == 0:
            return self.files[index.row()].path
        return super().data(index, role)

    def file(self, path: str) -> ArtifactRow | None:
        """The file of that path."""
        return next((file for file in self.files if file.path == path), None)

    @property
    def newest(self) -> ArtifactRow | None:
        """The checkpoint of the latest step, else the first file."""
        checkpoints = [file for file in self.files if file.kind == CHECKPOINT]
        return max(checkpoints or self.files[:1], key=lambda f: f.step or 0, default=None)

    def place(self, run_dir: str, path: str) -> str:
        """Where a file is: its path on this machine, or as the stack takes it (RUN/PATH) elsewhere."""
        return str(self.root / run_dir / path) if self.root else f"{self.run_id}/{path}"

    @property
    def under_way(self) -> str:
        """Running downloads in words; empty when there are none."""
        if not self._under_way:
            return ""
        names = list(self._under_way)
        what = names[0] if len(names) == 1 else tr_n("{n} file", "{n} files", len(names))
        got, whole = (
            wording.bytes_text(sum(pair[n] for pair in self._under_way.values())) for n in (0, 1)
        )
        return f"{what}  ·  " + tr("{done} of {total}", done=got, total=whole)

    @property
    def share(self) -> float:
        """Progress of all downloads, 0 to 1."""
        got, whole = (sum(pair[n] for pair in self._under_way.values()) for n in (0, 1))
        return min(1.0, got / whole) if whole else 0.0

    def take_progress(self, name: str, got: int, whole: int) -> None:
        """Note the progress of a download."""
        self._under_way[name] = (got, whole)
        self.transfers_changed.emit()

    def take_end(self, name: str) -> None:
        """Note the end of a download."""
        if self._under_way.pop(name, None) is not None:
            self.transfers_changed.emit()


def _shown(file: ArtifactRow, named: Counter[str]) -> str:
    """The name of a file: without its folder, unless files of several folders are called so."""
    name = PurePosixPath(file.path).name
    return name if name and named[name] == 1 else file.path
