"""Imports checkpoints from files of this machine: uploads them, and asks for what a file does not say."""

from functools import partial
from pathlib import Path

from PyQt6.QtCore import QObject

from mosaic_contracts.runs import RunView
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.run_actions import Say
from mosaic_gui.net.reply import ApiProblem
from mosaic_gui.net.upload import FileUpload, UploadRefused
from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.checkpoints import ASKED_OF_FILE, CheckpointsModel, ImportQuestion


class CheckpointImportController(Controller):
    """One import at a time."""

    def __init__(self, model: CheckpointsModel, say: Say, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model, self._say = model, say
        self._upload: FileUpload | None = None
        model.import_wanted.connect(self._on_wanted)
        model.import_cancelled.connect(self._on_cancelled)

    def detach(self) -> None:
        """Stop the upload; the stack keeps nothing of it."""
        super().detach()
        self._stop()

    def _on_wanted(self, file: str, fields: dict[str, str]) -> None:
        if self.session is None:
            return
        if self._upload is not None:
            self._say(tr("Another import is under way. Wait for it, or cancel it."), "", None)
            return
        try:
            upload = self.session.api.import_checkpoint(Path(file), fields)
        except UploadRefused as refused:
            self._say(str(refused), "", None)
            return
        self._upload = upload
        name = Path(file).name
        self._model.take_upload(name, 0, upload.size)
        upload.progressed.connect(partial(self._model.take_upload, name))
        upload.done.connect(partial(self._on_done, name))
        upload.failed.connect(partial(self._on_failed, file, fields))

    def _on_done(self, name: str, run: RunView) -> None:
        self._end()
        if self.session is not None:
            self.session.note(self.session.store.take_runs([run]))
        self._model.expect(run.run_id)
        words = tr("Imported: {file}", file=name)
        self._say(words, tr("Show the run"), partial(self._model.run_wanted.emit, run.run_id))

    def _on_failed(self, file: str, fields: dict[str, str], problem: ApiProblem) -> None:
        """Ask for what the file does not say; say everything else."""
        self._end()
        asked = {str(one.get("where")) for one in problem.fields} & set(ASKED_OF_FILE)
        if asked:
            self._model.ask(ImportQuestion(file, problem.message, fields))
        elif problem.is_passing:
            again = partial(self._on_wanted, file, fields)
            self._say(problem.message, tr("Try again"), again)
        else:
            self._say(problem.message, "", None)

    def _on_cancelled(self) -> None:
        if self._upload is not None:
            self._stop()
            self._say(tr("Import cancelled; nothing was left."), "", None)

    def _stop(self) -> None:
        if self._upload is not None:
            self._upload.cancel()
            self._end()

    def _end(self) -> None:
        self._upload = None
        self._model.end_upload()
