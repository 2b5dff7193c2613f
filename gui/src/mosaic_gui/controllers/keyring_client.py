"""Reads and writes a tracker's key in the user's keyring, in a process of its own."""

import sys

from PyQt6.QtCore import QObject, QProcess

from mosaic_contracts.interpreter import python_module
from mosaic_contracts.tracking import WANDB_SECRET
from mosaic_gui.state.language import tr
from mosaic_gui.state.user_keyring import SERVICE, KeyringAnswer, Said
from mosaic_gui.viewmodels.launch import LaunchModel

_MODULE = "mosaic_gui.state.user_keyring"
_COMMAND = " ".join(("keyring", "set", SERVICE, WANDB_SECRET))


class KeyringClient(QObject):
    """Reads and writes the keyring in a process of its own, one request at a time. It keeps no value."""

    def __init__(self, model: LaunchModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._process: QProcess | None = None
        model.keyring_wanted.connect(self.ask)
        model.keyring_left.connect(self.stop)

    def ask(self, verb: str, value: str) -> None:
        """Start `get` (read the key for the stack) or `set` (save this value), unless a request is running."""
        if self._process is not None:
            return
        process = QProcess(self)
        process.setStandardErrorFile(QProcess.nullDevice())
        process.finished.connect(self._on_finished)
        process.errorOccurred.connect(self._on_error)
        self._process = process
        self._model.take_keyring(
            tr("Reading your keyring; it may have to be unlocked …"), is_asked=True
        )
        python, *options = python_module(sys.executable, _MODULE, verb)
        process.start(python, options)
        process.write(value.encode())
        process.closeWriteChannel()

    def stop(self) -> None:
        """Cancel the request."""
        process, self._process = self._process, None
        if process is not None:
            process.finished.disconnect(self._on_finished)
            process.errorOccurred.disconnect(self._on_error)
            process.kill()
            process.waitForFinished(1_000)  # a killed process is gone at once; Qt wants to see that
            process.deleteLater()
            self._model.take_keyring("", is_asked=False)

    def _on_finished(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        printed = process.readAllStandardOutput().data().decode(errors="replace")
        process.deleteLater()
        try:
            answer = KeyringAnswer.read(printed)
        except ValueError:
            answer = KeyringAnswer(
                Said.REFUSED, why=tr("its helper process ended without a result")
            )
        self._model.take_keyring(_words(answer), is_asked=False)
        if answer.said is Said.FOUND:
            self._model.secret_wanted.emit(WANDB_SECRET, answer.value.strip())

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart:
            self._on_finished()


def _words(answer: KeyringAnswer) -> str:
    """The result in words, with what to do."""
    match answer.said:
        case Said.FOUND:
            return tr("Taken from your keyring.")
        case Said.KEPT:
            return tr("Saved in your keyring.")
        case Said.EMPTY:
            return tr(
                "Your keyring has no key. Paste it with “remember” on, or: {command}",
                command=_COMMAND,
            )
        case Said.NONE:
            return tr(
                "There is no keyring here (GNOME Keyring, KWallet or KeePassXC). Paste the key, or start this program "
                "with {name} in its environment.",
                name=WANDB_SECRET,
            )
        case Said.LOCKED:
            return tr("Your keyring stayed locked. Unlock it and try again, or paste the key.")
        case Said.REFUSED:
            return tr(
                "The keyring reported an error ({why}). Fix it and try again, or paste the key.",
                why=answer.why,
            )
