"""The file of the run list's saved views."""

from collections.abc import Callable
from pathlib import Path

from PyQt6.QtCore import QObject

from mosaic_gui.state.language import tr
from mosaic_gui.state.run_views import RunListViews
from mosaic_gui.state.toml_file import TomlFile
from mosaic_gui.timers import single_shot_timer
from mosaic_gui.viewmodels.list_views import ListViewsModel

VIEWS_VERSION = 1
VIEWS_FILE = "run_list.toml"
SETTLE_MS = 500
"""Delay before a change is written: a column that is dragged changes with each pixel."""


class ListViewsController(QObject):
    """Reads the file at the start, and writes what changes; without a folder neither."""

    def __init__(
        self,
        folder: Path | None,
        model: ListViewsModel,
        say: Callable[[str], None],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._model, self._say = model, say
        self.problem = ""
        """Why the file could not be read."""
        self._file: TomlFile[RunListViews] | None = None
        self._settle = single_shot_timer(self, self._write, SETTLE_MS)
        if folder is not None:
            self._file = TomlFile(folder / VIEWS_FILE, RunListViews, VIEWS_VERSION)
            read = self._file.read()
            self.problem = read.problem
            model.take(read.model)
        model.changed.connect(self._settle.start)

    def stop(self) -> None:
        """Write what waits."""
        if self._settle.isActive():
            self._settle.stop()
            self._write()

    def _write(self) -> None:
        if self._file is None:
            return
        try:
            self._file.write(self._model.saved)
        except OSError as error:
            self._say(
                tr(
                    "{file} cannot be written ({why}): this choice ends with the program.",
                    file=self._file.path,
                    why=error.strerror,
                )
            )
