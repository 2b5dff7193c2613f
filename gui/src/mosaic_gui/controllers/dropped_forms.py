"""Opens the form that fits a dropped file: a run, a group, a sweep, or a file that an algorithm takes."""

from collections.abc import Callable
from pathlib import Path

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.worker import FILE_MARK, FILE_TEXT_MARK, Algorithm
from mosaic_gui.state.form_field import FormField
from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.launch import ARGUMENT, LaunchModel

MOST_TEXT_BYTES = 256 * 1024
"""Size of a file whose text becomes the value of an argument."""


class DroppedForms(QObject):
    """Fills the form `Train new`, or that of a sweep."""

    filled = pyqtSignal(str)
    """The form of a run is to be shown, with the cursor in this field; empty: in none."""
    sweep_wanted = pyqtSignal(str)
    """The form of a sweep is to be filled from this file."""

    def __init__(
        self, launch: LaunchModel, say: Callable[[str], None], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._launch, self._say = launch, say
        self.is_local = False
        """Whether the stack reads this machine's files."""

    def open_spec(self, path: Path) -> None:
        """Fill a form from the specification of a run, a group or a sweep."""
        from mosaic_gui.state.spec_file import is_sweep, spec_of
        from mosaic_gui.state.sweep_file import read_yaml

        try:
            found = read_yaml(path)
            if is_sweep(found):
                self.sweep_wanted.emit(str(path))
                return
            spec = spec_of(found)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            self._say(tr("{file} cannot be opened: {why}.", file=path.name, why=why))
            return
        if self._launch.copy_from(spec):
            self.filled.emit("")
            return
        self._say(
            tr(
                "This stack has no worker {worker} with {algorithm}.",
                worker=spec["worker"],
                algorithm=spec["algorithm"],
            )
        )

    def takes(self, path: Path) -> bool:
        """Whether an algorithm of this stack takes such a file, e.g. a plan."""
        return self._algorithm_for(path) is not None

    def open_file(self, path: Path) -> None:
        """Choose an algorithm that takes such a file, and enter the file in its form."""
        key = self._algorithm_for(path)
        if key is None:
            return
        self._launch.choose(*key)
        draft = self._launch.draft
        field = self._field_for(path) if draft is not None else None
        if field is None:
            return
        try:
            value = str(path.absolute()) if field.file_suffix else _text_of(path)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            self._say(tr("{file} cannot be opened: {why}.", file=path.name, why=why))
            return
        self._launch.set_text(ARGUMENT, field.name, value)
        self._launch.typed_replaced.emit()
        self.filled.emit(f"{ARGUMENT}.{field.name}")

    def _algorithm_for(self, path: Path) -> tuple[str, str] | None:
        """The chosen algorithm if it takes such a file, else the first one that does."""
        draft, suffix = self._launch.draft, path.suffix.lower()
        if draft is not None and _takes(draft.algorithm, suffix):
            return draft.worker.manifest.id, draft.algorithm.id
        for worker in self._launch.workers:
            offered = worker.description.algorithms if worker.ready and worker.description else []
            for algorithm in offered:
                if _takes(algorithm, suffix):
                    return worker.manifest.id, algorithm.id
        return None

    def _field_for(self, path: Path) -> FormField | None:
        """The field for the path of a file, where the stack can read it, else the one for its text."""
        draft, suffix = self._launch.draft, path.suffix.lower()
        fields = draft.arguments.fields.values() if draft is not None else ()
        by_path = [one for one in fields if one.file_suffix == suffix] if self.is_local else []
        by_text = [one for one in fields if one.text_suffix == suffix]
        return next(iter([*by_path, *by_text]), None)


def _takes(algorithm: Algorithm, suffix: str) -> bool:
    properties = algorithm.parameters.get("properties", {}).values()
    return bool(suffix) and any(
        suffix in (one.get(FILE_MARK), one.get(FILE_TEXT_MARK)) for one in properties
    )


def _text_of(path: Path) -> str:
    if path.stat().st_size > MOST_TEXT_BYTES:
        raise ValueError(tr("it is too large for the value of an argument"))
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        raise ValueError(tr("it is no text")) from None
